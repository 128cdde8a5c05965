#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tools/bench/contender.hpp"
#include "tools/bench/floor.hpp"
#include "tools/bench/statistics.hpp"
#include "tools/bench/suites.hpp"
#include "tools/bench/timing.hpp"

namespace trifold::bench {

struct Request {
    Device device;
    std::string device_name;  ///< as Device::parse takes it
    std::vector<Precision> precisions;
    std::vector<Tuning> tunings;
    std::vector<Peer> peers;
    std::vector<double> calls_per_second;  ///< of the latency suite
    Budget budget;
    std::int64_t rhs = 1;
    std::uint64_t seed = 0;
    std::optional<double> tolerance;  ///< of the relative residual; 1e-14 in f64 and mixed and 1e-6 in f32 when it is not given
};

/// One operation of one solver on one case.
struct Result {
    std::string suite, solver, operation;
    Spec spec;
    std::string schedule, variant;  ///< ours only
    std::string rung, row;          ///< of the Choice, ours only
    Statistics seconds;
    std::optional<double> residual;  ///< the worst of all solutions of the solver on this case; none where nothing is solved
    bool accurate = true;
    std::optional<Work> work;                ///< of factor, solve and factor_solve; none in mixed precision
    std::optional<double> floor_seconds;     ///< where the device's rates are known
    std::optional<double> calls_per_second;  ///< latency
};

/// A solver that could not do a case; the others go on.
struct Failure {
    std::string suite, solver;
    Size size;
    Precision precision;
    std::string message;
};

struct Listener {
    std::function<void(const Result&)> result;
    std::function<void(const Failure&)> failure;
    std::function<void(const Failure&)> left_out;  ///< a tuning that does not exist for a case that has others
};

/// Why there are no such kernels; empty: there are.
std::string refusal_of(const Spec& spec, const Device& device, const Tuning& tuning);

/// Every solver on one size of a suite, in every precision. Throws SpecError where the size is none, DeviceError without a device.
void measure(const Suite& suite, const Size& size, const Request& request, const Listener& listener);

}  // namespace trifold::bench
