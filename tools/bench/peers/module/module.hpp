#pragma once
#include "tools/bench/peers/host.hpp"

namespace trifold::bench {

/// BiCGSTAB of Eigen with incomplete factorizations of three strengths; products take all workers.
void add_eigen(HostPeers& peers);
/// BiCGSTAB of dune-istl with incomplete factorizations, on one thread: it has no others.
void add_dune(HostPeers& peers);
/// UMFPACK, and CHOLMOD of the lower triangle, each with the orderings AMD and METIS. Their BLAS takes its threads from
/// OPENBLAS_NUM_THREADS.
void add_suitesparse(HostPeers& peers);

}  // namespace trifold::bench
