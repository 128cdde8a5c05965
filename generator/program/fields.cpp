#include "generator/program/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <trifold/error.hpp>
#include <trifold/precision.hpp>

namespace trifold {
namespace {

/// "f32, f64 or mixed".
std::string choice_of(std::span<const std::string_view> names) {
    if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
    return fmt::format("{} or {}", fmt::join(names.first(names.size() - 1), ", "), names.back());
}

}  // namespace

std::size_t place_of(std::string_view name, std::span<const std::string_view> names, std::string_view what) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) throw SpecError(fmt::format("unknown {} '{}'; give {}", what, name, choice_of(names)));
    return static_cast<std::size_t>(found - names.begin());
}

const Field& Fields::operator[](std::string_view name) const {
    const auto found = std::ranges::find(all, name, &Field::name);
    if (found == all.end()) throw SpecError(fmt::format("{} has no '{}'", thing, name));
    return *found;
}

std::string option_of(const Field& field) {
    auto option = fmt::format("--{}", field.name);
    std::ranges::replace(option, '_', '-');
    return option;
}

std::vector<const Field*> Fields::choices() const {
    std::vector<const Field*> result;
    for (const auto& field : all)
        if (!field.words.empty() && !field.has_several && field.name != "precision") result.push_back(&field);
    return result;
}

nlohmann::json to_json(const Fields& fields, const void* object) {
    auto tree = nlohmann::json::object();
    for (const auto& field : fields.all) tree[std::string(field.name)] = field.get(object);
    return tree;
}

std::string to_text(const Fields& fields, const void* object) {
    std::vector<std::string> parts;
    for (const auto& field : fields.all) {
        const auto value = field.get(object);
        if (value.is_primitive())
            parts.push_back(fmt::format("{} {}", field.name, value.is_string() ? value.get<std::string>() : value.dump()));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::pair<const Field*, std::string>> unusual_choices(const Fields& fields, const void* object) {
    std::vector<std::pair<const Field*, std::string>> result;
    for (const auto* field : fields.choices())
        if (const auto word = field->get(object); word != field->get(fields.usual)) result.emplace_back(field, word.get<std::string>());
    return result;
}

bool choose_by_word(const Fields& fields, void* object, std::string_view word) {
    for (const auto* field : fields.choices()) {
        if (std::ranges::find(field->words, word) == field->words.end()) continue;
        field->set(object, word, std::string(field->name));
        return true;
    }
    return false;
}

void read_json(const Fields& fields, void* object, const nlohmann::json& tree) {
    if (!tree.is_object()) throw SpecError(fmt::format("{} is an object such as {}, not {}", fields.thing, fields.example, tree.dump()));
    for (const auto& [name, value] : tree.items())
        if (name != "family") fields[name].set(object, value, fmt::format("'{}' of {}", name, fields.thing));
}

static std::string range_text(std::string_view name, std::string_view value, std::int64_t least, std::int64_t most) {
    const bool is_bounded = most != std::numeric_limits<std::int64_t>::max();
    return fmt::format("{} = {} is out of range; give {}", name, value,
                       is_bounded ? fmt::format("{} to {}", least, most) : fmt::format("at least {}", least));
}

void check_range(std::string_view name, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value < least || value > most) throw SpecError(range_text(name, fmt::format("{}", value), least, most));
}

void check_ranges(const Fields& fields, const void* object) {
    for (const auto& field : fields.all) {
        const auto value = field.get(object);
        if (!value.is_number() || (value >= field.least && value <= field.most)) continue;
        throw SpecError(range_text(field.name, value.dump(), field.least, field.most));
    }
}

std::vector<std::int64_t> parse_size(std::string_view text, std::size_t least, std::size_t most) {
    std::vector<std::int64_t> numbers;
    for (const auto *at = text.data(), *const end = at + text.size(); numbers.size() < most; ++at) {
        const auto [behind, error] = std::from_chars(at, end, numbers.emplace_back());
        if (error != std::errc()) break;
        if (behind == end && numbers.size() >= least) return numbers;
        if (behind == end || *behind != 'x') break;
        at = behind;
    }
    return {};
}

namespace field_values {

std::int64_t whole_number(const nlohmann::json& value, const std::string& where) {
    if (!value.is_number_integer()) throw SpecError(fmt::format("{} is {}, which is no whole number", where, value.dump()));
    return value.get<std::int64_t>();
}

bool flag(const nlohmann::json& value, const std::string& where) {
    if (!value.is_boolean()) throw SpecError(fmt::format("{} is {}; give true or false", where, value.dump()));
    return value.get<bool>();
}

double real_number(const nlohmann::json& value, const std::string& where) {
    if (!value.is_number()) throw SpecError(fmt::format("{} is {}, which is no number", where, value.dump()));
    return value.get<double>();
}

std::string text(const nlohmann::json& value, const std::string& where) {
    if (!value.is_string()) throw SpecError(fmt::format("{} is {}, which is no text", where, value.dump()));
    return value.get<std::string>();
}

std::size_t word(const nlohmann::json& value, std::span<const std::string_view> words, const std::string& where) {
    const auto found = value.is_string() ? std::ranges::find(words, value.get<std::string>()) : words.end();
    if (found == words.end()) throw SpecError(fmt::format("{} is {}; give {}", where, value.dump(), choice_of(words)));
    return static_cast<std::size_t>(found - words.begin());
}

const nlohmann::json& list(const nlohmann::json& value, const std::string& where) {
    if (!value.is_array()) throw SpecError(fmt::format("{} is {}, which is no list", where, value.dump()));
    return value;
}

}  // namespace field_values

std::int64_t checked_multiply(std::int64_t a, std::int64_t b, std::string_view what) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) throw SpecError(fmt::format("{}: {} x {} is too large for a 64-bit size", what, a, b));
    return result;
}

std::int64_t checked_add(std::int64_t a, std::int64_t b, std::string_view what) {
    std::int64_t result = 0;
    if (__builtin_add_overflow(a, b, &result)) throw SpecError(fmt::format("{}: {} + {} is too large for a 64-bit size", what, a, b));
    return result;
}

std::int64_t element_bytes(Precision precision) { return precision == Precision::f32 ? 4 : 8; }

std::string_view to_string(Precision precision) { return name_of(precision); }
Precision parse_precision(std::string_view text) { return value_named<Precision>(text, "precision"); }

}  // namespace trifold
