#include "tools/bench/peers/host.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "tools/bench/peers/peers.hpp"

namespace trifold::bench {
namespace {

class OnHost : public Contender {
  public:
    OnHost(formats::BlockRows a, const std::vector<double>& b, double rtol, int workers, const auto& make)
        : a_(std::move(a)), solver_(make(HostProblem{a_, b, rtol, workers})) {}
    std::vector<Step> steps() override {
        std::vector<Step> all;
        for (const auto& [operation, call, solves, once] : solver_.steps)
            all.push_back({.operation = operation, .call = call, .solves = solves, .once = once});
        return all;
    }
    std::vector<double> take_solution() override { return std::exchange(*solver_.x, {}); }
    void complete(std::vector<Result>& results) override {
        for (auto& result : results)
            if (const auto found = solver_.iterations->find(result.operation); found != solver_.iterations->end()) {
                result.more["iterations"] = found->second;
                result.remark = fmt::format("{} iterations", found->second);
            }
    }

  private:
    formats::BlockRows a_;
    HostSolver solver_;
};

/// Opens the module in the program's folder, which has the peers whose headers were found.
HostPeers load() {
    HostPeers peers;
    try {
        const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
        Library({(folder / "trifold-bench-peers.so").string()}).find<AddHostPeers>("trifold_bench_peers")(peers);
    } catch (const Error&) {  // each peer says what it lacks
    }
    return peers;
}

bool is_plain(const auto& spec) { return spec.precision == Precision::f64 && spec.batch == 1 && spec.rhs == 1; }

}  // namespace

std::vector<Peer> host_peers(int workers) {
    static const HostPeers all = load();
    std::vector<Peer> peers;
    const auto add = [&](const std::string& name, Family family, const char* package, std::function<bool(const Problem&)> fits) {
        Peer peer{.name = name, .families = {family}, .by_name = true, .fits = std::move(fits)};
        const auto found = all.find(name);
        if (found == all.end()) {
            peer.problem = fmt::format("not installed; install {} and build Trifold again", package);
        } else {
            peer.make = [workers, make = found->second](const Problem& problem, const DeviceTools&) {
                if (const auto* image = std::get_if<ImageProblem>(&problem))
                    return std::make_unique<OnHost>(to_block_rows(formats::to_sparse(image->system), 1), image->system.b, 0, workers, make);
                const auto& one = std::get<SparseProblem>(problem);
                return std::make_unique<OnHost>(one.a, one.b, one.rtol, workers, make);
            };
        }
        peers.push_back(std::move(peer));
    };
    const auto images = [](GridMatrix matrix) {
        return of_family<ImageProblem>([matrix](const ImageProblem& one) { return is_plain(one.spec) && one.spec.matrix == matrix; });
    };
    for (const auto* order : {"", "-metis"}) {
        add(std::string("umfpack") + order, Family::grid, "libsuitesparse-dev", images(GridMatrix::general));
        add(std::string("cholmod") + order, Family::grid, "libsuitesparse-dev", images(GridMatrix::symmetric));
    }
    add("eigen", Family::sparse, "libeigen3-dev", of_family<SparseProblem>([](const SparseProblem& one) { return is_plain(one.spec); }));
    add("dune", Family::sparse, "libdune-istl-dev", of_family<SparseProblem>([](const SparseProblem& one) {
            return is_plain(one.spec) && (one.spec.block == 1 || one.spec.block == 3);
        }));
    return peers;
}

}  // namespace trifold::bench
