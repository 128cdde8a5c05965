#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <trifold/cost.hpp>
#include <trifold/error.hpp>
#include <trifold/precision.hpp>

namespace trifold {
namespace {

/// Equal chains of one level.
struct Group {
    std::int64_t count, length;
    bool behind, ahead;
};

/// A run's chains differ only where its first or last one reaches an end of the path.
std::vector<Group> groups(const Level& level, const Run& run) {
    const auto group = [&](std::int64_t chain, std::int64_t count) {
        const auto first = run.first + chain * run.stride;
        return Group{count, run.length, level.exists(first - run.step), level.exists(first + run.length * run.step)};
    };
    std::vector<Group> result{group(0, 1)};
    if (run.count > 2) result.push_back(group(1, run.count - 2));
    if (run.count > 1) result.push_back(group(run.count - 1, 1));
    return result;
}

/// Loads of workers. Chains go in order to the worker that is free first.
class Workers {
  public:
    explicit Workers(std::int64_t count) : loads_(std::greater<>{}, std::vector<std::int64_t>(static_cast<std::size_t>(count), 0)) {}
    void take(std::int64_t chains, std::int64_t thirds) {
        const auto workers = static_cast<std::int64_t>(loads_.size());
        while (chains > 0) {
            if (chains >= workers && max_ - loads_.top() <= thirds) {  // then everyone takes one before anyone takes two
                rounds_ += chains / workers * thirds;
                chains %= workers;
                continue;
            }
            const auto load = loads_.top() + thirds;
            loads_.pop();
            loads_.push(load);
            max_ = std::max(max_, load);
            chains -= 1;
        }
    }
    std::int64_t makespan() const { return rounds_ + max_; }

  private:
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> loads_;
    std::int64_t rounds_ = 0, max_ = 0;  // every load is rounds_ higher than it says
};

/// Elements moved by a group of chains of level `index`, in whole blocks and in triangles.
struct Moved {
    std::int64_t blocks = 0, triangles = 0;
};

Moved moved(const Group& group, bool original) {
    const auto ends = std::int64_t{group.behind} + std::int64_t{group.ahead};
    const auto nexts = group.length - (group.ahead ? 0 : 1);
    Moved chain;
    chain.triangles = 2 * group.length;                                // D read, L written
    chain.blocks = 2 * nexts + (group.behind ? 1 + group.length : 0);  // couplings read, R and G written
    chain.triangles += (original ? 1 : 2) * ends;                      // slots written, or read and written
    chain.blocks += group.behind && group.ahead ? 1 : 0;               // the next level's coupling
    return {group.count * chain.blocks, group.count * chain.triangles};
}

/// Slots that hold updates of the blocks that remain: two a block, but for the ends of the original path. A ring has none.
std::int64_t slots_read(const Level& level, std::int64_t horizon) {
    const auto last = level.block(level.size - 1);
    if (level.ring) return 2 * level.size;
    return 2 * level.size - (level.base == 0 ? 1 : 0) - (last == horizon - 1 ? 1 : 0);
}

/// Slots that this level reads: those of the blocks that it eliminates. Blocks that remain keep theirs for later levels.
std::int64_t slots_read(const Schedule& schedule, std::size_t index) {
    if (index == 0) return 0;
    const auto all = slots_read(schedule.levels[index], schedule.horizon);
    return index + 1 < schedule.levels.size() ? all - slots_read(schedule.levels[index + 1], schedule.horizon) : all;
}

LevelCost level_cost(const Schedule& schedule, std::size_t index, const Spec& spec, std::int64_t workers) {
    const auto& level = schedule.levels[index];
    LevelCost result;
    result.chains = level.chains();
    result.fronts = level.fronts();
    Workers crew(std::min(workers, result.chains));
    Moved sum{0, slots_read(schedule, index)};
    for (const auto& run : level.runs) {
        for (const auto& group : groups(level, run)) {
            const auto counts = chain_counts(group.length, group.behind, group.ahead, spec.matrix);
            result.counts += group.count * counts;
            result.longest_thirds = std::max(result.longest_thirds, counts.thirds());
            crew.take(group.count, counts.thirds());
            const auto part = moved(group, index == 0);
            sum.blocks += part.blocks;
            sum.triangles += part.triangles;
        }
    }
    result.makespan_thirds = crew.makespan();
    const auto n = spec.block;
    const bool is_general = spec.matrix == MatrixKind::general;  // then all of D, and of each panel and coupling two
    const auto panels = is_general ? 2 * n * n : n * n, triangle = is_general ? n * n : n * (n + 1) / 2;
    const auto elements = checked_add(checked_multiply(sum.blocks, panels, "bytes of a level"),
                                      checked_multiply(sum.triangles, triangle, "bytes of a level"), "bytes of a level");
    result.bytes = checked_multiply(elements, element_bytes(spec.precision), "bytes of a level");
    return result;
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
    potrf += other.potrf;
    trsm += other.trsm;
    syrk += other.syrk;
    gemm += other.gemm;
    getrf += other.getrf;
    return *this;
}

Counts operator*(std::int64_t times, const Counts& counts) {
    return {times * counts.potrf, times * counts.trsm, times * counts.syrk, times * counts.gemm, times * counts.getrf};
}

std::int64_t Counts::thirds() const { return potrf + 3 * trsm + 3 * syrk + 6 * gemm + 2 * getrf; }

double Counts::flops(std::int64_t block) const {
    const auto n = static_cast<double>(block);
    return static_cast<double>(thirds()) / 3 * n * n * n;
}

Counts front_counts(const Front& front, MatrixKind matrix) {
    const auto next = std::int64_t{front.next >= 0}, behind = std::int64_t{front.behind >= 0};
    if (matrix == MatrixKind::general)  // panels R, Z, G and H, and products R Z, G H, R H and G Z
        return {.trsm = 2 * (next + behind), .gemm = next + behind + 2 * next * behind, .getrf = 1};
    return {1, next + behind, next + behind, next * behind};
}

Counts chain_counts(std::int64_t length, bool behind, bool ahead, MatrixKind matrix) {
    const Front inner{0, 0, behind ? 0 : -1}, last{0, ahead ? 0 : -1, behind ? 0 : -1};
    auto counts = (length - 1) * front_counts(inner, matrix);
    return counts += front_counts(last, matrix);
}

Cost cost(const Schedule& schedule, const Spec& spec, std::int64_t workers) {
    check_range("workers", workers, 1);
    Cost result;
    for (std::size_t k = 0; k < schedule.levels.size(); ++k) {
        const auto& level = result.levels.emplace_back(level_cost(schedule, k, spec, workers));
        result.total += level.counts;
        result.critical_thirds += level.makespan_thirds;
        result.bytes = checked_add(result.bytes, level.bytes, "bytes of the factorization");
    }
    return result;
}

}  // namespace trifold
