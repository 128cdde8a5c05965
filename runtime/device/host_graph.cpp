#include "runtime/device/host_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <trifold/error.hpp>

#include "runtime/device/turns.hpp"

namespace trifold {
namespace {

constexpr std::int64_t pieces_per_worker = 4;
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

HostGraph::HostGraph(const Program& program, void* workspace, std::chrono::microseconds spin, Transport* transport)
    : workers_(program.workers),
      workspace_(static_cast<char*>(workspace)),
      scratch_(program.workspace_bytes - program.workers * program.scratch_bytes),
      scratch_bytes_(program.scratch_bytes),
      transport_(transport) {
    for (const auto& [_, launches] : program.operations)
        for (const auto& launch : launches) {
            group_ = std::max(group_, launch.grid.members_per_group);
            has_messages_ = has_messages_ || launch.work == Work::send || launch.work == Work::receive;
        }
    if (has_messages_) room_ = buffer(program, "message").offset;
    if (workers_ > 1) pool_.emplace(workers_, pieces_per_worker * workers_, spin);
}

HostGraph::Steps HostGraph::steps_of(const Program& program, const Units& units, const std::string& operation) {
    Steps result;
    for (const auto& launch : program.operations.at(operation)) {
        auto* entry = launch.work == Work::kernel ? reinterpret_cast<decltype(Step::entry)>(units.function(launch.unit, launch.kernel))
                                                  : copy_members;
        result.steps.push_back({entry, launch.constants.data(), launch.grid.groups, launch.grid.members_per_group, launch.operands,
                                launch.work, &launch.message, launch.first_task});
    }
    if (const auto repeats = program.repeats.find(operation); repeats != program.repeats.end())
        for (const auto& repeat : repeats->second)
            result.repeats.push_back({repeat.first, repeat.count, repeat.most, buffer(program, repeat.flag).offset});
    return result;
}

void HostGraph::run(const Steps& all, std::span<const Operand> operands) {
    const auto groups = divide_up(operands.front().members, group_);
    operands_ = operands;
    // Whether another turn follows is decided by what all members have done in this one.
    by_members_ = all.repeats.empty() && !has_messages_ && (workers_ == 1 || groups >= pieces_per_worker * workers_);
    if (by_members_) return share(all.steps, groups);
    const std::span<const Step> steps = all.steps;
    std::size_t done = 0;
    for (const auto& repeat : all.repeats) {
        run_each(steps.subspan(done, repeat.first - done));
        const auto* flag = reinterpret_cast<const volatile std::int64_t*>(workspace_ + repeat.flag);
        for (std::int64_t turn = 0; turn < repeat.most && *flag != 0; ++turn) {
            run_each(steps.subspan(repeat.first, repeat.count));
            if (between_turns != nullptr) (*between_turns)(std::memcpy);
        }
        done = repeat.first + repeat.count;
    }
    run_each(steps.subspan(done));
}

void HostGraph::run_each(std::span<const Step> steps) {
    for (const auto& step : steps) {
        look_for_interruption();
        if (step.work == Work::send || step.work == Work::receive)
            run_message(step);
        else
            share({&step, 1}, step.groups * divide_up(operands_.front().members, step.members_per_group));
    }
}

void HostGraph::run_message(const Step& step) {
    trifold::run_message(step.work, *step.message, workspace_, workspace_ + room_, operands_.front().members, *transport_);
}

void HostGraph::set_executor(Executor executor) {
    executor_ = std::move(executor);
    run_piece_ = [this](std::int64_t task, int worker) { check_and_run_piece(task, worker); };
    pool_.reset();
}

/// Shares out one launch by its tasks; or, where members alone keep the workers busy, all launches by groups of members: a group's
/// factor is then still in the nearest caches when it is swept.
void HostGraph::share(std::span<const Step> steps, std::int64_t units) {
    steps_in_progress_ = steps;
    units_ = units;
    if (units == 1 || workers_ == 1) return run_units(0, units, 0);
    // A few pieces a worker, so that one that is held up costs little.
    pieces_ = std::min(units, pieces_per_worker * workers_);
    if (pool_)
        pool_->run(
            pieces_, [](void* self, std::int64_t piece, int worker) { static_cast<HostGraph*>(self)->run_piece(piece, worker); }, this);
    else
        run_on_executor();
}

void HostGraph::run_piece(std::int64_t piece, int worker) {
    // Not piece * units / pieces, which could overflow.
    const auto each = units_ / pieces_, extra = units_ % pieces_;
    const auto first = piece * each + std::min(piece, extra);
    run_units(first, first + each + (piece < extra ? 1 : 0), worker);
}

void HostGraph::run_units(std::int64_t first, std::int64_t last, int worker) {
    if (!by_members_) return run_tasks(steps_in_progress_[0], first, last, worker);
    for (auto group = first; group < last; ++group)
        for (const auto& step : steps_in_progress_) {
            const std::int64_t members = operands_[step.operands].members;
            const auto task = [&](std::int64_t member) {
                return step.groups * divide_up(std::min(member, members), step.members_per_group);
            };
            run_tasks(step, task(group * group_), task((group + 1) * group_), worker);
        }
}

void HostGraph::run_tasks(const Step& step, std::int64_t first, std::int64_t last, int worker) {
    const auto begin = step.first_task;
    step.entry(operands_[step.operands].bytes, step.constants, begin + first, begin + last,
               workspace_ + scratch_ + worker * scratch_bytes_);
}

void HostGraph::run_on_executor() {
    ended_.store(0, std::memory_order_relaxed);
    executor_(pieces_, run_piece_);
    if (ended_.load(std::memory_order_acquire) != pieces_)
        throw LaunchError(fmt::format(
            "the executor ran {} of {} tasks, each with a task number below {} and a worker number below {} counted; it must run "
            "every task once before it returns",
            ended_.load(), pieces_, pieces_, workers_));
}

void HostGraph::check_and_run_piece(std::int64_t piece, int worker) {
    if (piece < 0 || piece >= pieces_ || worker < 0 || worker >= workers_) return;  // reported by run_on_executor
    run_piece(piece, worker);
    ended_.fetch_add(1, std::memory_order_release);
}

namespace {

/// Calls use(run of the workspace, place in the message, bytes) for all that the members of a call have; returns the bytes of all.
template <class Use>
std::int64_t each_run(const Message& message, char* workspace, std::int64_t members, const Use& use) {
    std::int64_t place = 0;
    for (const auto& piece : message.pieces)
        for (std::int64_t k = 0; k * piece.members < members; ++k, place += piece.bytes)
            use(workspace + piece.offset + k * piece.stride, place, static_cast<std::size_t>(piece.bytes));
    return place;
}

template <class Element>
void copy_member(const BlockCopy& copy, std::int64_t member) {
    const auto& [from_row, from_column, from_block, from_member] = copy.from_strides;
    const auto& [to_row, to_column, to_block, to_member] = copy.to_strides;
    const auto* source = static_cast<const Element*>(copy.from) + member * from_member;
    auto* target = static_cast<Element*>(copy.to) + member * to_member;
    for (std::int64_t block = 0; block < copy.blocks; ++block)
        for (std::int64_t row = 0; row < copy.rows; ++row)
            for (std::int64_t column = 0; column < copy.columns; ++column)
                target[block * to_block + row * to_row + column * to_column] =
                    source[block * from_block + row * from_row + column * from_column];
}

}  // namespace

void run_message(Work work, const Message& message, char* workspace, char* room, std::int64_t members, Transport& transport) {
    const bool stays = message.peer == transport.rank();
    if (work == Work::send) {
        const auto bytes = each_run(message, workspace, members,
                                    [&](const char* run, std::int64_t place, std::size_t count) { std::memcpy(room + place, run, count); });
        if (!stays) transport.send(message.peer, room, bytes);
        return;
    }
    const auto bytes = each_run(message, workspace, members, [](char*, std::int64_t, std::size_t) {});
    if (!stays) transport.receive(message.peer, room, bytes);
    each_run(message, workspace, members, [&](char* run, std::int64_t place, std::size_t count) { std::memcpy(run, room + place, count); });
}

void copy_members(const void* block_copy, const void*, long long first, long long last, void*) {
    const auto& copy = *static_cast<const BlockCopy*>(block_copy);
    for (auto member = first; member < last; ++member) {
        if (copy.active != nullptr && copy.active[member] == 0) continue;
        if (copy.element == static_cast<std::int64_t>(sizeof(float)))
            copy_member<float>(copy, member);
        else
            copy_member<double>(copy, member);
    }
}

}  // namespace trifold
