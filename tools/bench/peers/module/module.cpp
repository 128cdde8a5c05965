#include "tools/bench/peers/host.hpp"

extern "C" [[gnu::visibility("default")]] void trifold_bench_peers(trifold::bench::HostPeers& peers) {
    using namespace trifold::bench;
#ifdef TRIFOLD_HAS_EIGEN
    add_eigen(peers);
#endif
#ifdef TRIFOLD_HAS_DUNE
    add_dune(peers);
#endif
#ifdef TRIFOLD_HAS_SUITESPARSE
    add_suitesparse(peers);
#endif
}
