// Every family in its tables on a GPU that is emulated: its kernels by the fake NVRTC, its calls by the fake driver.
#include <cuda.h>

#include <trifold/trifold.hpp>

#include "tests/support/drivers/drivers.hpp"
#include "tests/support/families/conform.hpp"
#include "tests/support/shapes.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

const int nvrtc = ::setenv("TRIFOLD_NVRTC", FAKE_NVRTC, 1);
const int cache = ::setenv("TRIFOLD_CACHE_DIR", TEST_CACHE, 1);  // other code than that of a true NVRTC with the same version

std::shared_ptr<void> allocate(std::int64_t bytes) {
    CUdeviceptr at = 0;
    REQUIRE(cuMemAlloc(&at, static_cast<std::size_t>(bytes)) == CUDA_SUCCESS);
    return {reinterpret_cast<void*>(at), [](void* given) { cuMemFree(reinterpret_cast<CUdeviceptr>(given)); }};
}
void copy(void* to, const void* from, std::int64_t bytes) { std::memcpy(to, from, static_cast<std::size_t>(bytes)); }

/// Makes the device's context the thread's own, which allocations need.
struct Current {
    Current() {
        cuDevicePrimaryCtxRetain(&context, 0);
        cuCtxPushCurrent(context);
    }
    ~Current() {
        cuCtxPopCurrent(&context);
        cuDevicePrimaryCtxRelease(0);
    }
    CUcontext context = nullptr;
};

/// Cases for the oldest, the usual and the newest of the targets.
void check_family(std::string_view name) {
    const Current current;
    const auto seeds = asked_number("TRIFOLD_TEST_SEEDS", 1);
    std::uint64_t first = 1;
    for (const int capability : {80, 90, 121}) {
        fake_cuda().capability = capability;
        for (auto runner : {cpp_runner(), c_runner()}) {
            runner.device = "cuda:0";
            runner.memory = {allocate, copy, copy};
            check_cases(family_named(name), runner.states_arrays ? seeds : (seeds + 3) / 4, runner, conform, first);
        }
        first += seeds;
    }
    fake_cuda().capability = 90;
}

}  // namespace

TEST_CASE("emulated: families conform to their tables: chains of blocks") { check_family("tridiagonal"); }
TEST_CASE("emulated: families conform to their tables: images") { check_family("grid"); }
TEST_CASE("emulated: families conform to their tables: sparse systems") { check_family("sparse"); }

TEST_CASE("emulated: a border agrees with a dense factorization") {
    unsigned seed = 0;
    for (const auto& [variant, border, rhs] : {std::tuple{"auto", 1, 1},
                                               {"fused", 3, 2},
                                               {"team", 7, 1},
                                               {"tiled", 17, 3},
                                               {"dataflow", 8, 1},
                                               {"tile-dataflow", 35, 1},
                                               {"chains", 2, 1},
                                               {"auto", 70, 9}})
        for (const std::int64_t n : {1, 5, 17}) {
            if (n < 17 && std::string_view(variant) == "chains") continue;
            const Spec spec{.block = n, .horizon = 5 + n, .rhs = rhs, .batch = 2, .border = border};
            check_shape<double>(spec, Device::parse("cuda:0"), {.variant = variant}, ++seed);
            if (n == 5) check_shape<float>(spec, Device::parse("cuda:0"), {.variant = variant}, seed);
        }
}

TEST_CASE("emulated: blocks of unequal size, members of unequal length and bands agree with a dense factorization") {
    unsigned seed = 0;
    for (const auto& [variant, n, horizon, batch] : {std::tuple{"fused", 9, 7, 3},
                                                     {"team", 4, 6, 5},
                                                     {"chains", 18, 5, 3},
                                                     {"tiled", 33, 4, 2},
                                                     {"dataflow", 6, 12, 2},
                                                     {"dataflow", 17, 5, 1},
                                                     {"tile-dataflow", 40, 3, 2}})
        for (const std::int64_t bandwidth : {1, 2}) {
            const bool clips = !std::string_view(variant).ends_with("dataflow");
            const Spec spec{.block = n / bandwidth,
                            .horizon = bandwidth * horizon - 1,
                            .rhs = n == 6 || n == 9 ? 3 : 1,
                            .batch = batch,
                            .border = n == 4 || n == 33 ? 2 : 0,
                            .lengths = bandwidth == 1 && clips,
                            .sizes = bandwidth == 1,
                            .bandwidth = bandwidth};
            check_shape<double>(spec, Device::parse("cuda:0"), {.variant = variant, .any_size = true}, ++seed);
            if (n == 9 || n == 17 || n == 40)
                check_shape<float>(spec, Device::parse("cuda:0"), {.variant = variant, .any_size = true}, seed);
        }
    for (const auto& [variant, n] : {std::pair{"fused", 5}, {"chains", 18}, {"tiled", 33}}) {
        const Spec spec{.block = n, .horizon = 6, .batch = 40, .lengths = true};
        check_shape<double>(spec, Device::parse("cuda:0"), {.variant = variant, .any_size = true}, ++seed);
    }
}

