#include <dlfcn.h>
#include <pthread.h>
#include <trifold/trifold.h>

#include <new>
#include <trifold/trifold.hpp>

#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/capture_file.hpp"

// After construction a call allocates nothing and takes no lock: counted by standing in for the functions that would.
// (A sanitizer has its own allocator, and then only locks are counted.)
namespace {

std::atomic<long> allocations{0}, locks{0};

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool counts_allocations = false;
#else
constexpr bool counts_allocations = true;
extern "C" void* __libc_malloc(std::size_t);                 // NOLINT(bugprone-reserved-identifier)
extern "C" void* __libc_calloc(std::size_t, std::size_t);    // NOLINT(bugprone-reserved-identifier)
extern "C" void* __libc_realloc(void*, std::size_t);         // NOLINT(bugprone-reserved-identifier)
extern "C" void* __libc_memalign(std::size_t, std::size_t);  // NOLINT(bugprone-reserved-identifier)
extern "C" void* malloc(std::size_t bytes) noexcept { return ++allocations, __libc_malloc(bytes); }
extern "C" void* calloc(std::size_t count, std::size_t bytes) noexcept { return ++allocations, __libc_calloc(count, bytes); }
extern "C" void* realloc(void* memory, std::size_t bytes) noexcept { return ++allocations, __libc_realloc(memory, bytes); }
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
    return ++allocations, __libc_memalign(alignment, bytes);
}
extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
    ++allocations;
    *memory = __libc_memalign(alignment, bytes);
    return *memory == nullptr ? 12 : 0;
}
#endif

#if !defined(__SANITIZE_THREAD__)
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    static const auto next = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    ++locks;
    return next(mutex);
}
#endif

using namespace trifold;
using namespace trifold::test;

TEST_CASE("what came of a call is told without an allocation") {
    const Spec spec{.block = 3, .horizon = 5, .batch = 4};
    Problem<double> problem(spec, 1, 1);
    const auto& [d, e, b] = problem.input;
    Solver solver(Plan(spec, Device::cpu(), {}));
    const auto ask = [&] {
        solver.factor_solve(d.data(), e.data(), b.data(), problem.x.data());
        CHECK(solver.ok());
        solver.check();
        CHECK(solver.status().size() == 4);
        CHECK(solver.log_determinant().size() == 4);
        CHECK(solver.quadratic().size() == 4);
    };
    ask();
    const auto before = allocations.load();
    solver.factor_solve(d.data(), e.data(), b.data(), problem.x.data());
    const bool ok = solver.ok();
    solver.check();
    const auto& outcome = solver.status()[3];
    const auto determinant = solver.log_determinant()[3], quadratic = solver.quadratic()[3];
    const auto after = allocations.load();
    CHECK(after == before);
    CHECK((ok && outcome.ok() && determinant > 0 && quadratic > 0));
}

TEST_CASE("the C interface tells what came of a call without an allocation") {
    trifold_spec spec;
    trifold_spec_init(&spec, 2, 1);
    trifold_plan* plan = nullptr;
    trifold_solver* solver = nullptr;
    REQUIRE(trifold_plan_create(&spec, "cpu", nullptr, &plan) == TRIFOLD_OK);
    REQUIRE(trifold_solver_create(plan, nullptr, 0, &solver) == TRIFOLD_OK);
    const double d[] = {4, 0, 1, 3}, b[] = {1, 2};
    double x[2] = {}, determinant = 0, quadratic = 0;
    trifold_outcome outcome{};
    int codes = 0;
    const auto ask = [&] {
        codes |= trifold_factor_solve_f64(solver, d, nullptr, b, x, nullptr, nullptr);
        codes |= trifold_check(solver);
        codes |= trifold_outcomes(solver, &outcome, 1, nullptr);
        codes |= trifold_log_determinant(solver, &determinant, 1, nullptr);
        codes |= trifold_quadratic(solver, &quadratic, 1, nullptr);
    };
    ask();
    const auto before = allocations.load();
    ask();
    const auto after = allocations.load();
    CHECK(after == before);
    CHECK(codes == TRIFOLD_OK);
    CHECK((outcome.block == -1 && determinant == doctest::Approx(std::log(11.0)) && quadratic == doctest::Approx(15.0 / 11)));
    trifold_solver_destroy(solver);
    trifold_plan_destroy(plan);
}

TEST_CASE("calls allocate nothing and take no lock, captured or not") {
    std::optional<CaptureFile> file;
    SUBCASE("not captured") {}
    SUBCASE("captured") { file.emplace(); }
    const Spec spec{.block = 7, .horizon = 30, .rhs = 2, .batch = 3, .operations = all_operations()};
    Problem<double> problem(spec, 5, 1);  // three panels
    const auto& [d, e, b] = problem.input;
    auto& x = problem.x;
    std::vector<double> diagonal(3 * 30 * 49), coupling(3 * 29 * 49);
    for (const int workers : {1, 2, 3}) {
        CAPTURE(workers);
        Solver solver(Plan(spec, Device::cpu(), tuning("recursive:3:4", workers)));
        FactorOptions<double> fused;
        SweepOptions sweep;
        fused.columns = sweep.columns = 5;
        const auto allocations_before = allocations.load(), locks_before = locks.load();
        solver.factor(d.data(), e.data());
        solver.solve(b.data(), x.data(), {}, sweep);
        solver.factor_forward(d.data(), e.data(), b.data(), x.data(), {}, fused);
        solver.forward(b.data(), x.data(), {}, sweep);
        solver.backward(x.data(), x.data(), {}, sweep);
        solver.selected_inverse(diagonal.data(), coupling.data());
        solver.factor_solve<double>(d, e, b, x, fused);
        for (int k = 0; k < 40; ++k) solver.solve(b.data(), x.data(), {}, sweep);
        solver.synchronize();
        const auto allocations_after = allocations.load(), locks_after = locks.load();
        CHECK(allocations_after == allocations_before);
        CHECK(locks_after == locks_before);
        CHECK(problem.residual() < 1e-14);
    }
    // The counters do count.
    const auto before = allocations.load();
    std::vector<char> probe(1000);
    CHECK((!counts_allocations || allocations.load() > before));
}
