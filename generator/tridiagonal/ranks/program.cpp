/// A rank's Program: from a chain's Spec and a rank's number to launches and messages.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <trifold/copy_args.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <trifold/error.hpp>

#include "generator/program/sha256.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/emit.hpp"
#include "generator/tridiagonal/fields.hpp"
#include "generator/tridiagonal/ranks/parts.hpp"
#include "generator/tridiagonal/ranks/tree.hpp"
#include "generator/tridiagonal/variant.hpp"

namespace trifold {
namespace ranks {
namespace {

bool factors(Operation operation) {
    return operation == Operation::factor || operation == Operation::factor_forward || operation == Operation::factor_solve;
}
bool sweeps_forward(Operation operation) {
    return operation != Operation::factor && operation != Operation::backward && operation != Operation::inverse;
}
bool is_downward(Phase phase) {
    return phase == Phase::backward || phase == Phase::inverse || phase == Phase::inverse_coupling || phase == Phase::inverse_diagonal;
}
constexpr const char* gpu_variant = "tile-dataflow";

bool finishes(Phase phase) { return phase == Phase::finish_factor || phase == Phase::finish_forward; }

Choice choice_of(const Choice& agreed, Spec spec, Schedule schedule) {
    auto choice = agreed;
    choice.spec = std::move(spec);
    choice.schedule = std::move(schedule);
    return choice;
}

Spec joint_spec(const RankSpec& spec) {
    auto result = path_of(spec);
    result.horizon = 3;
    result.e.member = 0;  // not read
    return result;
}

/// Pieces that follow one another in memory are one.
std::vector<Piece> merged(const std::vector<Piece>& pieces, std::int64_t members) {
    std::vector<Piece> result;
    for (const auto& piece : pieces) {
        const bool follows = members == 1 && !result.empty() && result.back().offset + result.back().bytes == piece.offset;
        if (follows)
            result.back().bytes += piece.bytes;
        else
            result.push_back(piece);
    }
    return result;
}

/// Puts launches one after another: those of the two paths, and the messages between them and to other ranks.
class Writer {
  public:
    Writer(const RankSpec& spec, const Choice& agreed)
        : spec_(spec),
          own_(choice_of(agreed, path_of(spec), own_schedule(spec, agreed.tuning.schedule)), "", 0),
          interval_(own_interval(spec.rank, spec.ranks())) {
        own_ends_ = {spec.rank > 0 ? 0 : none, spec.rank + 1 < spec.ranks() ? spec.blocks() : none, last_coupling(own_)};
        if (spec.rank == 0) return;
        joined_ = joint_interval(spec.rank, spec.ranks());
        joint_.emplace(choice_of(agreed, joint_spec(spec), joint_schedule(*joined_)), "joint.", own_.end());
        const bool left = joined_->left != none, right = joined_->right != none;
        left_ends_ = {left ? 0 : none, 1, 0, 1};
        right_ends_ = {1, right ? 2 : none, left ? 1 : 0, 2};
        joint_ends_ = {left ? 0 : none, right ? 2 : none, last_coupling(*joint_)};
    }

    Program program() {
        Program result = own_.program();
        result.rank = spec_.rank;
        result.ranks = spec_.ranks();
        result.buffers = own_.buffers();
        result.operations.clear();
        if (joint_) add_joint(result);
        if (on_gpu()) {
            copy_unit_ = result.units.size();
            result.units.push_back(copy_unit(own_.design().target));
        }
        for (const auto& [operation, steps] : own_.design().operations)
            result.operations[std::string(to_string(operation))] = launches_of(operation);
        auto end = joint_ ? joint_->end() : own_.end();
        const auto add = [&](std::string name, std::int64_t bytes, bool zeroed) {
            result.buffers.push_back({std::move(name), end, bytes, zeroed, {}});
            end = round_up(end + bytes, workspace_alignment);
        };
        add("message", largest_, false);
        add("zeros", sizeof(double), true);
        if (on_gpu()) result.scratch_bytes = 0;  // each part has its own
        result.workspace_bytes = checked_add(end, checked_multiply(result.scratch_bytes, result.workers, "scratch"), "workspace");
        return result;
    }

