#include <doctest/doctest.h>

#include <functional>
#include <thread>
#include <trifold/grid.hpp>
#include <trifold/solver.hpp>

#include "runtime/grid/engine.hpp"
#include "tests/runtime/grid/problems.hpp"

using namespace trifold;
using namespace trifold::test;

TEST_CASE("a processor's workspace begins with the zeros and contents that the program asks for") {
    const GridPlan plan(spec_of(12, 9), Device::cpu());
    const auto state = std::make_shared<GridPlan::State>(plan.state());
    auto& buffers = state->program.buffers;
    REQUIRE(buffers.size() >= 3);
    buffers[0].zeroed = true;
    buffers[1].contents = "six by nine";
    buffers[1].contents.resize(static_cast<std::size_t>(std::min<std::int64_t>(buffers[1].bytes, 11)));
    const auto engine = make_grid_cpu_engine(state);
    const auto held = [&](const Buffer& buffer, std::size_t bytes) {
        std::string text(bytes, '?');
        engine->read(text.data(), buffer.offset, static_cast<std::int64_t>(bytes));
        return text;
    };
    for (const auto& buffer : buffers)
        if (const auto bytes = static_cast<std::size_t>(buffer.bytes); buffer.contents.empty())
            CHECK(held(buffer, bytes) == std::string(bytes, buffer.zeroed ? '\0' : '\xff'));
        else
            CHECK(held(buffer, buffer.contents.size()) == buffer.contents);
}

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
