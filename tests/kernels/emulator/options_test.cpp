// Results of a call other than the solution, and matrices that are not positive definite.
#include "generator/tridiagonal/design.hpp"
#include "tests/kernels/emulator/emulated.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

const Target sm_90 = parse_target("cuda:sm_90");

struct Way {
    std::string variant, schedule;
};
/// Every variant with these schedules, or with the one that it is for.
std::vector<Way> ways(const std::vector<std::string>& schedules) {
    std::vector<Way> result{{"dataflow", "multi-stage"}};
    for (const std::string variant : {"fused", "tiled", "tile-dataflow", "team"})
        for (const auto& schedule : schedules) result.push_back({variant, schedule});
    return result;
}

void check_options(const Spec& spec, const std::string& schedule, const std::string& variant, std::int64_t members = 0) {
    INFO(schedule, " ", variant);
    const EmulatedUnit unit(choose(spec, sm_90, {.schedule = schedule, .variant = variant}));
    KernelRunner<EmulatedUnit, Running> runner(unit, {{}, {test::Order::random, 5, 3}, {test::Order::reverse, 1, 2}});
    check_errors(option_errors_of(runner, {.seed = 3, .members = members}));
    check_findings(unit);
}

/// A pivot of the first member that is negative for one run is named, and all of X is NaN.
template <class Real>
void check_failures(Emulated<Real>& call, const std::vector<std::int64_t>& blocks, const std::vector<std::int64_t>& rows) {
    for (const auto block : blocks)
        for (const auto row : rows) {
            INFO(block, " ", row);
            const auto sound = std::exchange(call.d(0, block, row, row), Real(-1e6));
            call.run(Operation::factor_solve);
            call.d(0, block, row, row) = sound;
            CHECK(call.status(0).block == block);
            CHECK(call.status(0).row == row);
            CHECK(call.solution(0).array().isNaN().all());
        }
    call.run(Operation::factor_solve);
    CHECK(call.solves(0));
    check_findings(call.unit);
}

template <class Real>
void check_walks_of(const Spec& spec, const std::string& schedule, const std::string& variant, const std::string& target = "cuda:sm_90") {
    INFO(variant, " ", target);
    Emulated<Real> call(spec, schedule, 1, parse_target(target), variant);
    check_walks(call.spec, [&](const std::vector<System>& systems, bool accept) {
        call.user = arrays<Real>(call.spec, systems);
        call.args = kernel_args(call.spec, call.user, call.x, 1, call.workspace);
        call.args.accept_nearly_singular = accept;
        call.run(Operation::factor_solve);
        const auto* first = call.template buffer<trifold_status>("status");
        return std::vector<trifold_status>(first, first + spec.batch);
    });
    check_findings(call.unit);
}

}  // namespace

TEST_CASE("emulated: places in a batch, masks, diagonals, shifts, failures and floors, in every variant") {
    for (const auto& [variant, schedule] : ways({"sequential", "twisted:3", "multi-stage"}))
        check_options({.block = 10, .horizon = 9, .batch = 3}, schedule, variant);
}

TEST_CASE("emulated: options of symmetric matrices, and rows without a pivot") {
    const Spec spec{.block = 10, .horizon = 9, .matrix = MatrixKind::symmetric, .batch = 3};
    for (const auto* variant : {"fused", "team"})
        for (const auto* schedule : {"sequential", "twisted:3", "multi-stage"}) check_options(spec, schedule, variant);
    check_options(spec, "partitioned:3", "tiled");
    check_options(spec, "multi-stage", "dataflow");
    check_options(spec, "twisted:3", "tile-dataflow");
    auto large = spec;
    large.block = 21;
    check_options(large, "multi-stage", "dataflow");
    check_options(large, "twisted:2", "chains");
    check_options(large, "sequential", "chains:chain_teams=1,chain_helper=0");
    large.batch = 512;
    check_options(large, "multi-stage", "dataflow", 1);  // with wide levels
}

TEST_CASE("emulated: growth is over the largest entry of a symmetric matrix, in D or in E, in chains of unequal length") {
    for (const auto& [variant, schedule] :
         {std::pair{"fused", "sequential"}, {"team", "sequential"}, {"team", "twisted:2"}, {"tile-dataflow", "sequential"}})
        for (const bool in_e : {false, true}) {
            Emulated<double> call({.block = 2, .horizon = 4, .matrix = MatrixKind::symmetric}, schedule, 1, sm_90, variant);
            std::ranges::fill(call.user.d, 0.0), std::ranges::fill(call.user.e, 0.0);
            for (const auto block : {0, 1, 2, 3}) call.d(0, block, 0, 0) = call.d(0, block, 1, 1) = 1e-7;
            (in_e ? call.user.e[0] : call.d(0, 1, 1, 0)) = 1e-3;
            call.run(Operation::factor);
            const auto* inertia = reinterpret_cast<const trifold_inertia*>(call.buffer<trifold_status>("status") + 1);
            CHECK(inertia->negative == 1);
            CHECK(inertia->growth == doctest::Approx(1e4));
        }
}

