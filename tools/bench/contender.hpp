#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/floor.hpp"
#include "tools/bench/problem.hpp"
#include "tools/bench/statistics.hpp"

namespace trifold::bench {

/// How long is measured. Each step is called to warm up, then until `seconds` have gone or `max_runs` were made, whichever is first, but
/// at least `min_runs` times.
struct Budget {
    double seconds = 0.2;
    std::size_t min_runs = 5, max_runs = 2000;
};

/// One operation of a solver.
struct Step {
    std::string operation;
    std::function<void()> call;
    std::function<void()> prepare = {};                              ///< what has to be done before each call and is not timed
    bool solves = false;                                             ///< the call leaves a solution
    bool once = false;                                               ///< too long to repeat: the first call is what counts
    Work work = {};                                                  ///< the least that it moves and computes; 0: not counted
    std::function<std::vector<double>(const Budget&)> samples = {};  ///< in place of timed calls: the seconds of each run
};

/// One operation of one solver on one problem.
struct Result {
    std::string solver, operation;
    Statistics seconds;
    Work work = {};
    std::optional<double> residual;    ///< the worst of the solver's solutions; none where nothing is solved
    std::optional<double> apart = {};  ///< of a solver that preconditions: how far its result is from ours
    std::optional<double> calls_per_second = {};
    std::optional<double> floor_seconds = {};  ///< where the device's rates are known
    bool accurate = true;
    nlohmann::ordered_json more = {};  ///< such as the schedule
    std::string remark = {};           ///< the same for people
};

/// A solver of one problem whose data are in place, ours or a peer.
class Contender {
  public:
    virtual ~Contender() = default;
    /// In the order they are to be called in.
    virtual std::vector<Step> steps() = 0;
    /// The solution of the last step, as the problem holds b; what was there is overwritten with NaN.
    virtual std::vector<double> take_solution() = 0;
    /// After all steps: adds what else is known, and throws where a solution failed.
    virtual void complete(std::vector<Result>&) {}
    /// Takes the residual of the last step's solution.
    virtual void check(const Problem& problem, Result& result) { result.residual = residual_of(problem, take_solution()); }
};

/// A solver that is not ours. `problem` says in a line why it cannot take part; empty: it can.
struct Peer {
    std::string name, problem = {};
    std::vector<Family> families;
    bool by_name = false;  ///< takes part only where it is asked for by name
    std::function<bool(const Problem&)> fits = {};
    std::function<std::unique_ptr<Contender>(const Problem&, const DeviceTools&)> make = {};
};
/// All peers that could run on a device or on its host, there with this many threads.
std::vector<Peer> find_peers(Family family, const Device& device, int workers);

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

std::shared_ptr<void> integers(const DeviceTools& tools, const std::vector<int>& values);

}  // namespace trifold::bench
