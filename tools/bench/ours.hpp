#pragma once
#include "tools/bench/contender.hpp"

/// Our solvers as contenders.
namespace trifold::bench {

/// Options by which our solver is given a chain, other than its Spec.
struct ChainForm {
    Order order = Order::row_major;
    std::int64_t panel = 0;  ///< the Spec's rhs, where a call has more of them; 0: all
};
std::unique_ptr<Contender> our_chain(const ChainProblem& problem, const Device& device, const Tuning& tuning, const ChainForm& form,
                                     const DeviceTools& tools);
/// Our own solvers as peers: `one-thread`, and `one-by-one` for a batch, whose systems have a solver each.
std::vector<Peer> our_peers(int workers);
/// Calls a solver's last operation at each rate; on a GPU times are also taken of its kernels alone.
std::unique_ptr<Contender> at_rates(std::unique_ptr<Contender> solver, const std::vector<double>& calls_per_second, DeviceTools& tools);
/// The least that a call can be, at the same rates: its tail is that of the driver and the host.
std::unique_ptr<Contender> copy_at_rates(const std::vector<double>& calls_per_second, DeviceTools& tools);
/// Measures how long a new process waits for its kernels: generated and compiled, or read from the cache, and loaded.
std::unique_ptr<Contender> starts(const ChainProblem& problem, const std::string& device, const Tuning& tuning);

std::unique_ptr<Contender> our_image(const ImageProblem& problem, const Device& device, const GridTuning& tuning, const DeviceTools& tools);
/// `planned` is told of the plan.
std::unique_ptr<Contender> our_sparse(const SparseProblem& problem, const Device& device, const SparseTuning& tuning,
                                      const std::function<void(const SparseSummary&)>& planned, const DeviceTools& tools);

/// Ranks that share one problem: `run` calls a function for each rank that is here, with its transport.
struct Ranks {
    int count = 1;
    std::function<void(const std::function<void(std::shared_ptr<Transport>)>&)> run;
    std::function<Device(int rank)> device_of;
};
/// A chain, or the systems of a batch, of which each rank has its share. `shards`: blocks of each; empty: by the model.
std::unique_ptr<Contender> our_chain(const ChainProblem& problem, const Ranks& ranks, const Tuning& tuning,
                                     const std::vector<std::int64_t>& shards, const Budget& budget);
std::unique_ptr<Contender> our_sparse(const SparseProblem& problem, const Ranks& ranks, const SparseTuning& tuning, const Budget& budget);
/// Messages of several sizes that all ranks send to the next at once.
std::unique_ptr<Contender> messages(const Ranks& ranks, const Budget& budget);

}  // namespace trifold::bench
