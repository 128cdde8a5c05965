#include <trifold/grid.hpp>

#include "tests/runtime/grid/problems.hpp"

using namespace trifold;
using namespace trifold::test;

TEST_CASE("a second thread inside one GridSolver gets an error, whatever it calls") {
    const auto spec = spec_of(60, 50);
    const auto image = problem("anisotropic", 60, 50, 3);
    const auto b = noise(image.pixels(), 1);
    GridSolver solver{GridPlan(spec, Device::cpu(), {.workers = 2})};
    std::vector<double> x(b.size());
    solver.factor(image.stencil);
    const std::vector<std::function<void()>> calls{[&] { solver.factor(image.stencil); },
                                                   [&] { solver.status(); },
                                                   [&] { solver.log_determinant(); },
                                                   [&] { solver.ok(); },
                                                   [&] { solver.check(); },
                                                   [&] { solver.set_executor([](auto, const auto&) {}); }};
    std::size_t refused = 0;
    bool inside = false;
    solver.set_executor([&](std::int64_t tasks, const auto& run) {
        if (!inside) {
            inside = true;
            std::thread([&] {
                for (const auto& call : calls) try {
                        call();
                    } catch (const SpecError&) {
                        ++refused;
                    }
            }).join();
        }
        for (std::int64_t k = 0; k < tasks; ++k) run(k, 0);
    });
    solver.factor_solve(image.stencil, b, x);
    CHECK(inside);
    CHECK(refused == calls.size());
    CHECK_NOTHROW(solver.check());
}
