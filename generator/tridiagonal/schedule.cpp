#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <trifold/error.hpp>
#include <trifold/precision.hpp>
#include <trifold/schedule.hpp>

#include "generator/program/words.hpp"

namespace trifold {
namespace {

constexpr std::int64_t forward = 1, backward = -1;

void check_horizon(std::int64_t horizon) { check_range("horizon N", horizon, 1, max_horizon); }

void check_positive(std::int64_t value, std::string_view what) {
    if (value < 1) throw SpecError(fmt::format("{} is {}; give at least 1", what, value));
}

Level whole(const Level& remaining) {
    auto level = remaining;
    level.runs = {{0, remaining.size, 1, remaining.size, forward}};
    return level;
}

/// Segments of a ring with single separators between them, of which its first block is one. The last segment is shorter, or longer by one
/// where a separator would have the first block as its neighbour.
Level cut_ring(const Level& remaining, std::int64_t length) {
    auto level = remaining;
    const auto pitch = length + 1;
    auto full = remaining.size / pitch, rest = remaining.size % pitch;
    if (rest == 1 && full > 0) full -= 1, rest += pitch;
    level.runs.clear();
    if (full > 0) level.runs.push_back({1, pitch, full, length, forward});
    if (rest > 1) level.runs.push_back({full * pitch + 1, pitch, 1, rest - 1, forward});
    return level;
}

/// Segments of `length` with single separators between them and a shorter one at the tail, where the path leaves it.
Level cut(const Level& remaining, std::int64_t length, bool separator_at_end) {
    if (remaining.ring && remaining.size > 1) return cut_ring(remaining, length);
    if (remaining.size <= length) return whole(remaining);
    auto level = remaining;
    const auto pitch = length + 1;
    auto full = remaining.size / pitch;
    auto tail = remaining.size % pitch;
    if (tail == 0 && !separator_at_end) {
        full -= 1;
        tail = pitch;
    }
    level.runs.clear();
    if (full > 0) level.runs.push_back({0, pitch, full, length, forward});
    if (tail > 0) level.runs.push_back({full * pitch, pitch, 1, tail, forward});
    return level;
}

/// The separators that `level` leaves: every chain but the last has one ahead of it. In a ring they begin with the first block.
Level separators(const Level& level, std::int64_t first, std::int64_t pitch) {
    const auto left = level.size - level.fronts();
    return {level.block(level.ring ? 0 : first), level.scale * pitch, left, {}, level.ring};
}

/// Levels of segments for the blocks that remain.
void append_segments(Schedule& schedule, Level remaining, const std::function<std::int64_t(const Level&)>& length_of,
                     bool separator_at_end) {
    while (remaining.size > 0) {
        const auto length = std::min(length_of(remaining), remaining.size);
        schedule.levels.push_back(cut(remaining, length, separator_at_end));
        remaining = separators(schedule.levels.back(), length, length + 1);
    }
}

Schedule build_segments(std::string name, std::int64_t horizon, const std::function<std::int64_t(const Level&)>& length_of,
                        bool separator_at_end, bool ring) {
    check_horizon(horizon);
    Schedule schedule{std::move(name), horizon, {}};
    append_segments(schedule, {0, 1, horizon, {}, ring}, length_of, separator_at_end);
    return schedule;
}

/// `count` chains of `inner` blocks between two end chains, single separators between all of them. An end chain of length 0 does not exist.
Level between_ends(const Level& remaining, std::int64_t head, std::int64_t inner, std::int64_t count, std::int64_t tail) {
    auto level = remaining;
    level.runs = {{0, head + 1, 1, head, forward}};
    if (count > 0) level.runs.push_back({head + 1, inner + 1, count, inner, forward});
    if (tail > 0) level.runs.push_back({level.size - 1, tail + 1, 1, tail, backward});
    return level;
}

/// Level of between_ends, then one chain of the separators.
Schedule two_levels(std::string name, std::int64_t horizon, std::int64_t head, std::int64_t inner, std::int64_t count, std::int64_t tail) {
    const auto level = between_ends({0, 1, horizon, {}}, head, inner, count, tail);
    Schedule schedule{std::move(name), horizon, {level}};
    const auto rest = separators(level, head, inner + 1);
    if (rest.size > 0) schedule.levels.push_back(whole(rest));
    return schedule;
}

// Costs in thirds of n^3: a front without fill takes 7, one with fill 19 (socu, section 4.1).
constexpr std::int64_t plain_front = 7, filled_front = 19;

/// The inner chain length that minimizes the longest chain, by the rounding of socu Prop. 1.
std::int64_t inner_length(std::int64_t fronts, std::int64_t ends, std::int64_t inner_chains) {
    const auto exact = plain_front * fronts / (plain_front * inner_chains + filled_front * ends);
    const auto longest = [&](std::int64_t inner) {
        const auto end = (fronts - inner_chains * inner + ends - 1) / ends;
        return std::max(end * plain_front, inner * filled_front);
    };
    const auto down = std::max<std::int64_t>(exact, 1), up = down + 1;
    const bool up_fits = fronts - inner_chains * up >= ends;
    return up_fits && longest(up) < longest(down) ? up : down;
}

std::int64_t parse_count(std::string_view text, std::string_view whole_text) {
    const auto value = parse_number<std::int64_t>(text);
    if (!value || *value < 1) throw SpecError(fmt::format("schedule '{}': '{}' is not a positive whole number", whole_text, text));
    return *value;
}

std::vector<std::int64_t> parse_list(std::string_view text, char separator, std::string_view whole_text) {
    std::vector<std::int64_t> values;
    for (const auto part : split(text, separator)) values.push_back(parse_count(part, whole_text));
    return values;
}

}  // namespace

std::int64_t Level::chains() const {
    return std::accumulate(runs.begin(), runs.end(), std::int64_t{0}, [](auto sum, const Run& run) { return sum + run.count; });
}

std::int64_t Level::longest() const { return std::ranges::max(runs, {}, &Run::length).length; }

std::int64_t Level::fronts() const {
    return std::accumulate(runs.begin(), runs.end(), std::int64_t{0},
                           [](auto sum, const Run& run) { return sum + run.count * run.length; });
}

std::int64_t Schedule::couplings() const {
    std::int64_t sum = 0;
    for (std::size_t k = 1; k < levels.size(); ++k) sum += levels[k].couplings();
    return sum;
}

Schedule sequential(std::int64_t horizon, bool ring) {
    return build_segments("sequential", horizon, [](const Level& remaining) { return remaining.size; }, true, ring);
}

Schedule segments(std::int64_t horizon, const std::vector<std::int64_t>& lengths, bool ring) {
    if (lengths.empty()) throw SpecError("the list of segment lengths is empty; give at least one");
    for (const auto length : lengths) check_positive(length, "segment length");
    auto next = lengths.begin();
    const auto length_of = [&](const Level& remaining) { return next == lengths.end() ? remaining.size : *next++; };
    return build_segments(fmt::format("segments:{}", fmt::join(lengths, ",")), horizon, length_of, true, ring);
}

Schedule multi_stage(std::int64_t horizon, bool ring) {
    return build_segments("multi-stage", horizon, [](const Level&) { return std::int64_t{1}; }, true, ring);
}

Schedule recursive(std::int64_t horizon, std::int64_t length, std::int64_t rest, bool ring) {
    check_positive(length, "segment length J");
    check_positive(rest, "remaining blocks N*");
    const auto length_of = [&](const Level& remaining) { return remaining.size <= rest ? remaining.size : length; };
    return build_segments(fmt::format("recursive:{}:{}", length, rest), horizon, length_of, false, ring);
}

Schedule partitioned(std::int64_t horizon, std::int64_t chains, bool ring) {
    check_horizon(horizon);
    check_positive(chains, "number of chains p");
    if (ring) {
        chains = std::clamp<std::int64_t>(horizon / 2, 1, chains);
        auto schedule = segments(horizon, {std::max<std::int64_t>((horizon - 1) / chains, 1)}, ring);
        schedule.name = fmt::format("partitioned:{}", chains);
        return schedule;
    }
    chains = std::min(chains, (horizon + 1) / 2);
    if (chains == 1) return sequential(horizon);
    const auto fronts = horizon - (chains - 1);
    const auto inner = inner_length(fronts, 1, chains - 1);
    const auto head = fronts - (chains - 1) * inner;
    return two_levels(fmt::format("partitioned:{}", chains), horizon, head, inner, chains - 1, 0);
}

Schedule twisted(std::int64_t horizon, std::int64_t chains) {
    check_horizon(horizon);
    check_positive(chains, "number of chains p");
    chains = std::min(chains, (horizon + 1) / 2);
    if (chains == 1) return sequential(horizon);
    const auto fronts = horizon - (chains - 1);
    const auto inner = chains == 2 ? 0 : inner_length(fronts, 2, chains - 2);
    const auto ends = fronts - (chains - 2) * inner;
    return two_levels(fmt::format("twisted:{}", chains), horizon, (ends + 1) / 2, inner, chains - 2, ends / 2);
}

Schedule flanked(std::int64_t horizon, const std::vector<std::int64_t>& ends) {
    check_horizon(horizon);
    if (ends.empty()) throw SpecError("the list of lengths of end chains is empty; give at least one");
    Schedule schedule{fmt::format("flanked:{}", fmt::join(ends, ",")), horizon, {}};
    Level remaining{0, 1, horizon, {}};
    for (const auto most : ends) {
        check_positive(most, "length L of the end chains");
        if (remaining.size <= 2) break;
        const auto head = std::min(most, (remaining.size - 1) / 2), tail = remaining.size % 2 == 0 ? head - 1 : head;
        schedule.levels.push_back(most == 1 ? cut(remaining, 1, true)
                                            : between_ends(remaining, head, 1, (remaining.size - head - tail - 1) / 2, tail));
        remaining = separators(schedule.levels.back(), head, 2);
    }
    append_segments(schedule, remaining, [](const Level&) { return std::int64_t{1}; }, true);
    return schedule;
}

Schedule parse_schedule(std::string_view text, std::int64_t horizon, bool ring) {
    const auto colon = text.find(':');
    const auto name = text.substr(0, colon);
    const auto rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    const bool bare = colon == std::string_view::npos;
    if (name == "sequential" && bare) return sequential(horizon, ring);
    if (name == "multi-stage" && bare) return multi_stage(horizon, ring);
    if (name == "single-stage" && bare) {
        auto schedule = segments(horizon, {1}, ring);
        schedule.name = "single-stage";
        return schedule;
    }
    if (name == "partitioned" && !bare) return partitioned(horizon, parse_count(rest, text), ring);
    if (ring && (name == "twisted" || name == "flanked"))
        throw SpecError(fmt::format("schedule '{}' has chains at the ends, and a ring has none; give auto, or another", text));
    if (name == "twisted" && !bare) return twisted(horizon, parse_count(rest, text));
    if (name == "flanked" && !bare) return flanked(horizon, parse_list(rest, ',', text));
    if (name == "segments" && !bare) return segments(horizon, parse_list(rest, ',', text), ring);
    if (name == "recursive" && !bare) {
        const auto values = parse_list(rest, ':', text);
        if (values.size() <= 2) return recursive(horizon, values[0], values.size() == 2 ? values[1] : values[0], ring);
    }
    throw SpecError(fmt::format("unknown schedule '{}'; give {}", text, schedule_names));
}

bool has_fill(const Schedule& schedule) {
    return std::ranges::any_of(schedule.levels, [](const Level& level) {
        return std::ranges::any_of(level.runs, [&](const Run& run) {
            const auto behind_of_last = run.first + (run.count - 1) * run.stride - run.step;
            return behind_of_last >= 0 && behind_of_last < level.size;
        });
    });
}

std::vector<Front> chain_fronts(const Level& level, const Run& run, std::int64_t chain) {
    const auto block_or_none = [&](std::int64_t position) { return level.exists(position) ? level.block(position) : -1; };
    const auto first = run.first + chain * run.stride;
    std::vector<Front> fronts;
    for (std::int64_t k = 0; k < run.length; ++k) {
        const auto position = first + k * run.step;
        fronts.push_back({level.block(position), block_or_none(position + run.step), block_or_none(first - run.step)});
    }
    return fronts;
}

}  // namespace trifold
