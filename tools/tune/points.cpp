#include "tools/tune/points.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <set>
#include <trifold/error.hpp>

#include "tools/formats/file.hpp"

namespace trifold::tune {
namespace {

std::vector<std::string_view> split_list(std::string_view text, char separator) {
    std::vector<std::string_view> words;
    for (;;) {
        const auto end = text.find(separator);
        words.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return words;
        text.remove_prefix(end + 1);
    }
}

[[noreturn]] void refuse_range(std::string_view text, std::string_view name) {
    throw SpecError(
        fmt::format("{} '{}' is no range; give whole numbers from 1 on such as 16, or first:last:step such as 4:64:4, with "
                    "commas between several",
                    name, text));
}

void add_range(std::vector<std::int64_t>& values, std::string_view part, std::string_view text, std::string_view name) {
    std::vector<std::int64_t> numbers;
    for (const auto word : split_list(part, ':')) {
        std::int64_t number = 0;
        const auto* const end = word.data() + word.size();
        const auto [at, error] = std::from_chars(word.data(), end, number);
        if (error != std::errc() || at != end || number < 1) refuse_range(text, name);
        numbers.push_back(number);
    }
    if (numbers.size() > 3) refuse_range(text, name);
    const auto first = numbers.front(), last = numbers.size() > 1 ? numbers[1] : first, step = numbers.size() > 2 ? numbers[2] : 1;
    if (last < first) throw SpecError(fmt::format("{} '{}' goes from {} down to {}; give the smaller one first", name, part, first, last));
    if (static_cast<std::size_t>((last - first) / step) >= max_points)
        throw SpecError(fmt::format("{} '{}' names more than {} sizes; give a larger step", name, part, max_points));
    for (auto value = first; value <= last; value += step) {
        if (std::ranges::find(values, value) == values.end()) values.push_back(value);
        if (value > last - step) break;  // the next one might leave 63 bits
    }
}

template <class Parse>
auto parse_list(std::string_view text, Parse parse) {
    std::vector<decltype(parse(text))> values;
    for (const auto word : split_list(text, ',')) {
        auto value = parse(word);
        if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
    }
    return values;
}

std::vector<std::int64_t> parse_workers(std::string_view text) {
    auto workers = parse_range(text, "--workers");
    for (const auto number : workers)
        if (number > max_workers) throw SpecError(fmt::format("--workers {} is out of range; give 1 to {}", number, max_workers));
    return workers;
}

/// "factor_solve of tridiagonal, ..".
std::string usual_objectives() {
    std::vector<std::string> all;
    for (const auto* family : families()) all.push_back(fmt::format("{} of {}", to_string(family->usual), family->name));
    return fmt::format("{}", fmt::join(all, ", "));
}

/// The Spec of options, with whatever an objective asks for.
Point point_with(const nlohmann::json& spec, const Objective& objective, int workers) {
    const auto& family = family_of(spec);
    const auto in_order = ordered(objective, family);
    try {
        return with_operations({family.parse(spec), workers, in_order});
    } catch (const SpecError& error) {
        throw SpecError(fmt::format("{} cannot be tuned: {}", spec.dump(), error.what()));
    }
}

const SpecOption block{"--block", "block", "Block sizes", "", true};
const std::array common{SpecOption{"--batch", "batch", "Systems or images solved at once", "1", true},
                        SpecOption{"--rhs", "rhs", "Right-hand sides m", "1", true},
                        SpecOption{"--precision", "precision", "f32, f64, mixed", "f64"}};

void check_count(std::size_t first, std::size_t second) {
    if (first * second > max_points)
        throw SpecError(fmt::format("these options make {} points or more, and at most {} are tuned at once; give larger steps",
                                    first * second, max_points));
}

}  // namespace

std::string identity_of(const Point& point) {
    return fmt::format("{} {} {}", point.spec.dump(), point.workers, to_string(point.objective));
}

std::vector<std::int64_t> parse_range(std::string_view text, std::string_view name) {
    std::vector<std::int64_t> values;
    for (const auto part : split_list(text, ',')) add_range(values, part, text, name);
    return values;
}

Point with_operations(Point point) {
    auto& names = point.spec["operations"];
    for (const auto& [operation, weight] : point.objective)
        if (std::find(names.begin(), names.end(), operation) == names.end()) names.push_back(operation);
    point.spec = family_of(point).parse(point.spec);
    return point;
}

/// Each of these Specs with each value of an option.
std::vector<nlohmann::json> PointOptions::crossed(const std::vector<nlohmann::json>& specs, const SpecOption& option) const {
    const auto& text = given_.at(option.name);
    if (text.empty()) return specs;
    std::vector<nlohmann::json> values, result;
    if (option.is_number)
        for (const auto number : parse_range(text, option.name)) values.emplace_back(number);
    else
        values = parse_list(text, [](std::string_view word) { return nlohmann::json(word); });
    check_count(specs.size(), values.size());
    for (const auto& spec : specs)
        for (const auto& value : values) {
            result.push_back(spec);
            result.back()[option.field] = value;
        }
    return result;
}

std::vector<nlohmann::json> PointOptions::specs_of(const TunedFamily& family) const {
    std::vector<nlohmann::json> specs{{{"family", family.name}}};
    const bool lacks_blocks = family.usual_block && given_.at(block.name).empty();
    if (lacks_blocks && *family.usual_block == 0)
        throw SpecError(fmt::format("{} needs the sizes of blocks; give --block, such as 4:64:4", family.options.front().name));
    if (lacks_blocks) specs.front()["block"] = *family.usual_block;
    if (family.usual_block) specs = crossed(specs, block);
    for (const auto& option : family.options) specs = crossed(specs, option);
    for (const auto& option : common) specs = crossed(specs, option);
    if (family.of_options != nullptr) std::ranges::transform(specs, specs.begin(), family.of_options);
    return specs;
}

std::vector<Point> PointOptions::of_options() const {
    const auto asked = operation_.empty() ? std::vector<Objective>() : parse_list(operation_, parse_objective);
    const auto workers = parse_workers(workers_);
    std::vector<Point> points;
    bool has_blocks = given_.at(block.name).empty();
    for (const auto* family : families()) {
        if (family->options.empty() || given_.at(family->options.front().name).empty()) continue;
        has_blocks = has_blocks || family->usual_block;
        const auto specs = specs_of(*family);
        const auto objectives = asked.empty() ? std::vector<Objective>(1, family->usual) : asked;
        check_count(specs.size(), objectives.size() * workers.size());
        for (const auto& spec : specs)
            for (const auto& objective : objectives)
                for (const auto count : workers) points.push_back(point_with(spec, objective, static_cast<int>(count)));
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
    for (const auto* family : families())
        for (const auto& option : family->options) {
            const auto& first = family->options.front().name;
            if (option.name == first)
                add(option);
            else
                add(option, fmt::format("With {}: ", first))->needs(first);
        }
    for (const auto& option : common) add(option);
    app.add_option(
        "--operation", operation_,
        fmt::format("What is to be fast: operations with weights, such as factor_solve,factor+3*solve; by default {}", usual_objectives()));
    app.add_option("--workers", workers_, "CPU threads of a call" + numbers)->capture_default_str();
}

std::vector<Point> PointOptions::points(std::vector<std::string>& warnings, std::string_view what) const {
    PointFiles files;
    for (const auto& file : files_) files.read(formats::read_file(file), file);
    warnings.insert(warnings.end(), files.warnings().begin(), files.warnings().end());
    auto points = files.points();
    std::ranges::copy(of_options(), std::back_inserter(points));
    if (points.empty())
        throw SpecError(files_.empty()
                            ? fmt::format("there is nothing to {}; give a file of specs or a capture, or sizes: --block and --horizon, "
                                          "--grid, or --sparse",
                                          what)
                            : fmt::format("there is nothing to {} in {}", what, fmt::join(files_, ", ")));
    std::set<std::string> known;
    std::erase_if(points, [&](const Point& point) { return !known.insert(identity_of(point)).second; });
    return points;
}

}  // namespace trifold::tune
