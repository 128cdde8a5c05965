#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <trifold/call.hpp>
#include <trifold/device.hpp>
#include <trifold/program.hpp>
#include <trifold/transport.hpp>
#include <vector>

#include "runtime/device/units.hpp"

namespace trifold {

namespace gpu {
class Context;
}

/// How messages name what the user made and what to do.
struct FamilyWords {
    std::string_view plan, solver;  ///< classes
    std::string_view less_memory;   ///< where memory is short: "give a smaller horizon or batch"
};

/// A Program of a family's generator, to be prepared, and what goes with it.
struct Preparation {
    Program program;
    std::int64_t members;              ///< the batch's capacity
    int spin_microseconds = -1;        ///< Tuning::spin_microseconds
    std::string summary;               ///< for the log: "n=4 N=8 sequential by model"
    std::string described;             ///< for TRIFOLD_CAPTURE, the request and the choice: members of a JSON object; empty: not captured
    std::vector<std::string> asked{};  ///< operations that callers call; others are parts of these and not captured. Empty: all
    std::shared_ptr<Transport> transport{};  ///< carries the Program's messages; null: it has none
    std::string first{};  ///< operation to compile before the plan is returned; others compile in the background. Empty: compile all
};

/// A Program with its code on a device, which the sessions of one plan share. Nothing in it changes, but code may still be compiling.
struct Prepared {
    /// `codes`: of the Program's units, where they are loaded already; empty: they are obtained.
    Prepared(Preparation made, const Device& device, const FamilyWords& words, const std::vector<LoadedCode>& codes = {});
    ~Prepared();
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;
    /// Waits until the code of every unit is there.
    const PlanReport& report() const;
    /// The name of an operation, which has the number of its place in Program::operations.
    const std::string& operation(std::size_t number) const;
    /// Whether the operation can run without waiting for its code.
    bool is_there(std::size_t operation) const;

    Program program;  ///< without the sources of its units, which generation writes again
    Device device;
    std::shared_ptr<const gpu::Context> context;  ///< the device's primary context; null on a CPU
    Units units;
    int spin_microseconds;  ///< how long idle CPU threads stay awake; -1: the process's switch or standard
    FamilyWords words;
    std::string described;
    std::vector<std::string> asked;
    std::shared_ptr<Transport> transport;
    double generate_seconds = 0, compile_seconds = 0, load_seconds = 0;  ///< time that the caller has waited

  private:
    Gauged gauged_{gauges.plans};
    mutable PerProcess<std::mutex> reporting_;
    mutable std::atomic<const PlanReport*> report_ = nullptr;
};

/// Compiles or takes from the cache what `generate` returns, and loads it on the device. Throws SpecError, CompileError, CacheError,
/// DeviceError.
std::shared_ptr<const Prepared> prepare(const Device& device, const FamilyWords& words, const std::function<Preparation()>& generate);

}  // namespace trifold