TEST_CASE("emulated: a ring with a band agrees with a dense factorization") {
    unsigned seed = 0;
    for (const auto& [variant, schedule, n, border] : {std::tuple{"fused", "multi-stage", 5, 0},
                                                       {"fused", "sequential", 9, 3},
                                                       {"team", "recursive:2", 4, 0},
                                                       {"tiled", "multi-stage", 17, 2},
                                                       {"dataflow", "auto", 3, 2},
                                                       {"dataflow", "auto", 9, 0},
                                                       {"dataflow:bake=1", "auto", 14, 0},
                                                       {"tile-dataflow", "segments:3", 20, 0},
                                                       {"tile-dataflow", "multi-stage", 33, 2}})
        for (const std::int64_t folds : {1, 2, 3, 6}) {
            if (n > 10 && folds == 3) continue;
            const auto bandwidth = folds == 3 ? 3 : 2;
            const Spec spec{.block = n,
                            .horizon = bandwidth * folds,
                            .rhs = n == 9 ? 3 : 1,
                            .batch = 2,
                            .ring = true,
                            .border = border,
                            .bandwidth = bandwidth};
            check_shape<double>(spec, Device::parse("cuda:0"), {.schedule = schedule, .variant = variant, .any_size = true}, ++seed);
            if (n == 9 || n == 20) check_shape<float>(spec, Device::parse("cuda:0"), {.variant = variant, .any_size = true}, seed);
        }
}

TEST_CASE("emulated: a ring agrees with a dense factorization") {
    unsigned seed = 0;
    for (const auto& [variant, schedule, n, border] : {std::tuple{"auto", "auto", 6, 0},
                                                       {"fused", "multi-stage", 9, 0},
                                                       {"fused", "sequential", 17, 3},
                                                       {"team", "auto", 3, 0},
                                                       {"team", "recursive:2", 12, 0},
                                                       {"tiled", "segments:3", 17, 0},
                                                       {"tiled", "multi-stage", 65, 0},
                                                       {"tile-dataflow", "multi-stage", 33, 2},
                                                       {"tile-dataflow:rank_levels=2", "segments:3", 40, 0},
                                                       {"tile-dataflow:bake=1", "sequential", 70, 0},
                                                       {"auto", "auto", 40, 0},
                                                       {"dataflow", "auto", 1, 0},
                                                       {"dataflow", "auto", 5, 0},
                                                       {"dataflow:bake=1", "auto", 17, 2},
                                                       {"dataflow", "auto", 32, 0}})
        for (const std::int64_t horizon : {1, 2, 3, 4, 5, 12, 13, 64, 65}) {
            const bool flows = std::string_view(variant).starts_with("dataflow");
            if (flows ? n > 16 && (horizon > 13 || horizon == 3) : horizon > 3 && ((horizon != 5 && horizon != 12) || n > 40)) continue;
            const Spec spec{.block = n,
                            .horizon = horizon,
                            .rhs = (flows ? (horizon + n) % 2 == 1 : horizon == 3) ? 3 : 1,
                            .batch = 2,
                            .ring = true,
                            .border = border};
            const Tuning tuning{.schedule = schedule, .variant = variant, .any_size = true};
            check_shape<double>(spec, Device::parse("cuda:0"), tuning, ++seed);
            if (n == 9 || n == 3 || n == 33 || n == 70 || flows) check_shape<float>(spec, Device::parse("cuda:0"), tuning, seed);
        }
}

