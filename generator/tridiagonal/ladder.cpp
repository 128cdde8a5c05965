#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <trifold/error.hpp>

#include "generator/program/templates.hpp"
#include "generator/tridiagonal/wisdom_key.hpp"

namespace trifold {
namespace {

/// What is asked for.
struct Asked {
    const Spec& spec;
    const Target& target;
    const Tuning& tuning;
    std::string_view device;
};

/// A row that may be taken.
struct Found {
    WisdomRow row;
    std::string where;
    double distance = 0;
    bool other_device = false;
};

Tuning tuning_of(const Asked& asked, const WisdomRow& row) {
    auto tuning = asked.tuning;
    tuning.schedule = row.schedule;
    tuning.variant = row.variant;
    return tuning;
}

std::string describe(const Found& found) {
    const auto& row = found.row;
    return fmt::format("{}: {}, N = {}, m = {}, {} systems, {:.1f} us for {:.1f} us of the default, {}", found.where, row.device,
                       row.spec.horizon, row.spec.rhs, row.spec.batch, row.seconds * 1e6, row.default_seconds * 1e6, row.measured);
}

Resolved taken(const Asked& asked, const Found& found, Rung rung, std::vector<std::string> ignored) {
    return {tuning_of(asked, found.row), rung, describe(found), std::move(ignored)};
}

/// The rows of some lines; those that cannot be parsed are put to the ignored ones.
std::vector<Found> rows_of(const Wisdom& file, const std::string& columns, std::vector<std::string>& ignored) {
    std::vector<Found> result;
    const auto lines = file.lines_with(columns);
    for (std::size_t k = 0; k < lines.texts.size(); ++k) {
        const auto where = fmt::format("line {} of {}", lines.first_number + k, file.name());
        try {
            result.push_back({parse_wisdom_line(lines.texts[k]), where});
        } catch (const SpecError& error) {
            ignored.push_back(fmt::format("{}: {}", where, error.what()));
        }
    }
    return result;
}

/// Why no kernels can be made for what is asked as a row says; empty: they can.
std::string problem_with(const Asked& asked, const WisdomRow& row) try {
    choose(asked.spec, asked.target, tuning_of(asked, row));
    return {};
} catch (const SpecError& error) {
    return error.what();
}

double distance_of(const Spec& one, const Spec& other) {
    const auto ratio = [](std::int64_t a, std::int64_t b) { return std::log2(static_cast<double>(a) / static_cast<double>(b)); };
    return std::hypot(ratio(one.horizon, other.horizon), ratio(one.rhs, other.rhs), ratio(one.batch, other.batch));
}

/// A schedule such as twisted:8 is another one where the horizon has no room for 8 chains: its name tells. Segments that are as long as the
/// horizon keep their name, and are one chain.
bool means_the_same(const WisdomRow& row, std::int64_t horizon) try {
    const auto here = parse_schedule(row.schedule, horizon), there = parse_schedule(row.schedule, row.spec.horizon);
    return here.name == there.name && (here.levels.size() == 1) == (there.levels.size() == 1);
} catch (const SpecError&) {
    return false;
}

/// All near rows, in the order in which they are tried.
std::vector<Found> near_rows(const Asked& asked, std::span<const Wisdom* const> files, std::vector<std::string>& ignored) {
    std::vector<Found> result;
    for (const auto* file : files)
        for (auto& found : rows_of(*file, common_columns(asked.target, asked.spec, asked.tuning.workers), ignored)) {
            found.distance = distance_of(found.row.spec, asked.spec);
            found.other_device = !asked.device.empty() && found.row.device != asked.device;
            const bool won = found.row.default_seconds >= nearest_gain * found.row.seconds;
            if (won && found.distance <= nearest_radius && means_the_same(found.row, asked.spec.horizon))
                result.push_back(std::move(found));
        }
    std::ranges::stable_sort(result, {}, [](const Found& found) { return std::pair(found.other_device, found.distance); });
    return result;
}

std::optional<Resolved> exact(const Asked& asked, std::span<const Wisdom* const> files, std::vector<std::string>& ignored) {
    const auto common = common_columns(asked.target, asked.spec, asked.tuning.workers);
    const auto key = key_columns(asked.device, asked.target, asked.spec, asked.tuning.workers);
    for (const auto* file : files)
        for (const auto& found : rows_of(*file, asked.device.empty() ? common : key, ignored)) {
            if (distance_of(found.row.spec, asked.spec) != 0) continue;
            const auto problem = problem_with(asked, found.row);
            if (problem.empty()) return taken(asked, found, Rung::exact, ignored);
            ignored.push_back(fmt::format("{}: {}", found.where, problem));
        }
    return {};
}

std::optional<Resolved> nearest(const Asked& asked, std::span<const Wisdom* const> files, std::vector<std::string>& ignored) {
    std::optional<double> of_model;
    for (const auto& found : near_rows(asked, files, ignored)) {
        if (!problem_with(asked, found.row).empty()) continue;  // it need not fit another size than its own
        if (found.distance == 0) return taken(asked, found, Rung::nearest, ignored);
        if (!of_model) of_model = modelled_seconds(choose(asked.spec, asked.target, asked.tuning));
        const auto modelled = modelled_seconds(choose(asked.spec, asked.target, tuning_of(asked, found.row)));
        if (modelled <= nearest_slowdown * *of_model) return taken(asked, found, Rung::nearest, ignored);
    }
    return {};
}

}  // namespace

Resolved resolve(const Spec& spec, const Target& target, const Tuning& tuning, std::string_view device,
                 std::span<const Wisdom* const> files) {
    if (tuning.schedule != "auto" || tuning.variant != "auto") return {tuning, Rung::pinned, {}, {}};
    validate(spec);
    const Asked asked{spec, target, tuning, device};
    std::vector<std::string> ignored;
    if (auto found = exact(asked, files, ignored)) return *found;
    if (auto found = nearest(asked, files, ignored)) return *found;
    return {tuning, Rung::model, {}, ignored};
}

Choice choose(const Spec& spec, const Target& target, const Resolved& resolved) {
    auto choice = choose(spec, target, resolved.tuning);
    choice.rung = resolved.rung;
    choice.row = resolved.row;
    if (!resolved.row.empty()) choice.reason = fmt::format("{}; {}", to_string(resolved.rung), resolved.row);
    return choice;
}

std::span<const Wisdom* const> shipped_wisdom() {
    static const auto files = [] {
        std::vector<std::unique_ptr<const Wisdom>> result;
        for (const auto name : template_names())
            if (name.ends_with(".wisdom"))
                result.push_back(std::make_unique<const Wisdom>(fmt::format("the built-in {}", name), template_text(name)));
        return result;
    }();
    static const auto pointers = [] {
        std::vector<const Wisdom*> result;
        for (const auto& file : files) result.push_back(file.get());
        return result;
    }();
    return pointers;
}

}  // namespace trifold
