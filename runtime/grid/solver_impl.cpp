#include "runtime/grid/solver_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <trifold/error.hpp>

namespace trifold {
namespace {

void resolve_grid_count(std::int64_t& value, std::int64_t standard, std::int64_t most, std::string_view what) {
    if (value < 0 || value > most)
        throw SpecError(fmt::format("{} = {} is out of range; give 1 to {}, or 0 for {}", what, value, most, standard));
    if (value == 0) value = standard;
}

bool arrays_overlap(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(a), second = reinterpret_cast<std::uintptr_t>(b);
    return first < second ? second - first < static_cast<std::uintptr_t>(a_bytes) : first - second < static_cast<std::uintptr_t>(b_bytes);
}

}  // namespace

GridSolver::Impl::Impl(const GridPlan& given)
    : plan(given),
      engine(given.device().backend() == Backend::cpu ? make_grid_cpu_engine(given.shared_state())
                                                      : make_grid_gpu_engine(given.shared_state())) {}

void GridSolver::Impl::check_precision(Precision precision) const {
    if (precision != plan.spec().precision)
        throw SpecError(fmt::format("the arrays are {} and the GridPlan is specialized for {}", to_string(precision),
                                    to_string(plan.spec().precision)));
}

GridOptions GridSolver::Impl::resolve(GridOperation operation, const GridOptions& options) const {
    const auto& spec = plan.spec();
    if (!spec.operations.contains(operation))
        throw SpecError(fmt::format("this GridPlan was made without {}; add it to the GridSpec's operations", to_string(operation)));
    auto resolved = options;
    resolve_grid_count(resolved.columns, spec.rhs, std::int64_t{1} << 32, "columns");
    resolve_grid_count(resolved.members, spec.batch, spec.batch, "members");
    const bool factors = operation == GridOperation::factor || operation == GridOperation::factor_solve;
    if (resolved.columns > spec.rhs && operation == GridOperation::factor_solve && !spec.operations.contains(GridOperation::solve))
        throw SpecError(fmt::format("{} columns are more than the GridSpec's rhs = {}, and the rest needs solve; add it to the operations",
                                    resolved.columns, spec.rhs));
    if (!factors && resolved.members > factored)
        throw SpecError(fmt::format("{} for {} images, but {} have been factored; call factor or factor_solve first", to_string(operation),
                                    resolved.members, factored));
    return resolved;
}

std::int64_t GridSolver::Impl::bytes_of(const GridArray& array, const GridOptions& options) const {
    const auto& spec = plan.spec();
    const auto elements = checked_multiply(options.members * spec.width * spec.height, array.each, array.name);
    return checked_multiply(elements, element_bytes(spec.precision), array.name);
}

void GridSolver::Impl::check(std::span<const GridArray> arrays, const GridOptions& options) const {
    const auto& spec = plan.spec();
    const auto real = element_bytes(spec.precision), pixels = options.members * spec.width * spec.height;
    for (const auto& array : arrays) {
        const auto bytes = bytes_of(array, options);
        if (array.data == nullptr) throw SpecError(fmt::format("{} is a null pointer; it must hold {} bytes", array.name, bytes));
        if (reinterpret_cast<std::uintptr_t>(array.data) % static_cast<std::uintptr_t>(real) != 0)
            throw SpecError(fmt::format("{} is not aligned to its elements of {} bytes", array.name, real));
        if (array.size >= 0 && array.size != pixels * array.each)
            throw SpecError(fmt::format("{} has {} elements; {} images of {} by {} pixels with {} each need {}", array.name, array.size,
                                        options.members, spec.width, spec.height, array.each, pixels * array.each));
        for (const auto& other : arrays) {
            const bool in_place = array.data == other.data && array.name == "X" && other.name == "B";
            if (array.use == GridUse::reads || &array == &other || in_place ||
                !arrays_overlap(array.data, bytes, other.data, bytes_of(other, options)))
                continue;
            throw SpecError(fmt::format("{} overlaps {}; only the X of a solution may be its B", array.name, other.name));
        }
    }
}

void* GridSolver::Impl::bring(const GridArray& array, const GridOptions& options) {
    if (array.size < 0) {
        engine->check_pointer(array.data, std::string(array.name));
        return array.data;
    }
    const auto bytes = bytes_of(array, options);
    auto* device = engine->device_array(array.role, array.data, bytes);
    if (array.use != GridUse::writes) engine->upload(device, array.data, bytes);
    return device;
}

void GridSolver::Impl::take_back(const GridArray& array, const void* device, const GridOptions& options) {
    if (array.size >= 0 && array.use != GridUse::reads) engine->download(array.data, device, bytes_of(array, options));
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
    args.workspace = engine->workspace();
    return args;
}

void GridSolver::Impl::factor(const void* stencil, Stream stream, const GridOptions& options) {
    auto args = args_of(nullptr, nullptr, options, 0);
    args.stencil = stencil;
    engine->run("factor", args, stream);
    factored = std::max(factored, options.members);
}

void GridSolver::Impl::sweep(const char* name, const void* b, void* x, Stream stream, const GridOptions& options) {
    for (std::int64_t first = 0; first < options.columns; first += plan.spec().rhs)
        engine->run(name, args_of(b, x, options, first), stream);
}

void GridSolver::Impl::factor_solve(const void* stencil, const void* b, void* x, Stream stream, const GridOptions& options) {
    auto args = args_of(b, x, options, 0);
    args.stencil = stencil;
    engine->run("factor_solve", args, stream);
    factored = std::max(factored, options.members);
    for (auto first = plan.spec().rhs; first < options.columns; first += plan.spec().rhs)
        engine->run("solve", args_of(b, x, options, first), stream);
}

void GridSolver::Impl::refine(const void* stencil, const void* b, void* x, bool transposed, Stream stream, const GridOptions& options) {
    auto* residual = static_cast<char*>(engine->workspace()) + buffer(plan.program(), "residual").offset;
    for (std::int64_t first = 0; first < options.columns; first += plan.spec().rhs) {
        auto args = args_of(b, x, options, first);
        args.stencil = stencil;
        engine->run(transposed ? "residual_transposed" : "residual", args, stream);
        auto step = args_of(residual, residual, {.columns = args.used_columns, .members = args.members}, 0);
        step.begins = args.begins;
        engine->run(transposed ? "solve_transposed" : "solve", step, stream);
        engine->run("correct", args, stream);
    }
}

void GridSolver::Impl::gradient(const void* x, const void* by_b, void* by_stencil, Stream stream, const GridOptions& options) {
    for (std::int64_t first = 0; first < options.columns; first += plan.spec().rhs) {
        auto args = args_of(by_b, const_cast<void*>(x), options, first);
        args.gradient = by_stencil;
        engine->run("gradient", args, stream);
    }
}

}  // namespace trifold
