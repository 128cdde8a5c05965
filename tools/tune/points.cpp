#include "tools/tune/points.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <trifold/error.hpp>

#include "generator/tridiagonal/spec_json.hpp"
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

void check_point(const Point& point) {
    try {
        validate(point.spec);
    } catch (const SpecError& error) {
        throw SpecError(fmt::format("{} cannot be tuned: {}", to_string(point), error.what()));
    }
}

}  // namespace

std::string identity_of(const Point& point) {
    return fmt::format("{} {} {}", to_json(point.spec).dump(), point.workers, to_string(point.objective));
}

std::vector<std::int64_t> parse_range(std::string_view text, std::string_view name) {
    std::vector<std::int64_t> values;
    for (const auto part : split_list(text, ',')) add_range(values, part, text, name);
    return values;
}

std::vector<Point> points_of(const Ranges& ranges) {
    const auto blocks = parse_range(ranges.block, "--block"), horizons = parse_range(ranges.horizon, "--horizon");
    const auto batches = parse_range(ranges.batch, "--batch"), columns = parse_range(ranges.rhs, "--rhs");
    const auto precisions = parse_list(ranges.precision, parse_precision);
    const auto objectives = parse_list(ranges.operation, parse_objective);
    const auto workers = parse_workers(ranges.workers);
    double count = 1;
    for (const auto size :
         {blocks.size(), horizons.size(), batches.size(), columns.size(), precisions.size(), objectives.size(), workers.size()})
        count *= static_cast<double>(size);
    if (count > static_cast<double>(most_points))
        throw SpecError(
            fmt::format("these ranges make {:.0f} points, and at most {} are tuned at once; give larger steps", count, most_points));
    std::vector<Point> points;
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
        auto rest = k;
        const auto next = [&](const auto& values) {  // the last one varies fastest
            const auto at = rest % values.size();
            rest /= values.size();
            return values[at];
        };
        Point point;
        point.workers = static_cast<int>(next(workers));
        point.objective = next(objectives);
        point.spec.precision = next(precisions);
        point.spec.rhs = next(columns);
        point.spec.batch = next(batches);
        point.spec.horizon = next(horizons);
        point.spec.block = next(blocks);
        for (const auto& [operation, weight] : point.objective) point.spec.operations.insert(operation);
        check_point(point);
        points.push_back(std::move(point));
    }
    return points;
}

void PointOptions::add_to(CLI::App& app) {
    const auto range = [&](const char* name, std::string& value, const std::string& what) {
        app.add_option(name, value, what)->capture_default_str();
    };
    app.add_option("files", files_, "Specs, a JSON object a line, or what TRIFOLD_CAPTURE has written");
    const std::string sizes = ": numbers and ranges first:last:step, with commas between";
    range("--block", ranges_.block, "Block sizes n" + sizes);
    range("--horizon", ranges_.horizon, "Numbers of diagonal blocks N" + sizes);
    range("--batch", ranges_.batch, "Systems solved at once" + sizes);
    range("--rhs", ranges_.rhs, "Right-hand sides m" + sizes);
    range("--precision", ranges_.precision, "f32, f64, mixed, with commas between");
    range("--operation", ranges_.operation, "What is to be fast: operations with weights, such as factor_solve,factor+3*solve");
    range("--workers", ranges_.workers, "CPU threads of a call" + sizes);
}

std::vector<Point> PointOptions::points(std::vector<std::string>& warnings) const {
    PointFiles files;
    for (const auto& file : files_) files.read(formats::read_file(file), file);
    warnings.insert(warnings.end(), files.warnings().begin(), files.warnings().end());
    auto points = files.points();
    const bool has_ranges = !ranges_.block.empty() || !ranges_.horizon.empty();
    if (has_ranges) std::ranges::copy(points_of(ranges_), std::back_inserter(points));
    if (points.empty())
        throw SpecError(files_.empty() ? "there is nothing to tune; give a file of specs or a capture, or --block and --horizon"
                                       : fmt::format("there is nothing to tune in {}", fmt::join(files_, ", ")));
    std::set<std::string> known;
    std::erase_if(points, [&](const Point& point) { return !known.insert(identity_of(point)).second; });
    return points;
}

}  // namespace trifold::tune
