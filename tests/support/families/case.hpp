#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>

#include "runtime/session/family.hpp"

/// Random small problems of any family, drawn from its tables.
namespace trifold::test {

struct AnyCase {
    const Family* family;
    nlohmann::json problem, tuning;
    CallCounts counts;     ///< of the calls
    int exponent = 0;      ///< A and B are scaled by this power of two
    std::uint64_t seed{};  ///< of the values
    nlohmann::json tree() const;
    /// Operations that the problem lists, and those that need no listing.
    bool plans(const OperationRow& row) const;
};

/// The case that AnyCase::tree() has written.
AnyCase case_of(const nlohmann::json& tree);

using AnyCaseTest = std::function<bool(const AnyCase&)>;
/// `accepts`: whether the family takes it. A case that it refuses is drawn again.
AnyCase draw(const Family& family, std::uint64_t seed, bool on_cpu, const AnyCaseTest& accepts);
/// A smaller case of those that still fail.
AnyCase shrink(AnyCase failing, const AnyCaseTest& fails);

}  // namespace trifold::test
