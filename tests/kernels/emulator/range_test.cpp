// The range of exponents: whatever has data, pivots and a solution in the normal range of the precision is solved as well as at scale 1.
#include "tests/kernels/emulator/emulated.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

void check_range(Spec spec, const std::string& schedule, const std::string& variant, const std::string& target,
                 const std::vector<Precision>& precisions = {Precision::f64, Precision::f32}) {
    const bool large = variant == "tile-dataflow", slow = spec.block > 30 || large || variant == "tiled";
    for (const auto precision : precisions) {
        INFO(spec.block, " ", schedule, " ", variant, " ", target, " ", to_string(precision));
        spec.precision = precision;
        const EmulatedUnit unit(choose(with_units(spec, slow ? 1 : 2), parse_target(target), {.schedule = schedule, .variant = variant}),
                                large ? EmulatedUnit::Build::plain : EmulatedUnit::Build::watched);
        std::vector<Running> ways;
        for (unsigned seed = 1; seed <= 9; ++seed) ways.push_back({test::Order::random, seed, 3});
        KernelRunner<EmulatedUnit, Running> runner(unit, ways);
        check_errors(range_errors_of(runner, slow ? 1 : 2, false));
        check_findings(unit);
    }
}

}  // namespace

TEST_CASE("kernels of a launch a level solve over the whole range of exponents on the emulated GPU") {
    check_range({.block = 5, .horizon = 4, .rhs = 2, .operations = all_operations()}, "partitioned:2", "fused", "cuda:sm_90");
    check_range({.block = 6, .horizon = 3, .operations = all_operations()}, "sequential", "fused", "hip:gfx942");
    check_range({.block = 5, .horizon = 3, .rhs = 2, .operations = all_operations()}, "multi-stage", "tiled", "cuda:sm_90");
}

TEST_CASE("symmetric matrices solve over the whole range of exponents on the emulated GPU") {
    const Spec spec{.block = 5, .horizon = 4, .matrix = MatrixKind::symmetric, .rhs = 2, .operations = all_operations()};
    check_range(spec, "partitioned:2", "fused", "cuda:sm_90");
    check_range(spec, "multi-stage", "tiled", "cuda:sm_90");
    check_range(spec, "multi-stage", "dataflow", "cuda:sm_90");
    check_range(spec, "twisted:2", "tile-dataflow", "cuda:sm_75");
    check_range({.block = 17, .horizon = 4, .matrix = MatrixKind::symmetric, .rhs = 2}, "twisted:2", "chains", "cuda:sm_90");
    check_range({.block = 5, .horizon = 7, .matrix = MatrixKind::symmetric, .batch = 512}, "multi-stage", "dataflow", "cuda:sm_90");
}

TEST_CASE("teams solve over the whole range of exponents on the emulated GPU") {
    check_range({.block = 3, .horizon = 5, .rhs = 2}, "sequential", "team", "cuda:sm_90");
    check_range({.block = 5, .horizon = 4}, "recursive:2", "team", "hip:gfx906");
    check_range({.block = 5, .horizon = 4, .matrix = MatrixKind::symmetric, .rhs = 2}, "recursive:2", "team", "cuda:sm_90");
}

TEST_CASE("chains solve over the whole range of exponents on the emulated GPU") {
    check_range({.block = 17, .horizon = 4, .rhs = 2}, "twisted:2", "chains", "cuda:sm_90");
    check_range({.block = 20, .horizon = 3}, "sequential", "chains:chain_teams=1,chain_helper=0", "cuda:sm_90");
    check_range({.block = 17, .horizon = 4}, "twisted:2", "chains:chain_teams=1", "cuda:sm_90");
}

TEST_CASE("dataflow solves over the whole range of exponents on the emulated GPU") {
    check_range({.block = 5, .horizon = 5, .rhs = 2}, "multi-stage", "dataflow", "cuda:sm_90");
    check_range({.block = 5, .horizon = 3, .rhs = 17}, "multi-stage", "dataflow", "cuda:sm_90");  // several thread blocks have x of a front
    check_range({.block = 5, .horizon = 1}, "multi-stage", "dataflow", "cuda:sm_90");             // the last front is the first
    check_range({.block = 5, .horizon = 3}, "multi-stage", "dataflow", "hip:gfx1100");
    check_range({.block = 40, .horizon = 2}, "multi-stage", "dataflow", "cuda:sm_90");  // rows of [R; G] in shared memory
}

TEST_CASE("dataflow with a launch for wide levels solves over the whole range of exponents on the emulated GPU") {
    check_range({.block = 5, .horizon = 7, .batch = 512}, "multi-stage", "dataflow", "cuda:sm_90");
}

TEST_CASE("tile dataflow solves over the whole range of exponents on the emulated GPU") {
    check_range({.block = 5, .horizon = 3, .rhs = 2}, "twisted:2", "tile-dataflow", "cuda:sm_75");
    check_range({.block = 70, .horizon = 2, .operations = all_operations()}, "multi-stage", "tile-dataflow", "cuda:sm_90",
                {Precision::f32});  // in halves
}
