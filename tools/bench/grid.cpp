#include "generator/grid/levels.hpp"
#include "tools/bench/ours.hpp"

namespace trifold::bench {
namespace {

class OurImage : public Contender {
  public:
    OurImage(const GridPlan& plan, const formats::GridSystem& system, const DeviceTools& tools)
        : solver_(plan),
          a_(tools, system.stencil, plan.spec().precision),
          b_(tools, system.b, plan.spec().precision),
          x_(tools, system.b, plan.spec().precision),
          stream_{tools.stream()} {
        for (const auto& level : grid::levels_of(plan.spec(), grid::leaf_cells_of(plan.tuning(), plan.device().target())))
            flops_ += level.flops;
        flops_ *= static_cast<double>(plan.spec().batch);
        x_.take();
    }
    std::vector<Step> steps() override {
        const auto call = [this](GridOperation operation, std::vector<AnyArray> arrays) {
            return [this, operation, arrays] { solver_.run(operation, arrays, stream_); };
        };
        return {{.operation = "factor", .call = call(GridOperation::factor, {a_.any()}), .work = {0, flops_}},
                {.operation = "solve", .call = call(GridOperation::solve, {b_.any(), x_.any()}), .solves = true},
                {.operation = "factor_solve", .call = call(GridOperation::factor_solve, {a_.any(), b_.any(), x_.any()}), .solves = true}};
    }
    std::vector<double> take_solution() override { return x_.take(); }
    void complete(std::vector<Result>&) override { solver_.check(); }

  private:
    GridSolver solver_;
    double flops_ = 0;
    Array a_, b_, x_;
    Stream stream_;
};

}  // namespace

std::unique_ptr<Contender> our_image(const ImageProblem& problem, const Device& device, const GridTuning& tuning,
                                     const DeviceTools& tools) {
    return std::make_unique<OurImage>(GridPlan(problem.spec, device, tuning), problem.system, tools);
}

}  // namespace trifold::bench
