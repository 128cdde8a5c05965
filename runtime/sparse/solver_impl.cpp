#include "runtime/sparse/solver_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <trifold/error.hpp>

namespace trifold {
namespace {

Session make_session(const SparsePlan& plan, void* workspace, std::int64_t bytes) {
    trifold_sparse_args args{};
    args.columns = args.used_columns = 1;
    args.members = plan.spec().batch;
    const std::array stand_in{Operand{&args, sizeof args, args.members}};
    return {plan.state().prepared, stand_in, workspace, bytes};
}

bool solves(SparseOperation operation) { return operation == SparseOperation::solve || operation == SparseOperation::solve_transposed; }

void check_number(double value, const char* option) {
    if (!(value >= 0) || !std::isfinite(value))
        throw SpecError(fmt::format("{} = {} is out of range; give a number from 0 on", option, value));
}

}  // namespace

SparseSolver::Impl::Impl(const SparsePlan& given, void* workspace, std::int64_t bytes)
    : plan(given), session(make_session(given, workspace, bytes)) {
    Session::Call call(session);
    for (const auto& content : plan.state().contents) call.write(content.buffer, 0, content.bytes.get());
}

SparseOptions SparseSolver::Impl::resolve(const SparseOptions& options, const char* operation) const {
    const auto& spec = plan.spec();
    auto resolved = options;
    resolve_count(resolved.columns, spec.rhs, std::int64_t{1} << 32, "columns");
    resolve_count(resolved.members, spec.batch, spec.batch, "members");
    resolve_count(resolved.maxiter, spec.maxiter, spec.maxiter, "maxiter");
    resolved.rtol = options.rtol.value_or(usual_sparse_tolerance(spec.precision));
    check_number(*resolved.rtol, "rtol");
    check_number(resolved.atol, "atol");
    check_number(resolved.shift, "shift");
    if (resolved.renew < 0) throw SpecError(fmt::format("renew = {}; give a number of iterations, or 0", resolved.renew));
    if (std::string_view(operation) != "update" && resolved.members > updated)
        throw SpecError(
            fmt::format("{} for {} sets of values, but {} have been given; call update first", operation, resolved.members, updated));
    return resolved;
}

CallArray SparseSolver::Impl::array_of(const char* name, const AnyArray& given, std::int64_t blocks, std::int64_t each, Access access,
                                       const char* may_equal) const {
    const auto& spec = plan.spec();
    const auto precision = spec.precision == Precision::f32 ? Precision::f32 : Precision::f64;
    if (given.precision != precision)
        throw SpecError(fmt::format("{} is {} and the SparsePlan is specialized for arrays in {}", name, to_string(given.precision),
                                    to_string(precision)));
    const auto real = element_bytes(precision), elements = checked_multiply(blocks, each, name);
    if (given.size >= 0 && given.size != elements)
        throw SpecError(fmt::format("{} has {} elements; {} blocks with {} each need {}", name, given.size, blocks, each, elements));
    return {.name = name,
            .data = given.data,
            .bytes = checked_multiply(elements, real, name),
            .alignment = static_cast<int>(real),
            .access = access,
            .may_equal = may_equal};
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
    const auto resolved = resolve(options, "update");
    const auto block = plan.spec().block;
    const std::array given{values};
    const std::array arrays{array_of("the values", values, resolved.members * plan.pattern().values(), block * block, Access::read)};
    call.bind(arrays, given, stream);
    auto args = args_of(resolved, 0);
    args.values = call.at(0);
    enqueue(call, "update", args);
    call.finish();
    updated = std::max(updated, resolved.members);
}

std::vector<CallArray> SparseSolver::Impl::arrays_of(SparseOperation operation, std::span<const AnyArray> given,
                                                     const SparseOptions& options) const {
    const auto rows = options.members * plan.pattern().rows(), block = plan.spec().block, each = block * options.columns;
    const bool applies = operation == SparseOperation::apply || operation == SparseOperation::apply_transposed;
    if (given.size() != (operation == SparseOperation::gradient ? 3 : 2))
        throw SpecError(fmt::format("{} has another number of arrays than {}", to_string(operation), given.size()));
    if (operation == SparseOperation::gradient)
        return {array_of("X", given[0], rows, each, Access::read), array_of("dE/dB", given[1], rows, each, Access::read),
                array_of("dE/dA", given[2], options.members * plan.pattern().values(), block * block, Access::update)};
    const bool guesses = solves(operation) && options.guess;
    return {array_of("B", given[0], rows, each, Access::read),
            array_of("X", given[1], rows, each, guesses ? Access::update : Access::write, applies ? "B" : nullptr)};
}

void SparseSolver::Impl::run(SparseOperation operation, std::span<const AnyArray> given, Stream stream, const SparseOptions& options) {
    Session::Call call(session);
    const std::string name(to_string(operation));
    if (!plan.spec().operations.contains(operation) && plan.state().prepared->transport != nullptr)
        throw SpecError(fmt::format("ranks share solve alone; {} is for a solver without ranks", name));
    if (!plan.spec().operations.contains(operation))
        throw SpecError(fmt::format("this SparsePlan was made without {}; add it to the SparseSpec's operations", name));
    const auto resolved = resolve(options, name.c_str());
    const auto arrays = arrays_of(operation, given, resolved);
    call.bind(arrays, given, stream);
    const auto rhs = plan.spec().rhs;
    if (solves(operation)) {
        last_ = resolved;
        outcomes_.assign(static_cast<std::size_t>(resolved.members * resolved.columns), {});
    }
    for (std::int64_t first = 0; first < resolved.columns; first += rhs) {
        if (solves(operation) && first > 0) read_outcomes(call, first);
        auto args = args_of(resolved, first);
        if (operation == SparseOperation::gradient) {
            args.x = call.at(0);
            args.b = call.at(1);
            args.gradient = call.at(2);
        } else {
            args.b = call.at(0);
            args.x = call.at(1);
        }
        enqueue(call, name, args);
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