TEST_CASE("emulated: a ring with wide levels, without room for pulled blocks, and without deep tensor instructions") {
    unsigned seed = 0;
    const auto* const wide = "dataflow:is_long=1,wide_least_fronts=64";
    for (const auto& [capability, variant, n, batch] :
         {std::tuple{90, wide, 5, 16}, {90, wide, 40, 16}, {90, "dataflow", 88, 1}, {80, "dataflow", 17, 1}, {121, "dataflow", 56, 1}})
        for (const std::int64_t horizon : {1, 2, 12, 13, 35, 38}) {
            if (n > 40 ? horizon != 12 && horizon != 13 : n == 40 && horizon < 35) continue;
            fake_cuda().capability = capability;
            const Spec spec{.block = n, .horizon = horizon, .rhs = horizon % 2 == 1 ? 2 : 1, .batch = batch, .ring = true};
            const Tuning tuning{.variant = variant, .any_size = true};
            check_shape<double>(spec, Device::parse("cuda:0"), tuning, ++seed);
            if (n < 20) check_shape<float>(spec, Device::parse("cuda:0"), tuning, seed);
            fake_cuda().capability = 90;
        }
}

TEST_CASE("emulated: a ring's failures name their block, the last front's too") {
    const Spec spec{.block = 2, .horizon = 6, .batch = 4, .ring = true};
    ShapedProblem<double> problem(spec, 5);
    problem.diagonal(1, 0)(1, 1) = -3;
    problem.diagonal(2, 5)(0, 0) = -1;
    problem.diagonal(3, 4)(1, 1) = -2;
    problem.store();
    Solver solver{Plan(spec, Device::parse("cuda:0"), {.variant = "dataflow"})};
    for (int run = 0; run < 2; ++run) {
        problem.factor_solve(solver);
        const auto& status = solver.status();
        CHECK(status[0].ok());
        CHECK((status[1].block == 0 && status[1].row == 1));
        CHECK((status[2].block == 5 && status[2].row == 0));
        CHECK((status[3].block == 4 && status[3].row == 1));
        CHECK(std::isnan(problem.x[12]));
        CHECK(!std::isnan(problem.x[0]));
    }
    CHECK_REFUSED("no selected inverse of a ring", Plan({.block = 2, .horizon = 6, .ring = true, .operations = all_operations()},
                                                        Device::parse("cuda:0"), {.variant = "dataflow"}));
}

TEST_CASE("emulated: rings, lengths, sizes and bands of symmetric matrices agree with a dense factorization") {
    unsigned seed = 0;
    const auto check = [&](const std::string& variant, const std::string& schedule, Spec spec) {
        spec.matrix = MatrixKind::symmetric, spec.batch = variant.find("wide") != std::string::npos ? 16 : 2;
        const Tuning tuning{.schedule = schedule, .variant = variant, .any_size = true};
        check_shape<double>(spec, Device::parse("cuda:0"), tuning, ++seed);
        if (spec.block < 10) check_shape<float>(spec, Device::parse("cuda:0"), tuning, seed);
    };
    for (const auto& [variant, schedule, n] : {std::tuple{"fused", "multi-stage", 9},
                                               {"fused", "sequential", 17},
                                               {"team", "recursive:2", 5},
                                               {"team", "sequential", 12},
                                               {"tiled", "segments:3", 33},
                                               {"dataflow", "auto", 9},
                                               {"dataflow", "auto", 20},
                                               {"dataflow:is_long=1,wide_least_fronts=64", "auto", 12},
                                               {"tile-dataflow", "multi-stage", 33},
                                               {"chains", "twisted:2", 36}}) {
        const bool is_chain = std::string(variant) == "chains", flows = std::string(variant).find("dataflow") != std::string::npos;
        for (const std::int64_t horizon : {1, 2, 3, 5, 12})
            if (!is_chain && (flows ? horizon != 5 && (n < 20 || horizon < 4) : horizon != 3 && horizon != 12))
                check(variant, schedule, {.block = n, .horizon = horizon, .rhs = horizon == 2 ? 3 : 1, .ring = true});
        check(variant, schedule, {.block = n, .horizon = 7, .lengths = !flows, .sizes = true});
        check(variant, schedule, {.block = n / 2, .horizon = 9, .bandwidth = 2});
        for (const std::int64_t horizon : {2, 6})
            if (!is_chain) check(variant, schedule, {.block = n / 2, .horizon = horizon, .ring = true, .bandwidth = 2});
    }
}

