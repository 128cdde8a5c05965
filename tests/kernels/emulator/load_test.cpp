// D and E that are loaded ahead, some blocks at a time, and overwritten by the factor.
#include "generator/tridiagonal/design.hpp"
#include "tests/kernels/emulator/emulated.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

template <class Real>
void load(const Emulated<Real>& call, std::int64_t first, std::int64_t blocks) {
    auto args = call.args;
    args.b = args.x = nullptr;
    args.first_column = first, args.columns = blocks;
    call.unit.run(Operation::load, args, next_running());
}

/// Pieces of a chain, in an order of their own: whole; single blocks from the last; threes from the middle.
std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> pieces(std::int64_t horizon) {
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> result{{{0, horizon}}, {}, {}};
    for (auto first = horizon; first-- > 0;) result[1].push_back({first, 1});
    for (std::int64_t first = 0; first < horizon; first += 3)
        result[2].insert(result[2].begin() + static_cast<std::ptrdiff_t>(result[2].size() / 2),
                         {first, std::min<std::int64_t>(3, horizon - first)});
    return result;
}

/// The coupling of the last block of a ring to the first, in a batch of one.
template <class Real>
void close_ring(Emulated<Real>& call) {
    if (!call.spec.ring) return;
    const auto area = static_cast<std::size_t>(call.spec.block * call.spec.block);
    for (std::size_t k = 0; k < area; ++k) call.user.e[call.user.e.size() - area + k] = Real(0.01) * static_cast<Real>(k + 1);
}

/// X and the status have the bits of a factorization that reads D and E, and D and E are not read when they are loaded.
template <class Real>
void check_loaded(Spec spec, const std::string& schedule, const std::string& target = "cuda:sm_90", const std::string& knobs = "") {
    INFO(spec.block, " ", spec.horizon, " ", schedule, " ", target, " ", knobs);
    const auto variant = "tile-dataflow" + knobs;
    Emulated<Real> plain(spec, schedule, 7, parse_target(target), variant);
    close_ring(plain);
    plain.run(Operation::factor_solve);
    spec = that_loads(spec);
    for (const auto& parts : pieces(spec.horizon)) {
        Emulated<Real> call(spec, schedule, 7, parse_target(target), variant);
        close_ring(call);
        for (const auto& [first, blocks] : parts) load(call, first, blocks);
        std::ranges::fill(call.user.d, std::numeric_limits<Real>::quiet_NaN());
        std::ranges::fill(call.user.e, std::numeric_limits<Real>::quiet_NaN());
        call.args.d = call.args.e = nullptr;
        call.run(Operation::factor_solve, next_running());
        for (std::int64_t member = 0; member < spec.batch; ++member) {
            CHECK((spec.ring || call.solves(member)));  // the systems are open chains
            CHECK(call.status(member).block == -1);
            CHECK(call.status(member).least_pivot == plain.status(member).least_pivot);
        }
        CHECK(call.x == plain.x);
        check_findings(call.unit);
    }
}

}  // namespace

TEST_CASE("emulated: blocks that are loaded ahead in any pieces give the bits of those that are read, in every schedule") {
    for (const auto* schedule : {"sequential", "twisted:2", "twisted:3", "partitioned:3", "multi-stage", "recursive:2", "single-stage"})
        check_loaded<double>({.block = 5, .horizon = 7, .batch = 2}, schedule);
    for (const std::int64_t horizon : {1, 2, 3}) check_loaded<double>({.block = 9, .horizon = horizon}, "multi-stage");
    for (const std::int64_t horizon : {3, 4, 5}) check_loaded<double>({.block = 5, .horizon = horizon, .ring = true}, "multi-stage");
    check_loaded<double>({.block = 5, .horizon = 7, .ring = true}, "sequential");
}

TEST_CASE("emulated: loaded blocks of several tiles, other layouts, both precisions and other devices") {
    check_loaded<double>({.block = 70, .horizon = 3}, "twisted:2");
    check_loaded<float>({.block = 70, .horizon = 3}, "multi-stage");  // by halves
    check_loaded<float>({.block = 64, .horizon = 2, .batch = 2}, "sequential");
    check_loaded<double>({.block = 37, .horizon = 4}, "multi-stage", "cuda:sm_75");
    check_loaded<double>({.block = 37, .horizon = 4}, "twisted:2", "hip:gfx942");
    check_loaded<double>({.block = 37, .horizon = 4}, "twisted:3", "cuda:sm_90", ":bake=0");
    for (const auto coupling : {Coupling::lower, Coupling::upper})
        check_loaded<double>({.block = 33, .horizon = 4, .order = trifold::Order::column_major, .coupling = coupling, .e = {.leading = 41}},
                             "partitioned:2");
}

TEST_CASE("emulated: failures and floors of loaded blocks are those of D") {
    Emulated<double> plain({.block = 9, .horizon = 5}, "twisted:2", 3, parse_target("cuda:sm_90"), "tile-dataflow");
    Emulated<double> call(that_loads({.block = 9, .horizon = 5}), "twisted:2", 3, parse_target("cuda:sm_90"), "tile-dataflow");
    for (const std::int64_t block : {0, 2, 4}) {
        const auto sound = call.d(0, block, 4, 4);
        call.d(0, block, 4, 4) = plain.d(0, block, 4, 4) = -1;
        for (const double floor : {0.0, 1e-3}) {
            call.args.pivot_floor = plain.args.pivot_floor = floor;
            load(call, 0, 5);
            call.run(Operation::factor_solve);
            plain.run(Operation::factor_solve);
            const auto is = call.status(0), expected = plain.status(0);
            CHECK(is.block == expected.block);
            CHECK(is.row == expected.row);
            CHECK(is.floors == expected.floors);
            if (floor == 0) CHECK(is.block == block);
            if (floor == 0) CHECK(is.row == 4);
        }
        call.d(0, block, 4, 4) = plain.d(0, block, 4, 4) = sound;
    }
}

TEST_CASE("what D and E are overwritten for, and what it is not there with, is refused") {
    const auto sm_90 = parse_target("cuda:sm_90");
    CHECK_THROWS_WITH_AS(choose(that_loads({.block = 9, .horizon = 5}), host_target(), {}), doctest::Contains("leave load out"), SpecError);
    CHECK_THROWS_WITH_AS(choose(that_loads({.block = 9, .horizon = 5}), sm_90, {.variant = "fused"}), doctest::Contains("tile-dataflow"),
                         SpecError);
    CHECK_THROWS_WITH_AS(design(choose(that_loads({.block = 9, .horizon = 5}), sm_90, {.variant = "tile-dataflow:rank_levels=1"})),
                         doctest::Contains("ranks"), SpecError);
    CHECK(choose(that_loads({.block = 9, .horizon = 5}), sm_90, {}).variant == "tile-dataflow");
    for (const auto& spec : {Spec{.block = 9, .horizon = 5, .matrix = MatrixKind::symmetric}, Spec{.block = 9, .horizon = 2, .ring = true},
                             Spec{.block = 9, .horizon = 5, .precision = Precision::mixed}, Spec{.block = 9, .horizon = 5, .lengths = true},
                             Spec{.block = 9, .horizon = 5, .sizes = true}, Spec{.block = 9, .horizon = 6, .bandwidth = 2}})
        CHECK_THROWS_WITH_AS(validate(that_loads(spec)), doctest::Contains("overwrites D and E"), SpecError);
}
