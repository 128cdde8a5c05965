#include <algorithm>
#include <cstdlib>

#include "tools/bench/ours.hpp"
#include "tools/bench/peers/peers.hpp"

namespace trifold::bench {

std::vector<Peer> find_peers(Family family, const Device& device, int workers) {
    // OpenBLAS starts a thread for each core when it is loaded, wanted or not, and they spin where ours should run.
    ::setenv("OPENBLAS_NUM_THREADS", std::to_string(workers).c_str(), 0);
    const bool has_chains = family == Family::tridiagonal;
    std::vector<Peer> peers;
    if (device.backend() == Backend::cuda)
        peers = {cudss(), cusparse(), cublas("cublas-cyclic", "multi-stage"), cublas("cublas-recursive", "recursive:3:8"),
                 cublas("cublas-sequential", "sequential")};
    if (has_chains) peers.push_back(lapack(workers));
    if (has_chains && device.backend() == Backend::cpu) peers.push_back(openblas());
    if (device.backend() == Backend::cpu)
        for (const auto& peer : has_chains ? our_peers(workers) : host_peers(workers)) peers.push_back(peer);
    std::erase_if(peers, [&](const Peer& peer) { return std::ranges::find(peer.families, family) == peer.families.end(); });
    return peers;
}

}  // namespace trifold::bench