TEST_CASE("emulated: what waits for the messages of a failed front is NaN, whichever column tile failed") {
    Emulated<double> wide({.block = 20, .horizon = 11}, "multi-stage", 8, sm_90, "dataflow");
    REQUIRE(buffer(wide.unit.program(), "message").bytes > 0);
    check_failures(wide, {0, 5, 10}, {0, 9, 19});
    Emulated<float> narrow({.block = 31, .horizon = 11}, "multi-stage", 8, sm_90, "dataflow");
    REQUIRE(buffer(narrow.unit.program(), "message").bytes > 0);
    check_failures(narrow, {0, 5, 10}, {0, 9, 30});
}

TEST_CASE("emulated: a failed row is found in fronts that flow whose lanes have several rows") {
    Emulated<float> call({.block = 72, .horizon = 5}, "multi-stage", 9, sm_90, "dataflow");
    check_failures(call, {0, 1, 3}, {0, 39, 71});
}

TEST_CASE("emulated: a front that gets messages tells of a failed one that it only pulls from") {
    Emulated<double> call({.block = 20, .horizon = 5}, "multi-stage", 8, sm_90, "dataflow");
    REQUIRE(buffer(call.unit.program(), "message").bytes > 0);
    check_failures(call, {4}, {0, 19});  // block 3 pulls from block 4, which no child of its has met
}

TEST_CASE("emulated: fronts of wide levels have all that a call may ask for, and their failures are told") {
    for (const auto& [order, coupling] :
         {std::pair{trifold::Order::row_major, Coupling::upper}, {trifold::Order::column_major, Coupling::lower}}) {
        const Spec spec{.block = 37, .horizon = 9, .batch = 232, .order = order, .coupling = coupling, .e = {.leading = 41}};
        Emulated<double> call(spec, "multi-stage", 14, sm_90, "dataflow");
        REQUIRE(has_kernel(design(call.unit.choice()), Phase::factor_wide));
        call.args.members = 1;
        check_failures(call, {0, 1, 3, 6, 7, 8}, {0, 9, 36});
        check_options(spec, "multi-stage", "dataflow", 1);
    }
}

TEST_CASE("emulated: chains have all that a call may ask for, and their failures are told") {
    struct Case {
        trifold::Order order;
        Coupling coupling;
        const char *schedule, *variant;
    };
    for (const auto& [order, coupling, schedule, variant] :
         {Case{trifold::Order::row_major, Coupling::upper, "twisted:2", "chains"},
          Case{trifold::Order::column_major, Coupling::upper, "sequential", "chains:chain_teams=1"},
          Case{trifold::Order::column_major, Coupling::lower, "sequential", "chains:chain_teams=1,chain_helper=0"}}) {
        const Spec spec{.block = 21, .horizon = 7, .batch = 3, .order = order, .coupling = coupling, .e = {.leading = 24}};
        Emulated<double> call(spec, schedule, 15, sm_90, variant);
        check_failures(call, {0, 2, 3, 4, 6}, {0, 9, 20});
        check_options(spec, schedule, variant);
    }
}

TEST_CASE("emulated: a failed row is found in every tile of a block") {
    for (const auto& [target, edge] : {std::pair{"cuda:sm_90", 64}, std::pair{"hip:gfx942", 32}}) {
        Emulated<double> call({.block = edge + 6, .horizon = 2}, "multi-stage", 4, parse_target(target), "tile-dataflow");
        check_failures(call, {0, 1}, {0, edge - 1, edge, edge + 5});
    }
}

TEST_CASE("emulated: pivots that are zero, infinite or NaN, or whose reciprocals are, fail, and other tiny ones pass") {
    const auto infinity = std::numeric_limits<double>::infinity();
    Emulated<double> call({.block = 1, .horizon = 1}, "sequential", 1, sm_90, "fused");
    for (const double pivot : {0.0, -1.0, infinity, std::nan(""), 1e-310, 0x1p-1024, std::nextafter(0x1p-1024, 1.0), 1e-308, 1e300}) {
        CAPTURE(pivot);
        call.user.d[0] = pivot;
        call.run(Operation::factor);
        const bool passes = pivot > 0 && pivot < infinity && 1 / pivot < infinity;
        CHECK(call.status(0).block == (passes ? -1 : 0));
        if (passes) CHECK(call.buffer<double>("log_determinant")[0] == doctest::Approx(std::log(pivot)).epsilon(1e-14));
    }
}

