#pragma once
#include <trifold/precision.hpp>

#include "runtime/session/family.hpp"

/// A whole family, for tests: L X = B for a batch of lower triangular matrices L. What faces, command and tuner offer of it follows from
/// its table.
namespace trifold::test {

struct LowerSpec {
    std::int64_t size = 1, rhs = 1, batch = 1;
    Precision precision = Precision::f64;
};
struct LowerTuning {
    int workers = 1;
    std::string variant = "plain";
};
/// A zero pivot fails a member.
struct LowerOutcome {
    std::int64_t row = -1;
    bool ok = true;
};

extern const Family lower_family;
Program generate_lower(const LowerSpec& spec, const Target& target, const LowerTuning& tuning);

}  // namespace trifold::test