TEST_CASE("emulated: inertia is that of the eigenvalues, or a block fails, where diagonals have zeros") {
    int sound = 0, failed = 0;
    for (const auto& [variant, schedule, n, members] : {std::tuple{"dataflow", "multi-stage", 9, 4},
                                                        {"dataflow", "multi-stage", 33, 4},
                                                        {"dataflow:is_long=1,wide_least_fronts=64", "multi-stage", 20, 24},
                                                        {"tile-dataflow", "twisted:2", 12, 4},
                                                        {"tile-dataflow", "multi-stage", 66, 4},
                                                        {"chains", "twisted:2", 18, 4},
                                                        {"chains:chain_teams=1", "sequential", 33, 4}})
        for (const bool is_definite : {true, false}) {
            const Spec spec{.block = n, .horizon = 5, .matrix = MatrixKind::symmetric, .batch = members};
            ShapedProblem<double> problem(spec, 3);
            std::mt19937 random(static_cast<unsigned>(n));
            for (int m = 0; m < members; ++m)
                for (int k = 0; k < 5; ++k) {
                    // [H A'; A -C] by stages, where C is zero, or but for the least entries.
                    auto block = problem.diagonal(m, k);
                    for (int r = 0; r < n; ++r)
                        for (int c = 0; c <= r; ++c) {
                            const bool lower = r >= n / 2, crosses = lower && c < n / 2;
                            const auto x = std::uniform_real_distribution(-1.0, 1.0)(random);
                            const double own = !lower ? n : is_definite ? -1e-8 : m % 2 == 0 ? 0 : static_cast<double>(random() % 3) - 1;
                            block(r, c) = block(c, r) = r == c ? own : crosses ? x : lower ? 0 : x / 2;
                        }
                }
            problem.store();
            Solver solver{Plan(spec, Device::parse("cuda:0"), {.schedule = schedule, .variant = variant})};
            problem.factor_solve(solver);
            for (int m = 0; m < members; ++m) {
                INFO(variant, " ", n, " ", is_definite, " ", m);
                const auto& status = solver.status()[static_cast<std::size_t>(m)];
                if (!status.ok()) {
                    ++failed;
                    continue;
                }
                ++sound;
                const Eigen::VectorXd values = problem.matrix(m).selfadjointView<Eigen::Lower>().eigenvalues();
                CHECK(status.negative == (values.array() < 0).count());
            }
        }
    CHECK(sound > 20);
    CHECK(failed > 0);
}

TEST_CASE("emulated: the growth of a ring's rows, where both panels of a front belong to its last block") {
    for (const auto& [variant, schedule, horizon, tip] : {std::tuple{"fused", "sequential", 5, 0},
                                                          {"tiled", "sequential", 5, 0},
                                                          {"tile-dataflow", "sequential", 5, 0},
                                                          {"dataflow", "multi-stage", 2, 1},
                                                          {"dataflow", "multi-stage", 3, 2}}) {  // R and G come as messages
        CAPTURE(variant);
        CAPTURE(horizon);
        const int rows = 4 * horizon;
        const Spec spec{.block = 4, .horizon = horizon, .matrix = MatrixKind::symmetric, .ring = true};
        ShapedProblem<double> problem(spec, 3);
        problem.matrix(0).block(4 * tip, 4 * tip, 4, 4) /= 8;  // so that the rows which grow most are there
        problem.store();
        Solver solver{Plan(spec, Device::parse("cuda:0"), {.schedule = schedule, .variant = variant})};
        problem.factor_solve(solver);
        Eigen::VectorXi order(rows);
        for (int k = 0; k < rows; ++k) order(k) = (k + 4 * (tip + 1)) % rows;
        Eigen::MatrixXd a = problem.matrix(0)(order, order);
        Eigen::VectorXd sums = a.diagonal().cwiseAbs();
        double least = 1;
        for (int k = 0; k < rows; ++k) {
            const auto after = rows - 1 - k;
            least = std::min(least, std::abs(a(k, k)) / sums(k));
            const Eigen::VectorXd column = a.col(k).tail(after);
            sums.tail(after) += column.cwiseAbs2() / std::abs(a(k, k));
            a.bottomRightCorner(after, after) -= column * column.transpose() / a(k, k);
        }
        const auto& outcome = solver.status().front();
        CHECK(outcome.growth == doctest::Approx(sums.maxCoeff() / problem.matrix(0).cwiseAbs().maxCoeff()).epsilon(1e-12));
        CHECK(outcome.least_pivot == doctest::Approx(least).epsilon(1e-12));
    }
}

