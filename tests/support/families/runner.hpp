#pragma once
#include <memory>

#include "runtime/session/family.hpp"
#include "tests/support/guarded.hpp"

/// The faces by which calls reach a solver of any family.
namespace trifold::test {

/// A solver in a workspace of its caller's. What a face refuses is a SpecError, also where it has a code for it; what check() finds is an
/// Unsolvable.
class AnyFace {
  public:
    virtual ~AnyFace() = default;
    virtual void run(std::string_view operation, std::span<const AnyArray> arrays, const nlohmann::json& options) = 0;
    virtual nlohmann::json outcomes() = 0;
    virtual void check() = 0;
    virtual void synchronize() = 0;
    const void* workspace() { return workspace_.data(); }
    /// Nothing was written next to the workspace.
    bool intact() const { return workspace_.intact(); }

  protected:
    Guarded<char> workspace_{0};
};

/// What is given for a workspace.
struct Room {
    bool given = true;  ///< the solver has one of its own otherwise, as on a GPU
    std::int64_t shift = 0, less = 0;
};

/// Memory of a device for arrays.
struct DeviceMemory {
    std::function<std::shared_ptr<void>(std::int64_t)> allocate{};
    std::function<void(void*, const void*, std::int64_t)> upload{}, download{};
};

struct AnyRunner {
    std::unique_ptr<AnyFace> (*make)(std::string_view family, const nlohmann::json& problem, const std::string& device,
                                     const nlohmann::json& tuning, const Room& room);
    bool states_arrays;  ///< its callers state size, type and place of each array
    std::string device = "cpu";
    DeviceMemory memory{};  ///< empty: the host's
};
AnyRunner cpp_runner();
AnyRunner c_runner();

}  // namespace trifold::test
