#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <trifold/device.hpp>
#include <trifold/program.hpp>
#include <trifold/resources.hpp>
#include <vector>

#include "tools/bench/device_tools.hpp"
#include "tools/tune/outputs.hpp"
#include "tools/tune/point.hpp"
#include "tools/tune/series.hpp"
#include "tools/tune/trial.hpp"

namespace trifold::tune {

/// Thrown where a candidate does not fit into the device's memory.
class TooLarge : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A candidate that is ready to run on the data of its point. The data must outlive it.
class Prepared {
  public:
    Prepared() = default;
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;
    virtual ~Prepared() = default;
    virtual const Program& program() const = 0;
    virtual const std::vector<KernelResources>& resources() const = 0;
    /// The relative residual of a solution of the first set of data, the worst of the members that are looked at; 0 where nothing in the
    /// Spec solves.
    virtual double residual() = 0;
    /// The results of every operation of the Spec on the first set.
    virtual Outputs outputs() = 0;
    /// A call of an operation, which takes the next set of the data each time. Factors first where the operation needs it.
    virtual Timed timed(const std::string& operation) = 0;
};

/// Random arrays of a point on a device.
class PointData {
  public:
    PointData() = default;
    PointData(const PointData&) = delete;
    PointData& operator=(const PointData&) = delete;
    virtual ~PointData() = default;
    /// Throws TooLarge and what the library throws.
    virtual std::unique_ptr<Prepared> prepare(const Point&, const Candidate&, const Device&) const = 0;
};

/// Seconds of call(set), of one set after another, with no graph around them.
Timed enqueued_calls(DeviceTools& tools, std::int64_t sets, const std::function<void(std::int64_t set)>& call);
/// The same; on a GPU each set has a graph of its own, which has its pointers in it.
Timed timed_calls(DeviceTools& tools, std::int64_t sets, const std::function<void(std::int64_t set)>& call);

/// Registers, shared memory and spills of all kernels.
nlohmann::ordered_json kernels_of(const Program& program, const std::vector<KernelResources>& resources);
/// Spills of all kernels together, as kernels_of gives them.
std::int64_t spill_bytes(const nlohmann::ordered_json& kernels);
/// Bytes that a candidate may spill, after these trials of its point. A variant whose knobs are those of the device's rows may spill: time
/// decides. With other knobs it may spill as much as then, and without limit where the default spills.
std::int64_t most_spills(const Candidate& candidate, const std::vector<Trial>& trials);

/// Throws TooLarge where workspace and data need nearly all of the device's memory, or more.
void check_memory(std::int64_t workspace_bytes, std::int64_t data_bytes, const Device& device);

/// Whether the device still takes work: a launch that failed leaves a context in which nothing runs any more.
bool still_works(const DeviceTools& tools);

}  // namespace trifold::tune
