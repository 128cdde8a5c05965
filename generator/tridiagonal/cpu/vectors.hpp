#pragma once
#include "generator/tridiagonal/variant.hpp"

/// Functions that the variants of CPUs share.
namespace trifold::cpu {

Constant constant(std::string name, std::int64_t value);
/// Lists of lanes that common.c's shuffles take, and that of the rows of a column's last, partial vector.
void add_shuffles(std::vector<Constant>& constants, std::int64_t lanes, std::int64_t block);
/// Side of the register tiles of vectors of lanes: the accumulators fit the registers and the edges are not too thin.
std::int64_t tile_side(const Spec& spec, const Target& target);
/// Share of all workers' lanes that hold a system of the batch, while each takes a vector of systems after another.
double filled_lanes(const Problem& problem);
/// Modelled seconds of a factorization by the workers of a call.
double worker_seconds(const Problem& problem, const KnownDevice& device);

}  // namespace trifold::cpu
