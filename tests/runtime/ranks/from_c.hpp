#pragma once
#include <cstdint>
#include <trifold/transport.hpp>

struct trifold_ranks_plan;
struct trifold_ranks_solver;

namespace trifold::test {

/// A rank of a chain by the calls of trifold.h, which throw std::runtime_error here. Apart, since kernels' arguments have names of that
/// header.
class RanksFromC {
  public:
    RanksFromC(Transport& hosts, std::int64_t block, std::int64_t horizon, const char* device, void* communicator);
    ~RanksFromC();
    RanksFromC(const RanksFromC&) = delete;
    RanksFromC& operator=(const RanksFromC&) = delete;
    /// Factors, solves and checks; of the device's memory, on its stream.
    void solve(const double* d, const double* e, const double* b, double* x, void* stream);
    void solve_on_host(const double* d, const double* e, const double* b, double* x);
    /// Whether x is a solution to rounding.
    bool refine(const double* d, const double* e, const double* b, double* x, void* stream);
    bool refine_on_host(const double* d, const double* e, const double* b, double* x);

  private:
    trifold_ranks_plan* plan_ = nullptr;
    trifold_ranks_solver* solver_ = nullptr;
};

}  // namespace trifold::test
