#include <fmt/format.h>

#include <trifold/trifold.hpp>

#include "tools/tune/tridiagonal/prepared.hpp"

namespace trifold::tune::tridiagonal {
namespace {

/// All operations, one after the other. Y of a forward sweep depends on the order of elimination: it is judged by the backward sweep after
/// it.
template <class Real>
class Calls {
  public:
    Calls(Solver& solver, const Data& data, DeviceTools& tools) : solver_(solver), data_(data), tools_(tools) {}

    Outputs all() {
        if (has(Operation::factor_solve)) {
            data_.poison();
            solver_.factor_solve(d(), e(), b(), x(), stream());
            keep_solution("factor_solve");
        }
        if (has(Operation::factor_forward)) {
            data_.poison();
            solver_.factor_forward(d(), e(), b(), x(), stream());
            keep_quadratic("factor_forward");
            if (has(Operation::backward)) {
                solver_.backward(x(), x(), stream());
                keep_solution("factor_forward and backward");
            }
        }
        if (has(Operation::factor)) solver_.factor(d(), e(), stream());
        for (const auto& outcome : solver_.status()) outputs_.status.push_back(fared(outcome));
        outputs_.values["log determinant"] = solver_.log_determinant();
        if (has(Operation::solve)) {
            data_.poison();
            solver_.solve(b(), x(), stream());
            keep_solution("solve");
        }
        if (has(Operation::forward)) {
            data_.poison();
            solver_.forward(b(), x(), stream());
            keep_quadratic("forward");
            if (has(Operation::backward)) {
                solver_.backward(x(), x(), stream());
                keep_solution("forward and backward");
            }
        }
        if (has(Operation::inverse)) keep_inverse();
        return std::move(outputs_);
    }

  private:
    bool has(Operation operation) const { return solver_.plan().choice().spec.operations.contains(operation); }
    const Real* d() const { return data_.d<Real>(); }
    const Real* e() const { return data_.e<Real>(); }
    const Real* b() const { return data_.b<Real>(); }
    Real* x() const { return data_.x<Real>(); }
    Stream stream() const { return {tools_.stream()}; }

    void keep_solution(const std::string& name) {
        solver_.check();
        outputs_.values[name] = data_.solution();
    }

    void keep_quadratic(const std::string& name) {
        solver_.check();
        if (data_.spec().precision != Precision::mixed) outputs_.values["quadratic form of " + name] = solver_.quadratic();
    }

    void keep_inverse() {
        const auto& spec = data_.spec();
        const auto blocks = [&](std::int64_t stages, std::int64_t members) { return members * stages * spec.block * spec.block; };
        const auto real = static_cast<std::int64_t>(sizeof(Real));
        const auto diagonal = tools_.allocate(blocks(spec.horizon, spec.batch) * real);
        const auto coupling = tools_.allocate(blocks(spec.horizon - 1, spec.batch) * real);
        solver_.selected_inverse(static_cast<Real*>(diagonal.get()), static_cast<Real*>(coupling.get()), stream());
        solver_.check();
        for (const auto& [name, memory, stages] :
             {std::tuple("inverse", diagonal.get(), spec.horizon), std::tuple("inverse, couplings", coupling.get(), spec.horizon - 1)}) {
            std::vector<Real> values(static_cast<std::size_t>(blocks(stages, data_.different())));
            tools_.download(values.data(), memory, static_cast<std::int64_t>(values.size()) * real);
            outputs_.values[name] = {values.begin(), values.end()};
        }
    }

    Solver& solver_;
    const Data& data_;
    DeviceTools& tools_;
    Outputs outputs_;
};

}  // namespace

std::string fared(const Outcome& outcome) {
    return fmt::format("block {}, row {}, floors {}, nearly singular {}, sound {} {} {}", outcome.block, outcome.row, outcome.floors,
                       outcome.nearly_singular, outcome.solution, outcome.inverse, outcome.quadratic);
}

Outputs outputs_of(Solver& solver, const Data& data, DeviceTools& tools) {
    return data.spec().precision == Precision::f32 ? Calls<float>(solver, data, tools).all() : Calls<double>(solver, data, tools).all();
}

}  // namespace trifold::tune::tridiagonal
