#include <trifold/cost.hpp>

#include "tests/generator/schedules.hpp"

using namespace trifold;

namespace {

const Spec unit{.block = 1, .horizon = 1};

std::int64_t critical(const Schedule& schedule, std::int64_t workers) { return cost(schedule, unit, workers).critical_thirds; }

Counts chain_total(const std::vector<Front>& chain) {
    Counts sum;
    for (const auto& front : chain) sum += front_counts(front);
    return sum;
}

/// Greedy list scheduling, the plain way.
std::int64_t makespan(const Level& level, std::int64_t workers) {
    std::vector<std::int64_t> loads(static_cast<std::size_t>(workers), 0);
    for (const auto& chain : chains_of(level)) *std::ranges::min_element(loads) += chain_total(chain).thirds();
    return std::ranges::max(loads);
}

/// Elements that one front after another moves, by the kernels' contract.
std::int64_t elements(const Schedule& schedule, std::size_t index, std::int64_t n) {
    const auto full = n * n, triangle = n * (n + 1) / 2;
    std::int64_t sum = 0;
    for (const auto& chain : chains_of(schedule.levels[index])) {
        for (const auto& front : chain) {
            sum += triangle;                                                                              // D
            if (index > 0) sum += triangle * ((front.pivot > 0) + (front.pivot < schedule.horizon - 1));  // its two slots
            sum += triangle;                                                                              // L
            if (front.next >= 0) sum += 2 * full;                                                         // coupling, R
            if (front.behind >= 0) sum += full;                                                           // G
        }
        const bool behind = chain.front().behind >= 0, ahead = chain.back().next >= 0;
        if (behind) sum += full;  // coupling of the first pivot
        for (const bool separator : {behind, ahead}) {
            if (separator) sum += index == 0 ? triangle : 2 * triangle;
        }
        if (behind && ahead) sum += full;
    }
    return sum;
}

/// Flops of a front of a general matrix with some neighbours, loop by loop: D = L U, panels E U^-1 and L^-1 U, and every product of a
/// panel below and one to the right.
std::int64_t lu_flops(std::int64_t n, std::int64_t neighbours) {
    std::int64_t flops = 0;
    for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t r = j + 1; r < n; ++r) flops += 1 + 2 * (n - j - 1);  // an entry of L, and what it takes from its row
    for (std::int64_t row = 0; row < n; ++row)
        for (std::int64_t j = 0; j < n; ++j) flops += neighbours * (1 + 2 * j) + neighbours * 2 * row;
    return flops + neighbours * neighbours * 2 * n * n * n;
}
/// Words that a chain of a general matrix moves: blocks are whole, and couplings and panels are there both ways.
std::int64_t lu_words(const std::vector<Front>& chain, std::int64_t horizon, std::size_t level, std::int64_t n) {
    std::int64_t blocks = 0;
    for (const auto& front : chain) {
        blocks += 2;                                                               // D, and L and U
        if (level > 0) blocks += (front.pivot > 0) + (front.pivot < horizon - 1);  // its slots
        if (front.next >= 0) blocks += 4;                                          // E, U, R, Z
        if (front.behind >= 0) blocks += 2;                                        // G, H
    }
    const bool behind = chain.front().behind >= 0, ahead = chain.back().next >= 0;
    if (behind) blocks += 2;
    blocks += (behind + ahead) * (level == 0 ? 1 : 2);
    if (behind && ahead) blocks += 2;
    return blocks * n * n;
}

}  // namespace

TEST_CASE("counts, makespans and bytes are those of the fronts one by one") {
    for_all_schedules(100, [](const Schedule& schedule) {
        INFO(schedule.name, " ", schedule.horizon);
        for (const std::int64_t workers : {1, 2, 3, 16}) {
            const auto counted = cost(schedule, {.block = 5, .horizon = schedule.horizon, .precision = Precision::f32}, workers);
            REQUIRE(counted.levels.size() == schedule.levels.size());
            Counts total;
            std::int64_t span = 0, bytes = 0;
            for (std::size_t k = 0; k < schedule.levels.size(); ++k) {
                Counts level;
                std::int64_t longest = 0;
                for (const auto& chain : chains_of(schedule.levels[k])) {
                    level += chain_total(chain);
                    longest = std::max(longest, chain_total(chain).thirds());
                }
                CHECK(counted.levels[k].counts == level);
                CHECK(counted.levels[k].longest_thirds == longest);
                CHECK(counted.levels[k].makespan_thirds == makespan(schedule.levels[k], workers));
                CHECK(counted.levels[k].bytes == 4 * elements(schedule, k, 5));
                CHECK(counted.levels[k].fronts == level.potrf);
                total += level;
                span += makespan(schedule.levels[k], workers);
                bytes += counted.levels[k].bytes;
            }
            CHECK(counted.total == total);
            CHECK(counted.critical_thirds == span);
            CHECK(counted.bytes == bytes);
            CHECK((workers > 1 || span == total.thirds()));
        }
    });
}

