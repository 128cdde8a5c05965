#include <ctime>
#include <trifold/trifold.hpp>

#include "runtime/device/pool.hpp"
#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace

TEST_CASE("the pool runs every piece once, whatever their number, thousands of times in a row") {
    for (const int workers : {1, 2, 3, 8}) {
        Pool pool(workers, 64);
        struct Count {
            std::atomic<int> of[64];
        } count{};
        int jobs = 0;
        for (int round = 0; round < 500; ++round) {
            for (const std::int64_t pieces : {1, 2, 7, 64}) {
                pool.run(pieces, [](void* context, std::int64_t piece, int) { ++static_cast<Count*>(context)->of[piece]; }, &count);
                ++jobs;
            }
        }
        CHECK(count.of[0] == jobs);
        CHECK(count.of[1] == jobs / 4 * 3);
        CHECK(count.of[6] == jobs / 2);
        CHECK(count.of[63] == jobs / 4);
    }
}

TEST_CASE("parked threads wake up") {
    Pool pool(2, 2);
    for (int round = 0; round < 5; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // far longer than they spin
        // Two pieces that wait for one another: one thread alone would never end.
        std::latch both(2);
        pool.run(2, [](void* context, std::int64_t, int) { static_cast<std::latch*>(context)->arrive_and_wait(); }, &both);
    }
}

