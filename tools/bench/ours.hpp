#pragma once
#include "tools/bench/measure.hpp"

/// Our solvers as contenders.
namespace trifold::bench {

/// Options by which our solver is given a chain, other than its Spec.
struct ChainForm {
    Order order = Order::row_major;
    std::int64_t panel = 0;  ///< the Spec's rhs, where a call has more of them; 0: all
};
Contender our_chain(const ChainProblem& problem, const Device& device, const Tuning& tuning, const ChainForm& form,
                    const DeviceTools& tools);
/// Our own solvers as peers: `one-thread`, and `one-by-one` for a batch, whose systems have a solver each.
std::vector<Peer> our_peers(int workers);
/// Calls a solver's last operation at each rate; on a GPU times are also taken of its kernels alone.
Contender at_rates(const Contender& solver, const std::vector<double>& calls_per_second, DeviceTools& tools);
/// The least that a call can be, at the same rates: its tail is that of the driver and the host.
Contender copy_at_rates(const std::vector<double>& calls_per_second, DeviceTools& tools);
/// Measures how long a new process waits for its kernels: generated and compiled, or read from the cache, and loaded.
Contender starts(const ChainProblem& problem, const std::string& device, const Tuning& tuning);

Contender our_image(const ImageProblem& problem, const Device& device, const GridTuning& tuning, const DeviceTools& tools);
/// `planned` is told of the plan.
Contender our_sparse(const SparseProblem& problem, const Device& device, const SparseTuning& tuning,
                     const std::function<void(const SparseSummary&)>& planned, const DeviceTools& tools);

/// Ranks that share one problem: `run` calls a function for each rank that is here, with its transport.
struct Ranks {
    int count = 1;
    std::function<void(const std::function<void(std::shared_ptr<Transport>)>&)> run;
    std::function<Device(int rank)> device_of;
};
/// Makes the contender of one rank.
using MakeRank = std::function<Contender(const std::shared_ptr<Transport>&, const Device&, const DeviceTools&)>;
/// Measures steps that all ranks make together; the contender has the results. `gathers`: each rank has a part of the solution, else all
/// have the whole.
Contender on_ranks(const Ranks& ranks, const Budget& budget, bool gathers, const MakeRank& make);
/// A chain, or the systems of a batch, of which each rank has its share. `shards`: blocks of each; empty: by the model.
Contender our_chain(const ChainProblem& problem, const Ranks& ranks, const Tuning& tuning, const std::vector<std::int64_t>& shards,
                    const Budget& budget);
Contender our_sparse(const SparseProblem& problem, const Ranks& ranks, const SparseTuning& tuning, const Budget& budget);
/// Messages of several sizes that all ranks send to the next at once.
Contender messages(const Ranks& ranks, const Budget& budget);

}  // namespace trifold::bench