TEST_CASE("counts of general matrices are those of the fronts one by one, whose operations are counted as they run") {
    for_all_schedules(40, [](const Schedule& schedule) {
        INFO(schedule.name, " ", schedule.horizon);
        constexpr std::int64_t n = 24;
        const Spec spec{.block = n, .horizon = schedule.horizon, .matrix = MatrixKind::general};
        const auto counted = cost(schedule, spec, 2);
        std::int64_t flops = 0, fronts = 0;
        for (std::size_t k = 0; k < schedule.levels.size(); ++k) {
            std::int64_t words = 0;
            for (const auto& chain : chains_of(schedule.levels[k])) {
                fronts += static_cast<std::int64_t>(chain.size());
                for (const auto& front : chain) flops += lu_flops(n, (front.next >= 0) + (front.behind >= 0));
                words += lu_words(chain, schedule.horizon, k, n);
            }
            CHECK(counted.levels[k].bytes == 8 * words);
        }
        CHECK(counted.total.getrf == fronts);
        CHECK(counted.total.potrf + counted.total.syrk == 0);
        // Terms of n^2 are not counted: half of n^2 for each triangle of getrf and of a panel below.
        const auto lower_order = static_cast<double>(fronts) * 3 * n * n;
        CHECK(std::abs(counted.total.flops(n) - static_cast<double>(flops)) <= lower_order);
        CHECK(counted.total.thirds() == 2 * cost(schedule, {.block = n, .horizon = schedule.horizon}, 2).total.thirds());
    });
}

TEST_CASE("the sequential total is (7/3 N - 2) n^3") {
    for (std::int64_t horizon = 1; horizon <= 200; ++horizon) {
        const auto total = cost(sequential(horizon), unit, 1).total;
        CHECK(total.thirds() == 7 * horizon - 6);
        CHECK(total.flops(12) == doctest::Approx((7.0 / 3 * static_cast<double>(horizon) - 2) * 1728).epsilon(1e-14));
    }
}

// socu section 4.1 defers the update F F' of a chain to the sequential phase; here the chain that makes it pays for it. So each chain
// but the last costs n^3 more than there, and the sequential phase p - 1 times n^3 less.
TEST_CASE("partitioned phases cost what socu's do, with the deferred updates moved") {
    for (std::int64_t horizon = 5; horizon <= 150; ++horizon) {
        for (std::int64_t p = 2; p <= std::min<std::int64_t>(9, (horizon + 1) / 2); ++p) {
            const auto schedule = partitioned(horizon, p);
            const auto chains = chains_of(schedule.levels[0]);
            for (std::size_t k = 0; k < chains.size(); ++k) {
                const auto fronts = static_cast<std::int64_t>(chains[k].size());
                const auto thirds = chain_total(chains[k]).thirds();
                if (k == 0) {
                    CHECK(thirds == 7 * fronts - 3 + 3);
                } else if (k + 1 < chains.size()) {
                    CHECK(thirds == 19 * fronts - 3 + 3);
                } else {
                    CHECK(thirds == 19 * fronts - 3 - 9);  // no F: neither its trsm nor the gemm of H
                }
            }
            CHECK(cost(schedule, unit, 1).levels[1].counts.thirds() == (10 * p - 16) - 3 * (p - 1));
        }
    }
}

TEST_CASE("chain lengths are those of socu Prop. 1") {
    for (std::int64_t p = 2; p <= 12; ++p) {
        for (std::int64_t t = 1; t <= 9; ++t) {  // horizons at which the optimum is whole
            const auto level = partitioned(19 * t + 7 * t * (p - 1) + p - 1, p).levels[0];
            CHECK(level.runs[0].length == 19 * t);
            CHECK(level.runs[1].length == 7 * t);
        }
        for (std::int64_t horizon = 2 * p - 1; horizon <= 200; ++horizon) {
            const auto level = partitioned(horizon, p).levels[0];
            const auto fronts = horizon - (p - 1);
            std::int64_t least = 19 * horizon;
            for (std::int64_t inner = 1; (p - 1) * inner < fronts; ++inner) {
                least = std::min(least, std::max(7 * (fronts - (p - 1) * inner), 19 * inner));
            }
            INFO(p, " ", horizon);
            CHECK(std::max(7 * level.runs[0].length, 19 * level.runs[1].length) == least);
        }
    }
}

TEST_CASE("the speed-up of p partitions tends to 7p/19 + 12/19") {
    const std::int64_t horizon = 100'000'000;
    for (const std::int64_t p : {1, 2, 3, 4, 8, 16}) {
        const auto ratio =
            static_cast<double>(critical(sequential(horizon), p)) / static_cast<double>(critical(partitioned(horizon, p), p));
        CHECK(ratio == doctest::Approx(7.0 / 19 * static_cast<double>(p) + 12.0 / 19).epsilon(1e-5));
    }
}

