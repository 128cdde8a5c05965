#include "tests/support/families/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "tests/support/families/oracle.hpp"

namespace trifold::test {
namespace {

using nlohmann::json;

constexpr std::int64_t awkward[]{1, 2, 3, 7, 8, 17, 33}, most_unknowns = 300;

/// Null: the field keeps its usual value.
json drawn(const Field& field, std::string_view size, Random& random) {
    if (field.has_several) return field.words;
    if (!field.words.empty()) return field.words[random() % field.words.size()];
    if (field.name == "batch") return 1 + random() % 5;
    if (field.name == "rhs") return 1 + random() % 4;
    if (fmt::format(" {} ", size).find(fmt::format(" {} ", field.name)) != std::string::npos) return awkward[random() % std::size(awkward)];
    if (field.most < 64) return field.least + static_cast<std::int64_t>(random() % 4);
    return {};
}

std::int64_t unknowns(const AnyCase& one) {
    const auto& oracle = oracle_of(one.family->name);
    std::int64_t product = 1;
    for (const auto size : shape_of(oracle.right_side(*one.family), [&](auto name) { return oracle.extent(one.problem, name); }, {1, 1}))
        product *= size;
    return product;
}

AnyCase drawn_once(const Family& family, std::uint64_t seed, bool on_cpu, Random& random) {
    AnyCase one{&family, json::object(), json::object(), {}, 0, seed};
    for (const auto& field : family.spec->all)
        if (const auto value = drawn(field, family.size, random); !value.is_null()) one.problem[std::string(field.name)] = value;
    for (const auto& field : family.tuning->all)
        if (field.get(family.tuning->usual).is_boolean()) one.tuning[std::string(field.name)] = random() % 2 == 0;
    oracle_of(family.name).complete(one.problem, one.tuning, on_cpu, random);
    const auto batch = one.problem["batch"].get<std::uint64_t>(), rhs = one.problem.value("rhs", std::uint64_t{1});
    one.counts = {static_cast<std::int64_t>(1 + random() % batch), static_cast<std::int64_t>(1 + random() % (2 * rhs + 1))};
    const int far = one.problem["precision"] == "f64" ? 400 : 40;
    if (random() % 3 == 0) one.exponent = static_cast<int>(random() % static_cast<std::uint64_t>(2 * far)) - far;
    return one;
}

/// Numbers halved within a value, which may be a text such as 7x5.
json halved(const json& value) {
    if (value.is_number_integer()) return value.get<std::int64_t>() / 2;
    if (!value.is_string()) return value;
    auto sizes = parse_size(value.get<std::string>(), 2, 3);
    if (sizes.empty()) return value;
    auto& largest = *std::ranges::max_element(sizes);
    largest = std::max<std::int64_t>(1, largest / 2);
    std::string text;
    for (const auto size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
    return text;
}

/// Cases that are simpler in one way.
std::vector<AnyCase> simpler(const AnyCase& one) {
    std::vector<AnyCase> all;
    const auto add = [&](auto change) {
        all.push_back(one);
        change(all.back());
        all.back().counts.members = std::min(all.back().counts.members, all.back().problem["batch"].get<std::int64_t>());
        if (all.back().tree() == one.tree()) all.pop_back();
    };
    add([](AnyCase& c) { c.exponent = 0; });
    add([](AnyCase& c) { c.problem["batch"] = 1; });
    add([](AnyCase& c) { c.counts.members = 1; });
    add([](AnyCase& c) { c.counts.columns = 1; });
    for (const auto& [name, value] : one.problem.items()) {
        const auto& fields = one.family->spec->all;
        if (value.is_array()) continue;
        if (const auto field = std::ranges::find(fields, name, &Field::name); field != fields.end() && !field->words.empty())
            add([&, key = name](AnyCase& c) { c.problem[key] = field->get(one.family->spec->usual); });
        else
            add([&, key = name](AnyCase& c) {
                c.problem[key] = std::max(halved(c.problem[key]), c.problem[key].is_number() ? json(1) : json());
            });
    }
    for (const auto& [name, value] : one.tuning.items())
        if (value.is_boolean()) add([key = name](AnyCase& c) { c.tuning.erase(key); });
    return all;
}

}  // namespace

json AnyCase::tree() const {
    return {{"family", family->name},    {"problem", problem},   {"tuning", tuning}, {"members", counts.members},
            {"columns", counts.columns}, {"exponent", exponent}, {"seed", seed}};
}

bool AnyCase::plans(const OperationRow& row) const {
    for (const auto& field : family->spec->all)
        if (field.has_several && std::ranges::find(field.words, row.name) != field.words.end()) {
            const auto& listed = problem.at(std::string(field.name));
            return std::ranges::find(listed, json(row.name)) != listed.end();
        }
    return true;
}

AnyCase case_of(const json& tree) {
    return {&family_named(tree.at("family").get<std::string>()),
            tree.at("problem"),
            tree.at("tuning"),
            {tree.at("members"), tree.at("columns")},
            tree.at("exponent"),
            tree.at("seed")};
}

AnyCase draw(const Family& family, std::uint64_t seed, bool on_cpu, const AnyCaseTest& accepts) {
    Random random(seed);
    for (;;) {
        auto one = drawn_once(family, seed, on_cpu, random);
        if (unknowns(one) <= most_unknowns && accepts(one)) return one;
    }
}

AnyCase shrink(AnyCase failing, const AnyCaseTest& fails) {
    for (bool smaller = true; std::exchange(smaller, false);)
        for (const auto& one : simpler(failing))
            if (fails(one)) {
                failing = one;
                smaller = true;
                break;
            }
    return failing;
}

}  // namespace trifold::test
