#include "runtime/grid/solver_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <trifold/error.hpp>

namespace trifold {
namespace {

Session make_session(const GridPlan& plan, void* workspace, std::int64_t bytes, Holds holds) {
    trifold_grid_args args{};
    args.columns = args.used_columns = 1;
    args.members = plan.spec().batch;
    const std::array stand_in{Operand{&args, sizeof args, args.members}};
    return {plan.state().prepared, stand_in, workspace, bytes, holds};
}

constexpr GridArray b_array{"B", 0}, x_array{"X", 0, Access::write, "B"};
constexpr std::array factor_arrays{stencil_array};
constexpr std::array factor_solve_arrays{stencil_array, b_array, x_array};
constexpr std::array solve_arrays{b_array, x_array};
constexpr std::array refine_arrays{stencil_array, b_array, GridArray{"X", 0, Access::update}};
constexpr std::array gradient_arrays{GridArray{"X", 0}, GridArray{"dE/dX", 0}, GridArray{"dE/dB", 0, Access::write},
                                     GridArray{"dE/dA", 9, Access::write}};

std::span<const GridArray> arrays_of(GridOperation operation) {
    switch (operation) {
        case GridOperation::factor:
            return factor_arrays;
        case GridOperation::factor_solve:
            return factor_solve_arrays;
        case GridOperation::refine:
            return refine_arrays;
        case GridOperation::gradient:
            return gradient_arrays;
        default:
            return solve_arrays;
    }
}

}  // namespace

GridSolver::Impl::Impl(const GridPlan& given, void* workspace, std::int64_t bytes, Holds holds)
    : plan(given), session(make_session(given, workspace, bytes, holds)) {}

void GridSolver::Impl::adopt(void* workspace, Stream stream, std::int64_t members) {
    session.adopt(workspace, stream);
    factored = members;
}

GridOptions GridSolver::Impl::resolve(GridOperation operation, const GridOptions& options) const {
    const auto& spec = plan.spec();
    if (!spec.operations.contains(operation))
        throw SpecError(fmt::format("this GridPlan was made without {}; add it to the GridSpec's operations", to_string(operation)));
    auto resolved = options;
    resolve_count(resolved.columns, spec.rhs, std::int64_t{1} << 32, "columns");
    resolve_count(resolved.members, spec.batch, spec.batch, "members");
    const bool factors = operation == GridOperation::factor || operation == GridOperation::factor_solve;
    if (resolved.columns > spec.rhs && operation == GridOperation::factor_solve && !spec.operations.contains(GridOperation::solve))
        throw SpecError(fmt::format("{} columns are more than the GridSpec's rhs = {}, and the rest needs solve; add it to the operations",
                                    resolved.columns, spec.rhs));
    if (!factors && resolved.members > factored)
        throw SpecError(fmt::format("{} for {} images, but {} have been factored; call factor or factor_solve first", to_string(operation),
                                    resolved.members, factored));
    return resolved;
}

CallArray GridSolver::Impl::array_of(const GridArray& kind, const AnyArray& given, const GridOptions& options) const {
    const auto& spec = plan.spec();
    if (given.precision != spec.precision)
        throw SpecError(
            fmt::format("the arrays are {} and the GridPlan is specialized for {}", to_string(given.precision), to_string(spec.precision)));
    const auto real = element_bytes(spec.precision), each = kind.each == 0 ? options.columns : kind.each;
    const auto elements = checked_multiply(options.members * spec.width * spec.height, each, kind.name);
    if (given.size >= 0 && given.size != elements)
        throw SpecError(fmt::format("{} has {} elements; {} images of {} by {} pixels with {} each need {}", kind.name, given.size,
                                    options.members, spec.width, spec.height, each, elements));
    return {.name = kind.name,
            .data = given.data,
            .bytes = checked_multiply(elements, real, kind.name),
            .alignment = static_cast<int>(real),
            .access = kind.access,
            .may_equal = kind.may_equal};
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
    const auto kinds = arrays_of(operation);
    if (given.size() != kinds.size())
        throw SpecError(fmt::format("{} has {} arrays, not {}", to_string(operation), kinds.size(), given.size()));
    const auto resolved = resolve(operation, options);
    std::array<CallArray, gradient_arrays.size()> room;
    const auto arrays = std::span(room).first(kinds.size());
    std::ranges::transform(kinds, given, arrays.begin(),
                           [&](const auto& kind, const auto& array) { return array_of(kind, array, resolved); });
    call.bind(arrays, given, stream);
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
