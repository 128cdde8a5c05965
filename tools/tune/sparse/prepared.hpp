#pragma once
#include "tools/tune/sparse/data.hpp"

namespace trifold::tune::sparse {

/// A SparseSolver on the systems of its point.
class PreparedSparse : public Prepared {
  public:
    /// Throws TooLarge and what the library throws.
    PreparedSparse(const Point& point, const Candidate& candidate, const Device& device, const Systems& systems, DeviceTools& tools);
    const Program& program() const override { return plan_.program(); }
    const std::vector<KernelResources>& resources() const override { return plan_.report().kernels; }
    double residual() override;
    Outputs outputs() override;
    Timed timed(const std::string& operation) override;

  private:
    bool has(SparseOperation operation) const { return systems_.spec().operations.contains(operation); }
    Stream stream() const { return {tools_.stream()}; }
    void update(std::int64_t set);
    void run(SparseOperation operation, std::int64_t set);
    void finish();
    std::vector<double> result_of(SparseOperation operation);

    const Systems& systems_;
    DeviceTools& tools_;
    const SparsePlan plan_;
    SparseSolver solver_;
};

}  // namespace trifold::tune::sparse
