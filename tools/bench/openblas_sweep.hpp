#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace trifold::bench {

/// The textbook sweep over column-major blocks, one LAPACK or BLAS call a block operation, on one thread: what a good
/// engineer writes without a code generator. D and E are left as they are, as our solver leaves them.
class OpenblasSweep {
  public:
    OpenblasSweep(std::int64_t block, std::int64_t horizon);
    void factor(const std::vector<double>& d, const std::vector<double>& e);
    void solve(const std::vector<double>& b, std::vector<double>& x) const;
    /// The kernels that OpenBLAS chose for this machine.
    static std::string core();

  private:
    int n_;
    std::int64_t horizon_, stage_;
    std::vector<double> l_, r_;
};

}  // namespace trifold::bench
