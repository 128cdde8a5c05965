#include "tools/tune/tridiagonal/prepared.hpp"

#include "tools/tune/tridiagonal/spec.hpp"

namespace trifold::tune::tridiagonal {
namespace {

Plan fitting_plan(const Point& point, const Candidate& candidate, const Device& device, const Data& data) {
    Plan plan(data.spec(), device, {candidate.schedule, candidate.variant, point.workers});
    check_memory(Solver::workspace_bytes(plan), data.sets() * data_bytes(data.spec()), device);
    return plan;
}

}  // namespace

PreparedSolver::PreparedSolver(const Point& point, const Candidate& candidate, const Device& device, const Data& data, DeviceTools& tools)
    : data_(data), tools_(tools), plan_(fitting_plan(point, candidate, device, data)), solver_(plan_) {}

template <class Real>
std::function<void(std::int64_t)> PreparedSolver::call_in(Operation operation) {
    const Stream stream{tools_.stream()};
    const auto* data = &data_;
    auto* solver = &solver_;
    switch (operation) {
        case Operation::factor:
            return [=](std::int64_t k) { solver->factor(data->d<Real>(k), data->e<Real>(k), stream); };
        case Operation::forward:
            return [=](std::int64_t k) { solver->forward(data->b<Real>(k), data->x<Real>(k), stream); };
        case Operation::backward:
            return [=](std::int64_t k) { solver->backward(data->b<Real>(k), data->x<Real>(k), stream); };
        case Operation::solve:
            return [=](std::int64_t k) { solver->solve(data->b<Real>(k), data->x<Real>(k), stream); };
        case Operation::factor_forward:
            return [=](std::int64_t k) {
                solver->factor_forward(data->d<Real>(k), data->e<Real>(k), data->b<Real>(k), data->x<Real>(k), stream);
            };
        case Operation::factor_solve:
            return [=](std::int64_t k) {
                solver->factor_solve(data->d<Real>(k), data->e<Real>(k), data->b<Real>(k), data->x<Real>(k), stream);
            };
        case Operation::inverse:
            break;
    }
    const auto& spec = data_.spec();
    const auto diagonal = spec.batch * spec.horizon * spec.block * spec.block;
    if (!inverse_) inverse_ = tools_.allocate(2 * diagonal * static_cast<std::int64_t>(sizeof(Real)));
    auto* const to = static_cast<Real*>(inverse_.get());
    return [=](std::int64_t) { solver->selected_inverse(to, to + diagonal, stream); };
}

std::function<void(std::int64_t)> PreparedSolver::call_of(Operation operation) {
    return data_.spec().precision == Precision::f32 ? call_in<float>(operation) : call_in<double>(operation);
}

/// By whichever operation of the Spec does so.
void PreparedSolver::factor() {
    for (const auto operation : {Operation::factor, Operation::factor_solve, Operation::factor_forward})
        if (has(operation)) return call_of(operation)(0);
}

double PreparedSolver::residual() {
    data_.poison();
    if (has(Operation::factor_solve)) {
        call_of(Operation::factor_solve)(0);
    } else if (has(Operation::solve)) {
        factor();
        call_of(Operation::solve)(0);
    } else {
        factor();
        tools_.synchronize();
        solver_.check();
        return 0;  // nothing in the Spec solves
    }
    tools_.synchronize();
    solver_.check();
    return data_.residual();
}

Timed PreparedSolver::timed(const std::string& operation) {
    const auto call = call_of(operation_named(operation));
    factor();
    tools_.synchronize();
    return timed_calls(tools_, data_.sets(), call);
}

}  // namespace trifold::tune::tridiagonal