  private:
    /// The place of the coupling of the two separators that a path leaves.
    static std::int64_t last_coupling(const Part& part) {
        const auto& levels = part.design().schedule.levels;
        return kernel_level(part.design().schedule, levels.size() - 1).coupling;
    }

    /// Units and sizes of the second path. It has those of the first where their texts are the same.
    void add_joint(Program& result) {
        const auto& other = joint_->program();
        for (const auto& unit : other.units) {
            const auto same = std::ranges::find(result.units, unit.source, &Unit::source);
            joint_units_.push_back(static_cast<std::size_t>(same - result.units.begin()));
            if (same == result.units.end()) result.units.push_back(unit);
        }
        result.sizes.insert(result.sizes.end(), other.sizes.begin(), other.sizes.end());
        result.scratch_bytes = std::max(result.scratch_bytes, other.scratch_bytes);
        result.buffers.insert(result.buffers.end(), joint_->buffers().begin(), joint_->buffers().end());
    }

    std::vector<Launch> launches_of(Operation operation) {
        launches_.clear();
        const bool descends = std::ranges::any_of(own_.design().lowered.phases.at(operation), is_downward) ||
                              operation == Operation::backward || operation == Operation::solve || operation == Operation::factor_solve ||
                              operation == Operation::inverse;
        if (factors(operation)) copy(own_diagonal, "diagonal of its own blocks");
        if (factors(operation) && joint_) copy(joint_diagonal, "diagonal of its separator");
        run(own_, operation, false);
        ascend(operation);
        if (descends) copy(clear_own, "range of its own blocks");
        if (descends && joint_) copy(clear_joint, "range of its separator");
        if (descends)
            descend(operation);
        else if (joint_ && sweeps_forward(operation))
            pass(spec_.rank, {joint_->solution(1)}, spec_.rank, {own_.solution(0)}, "Y of its separator");
        if (operation == Operation::inverse) copy(deliver_inverse, "diagonal of the inverse");
        if (operation == Operation::inverse && on_gpu() && own_ends_.left == 0 && own_ends_.right == 1)
            copy(deliver_coupling, "coupling of the inverse");
        if (operation != Operation::inverse && operation != Operation::factor) copy(deliver, "X");
        finish(own_, operation);
        if (joint_) finish(*joint_, operation);
        return std::move(launches_);
    }

    void ascend(Operation operation) {
        const bool factor = factors(operation), sweep = sweeps_forward(operation);
        const auto updates = [&](const Part& part, const Ends& ends) {
            std::vector<Piece> pieces;
            part.add_updates(pieces, ends, factor, sweep);
            return pieces;
        };
        const bool moves = factor || sweep;
        if (moves && interval_.parent == spec_.rank)
            pass(spec_.rank, updates(own_, own_ends_), spec_.rank, updates(*joint_, right_ends_), "updates of its own blocks");
        else if (moves && interval_.parent != none)
            message(Work::send, interval_.parent, updates(own_, own_ends_), "updates of its own blocks");
        if (!joint_) return;
        for (const auto& [child, ends] : children())
            if (moves && (child.is_joint || child.source != spec_.rank))
                message(Work::receive, child.source, updates(*joint_, ends), "updates of its separator");
        run(*joint_, operation, false);
        if (moves && joined_->parent != none)
            message(Work::send, joined_->parent, updates(*joint_, joint_ends_), "updates of its interval");
    }

    void descend(Operation operation) {
        const auto solved = [&](const Part& part, const Ends& ends) {
            std::vector<Piece> pieces;
            if (operation == Operation::inverse)
                part.add_inverse(pieces, ends);
            else
                part.add_solution(pieces, ends);
            return pieces;
        };
        if (joint_) {
            if (joined_->parent != none)
                message(Work::receive, joined_->parent, solved(*joint_, joint_ends_), "solution beside its separator");
            run(*joint_, operation, true);
            for (const auto& [child, ends] : children())
                if (child.is_joint || child.source != spec_.rank)
                    message(Work::send, child.source, solved(*joint_, ends), "solution of its separator");
        }
        if (interval_.parent == spec_.rank)
            pass(spec_.rank, solved(*joint_, right_ends_), spec_.rank, solved(own_, own_ends_), "solution of its separator");
        else if (interval_.parent != none)
            message(Work::receive, interval_.parent, solved(own_, own_ends_), "solution beside its own blocks");
        run(own_, operation, true);
    }

