#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>

#include "runtime/session/family.hpp"

/// Random small problems of any family, drawn from its tables.
namespace trifold::test {

struct Case {
    const Family* family;
    nlohmann::json problem, tuning;
    CallCounts counts;     ///< of the calls
    int exponent = 0;      ///< A and B are scaled by this power of two
    std::uint64_t seed{};  ///< of the values
    nlohmann::json tree() const;
    /// Operations that the problem lists, and those that need no listing.
    bool plans(const OperationRow& row) const;
};

/// The case that Case::tree() has written.
Case case_of(const nlohmann::json& tree);

using CaseTest = std::function<bool(const Case&)>;
/// `accepts`: whether the family takes it. A case that it refuses is drawn again.
Case draw(const Family& family, std::uint64_t seed, const CaseTest& accepts);
/// A smaller case of those that still fail.
Case shrink(Case failing, const CaseTest& fails);

}  // namespace trifold::test
