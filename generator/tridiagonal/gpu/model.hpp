#pragma once
#include <initializer_list>
#include <string_view>
#include <vector>

#include "generator/tridiagonal/gpu/sizes.hpp"

/// Pieces of the time models of the variants of GPUs. docs/developers/model.md explains them.
namespace trifold::gpu {

/// One level of a schedule, with the chains and fronts of all systems of the batch.
struct LevelLoad {
    double chains = 0, fronts = 0;
    double longest = 0;             ///< fronts of its longest chain
    double tail = 0;                ///< fronts that its last chain has more than the others
    double thirds = 0;              ///< flops in thirds of n^3
    double longest_thirds = 0;      ///< flops of the chain that has most of them
    bool has_fill = false;          ///< some chains have a separator behind them,
    bool longest_has_fill = false;  ///< one of the longest too
};
std::vector<LevelLoad> loads_of(const Problem& problem);

/// The constants of one variant's model, and the facts of the device that it needs.
class Model {
  public:
    Model(const KnownDevice& device, std::string_view variant, const Problem& problem);
    double operator()(std::string_view name) const;  ///< a constant
    double precise(std::string_view name) const;     ///< a constant that the precision has of its own
    double multiprocessors() const { return multiprocessors_; }
    double memory_cycles(double bytes) const { return bytes / bytes_a_cycle_; }
    double seconds(double cycles) const { return cycles / cycles_per_second_; }

  private:
    const KnownDevice& device_;
    std::string path_, precision_;
    double multiprocessors_, cycles_per_second_, bytes_a_cycle_;
};

/// Time of parts that overlap: their norm of order `power`. An infinite power would be perfect overlap, where only the longest counts.
double together(double power, std::initializer_list<double> parts);

/// Thread blocks of one multiprocessor: as many as are asked for, if shared memory has room for them.
double resident(const Problem& problem, std::int64_t blocks, std::int64_t shared_bytes);

/// Passes of a sweep over all right-hand sides.
double passes(const Problem& problem, const Sizes& sizes);

}  // namespace trifold::gpu
