#include "runtime/grid/solver_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <trifold/error.hpp>

#include "generator/grid/fields.hpp"
#include "runtime/grid/family.hpp"

namespace trifold {
namespace {

Session make_session(const GridPlan& plan, void* workspace, std::int64_t bytes, Holds holds) {
    trifold_grid_args args{};
    args.columns = args.used_columns = 1;
    args.members = plan.spec().batch;
    const std::array stand_in{Operand{&args, sizeof args, args.members}};
    return {plan.state().prepared, stand_in, workspace, bytes, holds};
}

CallTable table_of(const GridSpec& spec) {
    return {grid_family, spec.precision, {spec.batch, spec.rhs}, [&](std::string_view name) {
                return grid_fields[name].get(&spec).get<std::int64_t>();
            }};
}

}  // namespace

GridSolver::Impl::Impl(const GridPlan& given, void* workspace, std::int64_t bytes, Holds holds)
    : plan(given), session(make_session(given, workspace, bytes, holds)), table(table_of(given.spec())) {}

void GridSolver::Impl::adopt(void* workspace, Stream stream, std::int64_t members) {
    session.adopt(workspace, stream);
    factored = members;
}

GridOptions GridSolver::Impl::resolve(GridOperation operation, const GridOptions& options) const {
    const auto& spec = plan.spec();
    if (!spec.operations.contains(operation))
        throw SpecError(fmt::format("this GridPlan was made without {}; add it to the GridSpec's operations", to_string(operation)));
    auto resolved = options;
    const auto counts = table.resolve(static_cast<std::size_t>(operation), {options.members, options.columns}, factored);
    resolved.columns = counts.columns;
    resolved.members = counts.members;
    if (resolved.columns > spec.rhs && operation == GridOperation::factor_solve && !spec.operations.contains(GridOperation::solve))
        throw SpecError(fmt::format("{} columns are more than the GridSpec's rhs = {}, and the rest needs solve; add it to the operations",
                                    resolved.columns, spec.rhs));
    return resolved;
}

trifold_grid_args GridSolver::Impl::args_of(const void* b, void* x, const GridOptions& options, std::int64_t first) const {
    trifold_grid_args args{};
    args.b = b;
    args.x = x;
    args.columns = options.columns;
    args.first_column = first;
    args.used_columns = std::min(plan.spec().rhs, options.columns - first);
    args.members = options.members;
    args.begins = first == 0 ? 1 : 0;
    args.accepts = options.accept_nearly_singular ? 1 : 0;
    args.workspace = session.workspace();
    return args;
}

void GridSolver::Impl::run(GridOperation operation, std::span<const AnyArray> given, Stream stream, const GridOptions& options,
                           bool transposed) {
    Session::Call call(session);
    const auto resolved = resolve(operation, options);
    std::array<CallArray, max_arrays> room;
    const CallCounts counts{resolved.members, resolved.columns};
    call.bind(table.arrays(static_cast<std::size_t>(operation), given, counts, room), given, stream);
    enqueue(call, operation, resolved, transposed);
    call.finish();
    if (!given.front().on_host || (operation != GridOperation::factor && operation != GridOperation::factor_solve)) return;
    auto* x = operation == GridOperation::factor ? nullptr : const_cast<void*>(given[2].data);
    if (plan.spec().precision == Precision::f32)
        verify_near_singular(call, static_cast<const float*>(given[0].data), static_cast<float*>(x), resolved);
    else
        verify_near_singular(call, static_cast<const double*>(given[0].data), static_cast<double*>(x), resolved);
}

void GridSolver::Impl::enqueue(Session::Call& call, GridOperation operation, const GridOptions& options, bool transposed) {
    switch (operation) {
        case GridOperation::factor:
            return factor(call, call.at(0), options);
        case GridOperation::factor_solve:
            return factor_solve(call, call.at(0), call.at(1), call.at(2), options);
        case GridOperation::refine:
            return refine(call, call.at(0), call.at(1), call.at(2), transposed, options);
        case GridOperation::gradient:
            sweep(call, GridOperation::solve_transposed, call.at(1), call.at(2), options);
            return gradient(call, call.at(0), call.at(2), call.at(3), options);
        default:
            return sweep(call, operation, call.at(0), call.at(1), options);
    }
}

void GridSolver::Impl::run(Session::Call& call, std::string_view operation, const trifold_grid_args& args) const {
    const std::array operands{Operand{&args, sizeof args, args.members}};
    call.run(session.operation(operation), operands);
}

void GridSolver::Impl::factor(Session::Call& call, const void* stencil, const GridOptions& options) {
    auto args = args_of(nullptr, nullptr, options, 0);
    args.stencil = stencil;
    run(call, "factor", args);
    factored = std::max(factored, options.members);
}

void GridSolver::Impl::sweep(Session::Call& call, GridOperation operation, const void* b, void* x, const GridOptions& options) {
    for (std::int64_t first = 0; first < options.columns; first += plan.spec().rhs)
        run_whole(call, to_string(operation), args_of(b, x, options, first));
}

/// The last look at a solution needs b, whose place it may take.
void GridSolver::Impl::run_whole(Session::Call& call, std::string_view operation, trifold_grid_args args) const {
    args.in_place = args.b == args.x ? 1 : 0;
    if (args.in_place != 0) run(call, "keep", args);
    run(call, operation, args);
}

void GridSolver::Impl::factor_solve(Session::Call& call, const void* stencil, const void* b, void* x, const GridOptions& options) {
    auto args = args_of(b, x, options, 0);
    args.stencil = stencil;
    run_whole(call, "factor_solve", args);
    factored = std::max(factored, options.members);
    for (auto first = plan.spec().rhs; first < options.columns; first += plan.spec().rhs)
        run_whole(call, "solve", args_of(b, x, options, first));
}

void GridSolver::Impl::refine(Session::Call& call, const void* stencil, const void* b, void* x, bool transposed,
                              const GridOptions& options) {
    auto* residual = session.place("residual");
    for (std::int64_t first = 0; first < options.columns; first += plan.spec().rhs) {
        auto args = args_of(b, x, options, first);
        args.stencil = stencil;
        run(call, transposed ? "residual_transposed" : "residual", args);
        auto step = args_of(residual, residual, {.columns = args.used_columns, .members = args.members}, 0);
        step.begins = args.begins;
        step.step = 1;
        run(call, transposed ? "solve_transposed" : "solve", step);
        run(call, transposed ? "correct_transposed" : "correct", args);
    }
}

void GridSolver::Impl::gradient(Session::Call& call, const void* x, const void* by_b, void* by_stencil, const GridOptions& options) {
    for (std::int64_t first = 0; first < options.columns; first += plan.spec().rhs) {
        auto args = args_of(by_b, const_cast<void*>(x), options, first);
        args.gradient = by_stencil;
        run(call, "gradient", args);
    }
}

}  // namespace trifold
