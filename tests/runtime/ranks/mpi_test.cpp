// A process of mpirun: solves a chain with the other processes, and compares with the solution on one device.
//   test_mpi             exits 0 where the solution is right
//   test_mpi bits        exits 0 where X has the bits of one device with the same schedule
//   test_mpi sparse      likewise of an iteration
//   test_mpi without R   rank R makes no call; the others exit 0 where their error names it
//   test_mpi killed R    rank R is killed by a signal; the others say whom their error names, and end at once
#define DOCTEST_CONFIG_IMPLEMENT  // the fixture has checks; main is below
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <trifold/mpi.hpp>

#include "tests/runtime/ranks/fixture.hpp"
#include "tests/runtime/sparse/problems.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

int solve(const std::shared_ptr<Transport>& transport) {
    Spec spec;
    spec.block = 6;
    spec.horizon = 23;
    spec.batch = 2;
    const Problem<double> problem(spec, 1, 11);
    RankSolver solver(RankPlan(spec, transport));
    Shard<double> shard(solver.plan().spec(), problem);
    solver.factor_solve(shard.d, shard.e, shard.b, shard.x);
    solver.check();
    int wrong = 0;
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        const auto& system = problem.systems[static_cast<std::size_t>(m)];
        const Matrix x = system.dense().llt().solve(system.b);
        const Eigen::LLT<Matrix> factor(system.dense());
        const double logs = 2 * factor.matrixL().toDenseMatrix().diagonal().array().log().sum();
        if (std::abs(solver.log_determinant()[static_cast<std::size_t>(m)] - logs) > 1e-11 * std::abs(logs)) ++wrong;
        for (std::int64_t k = 0; k < shard.count * 6; ++k)
            if (std::abs(shard.x[static_cast<std::size_t>(m * shard.count * 6 + k)] - x(shard.first * 6 + k, 0)) > 1e-10) ++wrong;
    }
    if (wrong > 0) std::printf("rank %d: %d numbers are wrong\n", transport->rank(), wrong);
    return wrong == 0 ? 0 : 1;
}

/// A chain whose shards make the levels of a schedule of one device.
struct Like {
    std::int64_t horizon;
    std::vector<std::int64_t> shards;
    std::string schedule;
};

Like like_one_device(int ranks) {
    if (ranks == 1) return {21, {21}, "sequential"};
    if (ranks == 2) return {21, {10, 11}, "twisted:2"};
    std::vector<std::int64_t> shards(static_cast<std::size_t>(ranks), 2);
    shards.front() = 5;
    shards.back() = ranks % 2 == 0 ? 5 : 6;
    return {std::accumulate(shards.begin(), shards.end(), std::int64_t{0}), shards, "flanked:5"};
}

template <class Real>
int differences(const std::shared_ptr<Transport>& transport) {
    const auto like = like_one_device(transport->ranks());
    Spec spec;
    spec.block = 6;
    spec.horizon = like.horizon;
    spec.rhs = 2;
    spec.batch = 3;
    spec.precision = AnyArray::precision_of<Real>;
    const Problem<Real> problem(spec, 2, 11);
    Tuning given;
    given.variant = "tile";
    RankSolver solver(RankPlan(spec, transport, Device::cpu(), given, like.shards));
    Shard<Real> shard(solver.plan().spec(), problem);
    solver.factor_solve(shard.d, shard.e, shard.b, shard.x);
    given.schedule = like.schedule;
    given.any_size = true;
    Solver one(Plan(spec, Device::cpu(), given));
    auto x = problem.x;
    one.factor_solve(problem.input.d, problem.input.e, problem.input.b, x);
    const auto expected = part(x, shard.batch, shard.blocks, shard.n * shard.columns, shard.first, shard.count);
    return shard.x == expected ? 0 : 1;
}

int compare_bits() {
    const auto transport = std::make_shared<MpiTransport>();
    const int wrong = differences<double>(transport) + differences<float>(transport);
    if (wrong > 0) std::printf("rank %d has other bits than one device\n", transport->rank());
    return wrong;
}

int compare_iterations() {
    const auto transport = std::make_shared<MpiTransport>();
    const auto a = random_on(SparsePattern(SparseMesh{40, 36, 9, 7}), 2, 3, 1.02);
    const SparseSpec spec{.block = 2, .operations = {SparseOperation::solve}};
    const auto solve = [&](SparseSolver solver) {
        std::vector<double> x(static_cast<std::size_t>(a.size()));
        solver.update(a.values);
        solver.solve(random_vector(a.size(), 2), x);
        solver.check();
        return std::pair(x, solver.outcomes());
    };
    const SparsePartition partition{.rows = 700};
    if (solve(SparseSolver(SparsePlan(spec, a.pattern(), transport, partition))) ==
        solve(SparseSolver(SparsePlan(spec, a.pattern(), Device::cpu(), partition))))
        return 0;
    std::printf("rank %d has another iteration than one device\n", transport->rank());
    return 1;
}

/// One rank makes no call, or has been killed. The others' errors name it.
int solve_without(int culprit, bool killed) {
    const auto transport = std::make_shared<MpiTransport>(MPI_COMM_WORLD, std::chrono::seconds(2));
    if (transport->rank() == culprit && killed) ::kill(::getpid(), SIGKILL);
    if (transport->rank() == culprit) {
        std::this_thread::sleep_for(std::chrono::seconds(4));
        return 0;
    }
    try {
        solve(transport);
    } catch (const RankError& error) {
        std::printf("rank %d: %s\n", transport->rank(), error.what());
        std::fflush(stdout);
        if (killed) ::_exit(error.rank == culprit ? 0 : 1);  // MPI_Finalize would wait for the rank that is no more
        return error.rank == culprit ? 0 : 1;
    }
    return 1;
}

}  // namespace

int main(int count, char** words) {
    ::setenv("TRIFOLD_CACHE_DIR", TEST_CACHE, 0);
    MPI_Init(&count, &words);
    const std::string_view what = count > 1 ? words[1] : "";
    const int result = count == 3         ? solve_without(std::atoi(words[2]), what == "killed")
                       : what == "bits"   ? compare_bits()
                       : what == "sparse" ? compare_iterations()
                                          : solve(std::make_shared<MpiTransport>());
    MPI_Finalize();
    return result;
}
