#include "tools/bench/peers/peers.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "runtime/base/switches.hpp"
#include "tools/bench/ours.hpp"
#include "tools/bench/peers/host.hpp"

namespace trifold::bench {
namespace {

std::vector<std::string> directories() {
    std::vector<std::string> result;
    std::istringstream given(switch_value("TRIFOLD_PEERS"));
    for (std::string directory; std::getline(given, directory, ':');)
        if (!directory.empty()) result.push_back(directory + "/");
    result.insert(result.end(), {"", "/usr/local/cuda/lib64/"});
    return result;
}

/// The matrix is kept with its solver.
Contender contender(formats::BlockRows matrix, const std::vector<double>& b, double rtol, int workers, const MakeHostSolver& make) {
    const auto a = std::make_shared<const formats::BlockRows>(std::move(matrix));
    const auto solver = make({*a, b, rtol, workers});
    Contender result{.take_solution = [a, x = solver.x] { return std::exchange(*x, {}); }};
    for (const auto& [operation, call, solves, once] : solver.steps)
        result.steps.push_back({.operation = operation, .call = call, .solves = solves, .once = once});
    result.complete = [iterations = solver.iterations](std::vector<Result>& results) {
        for (auto& one : results)
            if (const auto found = iterations->find(one.operation); found != iterations->end()) {
                one.more["iterations"] = found->second;
                one.remark = fmt::format("{} iterations", found->second);
            }
    };
    return result;
}

/// Peers of the module in the program's folder, which has those whose headers were found.
const HostPeers& host_peers() {
    static const auto all = [] {
        HostPeers peers;
        try {
            const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
            Library({(folder / "trifold-bench-peers.so").string()}).find<AddHostPeers>("trifold_bench_peers")(peers);
        } catch (const Error&) {  // each peer says what it lacks
        }
        return peers;
    }();
    return all;
}

template <class Of>
Peer host_peer(const std::string& name, const char* package, int workers, const std::function<bool(const Of&)>& fits) {
    const auto is_plain = [fits](const Of& one) {
        return one.spec.precision == Precision::f64 && one.spec.batch == 1 && one.spec.rhs == 1 && fits(one);
    };
    auto peer = peer_of<Of>(name, is_plain, [&] {
        const auto found = host_peers().find(name);
        if (found == host_peers().end()) throw Error(fmt::format("not installed; install {} and build Trifold again", package));
        return [workers, make = found->second](const Of& one, const DeviceTools&) {
            if constexpr (std::same_as<Of, ImageProblem>)
                return contender(to_block_rows(formats::to_sparse(one.system), 1), one.system.b, 0, workers, make);
            else
                return contender(one.a, one.b, one.rtol, workers, make);
        };
    });
    peer.by_name = true;
    return peer;
}

}  // namespace

Library::Library(std::vector<std::string> names) {
    for (const auto& directory : directories()) {
        for (const auto& name : names) {
            handle_ = ::dlopen((directory + name).c_str(), RTLD_NOW | RTLD_LOCAL);
            name_ = name;
            if (handle_ != nullptr) return;
        }
    }
    throw Error(fmt::format("{} cannot be opened; install it, or give its directory in TRIFOLD_PEERS", fmt::join(names, " or ")));
}

void* Library::address(const char* name) const {
    auto* found = ::dlsym(handle_, name);
    if (found == nullptr) throw Error(fmt::format("{} has no {}", name_, name));
    return found;
}

void Library::fail(const char* name, int status) { throw Error(fmt::format("{} failed with status {}", name, status)); }

std::vector<Peer> find_peers(Family family, const Device& device, int workers) {
    // OpenBLAS starts a thread for each core when it is loaded, wanted or not, and they spin where ours should run.
    ::setenv("OPENBLAS_NUM_THREADS", std::to_string(workers).c_str(), 0);
    const bool has_chains = family == Family::tridiagonal, on_cpu = device.backend() == Backend::cpu;
    std::vector<Peer> peers;
    if (device.backend() == Backend::cuda)
        peers = {cudss(), cusparse(), cublas("cublas-cyclic", "multi-stage"), cublas("cublas-recursive", "recursive:3:8"),
                 cublas("cublas-sequential", "sequential")};
    if (has_chains) peers.push_back(lapack(workers));
    if (has_chains && on_cpu) {
        peers.push_back(openblas());
        std::ranges::copy(our_peers(workers), std::back_inserter(peers));
    }
    if (family == Family::grid && on_cpu)
        for (const auto* order : {"", "-metis"})
            for (const auto& [name, matrix] : {std::pair{"umfpack", GridMatrix::general}, {"cholmod", GridMatrix::symmetric}})
                peers.push_back(host_peer<ImageProblem>(std::string(name) + order, "libsuitesparse-dev", workers,
                                                        [matrix](const ImageProblem& one) { return one.spec.matrix == matrix; }));
    if (family == Family::sparse && on_cpu) {
        peers.push_back(host_peer<SparseProblem>("eigen", "libeigen3-dev", workers, [](const SparseProblem&) { return true; }));
        peers.push_back(host_peer<SparseProblem>("dune", "libdune-istl-dev", workers,
                                                 [](const SparseProblem& one) { return one.spec.block == 1 || one.spec.block == 3; }));
    }
    std::erase_if(peers, [&](const Peer& peer) { return std::ranges::find(peer.families, family) == peer.families.end(); });
    return peers;
}

}  // namespace trifold::bench
