// A process of mpirun: solves a chain with the other processes, and compares with the solution on one device.
//   test_mpi             exits 0 where the solution is right
//   test_mpi without R   rank R makes no call; the others exit 0 where their error names it
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <trifold/mpi.hpp>
#include <trifold/trifold.hpp>

#include "tests/runtime/ranks/fixture.hpp"

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

/// One rank makes no call. The others' errors name it.
int solve_without(int culprit) {
    const auto transport = std::make_shared<MpiTransport>(MPI_COMM_WORLD, std::chrono::seconds(2));
    if (transport->rank() == culprit) {
        std::this_thread::sleep_for(std::chrono::seconds(4));
        return 0;
    }
    try {
        solve(transport);
    } catch (const RankError& error) {
        std::printf("rank %d: %s\n", transport->rank(), error.what());
        return error.rank == culprit ? 0 : 1;
    }
    return 1;
}

}  // namespace

int main(int count, char** words) {
    ::setenv("TRIFOLD_CACHE_DIR", TEST_CACHE, 0);
    MPI_Init(&count, &words);
    const int result = count == 3 ? solve_without(std::atoi(words[2])) : solve(std::make_shared<MpiTransport>());
    MPI_Finalize();
    return result;
}
