#pragma once
#include <trifold/grid.hpp>

#include "tools/tune/grid/data.hpp"

namespace trifold::tune::grid {

/// A GridSolver on the images of its point.
class PreparedGrid : public Prepared {
  public:
    /// Throws TooLarge and what the library throws.
    PreparedGrid(const Point& point, const Candidate& candidate, const Device& device, const Images& images, DeviceTools& tools);
    const Program& program() const override { return plan_.program(); }
    const std::vector<KernelResources>& resources() const override { return plan_.report().kernels; }
    double residual() override;
    Outputs outputs() override;
    Timed timed(const std::string& operation) override;

  private:
    using Call = std::function<void(std::int64_t set)>;
    template <class Real>
    Call call_in(GridOperation operation);
    Call call_of(GridOperation operation);
    bool has(GridOperation operation) const { return images_.spec().operations.contains(operation); }
    void factor();
    /// X of the first set, by an operation that leaves one.
    std::vector<double> solution_by(GridOperation operation);
    std::vector<double> gradient();
    std::shared_ptr<void> like_stencil_, like_b_;  // what gradients are written to

    const Images& images_;
    DeviceTools& tools_;
    const GridPlan plan_;
    GridSolver solver_;
};

}  // namespace trifold::tune::grid
