#pragma once
#include "tools/bench/contender.hpp"
#include "tools/bench/peers/library.hpp"

namespace trifold::bench {

/// NVIDIA's sparse direct solver, version 1. Chains and symmetric images: Cholesky of the lower triangle in rows, a batch as a uniform
/// batch. General images and rows of blocks: LU of the whole matrix.
Peer cudss();
/// NVIDIA's incomplete factorization of rows of blocks, and its triangular solves by blocks and by numbers: of the whole matrix, and of
/// what our preconditioner keeps of it.
Peer cusparse();
/// Fronts in the order of a schedule, one batched call of cuSOLVER or cuBLAS an operation: `multi-stage` is cyclic reduction,
/// `recursive:J` what BlockDSS composes, `sequential` the sweep, which takes part in batches only, as the others do not. Double precision.
Peer cublas(const std::string& name, const std::string& schedule);
/// dpbtrf and dpbtrs of OpenBLAS, or of another LAPACK, on the host.
Peer lapack(int workers);
/// The sweep from block to block by calls of OpenBLAS, on one thread: what a good engineer writes without a code generator.
Peer openblas();
/// A chain's exported C, compiled by a compiler of the system.
Peer exported(const std::string& compiler, const std::string& target, const std::string& flags);
/// Solvers whose headers have to be there when this is compiled: Eigen, dune-istl, UMFPACK and CHOLMOD.
std::vector<Peer> host_peers(int workers);

/// The peer, with what `open` gives it; where that throws Error, with the problem.
template <class Open>
Peer opened(Peer peer, const Open& open) {
    try {
        open(peer);
    } catch (const Error& error) {
        peer.problem = error.what();
    }
    return peer;
}

/// A function of one family's problems as one of all problems, for peers of that family alone.
template <class Of, class Function>
auto of_family(Function function) {
    return [function](const Problem& problem, const auto&... rest) { return function(std::get<Of>(problem), rest...); };
}

}  // namespace trifold::bench
