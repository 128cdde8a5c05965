#pragma once
#include <fmt/format.h>

#include "tests/support/cpu/call.hpp"
#include "tests/support/cpu/checks.hpp"

namespace trifold::test {

/// With open sizes, so that all horizons, batches and schedules of a size of blocks share a unit, whose compilation is what takes time.
inline const std::string intervals = "intervals:bake=0";

/// Schedules of every kind.
inline const std::string orders[] = {"sequential", "single-stage", "multi-stage",   "partitioned:3",
                                     "twisted:2",  "twisted:4",    "recursive:2:3", "segments:3,2"};

/// Everything that a unit may be asked for, its work cut in several ways.
inline void check_solves(const Spec& spec, const std::string& schedule, const std::string& variant = "tile",
                         const Target& target = host_target(), const Drawn& drawn = {}) {
    INFO(fmt::format("n {} N {} m {} batch {} {} {} {} {} columns {}", spec.block, spec.horizon, spec.rhs, spec.batch,
                     to_string(spec.precision), schedule, variant, to_string(target), drawn.columns));
    const CompiledProgram unit(choose(spec, target, {.schedule = schedule, .variant = variant}));
    KernelRunner<CompiledProgram, Split> runner(unit, {{}, {1, true}, {5, true}});
    check_errors(errors_of(runner, drawn));
    CHECK(unit.exceptions() == 0);
    constexpr std::int64_t most_rows = 500;  // of which the oracle takes many factors
    if (drawn.columns == 0 && spec.block * spec.horizon <= most_rows) check_errors(option_errors_of(runner));
}

/// With the selected inverse but for some, whose units are another text.
inline void check_one(Spec spec, Precision precision, const std::string& schedule, const std::string& variant = "tile",
                      const Target& target = host_target()) {
    spec.precision = precision;
    if (precision == Precision::f64 || spec.block % 4 != 0) spec.operations = all_operations();
    check_solves(spec, schedule, variant, target);
}

inline void check_both(const Spec& spec, const std::string& schedule, const std::string& variant = "tile",
                       const Target& target = host_target()) {
    check_one(spec, Precision::f64, schedule, variant, target);
    check_one(spec, Precision::f32, schedule, variant, target);
}

}  // namespace trifold::test
