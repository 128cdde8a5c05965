#pragma once
#include "tools/bench/contender.hpp"
#include "tools/bench/grid.hpp"
#include "tools/bench/sparse.hpp"

namespace trifold::bench {

/// NVIDIA's sparse direct solver, version 1: Cholesky of the lower triangle in rows; a batch as a uniform batch.
Peer cudss();
/// The same solver on images: of a general matrix an LU of the whole pattern.
GridPeer cudss_of_images();
/// And on rows of blocks, as a general matrix.
SparsePeer cudss_of_rows();
/// NVIDIA's incomplete factorization of rows of blocks, and its triangular solves by blocks and by numbers: of the whole matrix, and of
/// what our preconditioner keeps of it.
SparsePeer cusparse();
/// Fronts in the order of a schedule, one batched call of cuSOLVER or cuBLAS an operation: `multi-stage` is cyclic reduction,
/// `recursive:J` what BlockDSS composes, `sequential` the sweep, which takes part in batches only, as the others do not. Double precision.
Peer cublas(const std::string& name, const std::string& schedule);
/// Batches on a GPU of Hopper's kind: a thread block of so many threads for each system, whose fronts are device functions of cuSolverDx
/// and cuBLASDx, which libmathdx makes. Double precision.
Peer mathdx(int threads);
/// dpbtrf and dpbtrs of OpenBLAS, or of another LAPACK, on the host.
Peer lapack(int workers);

}  // namespace trifold::bench
