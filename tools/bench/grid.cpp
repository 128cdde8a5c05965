#include "generator/grid/levels.hpp"
#include "tools/bench/ours.hpp"

namespace trifold::bench {
namespace {

struct OurImage {
    OurImage(const GridPlan& plan, const formats::GridSystem& system, const DeviceTools& tools)
        : solver(plan),
          a(tools, system.stencil, plan.spec().precision),
          b(tools, system.b, plan.spec().precision),
          x(tools, system.b, plan.spec().precision) {
        x.take();
    }
    GridSolver solver;
    Array a, b, x;
};

}  // namespace

Contender our_image(const ImageProblem& problem, const Device& device, const GridTuning& tuning, const DeviceTools& tools) {
    const GridPlan plan(problem.spec, device, tuning);
    const auto one = std::make_shared<OurImage>(plan, problem.system, tools);
    double flops = 0;
    for (const auto& level : grid::levels_of(plan.spec(), grid::leaf_cells_of(plan.tuning(), device.target()))) flops += level.flops;
    const auto step = [&](GridOperation operation, const std::vector<AnyArray>& arrays, double work) {
        return Step{.operation = std::string(to_string(operation)),
                    .call = [=, stream = Stream{tools.stream()}] { one->solver.run(operation, arrays, stream); },
                    .solves = operation != GridOperation::factor,
                    .work = {0, work * static_cast<double>(plan.spec().batch)}};
    };
    return {.steps = {step(GridOperation::factor, {one->a.any()}, flops), step(GridOperation::solve, {one->b.any(), one->x.any()}, 0),
                      step(GridOperation::factor_solve, {one->a.any(), one->b.any(), one->x.any()}, 0)},
            .take_solution = [one] { return one->x.take(); },
            .complete = [one](std::vector<Result>&) { one->solver.check(); }};
}

}  // namespace trifold::bench
