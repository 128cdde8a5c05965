#pragma once
#include "tools/bench/measure.hpp"

namespace trifold::bench {

/// A shared library of a peer, looked for in the directories of TRIFOLD_PEERS, then where the system looks, then in the CUDA toolkit.
/// It stays open: libraries that others need do not survive being closed.
class Library {
  public:
    /// The first of `names` that opens. Throws Error saying what is missing.
    explicit Library(std::vector<std::string> names);

    /// A function by its name. Throws Error when the library has none.
    template <class Function>
    Function* find(const char* name) const {
        return reinterpret_cast<Function*>(address(name));
    }

    /// Calls a function that returns a status, 0 for success; throws Error naming it otherwise. Arguments are passed as they are, so
    /// their types have to be the function's.
    template <class... Arguments>
    void call(const char* name, Arguments... arguments) const {
        if (const int status = find<int(Arguments...)>(name)(arguments...); status != 0) fail(name, status);
    }

    /// An object that `create` writes to its first argument; `destroy` ends it.
    template <class... Arguments>
    std::shared_ptr<void> make(const char* create, const char* destroy, Arguments... arguments) const {
        void* made = nullptr;
        call(create, &made, arguments...);
        return {made, find<int(void*)>(destroy)};
    }

  private:
    void* address(const char* name) const;
    [[noreturn]] static void fail(const char* name, int status);
    std::string name_;
    void* handle_ = nullptr;
};

/// All peers that could run on a device or on its host, there with this many threads.
std::vector<Peer> find_peers(Family family, const Device& device, int workers);

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

}  // namespace trifold::bench