TEST_CASE("the two-chain twist takes the sequential flops and half the path") {
    for (std::int64_t horizon = 3; horizon <= 200; ++horizon) {
        const auto twist = cost(twisted(horizon, 2), unit, 2);
        CHECK(twist.total.thirds() == 7 * horizon - 6);
        CHECK(twist.critical_thirds == 7 * (horizon / 2) + 1);
    }
}

TEST_CASE("socu's formula for a single stage is an upper bound") {
    for (std::int64_t horizon = 3; horizon <= 300; ++horizon) {
        for (const std::int64_t p : {1, 2, 3, 5, 16, 1000}) {
            const auto rounds = ((horizon + 1) / 2 + p - 1) / p;
            CHECK(critical(parse_schedule("single-stage", horizon), p) <= rounds * 19 + horizon / 2 * 7 - 6);
        }
    }
}

// socu eq. 1 counts a deferred update with the front that applies it: the first level is then n^3 a chain cheaper and the others n^3
// dearer. Together they bound the count that charges the front which makes the update, as here.
TEST_CASE("socu's eq. 1 is an upper bound") {
    for (std::int64_t horizon = 2; horizon <= 300; ++horizon) {
        for (const std::int64_t p : {1, 2, 3, 5, 16, 1000}) {
            const auto log = static_cast<std::int64_t>(std::floor(std::log2(static_cast<double>(horizon))));
            auto bound = ((horizon + 1) / 2 + p - 1) / p * 16 + 4;
            for (std::int64_t i = 1; i <= log - 1; ++i) {
                const auto columns = (horizon + (std::int64_t{1} << (i + 1)) - 1) >> (i + 1);
                bound += (columns + p - 1) / p * 22;
            }
            INFO(horizon, " ", p);
            CHECK(critical(multi_stage(horizon), p) <= bound);
        }
    }
}

TEST_CASE("workers beyond the chains do not help, and below one are refused") {
    CHECK(critical(multi_stage(4096), 2048) == critical(multi_stage(4096), 1'000'000'000));
    CHECK_THROWS_AS(cost(sequential(4), unit, 0), SpecError);
    CHECK_THROWS_AS(cost(sequential(max_horizon), {.block = 1024, .horizon = max_horizon}, 1), SpecError);
}

TEST_CASE("choose_schedule") {
    const Target cpu{Backend::cpu, "x86-64-v4"}, cuda{Backend::cuda, "sm_90"};
    SUBCASE("one worker takes the order of least flops, but for small blocks with long horizons") {
        for (const std::int64_t n : {1, 4, 32, 128}) {
            for (const std::int64_t horizon : {1, 2, 47})
                CHECK(choose_schedule({.block = n, .horizon = horizon}, cpu, 1) == sequential(horizon));
            // Small blocks have a chain in each lane of a vector.
            for (const std::int64_t horizon : {48, 128, 4984})
                CHECK(choose_schedule({.block = n, .horizon = horizon}, cpu, 1) ==
                      (n > 4 ? sequential(horizon) : segments(horizon, {horizon / 8})));
        }
    }
    SUBCASE("two workers twist where a level's price is small beside the work") {
        for (const std::int64_t n : {16, 32, 128}) CHECK(choose_schedule({.block = n, .horizon = 128}, cpu, 2) == twisted(128, 2));
        CHECK(choose_schedule({.block = 1, .horizon = 4}, cpu, 2) == sequential(4));
    }
    SUBCASE("a batch fills the workers by itself") {
        CHECK(choose_schedule({.block = 8, .horizon = 64, .batch = 64}, cpu, 4) == sequential(64));
    }
    SUBCASE("a GPU wants many chains of one long system, and none of many small ones") {
        CHECK(choose_schedule({.block = 32, .horizon = 512}, cuda, 1).levels[0].chains() > 100);
        CHECK(choose_schedule({.block = 8, .horizon = 8, .batch = 100'000}, cuda, 1).levels[0].chains() <= 2);
    }
    SUBCASE("nothing it could have chosen is modelled faster") {
        for (const std::int64_t horizon : {1, 2, 3, 5, 17, 100, 512, 1000}) {
            for (const auto& target : {cpu, cuda}) {
                const Spec spec{.block = 24, .horizon = horizon};
                const auto chosen = choose_schedule(spec, target, 4);
                CAPTURE(chosen.name);
                CHECK(parse_schedule(chosen.name, horizon) == chosen);
                for (const auto* text :
                     {"sequential", "twisted:2", "twisted:4", "partitioned:4", "multi-stage", "recursive:2:2", "recursive:5:5"}) {
                    CHECK(modelled_seconds(chosen, spec, target, 4) <= modelled_seconds(parse_schedule(text, horizon), spec, target, 4));
                }
            }
        }
    }
    SUBCASE("an unresolved architecture is refused") {
        CHECK_THROWS_AS(choose_schedule({.block = 4, .horizon = 4}, {Backend::cpu, "native"}, 1), SpecError);
    }
}
