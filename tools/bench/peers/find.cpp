#include "tools/bench/peers/peers.hpp"

namespace trifold::bench {

std::vector<Peer> find_peers(const Device& device, int workers) {
    std::vector<Peer> peers;
    if (device.backend() == Backend::cuda)
        peers = {cudss(),
                 cublas("cublas-cyclic", "multi-stage"),
                 cublas("cublas-recursive", "recursive:3:8"),
                 cublas("cublas-sequential", "sequential"),
                 mathdx(32),
                 mathdx(64),
                 mathdx(128)};
    peers.push_back(lapack(workers));
    return peers;
}

std::vector<GridPeer> find_grid_peers(const Device& device) {
    if (device.backend() == Backend::cuda) return {cudss_of_images()};
    return {};
}

std::vector<SparsePeer> find_sparse_peers(const Device& device) {
    if (device.backend() == Backend::cuda) return {cusparse(), cudss_of_rows()};
    return {};
}

}  // namespace trifold::bench
