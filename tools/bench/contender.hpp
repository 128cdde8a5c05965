#pragma once
#include <functional>
#include <memory>
#include <string>
#include <trifold/trifold.hpp>
#include <vector>

#include "tools/bench/device_tools.hpp"
#include "tools/formats/assemble.hpp"

namespace trifold::bench {

/// One operation of a solver.
struct Step {
    std::string operation;
    std::function<void()> call;
    std::function<void()> prepare = {};  ///< what has to be done before each call and is not timed
    bool solves = false;                 ///< the call leaves a solution
    bool once = false;                   ///< too long to repeat: the first call is what counts
};

/// A solver of one case whose data are in place, ours or a peer.
class Contender {
  public:
    virtual ~Contender() = default;
    /// In the order they are to be called in.
    virtual std::vector<Step> steps() = 0;
    /// The solution of the last step, as formats::System holds it; what was there is overwritten with NaN.
    virtual std::vector<double> take_solution() = 0;
};

/// A solver that is not ours. `problem` says in a line why it cannot take part; empty: it can.
struct Peer {
    std::string name, problem;
    std::function<bool(const Spec&)> fits;
    std::function<std::unique_ptr<Contender>(const formats::System&, Precision, const DeviceTools&)> make;
};
/// All that could run beside a device; those on the host with this many threads.
std::vector<Peer> find_peers(const Device& device, int workers);

/// An array on the device in the precision of a case.
class Array {
  public:
    Array(const DeviceTools& tools, const std::vector<double>& values, Precision precision);
    template <class Real>
    Real* as() const {
        return static_cast<Real*>(memory_.get());
    }
    void* data() const { return memory_.get(); }
    std::int64_t bytes() const { return bytes_; }
    /// Its values, which become NaN.
    std::vector<double> take();

  private:
    const DeviceTools& tools_;
    Precision precision_;
    std::size_t count_;
    std::int64_t bytes_;
    std::shared_ptr<void> memory_;
    void upload(const std::vector<double>& values);
};

std::shared_ptr<void> integers(const DeviceTools& tools, const std::vector<int>& values);

/// Our solver.
class Ours : public Contender {
  public:
    Ours(const Plan& plan, const formats::System& system, const DeviceTools& tools);
    std::vector<Step> steps() override;
    std::vector<double> take_solution() override { return x_.take(); }
    /// Throws Unsolvable.
    void check() { solver_.check(); }

  private:
    template <class Real>
    std::vector<Step> steps_in();
    Solver solver_;
    Precision precision_;
    Array d_, e_, b_, x_;
    Stream stream_;
};

}  // namespace trifold::bench