TEST_CASE("emulated: fewer columns than the Spec's") {
    for (const std::int64_t columns : {1, 8, 9}) {
        Emulated<double> call({.block = 9, .horizon = 5, .rhs = 11}, "twisted:2", 6, sm_90, "fused");
        std::ranges::fill(call.x, 7.0);
        call.args.columns = columns;
        call.run(Operation::factor_solve);
        const auto solved = call.solution(0);
        const test::Matrix b = call.systems[0].b;
        CHECK(relative_residual(call.systems[0].dense(), solved.leftCols(columns), b.leftCols(columns)) <= tolerance<double>);
        CHECK(solved.rightCols(11 - columns) == test::Matrix::Constant(45, 11 - columns, 7.0));
    }
}

TEST_CASE("emulated: pivots below the floor are raised and counted") {
    for (const auto& [variant, schedule] : ways({"sequential"})) {
        // A block of ones has one good pivot, and another where an entry is 2, its largest; the rest is zero. The second block is sound.
        Emulated<double> call({.block = 9, .horizon = 2}, schedule, 9, sm_90, variant);
        for (std::int64_t r = 0; r < 9; ++r)
            for (std::int64_t c = 0; c <= r; ++c) call.d(0, 0, r, c) = r == 4 && c == 4 ? 2 : 1;
        std::ranges::fill(call.user.e, 0.0);
        call.args.pivot_floor = 1e-3;
        call.run(Operation::factor);
        CHECK((call.status(0).block == -1 && call.status(0).floors == 7));
        const double expected = 7 * std::log(2e-3) + 2 * call.systems[0].d[1].llt().matrixLLT().diagonal().array().log().sum();
        CHECK(call.buffer<double>("log_determinant")[0] == doctest::Approx(expected).epsilon(1e-13));
    }
}

TEST_CASE("emulated: every layout") {
    for (const auto& [variant, schedule] : ways({"twisted:3"}))
        for (const auto order : {trifold::Order::row_major, trifold::Order::column_major})
            for (const auto coupling : {Coupling::lower, Coupling::upper}) {
                // Two of the four have every order of D and of E.
                if (variant == "tile-dataflow" && (order == trifold::Order::row_major) == (coupling == Coupling::lower)) continue;
                Spec spec{.block = 10, .horizon = 6, .rhs = 2, .batch = 2, .order = order, .coupling = coupling};
                spec.rhs_layout = RhsLayout::stacked;
                spec.d = {.leading = 11, .stage = 123}, spec.e = {.leading = 13};
                const Emulated<double> call(spec, schedule, 10, sm_90, variant);
                call.run(Operation::factor_solve);
                CHECK((call.solves(0) && call.solves(1)));
            }
}

TEST_CASE("emulated: blocks without gaps, in arrays that are aligned to elements only and to more") {
    for (const auto& [variant, schedule] : ways({"twisted:3"}))
        for (const auto order : {trifold::Order::row_major, trifold::Order::column_major}) {
            CAPTURE(variant);
            Emulated<double> call({.block = 12, .horizon = 5, .batch = 2, .order = order}, schedule, 3, sm_90, variant);
            for (const std::size_t shift : {0, 1}) {
                for (auto* values : {&call.user.d, &call.user.e, &call.user.b}) values->insert(values->begin(), shift, 0.0);
                call.args.d = call.user.d.data() + shift;
                call.args.e = call.user.e.data() + shift;
                call.args.b = call.user.b.data() + shift;
                call.run(Operation::factor_solve);
                CHECK((call.solves(0) && call.solves(1)));
            }
            check_findings(call.unit);
        }
}

TEST_CASE("emulated: random walks without an anchor are nearly singular or not positive definite, and with a weak one sound") {
    check_walks_of<double>({.block = 3, .horizon = 50, .batch = 12}, "twisted:2", "team");
    check_walks_of<float>({.block = 6, .horizon = 7, .batch = 12}, "sequential", "team", "hip:gfx942");
    check_walks_of<float>({.block = 1, .horizon = 7, .batch = 8}, "multi-stage", "fused");
    check_walks_of<double>({.block = 5, .horizon = 7, .batch = 4}, "partitioned:3", "tiled");
    check_walks_of<float>({.block = 6, .horizon = 7, .batch = 8}, "multi-stage", "dataflow");
    check_walks_of<double>({.block = 9, .horizon = 7, .batch = 8}, "multi-stage", "dataflow", "hip:gfx942");
    check_walks_of<double>({.block = 2, .horizon = 7, .batch = 4}, "twisted:3", "tile-dataflow");
    check_walks_of<double>({.block = 17, .horizon = 5, .batch = 4}, "twisted:2", "chains");
    check_walks_of<float>({.block = 18, .horizon = 5, .batch = 4}, "sequential", "chains:chain_teams=1,chain_helper=0");
    check_walks_of<double>({.block = 33, .horizon = 4, .batch = 4}, "twisted:2", "chains:chain_teams=1");
}