    bool on_gpu() const { return own_.design().target.backend != Backend::cpu; }

    std::array<std::pair<Interval, Ends>, 2> children() const {
        return {{{left_child(spec_.rank, spec_.ranks()), left_ends_}, {right_child(spec_.rank, spec_.ranks()), right_ends_}}};
    }

    /// The launches of a path that go up the levels, or those that go down.
    void run(const Part& part, Operation operation, bool down) {
        each(part, operation, [&](Phase phase) { return !finishes(phase) && is_downward(phase) == down; });
    }
    void finish(const Part& part, Operation operation) { each(part, operation, finishes); }

    template <class Test>
    void each(const Part& part, Operation operation, const Test& test) {
        const auto& design = part.design();
        const bool is_joint = joint_ && &part == &*joint_;
        const auto& steps = design.operations.at(operation);
        if (steps.empty()) return;
        const auto& written = part.program().operations.at(std::string(to_string(operation)));
        for (std::size_t k = 0; k < steps.size(); ++k) {
            if (!test(design.kernels[steps[k].kernel].phase)) continue;
            auto launch = written[k];
            if (is_joint) launch.unit = joint_units_[launch.unit];
            if (is_joint) launch.operands += joint;
            add(std::move(launch));
        }
    }

    void copy(RankOperands operands, std::string_view what) {
        Launch launch;
        launch.work = Work::copy;
        launch.unit = copy_unit_;
        launch.operands = operands;
        const bool is_one = operands == clear_own || operands == clear_joint;
        if (copy_unit_ != 0 && !is_one) launch.grid.groups = trifold_copy_groups;
        launch.what = fmt::format("copy {}", what);
        add(std::move(launch));
    }

    void message(Work work, int peer, std::vector<Piece> pieces, std::string_view what) {
        std::int64_t bytes = 0;
        for (const auto& piece : pieces) bytes += piece.bytes * (own_.design().lowered.members / piece.members);
        largest_ = std::max(largest_, bytes);
        Launch launch;
        launch.work = work;
        launch.what = fmt::format("{} {} {}", work == Work::send ? "send" : "receive", what, peer);
        launch.message = {peer, merged(pieces, own_.design().lowered.members)};
        add(std::move(launch));
    }
    void pass(int from, std::vector<Piece> source, int to, std::vector<Piece> target, std::string_view what) {
        message(Work::send, to, std::move(source), what);
        message(Work::receive, from, std::move(target), what);
    }

    void add(Launch launch) {
        launch.after.clear();
        if (!launches_.empty()) launch.after = {launches_.size() - 1};
        launches_.push_back(std::move(launch));
    }