TEST_CASE("emulated: members of unequal length agree with a dense factorization") {
    unsigned seed = 0;
    for (const auto& [variant, schedule, n] : {std::tuple{"auto", "auto", 6},
                                               {"fused", "multi-stage", 9},
                                               {"fused", "twisted:4", 5},
                                               {"team", "auto", 3},
                                               {"team", "sequential", 7},
                                               {"team", "recursive:2", 12},
                                               {"team", "twisted:2", 4},
                                               {"chains", "sequential", 17},
                                               {"chains", "twisted:2", 33},
                                               {"tiled", "segments:3", 17},
                                               {"tiled", "multi-stage", 65}})
        for (const std::int64_t horizon : {1, 2, 7, 12})
            for (const std::int64_t batch : {1, 5}) {
                const Spec spec{.block = n,
                                .horizon = horizon,
                                .rhs = horizon == 7 ? 3 : 1,
                                .batch = batch,
                                .border = horizon == 7 || (n == 3 && horizon == 12) ? 2 : 0,
                                .lengths = true};
                const Tuning tuning{.schedule = schedule, .variant = variant};
                check_shape<double>(spec, Device::parse("cuda:0"), tuning, ++seed);
                if (horizon == 12) check_shape<float>(spec, Device::parse("cuda:0"), tuning, seed);
            }
}

TEST_CASE("emulated: statuses, inertia and backward errors in the memory of a GPU") {
    const Current current;
    for (const auto& variant : {"fused", "team", "tiled", "tile-dataflow"}) {
        const Spec spec{.block = 3,
                        .horizon = 5,
                        .matrix = MatrixKind::symmetric,
                        .batch = 3,
                        .operations = {Operation::factor_solve, Operation::refine}};
        ShapedProblem<double> problem(spec, 3);
        problem.diagonal(1, 4) = Eigen::MatrixXd::Zero(3, 3);
        problem.matrix(1).block(9, 12, 3, 3).setZero(), problem.matrix(1).block(12, 9, 3, 3).setZero();
        problem.store();
        Solver solver{Plan(spec, Device::parse("cuda:0"), {.schedule = "sequential", .variant = variant})};
        problem.factor_solve(solver);
        solver.refine<double>(problem.d, problem.e, problem.b, problem.x);
        const auto status = allocate(3 * sizeof(MemberStatus)), inertia = allocate(3 * sizeof(MemberInertia)), error = allocate(24);
        solver.copy_status(static_cast<MemberStatus*>(status.get()), 3);
        solver.copy_inertia(static_cast<MemberInertia*>(inertia.get()), 3);
        solver.copy_backward_error(static_cast<double*>(error.get()), 3);
        solver.synchronize();
        const auto& read = solver.status();
        for (std::size_t k = 0; k < 3; ++k) {
            const auto& found = static_cast<const MemberStatus*>(status.get())[k];
            CHECK((found.block == read[k].block && found.row == read[k].row && found.least_pivot == read[k].least_pivot));
            if (k != 1) CHECK(static_cast<const MemberInertia*>(inertia.get())[k].negative == read[k].negative);
        }
        CHECK(static_cast<const MemberStatus*>(status.get())[1].block == 4);
        for (const std::int64_t k : {0, 2}) {
            const double expected = backward_error_oracle(problem.matrix(k), problem.solution(k), problem.right(k));
            CHECK(std::abs(static_cast<const double*>(error.get())[k] - expected) <= 5e-16);
        }
        CHECK(std::isnan(static_cast<const double*>(error.get())[1]));
        CHECK_REFUSED("the backward errors of 4 members, but 3 have been refined", solver.copy_backward_error(nullptr, 4));
    }
}

