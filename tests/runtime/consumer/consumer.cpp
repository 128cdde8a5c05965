#include <trifold/trifold.h>

#include <cmath>
#include <cstdio>
#include <trifold/trifold.hpp>
#include <vector>

// Errors are caught by their types, whichever library throws them.
static bool throws_its_types() {
    try {
        trifold::Plan({.block = 0, .horizon = 3}, trifold::Device::cpu());
        return false;
    } catch (const trifold::SpecError&) {
    }
    trifold::Solver solver(trifold::Plan({.block = 1, .horizon = 2}, trifold::Device::cpu()));
    try {
        const std::vector<double> d{1, -1}, e{0};
        solver.factor<double>(d, e);
        solver.check();
        return false;
    } catch (const trifold::NotPositiveDefinite& error) {
        return error.failures.size() == 1 && error.failures[0].block == 1;
    }
}

// The matrix tridiag(-1, 4, -1) of order 6 as three blocks of two, and the vector of its row sums: x is all ones.
int main() {
    const trifold::Spec spec{.block = 2, .horizon = 3, .operations = trifold::all_operations()};
    const trifold::Plan plan(spec, trifold::Device::cpu());
    trifold::Solver solver(plan);
    const std::vector<double> d{4, 0, -1, 4, 4, 0, -1, 4, 4, 0, -1, 4}, e{0, -1, 0, 0, 0, -1, 0, 0}, b{3, 2, 2, 2, 2, 3};
    std::vector<double> x(6);
    solver.factor_solve<double>(d, e, b, x);
    solver.check();
    double worst = 0;
    for (const double value : x) worst = std::fmax(worst, std::fabs(value - 1));
    std::printf("version %d, error %g\n", trifold_version(), worst);
    return throws_its_types() && worst < 1e-15 && trifold_version() == TRIFOLD_VERSION_NUMBER ? 0 : 1;
}
