#include "runtime/tridiagonal/ranks/solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "generator/tridiagonal/operands.hpp"
#include "runtime/session/agree.hpp"
#include "runtime/tridiagonal/request.hpp"

namespace trifold {
namespace {

using namespace ranks;

constexpr std::int64_t joint_blocks = 3, own_levels = 64;  // more levels than these no path has
constexpr trifold_int sound_front = std::numeric_limits<trifold_int>::max(), fed_by_failed = sound_front - 1;

Session make_rank_session(const RankPlan& plan) {
    KernelArgs args{};
    args.args.members = plan.spec().spec.batch;
    args.args.columns = plan.spec().spec.rhs;
    std::array<Operand, rank_operand_count> stand_in;
    stand_in.fill({&args, sizeof args, args.args.members});
    return {plan.state()->prepared, stand_in};
}

/// Strides of X in a path: right-hand sides stand column by column in a block.
trifold_strides path_strides(std::int64_t n, std::int64_t columns, std::int64_t blocks) {
    return {1, n, n * columns, n * columns * blocks};
}

/// Behind the one at `pointer`, if there is one.
const void* moved(const void* pointer, std::int64_t bytes) {
    return pointer == nullptr ? nullptr : static_cast<const char*>(pointer) + bytes;
}

void copy_strides(std::int64_t (&to)[4], const trifold_strides& from) {
    const std::int64_t all[]{from.row, from.column, from.stage, from.member};
    std::ranges::copy(all, to);
}

}  // namespace

RankSolver::Impl::Impl(const RankPlan& given)
    : plan(given),
      session(make_rank_session(given)),
      shard_(shard_of(given.spec())),
      path_(path_of(given.spec())),
      columns_(columns_at_once(given.choice())) {
    for (std::size_t k = 0; k < args_.size(); ++k) {
        if (k >= joint && !has_joint()) continue;
        set_sizes(args_[k], plan.program(), k < joint ? 0 : 1);
        operands_[k] = {&args_[k], bytes_of_args(plan.program()), 0};
    }
    for (std::size_t k = 0; k < copies_.size(); ++k) operands_[args_.size() + k] = {&copies_[k], sizeof(BlockCopy), 0};
}

void RankSolver::Impl::require_factor(std::string_view what) const {
    if (factored_ == 0) throw SpecError(fmt::format("{} needs a factorization; call factor, factor_forward or factor_solve first", what));
}

/// E, and the inverse's couplings, are as long as those of the path.
std::vector<CallArray> RankSolver::Impl::arrays_of(const Request& request) const {
    const RequestArrays own_arrays(shard_, request), path_arrays(path_, request);
    std::vector<CallArray> result(own_arrays.list().begin(), own_arrays.list().end());
    for (std::size_t k = 0; k < result.size(); ++k)
        if (own_arrays.at(k) == Array::e || own_arrays.at(k) == Array::inverse_coupling) result[k].bytes = path_arrays.list()[k].bytes;
    return result;
}

void RankSolver::Impl::check_sizes(const Request& request, Operation operation, std::span<const AnyArray> arrays,
                                   const RankOptions& options) const {
    auto full = request;
    full.members = shard_.batch;
    const auto least = arrays_of(request), most = arrays_of(full);
    const auto check = [&](Array which, const AnyArray& array) {
        const auto real = element_bytes(shard_.precision);
        const auto k = static_cast<std::size_t>(std::ranges::find(least, std::string_view(to_string(which)),
                                                                  [](const CallArray& item) { return std::string_view(item.name); }) -
                                                least.begin());
        const auto bytes = array.size * real;
        if (k < least.size() && array.size >= 0 && (bytes < least[k].bytes || bytes > most[k].bytes))
            throw SpecError(fmt::format("{} has {} elements; the {} blocks of rank {} need {}", to_string(which), array.size,
                                        shard_.horizon, plan.spec().rank, least[k].bytes / real));
    };
    for (std::size_t k = 0; k < arrays.size(); ++k) check(listed(operation)[k], arrays[k]);
    if (options.diagonal) check(Array::diagonal, *options.diagonal);
    if (options.shift) check(Array::shift, *options.shift);
}

void RankSolver::Impl::require_ready(const Request& request) const {
    const auto& planned = plan.spec().spec.operations;
    const auto require = [&](Operation operation) {
        if (!planned.contains(operation))
            throw SpecError(fmt::format("this RankPlan has no kernels for {}; add it to the Spec's operations, which are {}",
                                        to_string(operation), to_string(planned)));
    };
    require(request.operation);
    if (request.columns > shard_.rhs && request.operation == Operation::factor_forward) require(Operation::forward);
    if (request.columns > shard_.rhs && request.operation == Operation::factor_solve) require(Operation::solve);
    if (factors(request.operation)) return;
    require_factor(to_string(request.operation));
    if (request.members > factored_)
        throw SpecError(
            fmt::format("{} for {} members, but only {} have been factored", to_string(request.operation), request.members, factored_));
}

void RankSolver::Impl::run(Operation operation, std::span<const AnyArray> arrays, const RankOptions& options) {
    Session::Call call(session);
    auto request = request_of(shard_, operation, arrays, options);
    resolve(shard_, request);
    require_ready(request);
    check_sizes(request, operation, arrays, options);
    const auto list = arrays_of(request);
    const bool on_host = on_gpu() && std::ranges::any_of(arrays, &AnyArray::on_host);
    if (on_host && !std::ranges::all_of(arrays, &AnyArray::on_host))
        throw SpecError("some arrays of this call are in the host's memory and some in the device's; give all in one of them");
    if (!on_host) {
        call.bind(list, options.stream);
        return enqueue(call, request);
    }
    call.bind_host(list);
    auto placed = request;
    for (std::size_t k = 0; k < list.size(); ++k) placed[RequestArrays(shard_, request).at(k)] = call.at(k);
    enqueue(call, placed);
    call.finish();
}

void RankSolver::Impl::enqueue(Session::Call& call, const Request& request) {
    auto operation = request.operation;
    const auto step = std::min(shard_.rhs, columns_);
    for (auto& operand : operands_) operand.members = request.members;
    for (std::int64_t first = 0; first < request.columns; first += step) {
        const auto caller = panel_args(shard_, request, first, std::min(step, request.columns - first), session.workspace());
        set_paths(request, caller);
        set_copies(request, caller);
        call.run(session.operation(to_string(operation)), operands_);
        if (operation == Operation::factor || operation == Operation::inverse) break;
        if (operation == Operation::factor_forward) operation = Operation::forward;
        if (operation == Operation::factor_solve) operation = Operation::solve;
    }
    if (factors(request.operation)) factored_ = std::max(factored_, request.members);
    if (factors(request.operation)) solved_ = inverted_ = 0;
    if (solves(request.operation)) solved_ = request.members;
    if (request.operation == Operation::inverse) inverted_ = request.members;
    if (!sweeps_forward(request.operation)) return;
    swept_members_ = request.members;
    swept_columns_ = request.columns;
}

/// The rank's own path and the separator's, whose middle block is the rank's first one.
void RankSolver::Impl::set_paths(const Request& request, const trifold_args& caller) {
    const auto n = shard_.block, real = std::int64_t{element_bytes(shard_.precision)};
    const bool inverts = request.operation == Operation::inverse;
    const auto set = [&](std::size_t which, const trifold_args& args) { set_args(args_[which], args); };
    const auto in_x = [](trifold_args args) {
        args.b = args.x;
        args.b_strides = args.x_strides;
        return args;
    };
    auto args = caller;
    args.x = at("x");
    args.x_strides = path_strides(n, columns_, path_.horizon);
    if (caller.diagonal != nullptr) args.diagonal = at("diagonal");
    if (inverts) args.inverse_diagonal = at("inverse_diagonal");
    // Kernels of GPUs take the path without E for the separator's, whose couplings come as messages.
    if (on_gpu() && args.e == nullptr) args.e = session.workspace();
    set(own, args);
    set(own_in_x, in_x(args));
    if (!has_joint()) return;
    args.workspace = at("joint.status");
    if (on_gpu()) args.e = nullptr;
    args.d = moved(caller.d, -diagonal_strides(shard_).stage * real);
    args.b = moved(caller.b, -caller.b_strides.stage * real);
    args.x = at("joint.x");
    args.x_strides = path_strides(n, columns_, joint_blocks);
    if (caller.diagonal != nullptr) args.diagonal = at("joint.diagonal");
    if (inverts) args.inverse_diagonal = at("joint.inverse_diagonal");
    set(joint, args);
    set(joint_in_x, in_x(args));
}

void RankSolver::Impl::set_copies(const Request& request, const trifold_args& caller) {
    const auto n = shard_.block, real = std::int64_t{element_bytes(shard_.precision)}, blocks = shard_.horizon;
    const auto set = [&](RankOperands which, const void* from, const trifold_strides& from_strides, void* to,
                         const trifold_strides& to_strides, std::int64_t count, std::int64_t columns) {
        auto& copy = copies_.at(which - args_.size());
        copy = {from, to, real, from == nullptr ? 0 : count, n, columns, {}, {}, caller.active};
        copy_strides(copy.from_strides, from_strides);
        copy_strides(copy.to_strides, to_strides);
    };
    set(deliver, at("x"), path_strides(n, columns_, path_.horizon), caller.x, caller.x_strides, blocks, caller.columns);
    set(own_diagonal, caller.diagonal, {1, 0, n, n * blocks}, at("diagonal"), {1, 0, n, n * path_.horizon}, blocks, 1);
    if (has_joint())
        set(joint_diagonal, caller.diagonal, {1, 0, n, n * blocks}, static_cast<char*>(at("joint.diagonal")) + n * real,
            {1, 0, n, n * joint_blocks}, 1, 1);
    if (request.operation == Operation::inverse && on_gpu())
        set(deliver_coupling, at("inverse_coupling"), {n, 1, 0, buffer(plan.program(), "inverse_coupling").bytes / (shard_.batch * real)},
            caller.inverse_coupling, {n, 1, 0, n * n}, 1, n);
    if (request.operation == Operation::inverse)
        set(deliver_inverse, at("inverse_diagonal"), {n, 1, n * n, n * n * path_.horizon}, caller.inverse_diagonal,
            {n, 1, n * n, n * n * blocks}, blocks, n);
    const auto clear = [&](RankOperands which, std::string_view buffer) {
        const auto word = request.operation == Operation::inverse ? offsetof(trifold_range, inverse) : offsetof(trifold_range, solution);
        auto& copy = copies_.at(which - args_.size());
        copy = {at("zeros"),  static_cast<char*>(at(buffer)) + word, sizeof(int), caller.first_column == 0 ? 1 : 0, 1, 1, {}, {},
                caller.active};
        copy.to_strides[3] = sizeof(trifold_range) / sizeof(int);
    };
    clear(clear_own, "range");
    if (has_joint()) clear(clear_joint, "joint.range");
}

/// The first failing front that no failed one has fed.
void RankSolver::Impl::add_failure(Session::Call& call, bool is_joint, RankVerdict& verdict, std::int64_t member) const {
    const auto blocks = is_joint ? joint_blocks : path_.horizon, n = shard_.block;
    const auto all = call.read<trifold_int>(is_joint ? "joint.failure" : "failure", (member + 1) * blocks);
    auto worst = sound_front;
    for (const auto failure : all.subspan(static_cast<std::size_t>(member * blocks)))
        if (failure != fed_by_failed) worst = std::min(worst, failure);
    if (worst == sound_front) return;
    const std::int64_t level = is_joint ? own_levels + turn_of(plan.spec().rank) : worst / n / blocks;
    const std::int64_t block = plan.spec().first_block() + (is_joint ? 0 : worst / n % blocks);
    if (verdict.block >= 0 && std::pair(verdict.level, verdict.block) < std::pair(level, block)) return;
    verdict.level = level;
    verdict.block = block;
    verdict.row = worst % n;
}

/// Verdicts of this rank's blocks.
std::vector<RankVerdict> RankSolver::Impl::verdicts(Session::Call& call) {
    std::vector<RankVerdict> result(static_cast<std::size_t>(factored_));
    for (const bool is_joint : {false, true}) {
        if (is_joint && !has_joint()) continue;
        const std::string prefix = is_joint ? "joint." : "";
        const auto read = call.read<trifold_status>(prefix + "status", factored_);
        const std::vector<trifold_status> statuses(read.begin(), read.end());
        const auto logs = call.read<double>(prefix + "log_determinant", factored_);
        for (std::size_t k = 0; k < result.size(); ++k) {
            auto& member = result[k];
            member.floors = member.floors < 0 || statuses[k].floors < 0 ? -1 : member.floors + statuses[k].floors;
            member.log_determinant += logs[k];
            member.failed = member.failed || statuses[k].block >= 0;
            member.least_pivot = std::min(member.least_pivot, statuses[k].least_pivot);
            member.nearly_singular = member.nearly_singular || statuses[k].nearly_singular != 0;
        }
        const auto ranges = call.read<trifold_range>(prefix + "range", factored_);
        for (std::size_t k = 0; k < result.size(); ++k) {
            const auto member = static_cast<std::int64_t>(k);
            if (member < solved_ && ranges[k].solution > 0) result[k].solution = false;
            if (member < inverted_ && ranges[k].inverse == 1) result[k].inverse = false;
        }
        for (std::size_t k = 0; k < result.size(); ++k)
            if (statuses[k].floors >= 0 && statuses[k].block >= 0) add_failure(call, is_joint, result[k], static_cast<std::int64_t>(k));
    }
    return result;
}

/// Verdicts of the whole chain, in the order of the ranks.
std::vector<RankVerdict> RankSolver::Impl::joined_verdicts() {
    Session::Call call(session);
    require_factor("status");
    const auto mine = verdicts(call);
    const auto all = gather(plan.state()->prepared->transport->hosts(), std::as_bytes(std::span(mine)));
    std::vector<RankVerdict> result(mine.size());
    for (int rank = 0; rank < plan.spec().ranks(); ++rank)
        for (std::size_t k = 0; k < result.size(); ++k) {
            RankVerdict other;
            std::memcpy(&other, all.data() + (static_cast<std::size_t>(rank) * result.size() + k) * sizeof other, sizeof other);
            auto& member = result[k];
            member.floors = member.floors < 0 || other.floors < 0 ? -1 : member.floors + other.floors;
            member.log_determinant += other.log_determinant;
            member.failed = member.failed || other.failed;
            member.least_pivot = std::min(member.least_pivot, other.least_pivot);
            member.nearly_singular = member.nearly_singular || other.nearly_singular;
            member.solution = member.solution && other.solution;
            member.inverse = member.inverse && other.inverse;
            if (other.block < 0) continue;
            if (member.block >= 0 && std::pair(member.level, member.block) < std::pair(other.level, other.block)) continue;
            member.level = other.level;
            member.block = other.block;
            member.row = other.row;
        }
    return result;
}

const std::vector<Outcome>& RankSolver::Impl::status() {
    outcomes_.clear();
    for (const auto& member : joined_verdicts()) {
        Outcome outcome;
        outcome.floors = member.floors;
        if (member.floors >= 0) {
            outcome.block = member.block;
            outcome.row = member.row;
            outcome.least_pivot = member.failed ? 0 : member.least_pivot;
            outcome.nearly_singular = !member.failed && member.nearly_singular;
            outcome.solution = member.failed || member.solution;
            outcome.inverse = member.failed || member.inverse;
        }
        outcomes_.push_back(outcome);
    }
    return outcomes_;
}

const std::vector<double>& RankSolver::Impl::log_determinant() {
    log_determinants_.clear();
    for (const auto& member : joined_verdicts()) log_determinants_.push_back(member.log_determinant);
    return log_determinants_;
}

const std::vector<double>& RankSolver::Impl::quadratic() {
    Session::Call call(session);
    if (swept_members_ == 0) throw SpecError("quadratic needs a forward sweep; call forward, solve, factor_forward or factor_solve first");
    const auto rhs = shard_.rhs;
    if (swept_columns_ > rhs)
        throw SpecError(
            fmt::format("quadratic holds one panel of {} columns and the last forward sweep had {}; make a RankPlan with rhs = {}", rhs,
                        swept_columns_, swept_columns_));
    std::vector<double> mine(static_cast<std::size_t>(swept_members_ * rhs));
    const auto add = [&](std::string_view buffer) {
        const auto values = call.read<double>(buffer, swept_members_ * rhs);
        for (std::size_t k = 0; k < mine.size(); ++k) mine[k] += values[k];
    };
    add("quadratic");
    if (has_joint()) add("joint.quadratic");
    const auto all = gather(plan.state()->prepared->transport->hosts(), std::as_bytes(std::span(mine)));
    quadratics_.assign(static_cast<std::size_t>(swept_members_ * swept_columns_), 0);
    for (int rank = 0; rank < plan.spec().ranks(); ++rank) {
        std::memcpy(mine.data(), all.data() + static_cast<std::size_t>(rank) * mine.size() * sizeof(double), mine.size() * sizeof(double));
        for (std::size_t k = 0; k < quadratics_.size(); ++k) {
            const auto columns = static_cast<std::size_t>(swept_columns_);
            quadratics_[k] += mine[k / columns * static_cast<std::size_t>(rhs) + k % columns];
        }
    }
    for (auto& value : quadratics_)
        if (!std::isfinite(value)) value = std::numeric_limits<double>::quiet_NaN();
    return quadratics_;
}

RankSolver::RankSolver(const RankPlan& plan) : impl_(std::make_unique<Impl>(plan)) {}
RankSolver::RankSolver(RankSolver&&) noexcept = default;
RankSolver& RankSolver::operator=(RankSolver&&) noexcept = default;
RankSolver::~RankSolver() = default;
RankSolver::Impl& RankSolver::impl() const { return held(impl_, "RankSolver"); }
const RankPlan& RankSolver::plan() const { return impl().plan; }
void RankSolver::prepare() { impl().session.prepare(); }
void RankSolver::run(Operation operation, std::span<const AnyArray> arrays, const RankOptions& options) {
    impl().run(operation, arrays, options);
}
const std::vector<Outcome>& RankSolver::status() { return impl().status(); }
const std::vector<double>& RankSolver::log_determinant() { return impl().log_determinant(); }
const std::vector<double>& RankSolver::quadratic() { return impl().quadratic(); }
bool RankSolver::ok() { return std::ranges::all_of(status(), &Outcome::ok); }
void RankSolver::check() { check_outcomes(status(), impl().plan.spec().spec); }

}  // namespace trifold
