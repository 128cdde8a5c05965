#include "generator/sparse/cost.hpp"

#include "generator/program/device.hpp"
#include "generator/sparse/layout.hpp"

namespace trifold::sparse {
namespace {

/// Vectors that an iteration reads and writes, without those of its applications and products. For GMRES the mean over a cycle.
std::int64_t vectors_of(const SparseSpec& spec) {
    if (spec.method == SparseMethod::bicgstab) return trifold_sparse_vectors_of_bicgstab + trifold_sparse_vectors_of_cg;
    if (spec.method == SparseMethod::cg) return trifold_sparse_vectors_of_cg;
    constexpr std::int64_t passes = 4;  // over the vectors so far: twice their products, twice what is subtracted
    return passes * spec.restart / 2;
}

}  // namespace

std::vector<Cost> costs_of(const SparseSpec& spec, const Target& target, const Arrangement& a) {
    const auto square = spec.block * spec.block, real = element_bytes(spec.precision);
    const auto index = static_cast<std::int64_t>(sizeof(std::int32_t)), local = static_cast<std::int64_t>(sizeof(std::uint16_t));
    const auto matrix = checked_multiply(a.entries(), square * real + index, "values");
    const auto factors = has_factors(spec) ? checked_multiply(a.filled, square * factor_bytes(spec) + local, "factors") : 0;
    const auto vector = checked_multiply(a.rows(), spec.block * real, "vectors");
    const auto rate = device_of(target).number("facts.bytes_per_second");
    const std::int64_t twice = spec.method == SparseMethod::bicgstab ? 2 : 1;
    const auto cost = [&](std::string operation, std::int64_t bytes) {
        return Cost{std::move(operation), bytes, static_cast<double>(bytes) / rate};
    };
    return {cost("update", 2 * a.entries() * square * real + matrix + factors), cost("apply", factors + 2 * vector),
            cost("multiply", matrix + 2 * vector), cost("iteration", twice * (matrix + factors + 4 * vector) + vectors_of(spec) * vector)};
}

}  // namespace trifold::sparse