    const RankSpec& spec_;
    Part own_;
    Interval interval_;
    std::optional<Interval> joined_;
    std::optional<Part> joint_;
    Ends own_ends_{}, left_ends_{}, right_ends_{}, joint_ends_{};
    std::vector<std::size_t> joint_units_;
    std::size_t copy_unit_ = 0;  // on GPUs
    std::vector<Launch> launches_;
    std::int64_t largest_ = 0;
};

}  // namespace
}  // namespace ranks

std::int64_t RankSpec::first_block() const { return std::accumulate(shards.begin(), shards.begin() + rank, std::int64_t{0}); }

std::vector<std::int64_t> even_shards(std::int64_t horizon, int ranks) {
    if (ranks < 1) throw SpecError(fmt::format("{} ranks; give at least 1", ranks));
    if (horizon < ranks)
        throw SpecError(fmt::format("a chain of {} blocks has none for some of {} ranks; give at most {} ranks", horizon, ranks, horizon));
    std::vector<std::int64_t> shards(static_cast<std::size_t>(ranks), horizon / ranks);
    for (std::int64_t k = 0; k < horizon % ranks; ++k) ++shards[static_cast<std::size_t>(k)];
    return shards;
}

void validate(const RankSpec& spec) {
    validate(spec.spec);
    if (spec.spec.operations.contains(Operation::refine))
        throw SpecError("refine of ranks is there with every solve; leave it out of the operations");
    if (loads_ahead(spec.spec)) throw SpecError("ranks keep D and E; leave load out of the operations");
    if (spec.spec.precision == Precision::mixed) throw SpecError("ranks solve in f32 or f64, not in mixed precision; give precision f64");
    if (spec.spec.ring) throw SpecError("ranks have no rings yet; fold the ring to blocks of 2 n");
    if (spec.spec.border > 0) throw SpecError("ranks have no border yet; solve for the columns of F, and the Schur complement apart");
    if (spec.spec.lengths || spec.spec.sizes || spec.spec.bandwidth > 1)
        throw SpecError("ranks have no lengths, sizes and bands yet; leave them out, or solve on one device");
    if (has_inertia(spec.spec)) throw SpecError("ranks are for positive definite matrices; solve on one device");
    if (spec.shards.empty()) throw SpecError("there are no shards; give the number of blocks of each rank");
    if (spec.rank < 0 || spec.rank >= spec.ranks())
        throw SpecError(fmt::format("rank {} is none of the {} that have shards; ranks count from 0", spec.rank, spec.ranks()));
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < spec.shards.size(); ++k) {
        if (spec.shards[k] < 1)
            throw SpecError(fmt::format("rank {} has {} of {} blocks; every rank needs one at least, so give fewer ranks or other shards",
                                        k, spec.shards[k], spec.spec.horizon));
        sum = checked_add(sum, spec.shards[k], "sum of the shards");
    }
    if (sum != spec.spec.horizon)
        throw SpecError(
            fmt::format("the shards {} hold {} blocks, and the horizon has {}", fmt::join(spec.shards, ","), sum, spec.spec.horizon));
}

Spec shard_of(const RankSpec& spec) {
    auto result = spec.spec;
    result.horizon = spec.blocks();
    return result;
}

Spec path_of(const RankSpec& spec) {
    auto result = shard_of(spec);
    result.d.member = diagonal_strides(result).member;
    if (spec.rank + 1 < spec.ranks()) ++result.horizon;
    return result;
}

Choice choose(const RankSpec& spec, const Target& target, const Tuning& tuning) {
    validate(spec);
    const bool on_gpu = target.backend != Backend::cpu;
    auto whole = tuning;
    whole.schedule = "sequential";
    whole.any_size = !on_gpu || tuning.any_size;
    if (on_gpu && tuning.variant == "auto") whole.variant = ranks::gpu_variant;
    if (on_gpu && parse_variant(whole.variant).name != ranks::gpu_variant)
        throw SpecError(fmt::format("ranks on GPUs have no variant '{}'; give auto or {}", tuning.variant, ranks::gpu_variant));
    auto result = choose(spec.spec, target, whole);
    if (variant_named(target, result.variant).schedules != nullptr)
        throw SpecError(fmt::format("ranks have no variant '{}'; give auto or another", tuning.variant));
    // The rows ask for sizes, of which a rank has its own, and what ranks send one another must be laid out alike.
    const auto& variant = variant_named(target, result.variant);
    auto name = parse_variant(result.variant);
    for (const auto& [list, value, row] : knobs_of(result))
        if (std::ranges::find(variant.knobs, list, &Knob::name) != variant.knobs.end()) name.pinned.emplace(list, value);
    result.variant = to_string(name);
    result.tuning = tuning;
    if (on_gpu && tuning.schedule == "auto") result.tuning.schedule = ranks::fastest_schedule(spec, result);
    ranks::own_schedule(spec, result.tuning.schedule);
    return result;
}

Program generate(const RankSpec& spec, const Choice& agreed) {
    auto program = ranks::Writer(spec, agreed).program();
    auto about = identity_json(agreed);
    about["schedule"] = agreed.tuning.schedule;
    about["shards"] = spec.shards;
    about["rank"] = spec.rank;
    program.about = about.dump();
    constexpr std::size_t digits = 8;
    program.id = sha256(program.about).substr(0, digits);
    return program;
}

}  // namespace trifold
