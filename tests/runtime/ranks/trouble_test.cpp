#include "runtime/device/nccl.hpp"
#include "tests/runtime/ranks/fixture.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;
using namespace std::chrono_literals;

namespace {

Spec small(std::int64_t horizon = 12) {
    Spec spec;
    spec.block = 6;
    spec.horizon = horizon;
    return spec;
}

/// Runs the work on every rank and returns what each has thrown: the rank that a RankError names, -1 for nothing, -2 for another error.
std::vector<int> named(int ranks, std::chrono::milliseconds limit, const std::function<void(std::shared_ptr<Transport>)>& work) {
    std::vector<int> result(static_cast<std::size_t>(ranks), -1);
    on_ranks(
        ranks,
        [&](std::shared_ptr<Transport> transport) {
            auto& mine = result[static_cast<std::size_t>(transport->rank())];
            try {
                work(std::move(transport));
            } catch (const RankError& error) {
                mine = error.rank;
            } catch (const Error&) {
                mine = -2;
            }
        },
        limit);
    return result;
}

}  // namespace

TEST_CASE("ranks: bad inputs are refused") {
    CHECK_REFUSED("give at most 3 ranks", even_shards(3, 4));
    CHECK_REFUSED("give at least 1", LocalRanks(0));
    LocalRanks one(1);
    const auto transport = one.take(0);
    CHECK_REFUSED("is taken", one.take(0));
    CHECK_REFUSED("ranks count from 0", one.take(1));
    CHECK_REFUSED("no transport", RankPlan(small(), nullptr));
    CHECK_REFUSED("2 shards and 1 ranks", RankPlan(small(), transport, Device::cpu(), {}, {5, 7}));
    CHECK_REFUSED("hold 5 blocks", RankPlan(small(), transport, Device::cpu(), {}, {5}));
    CHECK_REFUSED("multi-stage or segments", choose(RankSpec{small(), {6, 6}, 1}, Device::cpu().target(), tuning("twisted:2")));
    CHECK_REFUSED("rank 1 has 0 of 12 blocks", validate(RankSpec{small(), {12, 0}, 1}));
    auto mixed = small();
    mixed.precision = Precision::mixed;
    CHECK_REFUSED("precision f64", RankPlan(mixed, transport));
    RankSolver solver(RankPlan(small(), transport));
    std::vector<double> d(12 * 36), e(11 * 36), b(12 * 6), x(12 * 6);
    CHECK_REFUSED("needs a factorization", solver.solve(b, x));
    CHECK_REFUSED("needs a factorization", solver.status());
    CHECK_REFUSED("E has 72 elements; the 12 blocks of rank 0 need 396", solver.factor(d, b));
    CHECK_REFUSED("specialized for f64", solver.factor(std::vector<float>(12 * 36), e));
    CHECK_REFUSED("has no kernels for inverse", solver.selected_inverse(d, d));
}

TEST_CASE("ranks: without NCCL the error says what was looked for, and how to say where it is") {
    CHECK_THROWS_WITH_AS(nccl::library(Backend::cuda, "/nowhere/libnccl.so.2"),
                         doctest::Contains("need NCCL, and '/nowhere/libnccl.so.2' cannot be opened"), DeviceError);
    CHECK_THROWS_WITH_AS(nccl::library(Backend::hip, "/nowhere/librccl.so.1"),
                         doctest::Contains("install it, name its file in TRIFOLD_NCCL, or load it before"), DeviceError);
    CHECK(slower_than_fewer({small(), {6, 6}, 0}, choose(RankSpec{small(), {6, 6}, 0}, Device::cpu().target())).empty());
    const Target gpu{Backend::cuda, "sm_90"};
    const auto slower = slower_than_fewer({small(), {6, 6}, 0}, choose(RankSpec{small(), {6, 6}, 0}, gpu));
    CHECK(slower.starts_with("12 blocks of 6 are modelled to take "));
    CHECK(slower.ends_with("on 1; give fewer ranks"));
    Spec large;
    large.block = 256;
    large.horizon = 4096;
    const RankSpec two{large, fitting_shards(large, 2, gpu), 0};
    CHECK(slower_than_fewer(two, choose(two, gpu)).empty());
}

TEST_CASE("ranks: a rank that disagrees is named on all of them") {
    CHECK(named(3, 30s, [](const std::shared_ptr<Transport>& transport) {
              auto spec = small();
              if (transport->rank() == 1) spec.block = 5;
              const RankPlan plan(spec, transport);
          }) == std::vector{1, 1, 1});
    CHECK(named(3, 30s, [](const std::shared_ptr<Transport>& transport) {
              auto spec = small();
              if (transport->rank() == 2) spec.block = 0;
              const RankPlan plan(spec, transport);
          }) == std::vector{2, 2, -2});
}

TEST_CASE("ranks: a rank that ends, hangs or calls something else is named on all others") {
    const auto solved = [](const std::shared_ptr<Transport>& transport, const std::function<void()>& trouble, int culprit) {
        const Problem<double> problem(small(), 1, 3);
        RankSolver solver(RankPlan(small(), transport));
        Shard<double> shard(solver.plan().spec(), problem);
        if (transport->rank() == culprit) return trouble();
        solver.factor_solve(shard.d, shard.e, shard.b, shard.x);
    };
    // Rank 3 has only to send, so that it may be done before it could notice.
    for (const int culprit : {0, 1, 2}) {
        CAPTURE(culprit);
        const auto ended = named(4, 30s, [&](const std::shared_ptr<Transport>& transport) { solved(transport, [] {}, culprit); });
        for (int rank = 0; rank < 4; ++rank) CHECK(ended[static_cast<std::size_t>(rank)] == (rank == culprit ? -1 : culprit));
    }
    std::atomic<int> done = 0;
    const auto begin = std::chrono::steady_clock::now();
    const auto hung = named(4, 500ms, [&](const std::shared_ptr<Transport>& transport) {
        const auto wait = [&] {
            while (done < 3) std::this_thread::sleep_for(1ms);
        };
        try {
            solved(transport, wait, 1);
        } catch (...) {
            ++done;
            throw;
        }
    });
    CHECK(hung == std::vector{1, -1, 1, 1});
    CHECK(std::chrono::steady_clock::now() - begin < 60s);
}

TEST_CASE("ranks: a matrix that is not positive definite names the chain's block") {
    for (const int ranks : {2, 3, 4, 7})
        for (const std::int64_t block : {0, 3, 5, 13}) check_failure(small(14), {ranks}, block);
}

TEST_CASE("ranks: a diagonal, shifts and masks are fused") {
    for (const int ranks : {2, 3, 4, 7}) check_fused(small(11), {ranks});
}
