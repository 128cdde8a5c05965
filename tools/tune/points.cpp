#include "tools/tune/points.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <trifold/error.hpp>

#include "generator/program/words.hpp"
#include "tools/formats/file.hpp"

namespace trifold::tune {
namespace {

using nlohmann::json;

constexpr std::string_view mark = "trifold_capture";
constexpr double max_number = 1e15;  // of calls and of seconds: sums of them stay numbers

/// The words of a list, each once.
template <class Parse>
auto parse_list(std::string_view text, Parse parse) {
    std::vector<decltype(parse(text))> values;
    for (const auto word : split(text, ',')) {
        auto value = parse(word);
        if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
    }
    return values;
}

int workers_of(const json& value) {
    if (!value.is_number_integer() || value.get<std::int64_t>() < 1 || value.get<std::int64_t>() > max_workers)
        throw SpecError(fmt::format("'workers' is {}; give 1 to {}", value.dump(), max_workers));
    return value.get<int>();
}

double number_of(const json& object, const char* name) {
    const auto& value = object.at(name);
    const auto number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= 0 && number <= max_number))
        throw SpecError(fmt::format("'{}' is {}; give a number from 0 to {}", name, value.dump(), max_number));
    return number;
}

/// A JSON value that is taken out of its object; null when there is none.
json take_field(json& object, const char* name) {
    auto value = object.value(name, json());
    object.erase(name);
    return value;
}

/// The point whose Spec has the operations of its objective too.
Point with_operations(Point point) {
    auto& names = point.spec["operations"];
    for (const auto& [operation, weight] : point.objective)
        if (!has_operation(point.spec, operation)) names.push_back(operation);
    point.spec = family_of(point).parse(point.spec);
    return point;
}

std::vector<Point> each_once(std::vector<Point> points) {
    std::set<std::string> known;
    std::erase_if(points, [&](const Point& point) { return !known.insert(identity_of(point)).second; });
    return points;
}

const SpecOption block{"--block", "block", "Block sizes", "", true};
const std::array common{SpecOption{"--batch", "batch", "Systems or images solved at once", "1", true},
                        SpecOption{"--rhs", "rhs", "Right-hand sides m", "1", true},
                        SpecOption{"--precision", "precision", "f32, f64, mixed", "f64"}};

/// A family's own options, and one for each choice.
std::vector<SpecOption> options_of(const TunedFamily& family) {
    auto options = family.options;
    if (family.fields == nullptr) return options;
    for (const auto* field : family.fields->choices())
        if (field->name != family.in_files)
            options.push_back({option_of(*field), std::string(field->name), std::string(field->about), field->get(family.fields->usual)});
    return options;
}

void check_count(std::size_t first, std::size_t second) {
    if (first * second > max_points)
        throw SpecError(fmt::format("these options make {} points or more, and at most {} are tuned at once; give larger steps",
                                    first * second, max_points));
}

}  // namespace

std::vector<std::int64_t> parse_range(std::string_view text, std::string_view name) {
    std::vector<std::int64_t> values;
    const auto refuse = [&] {
        throw SpecError(fmt::format(
            "{} '{}' is no range; give whole numbers from 1 on such as 16, or first:last:step such as 4:64:4, with commas between several",
            name, text));
    };
    for (const auto part : split(text, ',')) {
        std::vector<std::int64_t> numbers;
        for (const auto word : split(part, ':')) {
            numbers.push_back(parse_number<std::int64_t>(word).value_or(0));
            if (numbers.back() < 1) refuse();
        }
        if (numbers.size() > 3) refuse();
        const auto first = numbers[0], last = numbers.size() > 1 ? numbers[1] : first, step = numbers.size() > 2 ? numbers[2] : 1;
        if (last < first)
            throw SpecError(fmt::format("{} '{}' goes from {} down to {}; give the smaller one first", name, part, first, last));
        if (static_cast<std::size_t>((last - first) / step) >= max_points)
            throw SpecError(fmt::format("{} '{}' names more than {} sizes; give a larger step", name, part, max_points));
        for (std::int64_t k = 0; k <= (last - first) / step; ++k)
            if (std::ranges::find(values, first + k * step) == values.end()) values.push_back(first + k * step);
    }
    return values;
}

