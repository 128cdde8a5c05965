#include "tools/tune/grid/prepared.hpp"

#include <fmt/format.h>

#include "tools/tune/grid/spec.hpp"

namespace trifold::tune::grid {
namespace {

GridPlan fitting_plan(const Point& point, const Candidate& candidate, const Device& device, const Images& images) {
    GridPlan plan(images.spec(), device, tuning_of(point, candidate));
    check_memory(GridSolver::workspace_bytes(plan), images.sets() * data_bytes(images.spec()), device);
    return plan;
}

/// How an image fared. Its least pivot and growth depend on the order of elimination: they are left out.
std::string fared(const GridOutcome& outcome) {
    return fmt::format("{}, level {}, pixel {} {}, {}", to_string(outcome.problem), outcome.level, outcome.pixel_x, outcome.pixel_y,
                       outcome.solution ? "sound" : "out of range");
}

}  // namespace

PreparedGrid::PreparedGrid(const Point& point, const Candidate& candidate, const Device& device, const Images& images, DeviceTools& tools)
    : images_(images), tools_(tools), plan_(fitting_plan(point, candidate, device, images)), solver_(plan_) {}

template <class Real>
PreparedGrid::Call PreparedGrid::call_in(GridOperation operation) {
    const Stream stream{tools_.stream()};
    const auto* images = &images_;
    auto* solver = &solver_;
    switch (operation) {
        case GridOperation::factor:
            return [=](std::int64_t k) { solver->factor(images->stencil<Real>(k), stream); };
        case GridOperation::solve:
            return [=](std::int64_t k) { solver->solve(images->b<Real>(k), images->x<Real>(k), stream); };
        case GridOperation::solve_transposed:
            return [=](std::int64_t k) { solver->solve_transposed(images->b<Real>(k), images->x<Real>(k), stream); };
        case GridOperation::factor_solve:
            return [=](std::int64_t k) { solver->factor_solve(images->stencil<Real>(k), images->b<Real>(k), images->x<Real>(k), stream); };
        case GridOperation::refine:
            return [=](std::int64_t k) { solver->refine(images->stencil<Real>(k), images->b<Real>(k), images->x<Real>(k), false, stream); };
        case GridOperation::gradient:
            break;
    }
    // The gradient of E = sum(b x), whose derivative by x is b.
    const auto pixels = images_.spec().batch * images_.spec().width * images_.spec().height;
    const auto real = static_cast<std::int64_t>(sizeof(Real));
    if (!like_stencil_) {
        like_stencil_ = tools_.allocate(9 * pixels * real);
        like_b_ = tools_.allocate(pixels * images_.spec().rhs * real);
    }
    auto *by_b = static_cast<Real*>(like_b_.get()), *by_stencil = static_cast<Real*>(like_stencil_.get());
    return [=](std::int64_t k) { solver->gradients(images->x<Real>(k), images->b<Real>(k), by_b, by_stencil, stream); };
}

PreparedGrid::Call PreparedGrid::call_of(GridOperation operation) {
    return images_.spec().precision == Precision::f32 ? call_in<float>(operation) : call_in<double>(operation);
}

/// By whichever operation of the Spec does so.
void PreparedGrid::factor() { call_of(has(GridOperation::factor) ? GridOperation::factor : GridOperation::factor_solve)(0); }

std::vector<double> PreparedGrid::solution_by(GridOperation operation) {
    images_.poison();
    if (operation == GridOperation::refine) call_of(has(GridOperation::solve) ? GridOperation::solve : GridOperation::factor_solve)(0);
    call_of(operation)(0);
    tools_.synchronize();
    solver_.check();
    return images_.solution();
}

double PreparedGrid::residual() {
    factor();
    if (has(GridOperation::factor_solve))
        solution_by(GridOperation::factor_solve);
    else if (has(GridOperation::solve))
        solution_by(GridOperation::solve);
    else {
        tools_.synchronize();
        solver_.check();
        return 0;
    }
    return images_.residual();
}

/// On the stencils of the images that differ.
std::vector<double> PreparedGrid::gradient() {
    call_of(GridOperation::gradient)(0);
    tools_.synchronize();
    const auto& spec = images_.spec();
    const auto count = static_cast<std::size_t>(9 * images_.different() * spec.width * spec.height);
    const auto read = [&](auto values) {
        tools_.download(values.data(), like_stencil_.get(), static_cast<std::int64_t>(count * sizeof(values.front())));
        return std::vector<double>(values.begin(), values.end());
    };
    return spec.precision == Precision::f32 ? read(std::vector<float>(count)) : read(std::vector<double>(count));
}

Outputs PreparedGrid::outputs() {
    Outputs outputs;
    factor();
    for (const auto operation : {GridOperation::factor_solve, GridOperation::solve, GridOperation::solve_transposed, GridOperation::refine})
        if (has(operation)) outputs.values[std::string(to_string(operation))] = solution_by(operation);
    if (has(GridOperation::gradient) && has(GridOperation::solve)) {
        solution_by(GridOperation::solve);
        outputs.values["gradient"] = gradient();
    }
    for (const auto& determinant : solver_.log_determinant()) outputs.values["log determinant"].push_back(determinant.log);
    for (const auto& outcome : solver_.status()) outputs.status.push_back(fared(outcome));
    return outputs;
}

Timed PreparedGrid::timed(const std::string& operation) {
    const auto call = call_of(operation_named(operation));
    factor();
    tools_.synchronize();
    return timed_calls(tools_, images_.sets(), call);
}

}  // namespace trifold::tune::grid
