#pragma once
#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "tools/bench/problem.hpp"
#include "tools/bench/timing.hpp"

namespace trifold::bench {

/// Of one chain: it is eliminated by nested dissection (19/3 N n^3, factors of three blocks a front), which is what parallelism costs. A
/// batch is parallel by itself, so each system is swept from the first block to the last (7/3 N n^3, a triangle and a block a front).
/// `operation` is factor, solve or factor_solve.
Work work(const Spec& spec, Operation operation);

/// What a device moves and computes in a second.
struct Rates {
    double bytes, f64_flops, f32_flops;
};
/// Known for the devices whose rates were measured, by names such as "NVIDIA H200"; a floor on processors would have to know their caches.
std::optional<Rates> rates(std::string_view device);
double floor_seconds(const Work& work, const Rates& rates, Precision precision);

/// One operation of one solver on one problem.
struct Result {
    std::string solver, operation;
    Statistics seconds;
    Work work = {};
    std::optional<double> residual = {};  ///< the worst of the solver's solutions; none where nothing is solved
    std::optional<double> apart = {};     ///< of a solver that preconditions: how far its result is from ours
    std::optional<double> calls_per_second = {};
    std::optional<double> floor_seconds = {};  ///< where the device's rates are known
    bool accurate = true;
    nlohmann::ordered_json more = {};  ///< such as the schedule
    std::string remark = {};           ///< the same for people
};

/// A solver of one problem whose data are in place, ours or a peer.
struct Contender {
    std::vector<Step> steps;                                  ///< in the order they are to be called in
    std::function<std::vector<double>()> take_solution;       ///< that of the last step, as the problem holds b; NaN takes its place
    std::function<void(std::vector<Result>&)> complete = {};  ///< after all steps: adds what else is known, throws where a solution failed
    std::function<void(Result&)> check = {};                  ///< in place of the residual of the last step's solution
};

/// A solver that is not ours. `problem` says in a line why it cannot take part; empty: it can.
struct Peer {
    std::string name, problem = {};
    std::vector<Family> families = {};
    bool by_name = false;  ///< takes part only where it is asked for by name
    std::function<bool(const Problem&)> fits = {};
    std::function<Contender(const Problem&, const DeviceTools&)> make = {};
};

/// Peer for problems of type Of; with Problem itself, for those of all families. `open` returns the function that makes contenders. Where
/// it throws Error, the peer says why.
template <class Of>
Peer peer_of(std::string name, const std::function<bool(const Of&)>& fits, const auto& open) {
    constexpr bool is_any = std::same_as<Of, Problem>;
    const auto own = [](const Problem& problem) -> const Of& {
        if constexpr (is_any)
            return problem;
        else
            return std::get<Of>(problem);
    };
    Peer peer{.name = std::move(name), .fits = [=](const Problem& problem) { return fits(own(problem)); }};
    if (is_any || std::same_as<Of, ChainProblem>) peer.families.push_back(Family::tridiagonal);
    if (is_any || std::same_as<Of, ImageProblem>) peer.families.push_back(Family::grid);
    if (is_any || std::same_as<Of, SparseProblem>) peer.families.push_back(Family::sparse);
    try {
        peer.make = [own, make = open()](const Problem& problem, const DeviceTools& tools) { return make(own(problem), tools); };
    } catch (const Error& error) {
        peer.problem = error.what();
    }
    return peer;
}

/// A solver that takes part.
struct Entry {
    std::string name;
    std::function<Contender(DeviceTools&)> make;
};

/// One problem, and those who solve it.
struct Contest {
    const Problem& problem;
    std::vector<Entry> entries;
    double tolerance;  ///< of the relative residual
    Budget budget;
    bool by_turns = false;                                                 ///< on a processor: all in rounds
    std::function<Work(const std::string& operation)> work = {};           ///< where it is the same for all solvers
    std::function<std::optional<double>(const Work&)> floor_seconds = {};  ///< where the device's rates are known
    void add(const std::vector<Peer>& peers);                              ///< those that fit; they must outlive this
};

struct Listener {
    std::function<void(const Result&)> result;
    std::function<void(const std::string& solver, const std::string& message)> failure;
};

/// Every solver on the problem. One that cannot do it is said, and the others go on.
void measure(const Contest& contest, DeviceTools& tools, const Listener& listener);

/// An array on the device in a precision, `mixed` as f64.
class Array {
  public:
    Array(const DeviceTools& tools, const std::vector<double>& values, Precision precision);
    template <class Real>
    Real* as() const {
        return static_cast<Real*>(memory_.get());
    }
    void* data() const { return memory_.get(); }
    AnyArray any() const { return {memory_.get(), false, precision_}; }
    std::int64_t bytes() const { return bytes_; }
    std::vector<double> host() const;
    /// Its values, which become NaN.
    std::vector<double> take();

  private:
    void upload(const std::vector<double>& values);
    const DeviceTools& tools_;
    Precision precision_;
    std::size_t count_;
    std::int64_t bytes_;
    std::shared_ptr<void> memory_;
};

template <class Value>
std::shared_ptr<void> on_device(const DeviceTools& tools, const std::vector<Value>& values) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(Value));
    auto memory = tools.allocate(bytes);
    tools.upload(memory.get(), values.data(), bytes);
    return memory;
}

}  // namespace trifold::bench
