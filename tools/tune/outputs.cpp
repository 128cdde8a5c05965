#include "tools/tune/outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trifold::tune {
namespace {

constexpr double rounding = 1e3;  // times the tolerance of a residual: what conditions of the test problems make of it

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
        outputs_.status = solver_.status();
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

/// The largest difference over the largest value. NaN where one of them is, and infinity where they have not as many.
double relative(const std::vector<double>& first, const std::vector<double>& second) {
    if (first.size() != second.size()) return INFINITY;
    double largest = 0, worst = 0;
    for (std::size_t k = 0; k < first.size(); ++k) {
        if (std::isnan(first[k]) || std::isnan(second[k])) return NAN;
        largest = std::max(largest, std::abs(first[k]));
        worst = std::max(worst, std::abs(first[k] - second[k]));
    }
    return worst == 0 ? 0 : worst / largest;
}

/// In mixed precision only solutions have the accuracy of f64.
Precision precision_of(const std::string& name, Precision precision) {
    const bool is_solution = name.find("solve") != std::string::npos;
    return precision == Precision::mixed && !is_solution ? Precision::f32 : precision;
}

/// Which pivots there are, and so the least of them, depends on the order of elimination.
bool fared_alike(const std::vector<Outcome>& first, std::vector<Outcome> second) {
    for (std::size_t k = 0; k < std::min(first.size(), second.size()); ++k) second[k].least_pivot = first[k].least_pivot;
    return first == second;
}

}  // namespace

double tolerance_of(Precision precision) { return precision == Precision::f32 ? 1e-6 : 1e-14; }

Outputs outputs_of(Solver& solver, const Data& data, DeviceTools& tools) {
    return data.spec().precision == Precision::f32 ? Calls<float>(solver, data, tools).all() : Calls<double>(solver, data, tools).all();
}

std::string difference(const Outputs& first, const Outputs& second, Precision precision) {
    for (const auto& [name, values] : first.values) {
        const auto found = second.values.find(name);
        if (found == second.values.end()) return name + ", which is not there";
        const auto worst = relative(values, found->second);
        if (!(worst <= rounding * tolerance_of(precision_of(name, precision)))) return fmt::format("{}, by {:.1e}", name, worst);
    }
    return fared_alike(first.status, second.status) ? "" : "status";
}

}  // namespace trifold::tune
