// What plans of blocks share with plans of other horizons, batches and numbers of right-hand sides.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <trifold/factors.hpp>
#include <trifold/process.hpp>
#include <trifold/trifold.hpp>

#include "runtime/base/files.hpp"
#include "tests/runtime/tridiagonal/fixture.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// Binaries that this process and its cache on disk do not have.
struct EmptyCache {
    EmptyCache() { ::setenv("TRIFOLD_CACHE_DIR", directory.path().c_str(), 1); }
    ~EmptyCache() { ::setenv("TRIFOLD_CACHE_DIR", TEST_CACHE, 1); }
    EmptyCache(const EmptyCache&) = delete;
    EmptyCache& operator=(const EmptyCache&) = delete;
    PrivateDirectory directory;
};

std::int64_t resident_bytes() {
    std::ifstream numbers("/proc/self/statm");
    std::int64_t all = 0, resident = 0;
    numbers >> all >> resident;
    return resident * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

TEST_CASE("forty horizons of one block size are one compilation") {
    const EmptyCache cache;
    const auto before = process_report();
    for (std::int64_t horizon = 50; horizon < 90; ++horizon) {
        const Spec spec{.block = 19, .horizon = horizon, .operations = {Operation::factor_solve, Operation::solve}};
        Problem<double> problem(spec, 1, 4);
        Solver solver(Plan(spec, Device::cpu()));
        solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x);
        if (horizon % 13 == 0) CHECK(problem.residual() < 1e-14);
    }
    CHECK(process_report().compilations == before.compilations + 1);
    CHECK(process_report().plans == before.plans);
}

TEST_CASE("300 horizons take the memory of their arrays and little more") {
    const auto factor = [](std::int64_t horizon) {
        const Spec spec{.block = 12, .horizon = horizon};
        const auto factors = Factors::shared(spec, Device::cpu());
        return factors->bytes();
    };
    factor(50);
    const auto resident = resident_bytes();
    for (std::int64_t horizon = 51; horizon <= 350; ++horizon) CHECK(factor(horizon) > 0);
    CHECK(resident_bytes() - resident < std::int64_t{20} << 20);
}
