#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <trifold/error.hpp>

#include "tools/formats/file.hpp"
#include "tools/tune/points.hpp"

namespace trifold::tune {
namespace {

using nlohmann::json;

constexpr std::string_view mark = "trifold_capture";
constexpr double max_number = 1e15;  // of calls and of seconds: sums of them stay numbers

int workers_of(const json& value) {
    if (!value.is_number_integer() || value.get<std::int64_t>() < 1 || value.get<std::int64_t>() > max_workers)
        throw SpecError(fmt::format("'workers' is {}; give 1 to {}", value.dump(), max_workers));
    return value.get<int>();
}

Objective objective_of(const json& value) {
    if (!value.is_string()) throw SpecError(fmt::format("'objective' is {}, which is no text", value.dump()));
    return parse_objective(value.get<std::string>());
}

/// A JSON value that is taken out of its object; null when there is none.
json take_field(json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end()) return nullptr;
    auto value = std::move(*found);
    object.erase(found);
    return value;
}

/// A Spec of whichever family it names.
json parsed(const json& spec) { return family_of(spec).parse(spec); }

/// The family's usual objective; where the Spec has not all its operations, the first of those.
Objective usual_of(const json& spec) {
    const auto& usual = family_of(spec).usual;
    if (std::ranges::all_of(usual, [&](const auto& term) { return has_operation(spec, term.first); })) return usual;
    return {{spec.at("operations").front().get<std::string>(), 1}};
}

/// The use that a captured program made of one operation.
struct Used {
    double calls = 0, seconds = 0;
};

double number_of(const json& object, const char* name) {
    const auto& value = object.at(name);
    const auto number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= 0 && number <= max_number))
        throw SpecError(fmt::format("'{}' is {}; give a number from 0 to {}", name, value.dump(), max_number));
    return number;
}

/// Calls that were recorded into a graph count as one each: how often it was replayed is not known.
Used used_of(const json& operation) {
    const auto calls = number_of(operation, "calls");
    const auto seconds = operation.contains("seconds") ? number_of(operation, "seconds") : 0;
    return {calls + number_of(operation, "recorded"), calls * seconds};
}

std::map<std::string, Used> uses_of(const json& line, const json& spec) {
    std::map<std::string, Used> uses;
    for (const auto& [name, value] : line.at("operations").items()) {
        if (!has_operation(spec, name)) throw SpecError(fmt::format("'{}' is no operation of its spec", name));
        const auto used = used_of(value);
        if (used.calls > 0) uses[name] = used;
    }
    return uses;
}

/// Lines that people wrote may lack them.
CapturedRun ran_of(const json& line) { return {line.value("target", ""), line.value("schedule", ""), line.value("variant", "")}; }

/// All that programs did with one Spec and number of workers.
struct Total {
    Point point;
    std::map<std::string, Used> uses;
};

Point finished(Total total) {
    double calls = 0;
    for (const auto& [operation, used] : total.uses) calls += used.calls;
    total.point.objective.clear();
    for (const auto& [operation, used] : total.uses) {
        total.point.objective.emplace_back(operation, used.calls / calls);
        total.point.seconds += used.seconds;
    }
    total.point.objective = ordered(total.point.objective, family_of(total.point));
    return std::move(total.point);
}

/// The complaint about a line, with its place.
std::string at_line(const std::string& name, std::size_t number, std::string_view what) {
    return fmt::format("{}:{}: {}", name, number, what);
}

/// An object, as a line of either kind is.
json parse_line(std::string_view line) {
    auto tree = json::parse(line);
    if (!tree.is_object()) throw SpecError("it is no JSON object; give one such as {\"block\": 12, \"horizon\": 20}");
    return tree;
}

}  // namespace

void PointFiles::read_capture(const json& line) {
    if (line.at(mark) != 1) throw SpecError("it is of another version of Trifold, whose captures this one does not know");
    if (!line.at("id").is_string()) throw SpecError("'id' is no text");
    uses_of(line, parsed(line.at("spec")));
    workers_of(line.at("workers"));
    captures_[line.at("id").get<std::string>()] = line;
}

void PointFiles::read_spec(json line) {
    Point point;
    const auto objective = take_field(line, "objective"), workers = take_field(line, "workers");
    point.spec = parsed(line);
    if (!workers.is_null()) point.workers = workers_of(workers);
    if (!objective.is_null())
        point.objective = ordered(objective_of(objective), family_of(point));
    else
        point.objective = usual_of(point.spec);
    for (const auto& [operation, weight] : point.objective)
        if (line.contains("operations") && !has_operation(point.spec, operation))
            throw SpecError(fmt::format("'objective' has {}, which is not among the spec's operations", operation));
    point = with_operations(std::move(point));
    asked_.push_back(std::move(point));
}

void PointFiles::read(std::string_view text, const std::string& name) {
    const bool is_captured = text.find(mark) != std::string_view::npos;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto end = text.find('\n');
        const auto line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const auto is_cut_off = is_captured && end == std::string_view::npos;
        bool may_be_damaged = is_captured;
        try {
            auto tree = parse_line(line);
            may_be_damaged = tree.contains(mark);
            if (may_be_damaged)
                read_capture(tree);
            else
                read_spec(std::move(tree));
        } catch (const std::exception& error) {  // of the JSON library, and our own
            const bool is_ours = dynamic_cast<const Error*>(&error) != nullptr;
            if (!is_ours && dynamic_cast<const json::exception*>(&error) == nullptr) throw;
            if (!may_be_damaged) throw formats::InputError(at_line(name, number, error.what()));
            if (!is_cut_off) warnings_.push_back(at_line(name, number, fmt::format("this line is left out: {}", error.what())));
        }
    }
}

std::vector<Point> PointFiles::points() const {
    std::map<std::string, Total> totals;
    for (const auto& [id, line] : captures_) {
        const auto spec = parsed(line.at("spec"));
        const auto workers = workers_of(line.at("workers"));
        auto& total = totals[fmt::format("{} {}", spec.dump(), workers)];
        total.point.spec = spec;
        total.point.workers = workers;
        total.point.ran.insert(ran_of(line));
        for (const auto& [operation, used] : uses_of(line, spec)) {
            total.uses[operation].calls += used.calls;
            total.uses[operation].seconds += used.seconds;
        }
    }
    std::vector<Point> points;
    for (auto& [key, total] : totals)
        if (!total.uses.empty()) points.push_back(finished(std::move(total)));
    std::ranges::stable_sort(points, std::greater(), &Point::seconds);
    std::set<std::string> known;
    for (const auto& point : asked_)
        if (known.insert(identity_of(point)).second) points.push_back(point);
    return points;
}

}  // namespace trifold::tune
