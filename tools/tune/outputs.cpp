#include "tools/tune/outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trifold::tune {
namespace {

constexpr double rounding = 1e3;  // times the tolerance of a residual: what conditions of the test problems make of it

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

}  // namespace

double tolerance_of(Precision precision) { return precision == Precision::f32 ? 1e-6 : 1e-14; }

std::string difference(const Outputs& first, const Outputs& second, Precision precision, double (*tolerance)(Precision)) {
    for (const auto& [name, values] : first.values) {
        const auto found = second.values.find(name);
        if (found == second.values.end()) return name + ", which is not there";
        const auto worst = relative(values, found->second);
        if (!(worst <= rounding * tolerance(precision_of(name, precision)))) return fmt::format("{}, by {:.1e}", name, worst);
    }
    return first.status == second.status ? "" : "status";
}

}  // namespace trifold::tune