/// Calls that were recorded into a graph count as one each: how often it was replayed is not known.
PointFiles::Captured PointFiles::captured(const json& line) {
    if (line.at(mark) != 1) throw SpecError("it is of another version of Trifold, whose captures this one does not know");
    if (!line.at("id").is_string()) throw SpecError("'id' is no text");
    const auto& spec = line.at("spec");
    Captured one{{.spec = family_of(spec).parse(spec), .workers = workers_of(line.at("workers"))}, {}};
    // Lines that people wrote may lack these.
    one.point.ran = {{line.value("target", ""), line.value("schedule", ""), line.value("variant", "")}};
    for (const auto& [name, value] : line.at("operations").items()) {
        if (!has_operation(one.point.spec, name)) throw SpecError(fmt::format("'{}' is no operation of its spec", name));
        const auto calls = number_of(value, "calls"), all = calls + number_of(value, "recorded");
        const auto seconds = value.contains("seconds") ? number_of(value, "seconds") : 0;
        if (all > 0) one.uses[name] = {all, calls * seconds};
    }
    return one;
}

/// Without an objective it has the family's usual one; where the Spec has not all its operations, the first of those.
Point PointFiles::asked(json line) {
    Point point;
    const auto objective = take_field(line, "objective"), workers = take_field(line, "workers");
    const auto& family = family_of(line);
    const bool names_operations = line.contains("operations");
    point.spec = family.parse(line);
    if (!workers.is_null()) point.workers = workers_of(workers);
    const auto has = [&](const auto& term) { return has_operation(point.spec, term.first); };
    if (objective.is_string())
        point.objective = ordered(parse_objective(objective.get<std::string>()), family);
    else if (!objective.is_null())
        throw SpecError(fmt::format("'objective' is {}, which is no text", objective.dump()));
    else if (std::ranges::all_of(family.usual, has))
        point.objective = family.usual;
    else
        point.objective = {{point.spec.at("operations").front().get<std::string>(), 1}};
    for (const auto& term : point.objective)
        if (names_operations && !has(term))
            throw SpecError(fmt::format("'objective' has {}, which is not among the spec's operations", term.first));
    return with_operations(std::move(point));
}

void PointFiles::read(std::string_view text, const std::string& name) {
    const bool is_captured = text.find(mark) != std::string_view::npos;
    std::size_t number = 0;
    for (const auto line : split(text, '\n')) {
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const bool is_cut_off = line.data() + line.size() == text.data() + text.size();
        bool may_be_damaged = is_captured;
        const auto refuse = [&](const char* what) {
            if (!may_be_damaged) throw formats::InputError(fmt::format("{}:{}: {}", name, number, what));
            if (!is_cut_off) warnings_.push_back(fmt::format("{}:{}: this line is left out: {}", name, number, what));
        };
        try {
            auto tree = json::parse(line);
            if (!tree.is_object()) throw SpecError("it is no JSON object; give one such as {\"block\": 12, \"horizon\": 20}");
            may_be_damaged = tree.contains(mark);
            if (!may_be_damaged) {
                asked_.push_back(asked(std::move(tree)));
                continue;
            }
            auto one = captured(tree);
            captures_.insert_or_assign(tree.at("id").get<std::string>(), std::move(one));
        } catch (const Error& error) {
            refuse(error.what());
        } catch (const json::exception& error) {
            refuse(error.what());
        }
    }
}

std::vector<Point> PointFiles::points() const {
    std::map<std::string, Captured> totals;
    for (const auto& [id, one] : captures_) {
        auto& total = totals.try_emplace(fmt::format("{} {}", one.point.spec.dump(), one.point.workers), one.point).first->second;
        total.point.ran.insert(one.point.ran.begin(), one.point.ran.end());
        for (const auto& [operation, used] : one.uses) {
            total.uses[operation].calls += used.calls;
            total.point.seconds += used.seconds;
        }
    }
    std::vector<Point> points;
    for (auto& [key, total] : totals) {
        if (total.uses.empty()) continue;
        double calls = 0;
        for (const auto& [operation, used] : total.uses) calls += used.calls;
        total.point.objective.clear();
        for (const auto& [operation, used] : total.uses) total.point.objective.emplace_back(operation, used.calls / calls);
        total.point.objective = ordered(total.point.objective, family_of(total.point));
        points.push_back(std::move(total.point));
    }
    std::ranges::stable_sort(points, std::greater(), &Point::seconds);
    std::ranges::copy(each_once(asked_), std::back_inserter(points));
    return points;
}