TEST_CASE("idle threads leave the processor to others where the Tuning says so") {
    const Spec spec{.block = 4, .horizon = 8};
    Problem<double> problem(spec, 1, 1);
    const auto& [d, e, b] = problem.input;
    const auto busy_milliseconds = [&](int spin) {
        auto two = tuning("twisted:2", 2);
        two.spin_microseconds = spin;
        Solver solver(Plan(spec, Device::cpu(), two));
        const auto start = std::clock();
        for (int call = 0; call < 100; ++call) {
            solver.factor_solve<double>(d, e, b, problem.x);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        CHECK(problem.residual() < 1e-14);
        return static_cast<double>(std::clock() - start) * 1e3 / CLOCKS_PER_SEC;
    };
    // 100 ms of wall time at least, in which a thread that stays awake for it all would be busy.
    CHECK(busy_milliseconds(0) < 50);
    auto wrong = tuning("twisted:2", 2);
    wrong.spin_microseconds = -2;
    CHECK_REFUSED("spin_microseconds = -2", Solver(Plan(spec, Device::cpu(), wrong)));
}

TEST_CASE("every worker has a number of its own") {
    Pool pool(3, 3);
    struct State {
        std::latch all{3};
        std::atomic<int> seen{0};
    } state;
    pool.run(
        3,
        [](void* context, std::int64_t, int worker) {
            auto& s = *static_cast<State*>(context);
            s.seen |= 1 << worker;
            s.all.arrive_and_wait();
        },
        &state);
    CHECK(state.seen == 7);
}

TEST_CASE("a worker begins with its own share and then helps the others") {
    constexpr int pieces = 12;
    Pool pool(3, pieces);
    struct State {
        std::latch all{3};
        std::atomic<int> ran{0};
        std::atomic<std::int64_t> first[3]{-1, -1, -1};
    } state;
    pool.run(
        pieces,
        [](void* context, std::int64_t piece, int worker) {
            auto& s = *static_cast<State*>(context);
            ++s.ran;
            if (s.first[worker].load() >= 0) return;
            s.first[worker] = piece;
            s.all.arrive_and_wait();
            // The second worker ends nothing before all other pieces have begun, so the others take those of its share.
            if (worker != 1) return;
            while (s.ran < pieces) std::this_thread::yield();
        },
        &state);
    CHECK(state.first[0] == 0);
    CHECK(state.first[1] == 4);
    CHECK(state.first[2] == 8);
    CHECK(state.ran == pieces);
}

TEST_CASE("of fewer pieces than workers each goes to the worker of its number") {
    Pool pool(4, 2);
    for (int round = 0; round < 100; ++round) {
        struct State {
            std::latch both{2};
            std::atomic<bool> own[2]{false, false};
        } state;
        pool.run(
            2,
            [](void* context, std::int64_t piece, int worker) {
                auto& s = *static_cast<State*>(context);
                s.own[piece] = piece == worker;
                s.both.arrive_and_wait();
            },
            &state);
        CHECK(state.own[0]);
        CHECK(state.own[1]);
    }
}

TEST_CASE("the same bits whoever runs the tasks") {
    const Spec spec{.block = 9, .horizon = 33, .rhs = 2, .batch = 3, .operations = all_operations()};
    Problem<double> problem(spec, 2, 21);
    const auto& [d, e, b] = problem.input;
    const Plan plan(spec, Device::cpu(), tuning("recursive:3:4", 3));
    const auto solve_with = [&](const Executor& executor) {
        Solver solver(plan);
        if (executor) solver.set_executor(executor);
        std::vector<double> x(b.size());
        solver.factor_solve<double>(d, e, b, x);
        std::vector<double> diagonal(3 * 33 * 81), coupling(3 * 32 * 81);
        solver.selected_inverse<double>(diagonal, coupling);
        x.insert(x.end(), diagonal.begin(), diagonal.end());
        x.insert(x.end(), coupling.begin(), coupling.end());
        const auto determinants = solver.log_determinant();
        x.insert(x.end(), determinants.begin(), determinants.end());
        return x;
    };
    const auto expected = solve_with({});
    CHECK(same_bits(expected, solve_with({})));
    CHECK(same_bits(expected, solve_with([](std::int64_t tasks, const auto& run) {
                        for (std::int64_t k = tasks; k-- > 0;) run(k, 0);
                    })));
    CHECK(same_bits(expected, solve_with([](std::int64_t tasks, const auto& run) {
                        std::thread other([&] {
                            for (std::int64_t k = 0; k < tasks; k += 2) run(k, 2);
                        });
                        for (std::int64_t k = 1; k < tasks; k += 2) run(k, 1);
                        other.join();
                    })));
    std::copy_n(expected.begin(), problem.x.size(), problem.x.begin());
    CHECK(problem.residual() < 1e-14);
}

TEST_CASE("the same bits with 1, 2 and 3 workers under a pinned schedule, and of members alone") {
    struct Case {
        Spec spec;
        const char *schedule, *variant;
    };
    for (const auto& [spec, schedule, variant] :
         {Case{{.block = 6, .horizon = 40}, "partitioned:4", "tile"},
          Case{{.block = 4, .horizon = 160}, "segments:4", "intervals"},  // 32 chains, which are in lanes
          Case{{.block = 5, .horizon = 9, .batch = 101, .operations = all_operations()}, "partitioned:3", "tile"},
          Case{{.block = 5, .horizon = 9, .batch = 101, .operations = all_operations()}, "partitioned:3", "lanes"}}) {
        INFO(schedule, " ", variant);
        Problem<double> problem(spec, 1, 5);
        const auto& [d, e, b] = problem.input;
        const auto area = spec.block * spec.block, rows = spec.block * spec.horizon;
        const auto solve = [&](std::int64_t batch, int workers, std::int64_t first) {
            auto part = spec;
            part.batch = batch;
            Solver solver(Plan(part, Device::cpu(), {.schedule = schedule, .variant = variant, .workers = workers}));
            std::vector<double> x(static_cast<std::size_t>(batch * rows));
            solver.factor_solve(d.data() + first * spec.horizon * area, e.data() + first * (spec.horizon - 1) * area,
                                b.data() + first * rows, x.data());
            if (!spec.operations.contains(Operation::inverse)) return x;
            std::vector<double> s(static_cast<std::size_t>(batch * spec.horizon * area)), t(s.size());
            solver.selected_inverse(s.data(), t.data());
            x.insert(x.end(), s.begin(), s.end());
            return x;
        };
        const auto together = solve(spec.batch, 1, 0);
        for (const int workers : {2, 3}) CHECK(same_bits(together, solve(spec.batch, workers, 0)));
        std::copy_n(together.begin(), problem.x.size(), problem.x.begin());
        CHECK(problem.residual() < 1e-14);
        for (const std::int64_t member : {0, 7, 8, 100}) {
            if (member >= spec.batch) continue;
            const auto alone = solve(1, 1, member);
            CHECK(std::equal(alone.begin(), alone.begin() + rows, together.begin() + member * rows));
            const auto blocks = static_cast<std::int64_t>(alone.size()) - rows;
            CHECK(std::equal(alone.begin() + rows, alone.end(), together.begin() + spec.batch * rows + member * blocks));
        }
    }
}

TEST_CASE("one Plan, many Solvers on many threads, and Plans made at once there") {
    const Plan shared({.block = 5, .horizon = 20, .batch = 2}, Device::cpu(), tuning("twisted:2", 2));
    std::atomic<int> good{0};
    const auto work = [&](unsigned seed, const Plan& plan, int rounds) {
        Problem<double> problem(plan.choice().spec, 1, seed);
        Solver solver(plan);
        for (int round = 0; round < rounds; ++round) {
            std::ranges::fill(problem.x, 0.0);
            solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x);
            if (solver.ok() && problem.residual() < 1e-14) ++good;
        }
    };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] { work(t, shared, 20); });
        threads.emplace_back([&, t] { work(t, Plan({.block = 4, .horizon = 6 + t % 2}, Device::cpu()), 1); });
    }
    for (auto& thread : threads) thread.join();
    CHECK(good == 4 * 20 + 4);
}
