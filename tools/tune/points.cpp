#include "tools/tune/points.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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
    if (static_cast<std::size_t>((last - first) / step) >= most_points)
        throw SpecError(fmt::format("{} '{}' names more than {} sizes; give a larger step", name, part, most_points));
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

/// A Spec of ranges, with whatever an objective asks for.
Point point_with(nlohmann::json spec, const Objective& objective, int workers) {
    const auto& family = family_of(spec);
    const auto in_order = ordered(objective, family);
    try {
        return with_operations({family.parse(spec), workers, in_order});
    } catch (const SpecError& error) {
        throw SpecError(fmt::format("{}x{} {} cannot be tuned: {}", spec.at(family.sizes[0].field).get<std::int64_t>(),
                                    spec.at(family.sizes[1].field).get<std::int64_t>(), spec.at("precision").get<std::string>(),
                                    error.what()));
    }
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

void check_count(std::initializer_list<std::size_t> sizes) {
    double count = 1;
    for (const auto size : sizes) count *= static_cast<double>(size);
    if (count > static_cast<double>(most_points))
        throw SpecError(
            fmt::format("these ranges make {:.0f} points, and at most {} are tuned at once; give larger steps", count, most_points));
}

PointOptions::PointOptions() {
    for (const auto* family : families()) ranges_.push_back(family->ranges());
}

/// Every combination once; what stands later on the command line varies faster.
std::vector<Point> PointOptions::ranged() const {
    const auto blocks = block_.empty() ? std::vector<std::int64_t>() : parse_range(block_, "--block");
    const CommonRanges common{blocks, parse_range(batch_, "--batch"), parse_range(rhs_, "--rhs"), parse_list(precision_, parse_precision)};
    const auto asked = operation_.empty() ? std::vector<Objective>() : parse_list(operation_, parse_objective);
    const auto workers = parse_workers(workers_);
    std::vector<Point> points;
    for (const auto& ranges : ranges_) {
        if (!ranges->given()) continue;
        const auto specs = ranges->specs(common);
        if (specs.empty()) continue;
        const auto objectives = asked.empty() ? std::vector<Objective>(1, family_of(specs.front()).usual) : asked;
        check_count({specs.size(), objectives.size(), workers.size()});
        for (const auto& spec : specs)
            for (const auto& objective : objectives)
                for (const auto count : workers) points.push_back(point_with(spec, objective, static_cast<int>(count)));
    }
    return points;
}

void PointOptions::add_to(CLI::App& app) {
    const auto range = [&](const char* name, std::string& value, const std::string& what) {
        app.add_option(name, value, what)->capture_default_str();
    };
    app.add_option("files", files_, "Specs, a JSON object a line, or what TRIFOLD_CAPTURE has written");
    app.add_option("--block", block_, std::string("Block sizes") + range_words);
    for (const auto& ranges : ranges_) ranges->add_to(app);
    range("--batch", batch_, std::string("Systems or images solved at once") + range_words);
    range("--rhs", rhs_, std::string("Right-hand sides m") + range_words);
    range("--precision", precision_, "f32, f64, mixed, with commas between");
    app.add_option(
        "--operation", operation_,
        fmt::format("What is to be fast: operations with weights, such as factor_solve,factor+3*solve; by default {}", usual_objectives()));
    range("--workers", workers_, std::string("CPU threads of a call") + range_words);
}

std::vector<Point> PointOptions::points(std::vector<std::string>& warnings, std::string_view what) const {
    PointFiles files;
    for (const auto& file : files_) files.read(formats::read_file(file), file);
    warnings.insert(warnings.end(), files.warnings().begin(), files.warnings().end());
    auto points = files.points();
    std::ranges::copy(ranged(), std::back_inserter(points));
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