/// Each of these Specs with each value of an option.
std::vector<json> PointOptions::crossed(const std::vector<json>& specs, const SpecOption& option) const {
    const auto& text = given_.at(option.name);
    if (text.empty()) return specs;
    std::vector<json> values, result;
    if (option.is_number)
        for (const auto number : parse_range(text, option.name)) values.emplace_back(number);
    else
        values =
            parse_list(text, [](std::string_view word) { return word == "true" || word == "false" ? json(word == "true") : json(word); });
    check_count(specs.size(), values.size());
    for (const auto& spec : specs)
        for (const auto& value : values) result.emplace_back(spec)[option.field] = value;
    return result;
}

std::vector<json> PointOptions::specs_of(const TunedFamily& family) const {
    std::vector<json> specs{{{"family", family.name}}};
    if (family.usual_block && given_.at(block.name).empty()) {
        if (*family.usual_block == 0)
            throw SpecError(fmt::format("{} needs the sizes of blocks; give --block, such as 4:64:4", family.options.front().name));
        specs.front()["block"] = *family.usual_block;
    }
    if (family.usual_block) specs = crossed(specs, block);
    for (const auto& option : options_of(family)) specs = crossed(specs, option);
    for (const auto& option : common) specs = crossed(specs, option);
    if (family.of_options != nullptr) std::ranges::transform(specs, specs.begin(), family.of_options);
    return specs;
}

std::vector<Point> PointOptions::of_options() const {
    const auto workers = parse_range(workers_, "--workers");
    for (const auto number : workers)
        if (number > max_workers) throw SpecError(fmt::format("--workers {} is out of range; give 1 to {}", number, max_workers));
    std::vector<Point> points;
    bool has_blocks = given_.at(block.name).empty();
    for (const auto* family : families()) {
        if (family->options.empty() || given_.at(family->options.front().name).empty()) continue;
        has_blocks = has_blocks || family->usual_block;
        const auto specs = specs_of(*family);
        auto objectives = operation_.empty() ? std::vector<Objective>(1, family->usual) : parse_list(operation_, parse_objective);
        for (auto& objective : objectives) objective = ordered(objective, *family);
        check_count(specs.size(), objectives.size() * workers.size());
        for (const auto& spec : specs) try {
                for (const auto& objective : objectives)
                    for (const auto count : workers)
                        points.push_back(with_operations({family->parse(spec), static_cast<int>(count), objective}));
            } catch (const SpecError& error) {
                throw SpecError(fmt::format("{} cannot be tuned: {}", spec.dump(), error.what()));
            }
    }
    if (!points.empty() && !has_blocks) throw SpecError("--block is given, but nothing that has blocks; give --horizon or --sparse too");
    return points;
}

void PointOptions::add_to(CLI::App& app) {
    const std::string numbers = ": numbers and ranges first:last:step, with commas between";
    const auto add = [&](const SpecOption& option, const std::string& before = "") {
        auto& text = given_[option.name] = option.usual;
        const auto what = before + option.help + (option.is_number ? numbers : "; several with commas between");
        return app.add_option(option.name, text, what)->capture_default_str();
    };
    app.add_option("files", files_, "Specs, a JSON object a line, or what TRIFOLD_CAPTURE has written");
    add(block);
    std::vector<std::string> usual;
    for (const auto* family : families()) {
        usual.push_back(fmt::format("{} of {}", to_string(family->usual), family->name));
        for (const auto& option : options_of(*family))
            if (const auto& first = family->options.front().name; option.name == first)
                add(option);
            else
                add(option, fmt::format("With {}: ", first))->needs(first);
    }
    for (const auto& option : common) add(option);
    app.add_option("--operation", operation_,
                   fmt::format("What is to be fast: operations with weights, such as factor_solve,factor+3*solve; by default {}",
                               fmt::join(usual, ", ")));
    app.add_option("--workers", workers_, "CPU threads of a call" + numbers)->capture_default_str();
}

std::vector<Point> PointOptions::points(std::vector<std::string>& warnings, std::string_view what) const {
    PointFiles files;
    for (const auto& file : files_) files.read(formats::read_file(file), file);
    warnings.insert(warnings.end(), files.warnings().begin(), files.warnings().end());
    auto points = files.points();
    std::ranges::copy(of_options(), std::back_inserter(points));
    if (points.empty() && files_.empty())
        throw SpecError(fmt::format(
            "there is nothing to {}; give a file of specs or a capture, or sizes: --block and --horizon, --grid, or --sparse", what));
    if (points.empty()) throw SpecError(fmt::format("there is nothing to {} in {}", what, fmt::join(files_, ", ")));
    return each_once(std::move(points));
}

}  // namespace trifold::tune
