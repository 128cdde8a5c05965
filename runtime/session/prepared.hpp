#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <trifold/call.hpp>
#include <trifold/device.hpp>
#include <trifold/program.hpp>
#include <vector>

#include "runtime/device/gpu.hpp"

namespace trifold {

/// How messages name what the user made and what to do.
struct FamilyWords {
    std::string_view plan, solver;  ///< classes
    std::string_view less_memory;   ///< where memory is short: "give a smaller horizon or batch"
};

/// A Program, compiled and loaded, which the sessions of one plan share. Immutable.
struct Prepared {
    Program program;
    Device device;
    PlanReport report;
    gpu::Loaded loaded;          ///< CPU entry points or the driver's functions; keeps the code, and on a GPU its primary context
    int spin_microseconds = -1;  ///< how long idle CPU threads stay awake; -1: the process's switch or standard
    FamilyWords words;
    std::string described;
    std::vector<std::string> asked;
};

/// A Program of a family's generator, to be prepared, and what goes with it.
struct Preparation {
    Program program;
    std::int64_t members;              ///< the batch's capacity
    int spin_microseconds = -1;        ///< Tuning::spin_microseconds
    std::string summary;               ///< for the log: "n=4 N=8 sequential by model"
    std::string described;             ///< for TRIFOLD_CAPTURE, the request and the choice: members of a JSON object
    std::vector<std::string> asked{};  ///< operations that callers call; others are parts of these and not captured. Empty: all
};

/// Compiles or takes from the cache what `generate` returns, and loads it on the device. Throws SpecError, CompileError, CacheError,
/// DeviceError.
std::shared_ptr<const Prepared> prepare(const Device& device, const FamilyWords& words, const std::function<Preparation()>& generate);

}  // namespace trifold
