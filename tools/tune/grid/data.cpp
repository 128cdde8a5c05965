#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <trifold/error.hpp>
#include <trifold/grid.hpp>

#include "tools/formats/residual.hpp"
#include "tools/problems/grid.hpp"
#include "tools/tune/grid/family.hpp"

namespace trifold::tune::grid {
namespace {

std::int64_t pixels_of(const GridSpec& spec) { return spec.width * spec.height; }

class Images : public PointData {
  public:
    Images(const GridSpec& spec, std::uint64_t seed, DeviceTools& tools, std::int64_t sets)
        : PointData(tools, spec.precision, sets), spec_(spec), tools_(tools) {
        const auto pixels = pixels_of(spec);
        system_ =
            problems::make_grid(spec.matrix == GridMatrix::symmetric ? "grid-anisotropic" : "grid-convection", spec.width, spec.height,
                                spec.rhs, different_members(spec.batch, 9 * pixels * element_bytes(spec.precision)), seed);
        arrays.add("stencil", system_.stencil, spec.batch * 9 * pixels);
        arrays.add("b", system_.b, spec.batch * pixels * spec.rhs);
        arrays.add_zeros("x", spec.batch * pixels * spec.rhs, true);
        if (!spec.operations.contains(GridOperation::gradient)) return;
        arrays.add_zeros("gradient", spec.batch * 9 * pixels);
        arrays.add_zeros("gradient by b", spec.batch * pixels * spec.rhs);
    }

    std::unique_ptr<Prepared> prepare(const Point& point, const Candidate& candidate, const Device& device) const override;

    std::vector<double> result(const std::string& array) const override {
        return array == "x" ? solution_of(0) : arrays.read(array, 0, 9 * system_.batch * pixels_of(spec_));
    }

    double residual() const override {
        double worst = 0;
        for (const auto first : {std::int64_t{0}, spec_.batch - system_.batch})
            for (const auto residual : formats::relative_residuals(system_, spec_, solution_of(first)))
                worst = formats::worse(worst, residual);
        return worst;
    }

    const GridSpec& spec() const { return spec_; }
    DeviceTools& tools() const { return tools_; }

  private:
    /// X of as many members as there are images that differ, that of image 0 first.
    std::vector<double> solution_of(std::int64_t first_member) const {
        const auto each = pixels_of(spec_) * spec_.rhs;
        auto x = arrays.read("x", first_member * each, each * system_.batch);
        std::ranges::rotate(x, x.end() - static_cast<std::ptrdiff_t>(first_member % system_.batch * each));
        return x;
    }

    const GridSpec spec_;
    DeviceTools& tools_;
    formats::GridSystem system_;
};

/// How an image fared. Its least pivot and growth depend on the order of elimination: they are left out.
std::string fared(const GridOutcome& outcome) {
    return fmt::format("{}, level {}, pixel {} {}, {}", to_string(outcome.problem), outcome.level, outcome.pixel_x, outcome.pixel_y,
                       outcome.solution ? "sound" : "out of range");
}

class PreparedGrid : public Prepared {
  public:
    PreparedGrid(const Point& point, const Candidate& candidate, const Device& device, const Images& images)
        : images_(images), plan_(images.spec(), device, {.workers = point.workers, .variant = candidate.variant}), solver_(plan_) {}

    const std::vector<KernelResources>& resources() const override { return plan_.report().kernels; }

    void run(const std::string& name, std::int64_t set) override {
        // The gradient is that of E = sum(b x), whose derivative by x is b.
        static const std::map<GridOperation, std::vector<const char*>> operands{
            {GridOperation::factor, {"stencil"}},
            {GridOperation::factor_solve, {"stencil", "b", "x"}},
            {GridOperation::solve, {"b", "x"}},
            {GridOperation::solve_transposed, {"b", "x"}},
            {GridOperation::refine, {"stencil", "b", "x"}},
            {GridOperation::gradient, {"x", "b", "gradient by b", "gradient"}}};
        const auto found = std::ranges::find(operands, name, [](const auto& one) { return to_string(one.first); });
        if (found == operands.end()) throw SpecError("'" + name + "' is no operation of grids");
        std::vector<AnyArray> arrays;
        for (const auto* operand : found->second) arrays.push_back(images_.arrays.at(operand, set));
        solver_.run(found->first, arrays, {images_.tools().stream()});
    }

    void check() override {
        images_.tools().synchronize();
        solver_.check();
    }

    Outputs numbers() override {
        Outputs outputs;
        for (const auto& determinant : solver_.log_determinant()) outputs.values["log determinant"].push_back(determinant.log);
        for (const auto& outcome : solver_.status()) outputs.status.push_back(fared(outcome));
        return outputs;
    }

  private:
    const Images& images_;
    const GridPlan plan_;
    GridSolver solver_;
};

std::unique_ptr<Prepared> Images::prepare(const Point& point, const Candidate& candidate, const Device& device) const {
    return std::make_unique<PreparedGrid>(point, candidate, device, *this);
}

}  // namespace

std::int64_t data_bytes(const GridSpec& spec) { return spec.batch * pixels_of(spec) * (9 + 2 * spec.rhs) * element_bytes(spec.precision); }

std::unique_ptr<PointData> make_data(const GridSpec& spec, std::uint64_t seed, DeviceTools& tools, std::int64_t sets) {
    return std::make_unique<Images>(spec, seed, tools, sets);
}

}  // namespace trifold::tune::grid
