#include "runtime/sparse/solver_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <trifold/error.hpp>
#include <utility>

#include "runtime/sparse/family.hpp"

namespace trifold {
namespace {

/// While it lives, this thread's calls are followed from turn to turn.
class BetweenTurns {
  public:
    explicit BetweenTurns(std::function<void(const ToHost&)> work) : work_(std::move(work)) {
        if (work_) between_turns = &work_;
    }
    ~BetweenTurns() { between_turns = nullptr; }
    BetweenTurns(const BetweenTurns&) = delete;
    BetweenTurns& operator=(const BetweenTurns&) = delete;

  private:
    std::function<void(const ToHost&)> work_;
};

Session make_session(const SparsePlan& plan, void* workspace, std::int64_t bytes, Holds holds) {
    trifold_sparse_args args{};
    args.columns = args.used_columns = 1;
    args.members = plan.spec().batch;
    const std::array stand_in{Operand{&args, sizeof args, args.members}};
    return {plan.state().prepared, stand_in, workspace, bytes, holds};
}

bool solves(SparseOperation operation) { return operation == SparseOperation::solve || operation == SparseOperation::solve_transposed; }

void check_number(double value, const char* option) {
    if (!(value >= 0) || !std::isfinite(value))
        throw SpecError(fmt::format("{} = {} is out of range; give a number from 0 on", option, value));
}

}  // namespace

SparseSolver::Impl::Impl(const SparsePlan& given, void* workspace, std::int64_t bytes, Holds holds)
    : plan(given),
      session(make_session(given, workspace, bytes, holds)),
      table(sparse_family, plan.spec().precision, {plan.spec().batch, plan.spec().rhs},
            [&](std::string_view name) { return sparse_extent(plan, name); }) {
    if (holds == Holds::nothing) write_contents();
}

void SparseSolver::Impl::write_contents() {
    if (has_contents_) return;
    Session::Call call(session);
    for (const auto& content : plan.state().contents) call.write(content.buffer, 0, content.bytes.get());
    has_contents_ = true;
}

void SparseSolver::Impl::adopt(void* workspace, Stream stream, std::int64_t members) {
    has_contents_ = has_contents_ && session.workspace() == workspace;
    session.adopt(workspace, stream);
    updated = members;
    outcomes_.clear();
    outcomes_pending_ = false;
}

SparseOptions SparseSolver::Impl::resolve(const SparseOptions& options, std::size_t operation) const {
    const auto& spec = plan.spec();
    auto resolved = options;
    const auto counts = table.resolve(operation, {options.members, options.columns}, updated);
    resolved.columns = counts.columns;
    resolved.members = counts.members;
    resolve_count(resolved.maxiter, spec.maxiter, spec.maxiter, "maxiter");
    resolved.rtol = options.rtol.value_or(usual_sparse_tolerance(spec.precision));
    check_number(*resolved.rtol, "rtol");
    check_number(resolved.atol, "atol");
    check_number(resolved.shift, "shift");
    if (resolved.renew < 0) throw SpecError(fmt::format("renew = {}; give a number of iterations, or 0", resolved.renew));
    return resolved;
}

trifold_sparse_args SparseSolver::Impl::args_of(const SparseOptions& options, std::int64_t first) const {
    trifold_sparse_args args{};
    args.columns = options.columns;
    args.first_column = first;
    args.used_columns = std::min(plan.spec().rhs, options.columns - first);
    args.members = options.members;
    args.guesses = options.guess ? 1 : 0;
    args.maxiter = options.maxiter;
    args.renew = options.renew;
    args.rtol = *options.rtol;
    args.atol = options.atol;
    args.shift = options.shift;
    args.workspace = session.workspace();
    return args;
}

void SparseSolver::Impl::enqueue(Session::Call& call, std::string_view operation, const trifold_sparse_args& args) const {
    const std::array operands{Operand{&args, sizeof args, args.members}};
    call.run(session.operation(operation), operands);
}

void SparseSolver::Impl::update(const AnyArray& values, Stream stream, const SparseOptions& options) {
    Session::Call call(session);
    const auto resolved = resolve(options, sparse_update);
    const std::array given{values};
    std::array<CallArray, 1> room;
    call.bind(table.arrays(sparse_update, given, {resolved.members, resolved.columns}, room), given, stream);
    auto args = args_of(resolved, 0);
    args.values = call.at(0);
    enqueue(call, "update", args);
    call.finish();
    updated = std::max(updated, resolved.members);
}

/// Tells the watch of new iterations of a panel. Null: there is none.
std::function<void(const ToHost&)> SparseSolver::Impl::watched(const SparseOptions& options, std::int64_t columns) const {
    if (!options.watch) return nullptr;
    const auto rhs = plan.spec().rhs;
    return [=, this, &options, states = std::vector<trifold_sparse_state>(static_cast<std::size_t>(options.members * rhs)),
            seen = std::int64_t{0}](const ToHost& read) mutable {
        read(states.data(), session.place("states"), states.size() * sizeof states[0]);
        std::int64_t iterations = 0;
        double worst = 0;
        for (std::int64_t k = 0; k < options.members * columns; ++k) {
            const auto& state = states[static_cast<std::size_t>(k / columns * rhs + k % columns)];
            iterations = std::max<std::int64_t>(iterations, state.iterations);
            if (state.norm_b > 0) worst = std::max(worst, state.norm * state.unit / state.norm_b);
        }
        if (iterations > std::exchange(seen, iterations)) options.watch(iterations, worst);
    };
}

void SparseSolver::Impl::run(SparseOperation operation, std::span<const AnyArray> given, Stream stream, const SparseOptions& options) {
    Session::Call call(session);
    const std::string name(to_string(operation));
    if (!plan.spec().operations.contains(operation) && plan.state().prepared->transport != nullptr)
        throw SpecError(fmt::format("ranks share solve alone; {} is for a solver without ranks", name));
    if (!plan.spec().operations.contains(operation))
        throw SpecError(fmt::format("this SparsePlan was made without {}; add it to the SparseSpec's operations", name));
    const auto resolved = resolve(options, static_cast<std::size_t>(operation));
    std::array<CallArray, max_arrays> room;
    const auto all = table.arrays(static_cast<std::size_t>(operation), given, {resolved.members, resolved.columns}, room);
    if (solves(operation) && resolved.guess) all[1].access = Access::update;
    call.bind(all, given, stream);
    if (resolved.watch && session.captures(stream))
        throw SpecError("a call that is captured in a graph cannot be watched; leave watch out");
    const auto rhs = plan.spec().rhs;
    if (solves(operation)) {
        last_ = resolved;
        outcomes_.assign(static_cast<std::size_t>(resolved.members * resolved.columns), {});
    }
    for (std::int64_t first = 0; first < resolved.columns; first += rhs) {
        if (solves(operation) && first > 0) read_outcomes(call, first);
        auto args = args_of(resolved, first);
        const auto watch = solves(operation) ? watched(resolved, args.used_columns) : nullptr;
        const BetweenTurns watching(watch);
        if (operation == SparseOperation::gradient) {
            args.x = call.at(0);
            args.b = call.at(1);
            args.gradient = call.at(2);
        } else {
            args.b = call.at(0);
            args.x = call.at(1);
        }
        enqueue(call, name, args);
        if (watch && !session.program().repeats.contains(name))  // all of it is one launch
            watch([&](void* to, const void*, std::size_t bytes) {
                const auto count = static_cast<std::int64_t>(bytes / sizeof(trifold_sparse_state));
                std::memcpy(to, call.read<trifold_sparse_state>("states", count).data(), bytes);
            });
        last_panel_ = args.used_columns;
        outcomes_pending_ = outcomes_pending_ || solves(operation);
    }
    call.finish();
}

/// Reads outcomes of the panel that ends before column `end`.
void SparseSolver::Impl::read_outcomes(Session::Call& call, std::int64_t end) {
    const auto rhs = plan.spec().rhs, first = (end - 1) / rhs * rhs;
    const auto states = call.read<trifold_sparse_state>("states", last_.members * rhs);
    for (std::int64_t member = 0; member < last_.members; ++member)
        for (auto column = first; column < end; ++column) {
            const auto& state = states[static_cast<std::size_t>(member * rhs + column - first)];
            auto& outcome = outcomes_[static_cast<std::size_t>(member * last_.columns + column)];
            outcome.end = static_cast<SparseEnd>(state.outcome - trifold_sparse_converged);
            outcome.iterations = state.iterations;
            outcome.residual = std::ldexp(state.plain, -static_cast<int>(state.plain_scale));
            outcome.norm_b = state.norm_b;
            outcome.by_rows = state.measure > 0 ? state.norm / state.measure : 0;
        }
    outcomes_pending_ = false;
}

const std::vector<SparseOutcome>& SparseSolver::Impl::outcomes() {
    Session::Call call(session);
    if (outcomes_.empty()) throw SpecError("there is no solution yet; call solve first");
    if (outcomes_pending_) read_outcomes(call, last_.columns);
    return outcomes_;
}

std::vector<double> SparseSolver::Impl::history(std::int64_t member, std::int64_t column) {
    Session::Call call(session);
    if (outcomes_.empty()) throw SpecError("there is no solution yet; call solve first");
    if (outcomes_pending_) read_outcomes(call, last_.columns);
    const auto& spec = plan.spec();
    const auto first = (last_.columns - 1) / spec.rhs * spec.rhs;
    if (member < 0 || member >= last_.members || column < first || column >= last_.columns)
        throw SpecError(fmt::format("no history of member {}, column {}; the last panel has columns {} to {} of {} members", member, column,
                                    first, last_.columns - 1, last_.members));
    const auto length = std::min(spec.maxiter, max_sparse_history) + 1, system = member * spec.rhs + column - first;
    const auto iterations = outcomes_[static_cast<std::size_t>(member * last_.columns + column)].iterations;
    const auto all = call.read<double>("history", (system + 1) * length);
    const auto begin = all.begin() + system * length;
    return {begin, begin + std::min(iterations + 1, length)};
}

const std::vector<SparseValues>& SparseSolver::Impl::values() {
    Session::Call call(session);
    if (updated == 0) throw SpecError("there are no values yet; call update first");
    const auto parts =
        buffer(session.program(), "records").bytes / static_cast<std::int64_t>(sizeof(trifold_sparse_record)) / plan.spec().batch;
    const auto records = call.read<trifold_sparse_record>("records", parts * updated);
    values_.clear();
    for (std::int64_t member = 0; member < updated; ++member) {
        const auto& r = records[static_cast<std::size_t>((member + 1) * parts - 1)];
        values_.push_back(
            {r.zero_pivots, r.zero_row, r.not_finite, r.bad_row, r.bad_column, r.unequal, r.unequal_row, r.unequal_column, r.largest});
    }
    return values_;
}

}  // namespace trifold
