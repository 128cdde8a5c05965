#include <trifold/grid_args.h>

#include <cmath>
#include <trifold/grid.hpp>

#include "tests/runtime/device/emulation.hpp"
#include "tests/runtime/grid/problems.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

void call_grid(void* entry, const void* operand, const void* constants) {
    reinterpret_cast<void (*)(trifold_grid_args, trifold_grid_launch)>(entry)(*static_cast<const trifold_grid_args*>(operand),
                                                                              *static_cast<const trifold_grid_launch*>(constants));
}

/// Makes the fake driver emulate the kernels of this GridSpec.
class GridEmulation {
  public:
    explicit GridEmulation(const GridSpec& spec) {
        auto& fake = fake_cuda();
        for (const auto& unit : generate(spec, {Backend::cuda, "sm_90"}).units) {
            libraries_.push_back(compile_unit(unit.source, Backend::cuda, 32, false));
            connect(libraries_.back().get(), emulator_);
            fake.kernels.push_back(libraries_.back().get());
        }
        fake.call = call_grid;
        fake.operand_bytes = sizeof(trifold_grid_args);
        fake.constants_bytes = sizeof(trifold_grid_launch);
    }
    ~GridEmulation() { fake_cuda() = {}; }
    GridEmulation(const GridEmulation&) = delete;
    GridEmulation& operator=(const GridEmulation&) = delete;

  private:
    std::vector<std::shared_ptr<void>> libraries_;
    Emulator emulator_{};
};

}  // namespace

TEST_CASE("images from the host's memory wait for a call on another stream") {
    auto spec = spec_of(9, 7);
    spec.operations = {GridOperation::factor, GridOperation::solve};
    const GridEmulation emulation(spec);
    const auto image = problem("anisotropic", 9, 7, 3);
    const auto b = noise(image.pixels(), 1);
    std::vector<double> x(b.size());
    {
        GridSolver solver(GridPlan(spec, Device::cuda(0)));
        const DeviceArray stencil(image.stencil);
        const CallersStream stream;
        const auto overtakes = fake_cuda().overtakes;
        solver.factor(stencil.data(), {stream.get()});
        solver.solve(b, x);
        CHECK(fake_cuda().overtakes == overtakes);
        CHECK_NOTHROW(solver.check());
    }
    const Eigen::VectorXd solution = column(x, 0, image.pixels(), 1, 0), right = column(b, 0, image.pixels(), 1, 0);
    CHECK((matrix_of(image, spec) * solution - right).norm() <= 1e-12 * right.norm());
}
