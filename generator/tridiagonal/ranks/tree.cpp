#include "generator/tridiagonal/ranks/tree.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <trifold/error.hpp>

#include "generator/program/words.hpp"

namespace trifold::ranks {
namespace {

int parent_of(int left, int right) {
    if (left == none || right == none) return std::max(left, right);
    return turn_of(left) < turn_of(right) ? left : right;
}

/// A path whose ends may be separators.
struct Path {
    Level level;
    bool has_left, has_right;
    std::int64_t first = 0, pitch = 1;  // the separators that the runs leave, in positions

    std::int64_t inner() const { return level.size - (has_left ? 1 : 0) - (has_right ? 1 : 0); }

    /// Chains of `length` between single separators, if the ends allow: between two separators all are equally long. A chain at an end of
    /// the whole chain has `outer` blocks or more, as far as there are some.
    bool cut(std::int64_t length, std::int64_t outer) {
        const auto gaps = level.size - 1;
        if (has_left && has_right) outer = 0;
        const auto count = std::max<std::int64_t>(gaps - outer, 0) / (length + 1), rest = gaps - count * (length + 1);
        if (count == 0 || inner() <= length || (has_left && has_right && rest != 0)) return false;
        level.runs.clear();
        pitch = length + 1;
        first = has_left ? 0 : rest;
        if (!has_left && rest > 0) level.runs.push_back({0, level.size, 1, rest, 1});
        level.runs.push_back({first + 1, pitch, count, length, 1});
        if (has_left && rest > 0) level.runs.push_back({level.size - 1, level.size, 1, rest, -1});
        return true;
    }
    /// One chain of all that is left between the ends.
    void finish() {
        level.runs.clear();
        first = has_left ? 0 : inner();
        pitch = has_left && has_right ? level.size - 1 : 1;
        if (inner() == 0) return;
        const bool backward = has_left && !has_right;
        level.runs.push_back({backward ? level.size - 1 : has_left ? 1 : 0, level.size, 1, inner(), backward ? -1 : 1});
    }
    /// The separators.
    void descend() { level = {level.block(first), level.scale * pitch, level.size - level.fronts(), {}}; }
};

/// Lengths of the chains at each level: none for one chain. `again`: the last ones go on.
struct Lengths {
    struct Level {
        std::int64_t inner, outer = 0;
    };
    std::vector<Level> list;
    bool again = false;
};

std::vector<std::int64_t> numbers_of(std::string_view list) {
    std::vector<std::int64_t> result;
    for (const auto part : split(list, ',')) result.push_back(parse_number<std::int64_t>(part).value_or(0));
    return result;
}

/// Lengths of `count` chains at the first level. Between two separators they share the gaps; a chain at an end of the whole has no fill,
/// and as many more blocks as it then takes the same flops.
Lengths chains(const Path& path, std::int64_t count) {
    constexpr std::int64_t plain_thirds = 7, filled_thirds = 19;
    const auto gaps = path.level.size - 1;
    count = std::clamp<std::int64_t>(count, 1, std::max<std::int64_t>(gaps / 2, 1));
    if (path.has_left && path.has_right) {
        while (gaps % count != 0) --count;
        return count == 1 ? Lengths{} : Lengths{{{gaps / count - 1}}};
    }
    if (count == 1) return {};
    const auto inner = std::max<std::int64_t>(plain_thirds * gaps / (filled_thirds + plain_thirds * (count - 1)), 1);
    return {{{inner, gaps - (count - 1) * (inner + 1)}}};
}

Lengths lengths_of(std::string_view name, const Path& path) {
    constexpr std::string_view segments = "segments:", flanked = "flanked:", side_by_side = "chains:";
    if (name == "auto" || name == "sequential") return {};
    if (name == "multi-stage") return {{{1}}, true};
    if (name.starts_with(side_by_side)) {
        const auto parsed = parse_schedule(fmt::format("twisted:{}", name.substr(side_by_side.size())), max_horizon).name;
        return chains(path, numbers_of(std::string_view(parsed).substr(parsed.find(':') + 1)).front());
    }
    // Any horizon has these lengths in its name.
    const auto parsed = parse_schedule(name, max_horizon).name;
    const bool is_flanked = parsed.starts_with(flanked);
    if (!is_flanked && !parsed.starts_with(segments))
        throw SpecError(
            fmt::format("ranks have no schedule '{}' for their own blocks; give auto, sequential, chains:p, flanked:a,b,c, "
                        "multi-stage or segments:a,b,c",
                        name));
    Lengths result;
    for (const auto value : numbers_of(std::string_view(parsed).substr(parsed.find(':') + 1)))
        result.list.push_back(is_flanked ? Lengths::Level{1, value} : Lengths::Level{value});
    if (is_flanked) result.list.push_back({1});
    result.again = is_flanked;
    return result;
}

}  // namespace

int turn_of(int separator) { return std::countr_zero(static_cast<unsigned>(separator)); }

Interval joint_interval(int separator, int ranks) {
    const int reach = 1 << turn_of(separator);
    const int left = separator == reach ? none : separator - reach;
    // Beyond the last separator the chain ends.
    const int right = separator + reach < ranks ? separator + reach : none;
    return {left, right, separator, true, parent_of(left, right)};
}

Interval own_interval(int rank, int ranks) {
    const int left = rank > 0 ? rank : none, right = rank + 1 < ranks ? rank + 1 : none;
    return {left, right, rank, false, parent_of(left, right)};
}

Interval left_child(int separator, int ranks) {
    const int turn = turn_of(separator);
    return turn == 0 ? own_interval(separator - 1, ranks) : joint_interval(separator - (1 << (turn - 1)), ranks);
}

Interval right_child(int separator, int ranks) {
    for (int turn = turn_of(separator); turn-- > 0;)
        if (separator + (1 << turn) < ranks) return joint_interval(separator + (1 << turn), ranks);
    return own_interval(separator, ranks);
}

Schedule own_schedule(const RankSpec& spec, std::string_view name) {
    if (spec.ranks() == 1) {
        const auto count = name.starts_with("chains:") ? fmt::format("twisted:{}", name.substr(name.find(':') + 1)) : std::string(name);
        return parse_schedule(name == "auto" ? "sequential" : count, spec.spec.horizon);
    }
    const bool has_left = spec.rank > 0, has_right = spec.rank + 1 < spec.ranks();
    const auto horizon = spec.blocks() + (has_right ? 1 : 0);
    Path path{{0, 1, horizon, {}}, has_left, has_right};
    const auto lengths = lengths_of(name, path);
    Schedule schedule{fmt::format("{} on rank {} of {}", name, spec.rank, fmt::join(spec.shards, ",")), horizon, {}};
    for (std::size_t k = 0; lengths.again || k < lengths.list.size(); ++k) {
        const auto& [inner, outer] = lengths.list[std::min(k, lengths.list.size() - 1)];
        if (!path.cut(inner, outer)) break;
        schedule.levels.push_back(path.level);
        path.descend();
    }
    path.finish();
    schedule.levels.push_back(path.level);
    path.descend();
    schedule.levels.push_back(path.level);
    return schedule;
}

Schedule joint_schedule(const Interval& interval) {
    const bool left = interval.left != none, right = interval.right != none;
    const std::int64_t base = left ? 0 : 1, size = 1 + (left ? 1 : 0) + (right ? 1 : 0);
    const Level whole{base, 1, size, {}};
    Schedule schedule{fmt::format("joint {}{}", left, right), 3, {whole, whole}};
    schedule.levels[1].runs = {{left ? 1 : 0, size, 1, 1, 1}};
    if (left && right)
        schedule.levels.push_back({0, 2, 2, {}});
    else if (left || right)
        schedule.levels.push_back({left ? 0 : 2, 1, 1, {}});
    return schedule;
}

}  // namespace trifold::ranks