TEST_CASE("emulated: odd lengths in the memory of a GPU fail their member") {
    const Current current;
    const Spec spec{.block = 3, .horizon = 5, .batch = 4, .lengths = true, .operations = all_operations()};
    ShapedProblem<double> problem(spec, 3);
    problem.lengths = {5, 5, 2, 5};
    problem.store();
    const auto lend = [](const auto& values) {
        const auto bytes = static_cast<std::int64_t>(values.size() * sizeof values[0]);
        auto memory = allocate(bytes);
        copy(memory.get(), values.data(), bytes);
        return memory;
    };
    const auto d = lend(problem.d), e = lend(problem.e), b = lend(problem.b), lengths = lend(std::vector<int>{5, 6, 2, -1}),
               x = lend(problem.x), diagonal = lend(problem.d), coupling = lend(problem.e);
    const auto at = [](const auto& memory) { return static_cast<double*>(memory.get()); };
    for (const auto& variant : {"fused", "team", "tiled"}) {
        Solver solver{Plan(spec, Device::parse("cuda:0"), {.variant = variant})};
        solver.factor_solve<double>(at(d), at(e), at(b), at(x), {}, {.lengths = static_cast<const int*>(lengths.get())});
        solver.selected_inverse<double>(at(diagonal), at(coupling));
        const auto& status = solver.status();
        CHECK((status[0].ok() && status[2].ok()));
        for (const std::size_t member : {1, 3}) {
            CHECK((status[member].block == 0 && status[member].row == -1));
            CHECK(std::isnan(solver.log_determinant()[member]));
            for (std::size_t k = 0; k < 15; ++k) CHECK(std::isnan(at(x)[member * 15 + k]));
            for (std::size_t k = 0; k < 45; ++k) CHECK(std::isnan(at(diagonal)[member * 45 + k]));
        }
        for (std::size_t k = 6; k < 15; ++k) CHECK(at(x)[2 * 15 + k] == 0);
        CHECK_REFUSED("the length of 2 of 4 members is not from 0 to N: of member 1, 3", solver.check());
    }
    CHECK_REFUSED("variant 'dataflow' takes no lengths", Plan(spec, Device::parse("cuda:0"), {.variant = "dataflow"}));
}

TEST_CASE("emulated: an iteration is watched from turn to turn, and in one launch at its end") {
    std::vector<std::int64_t> starts{0}, columns;
    std::vector<double> values;
    for (std::int64_t row = 0; row < 72; ++row) {  // a plane of 9 by 8 cells
        for (std::int64_t column = 0; column < 72; ++column) {
            const auto across = std::abs(row % 9 - column % 9), along = std::abs(row / 9 - column / 9);
            if (across + along > 1) continue;
            columns.push_back(column);
            values.push_back(row == column ? 4 : -1);
        }
        starts.push_back(std::ssize(columns));
    }
    const SparsePattern pattern(starts, columns);
    const std::vector<double> b(72, 1.0);
    for (const auto* const variant : {"sweeps:one_launch=0", "auto"})
        for (const auto& device : {Device::cuda(0), Device::cpu()}) {
            if (device.backend() == Backend::cpu && std::string_view(variant) != "auto") continue;
            INFO(std::string(variant), " ", to_string(device.target()));
            SparseSolver solver(SparsePlan({.preconditioner = SparsePreconditioner::jacobi}, pattern, device, {}, {.variant = variant}));
            solver.update(values);
            std::vector<double> x(72), again(72);
            std::vector<std::int64_t> seen;
            double last = 1;
            SparseOptions options;
            options.watch = [&](std::int64_t iterations, double residual) {
                seen.push_back(iterations);
                last = residual;
            };
            solver.solve(b, x, options);
            solver.check();
            REQUIRE_FALSE(seen.empty());
            CHECK(std::ranges::is_sorted(seen));
            CHECK(seen.back() == solver.outcomes()[0].iterations);
            CHECK(last < 1e-7);
            if (std::string_view(variant) != "auto") CHECK(seen.size() > 1);
            options.watch = [](std::int64_t, double) { throw std::runtime_error("enough"); };
            CHECK_THROWS_WITH(solver.solve(b, again, options), "enough");
            solver.solve(b, again);
            CHECK(again == x);
        }
}
