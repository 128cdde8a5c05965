// Exported solvers against the oracle, their graphs and kernels run by a fake driver.
#include <cuda.h>

#include <cmath>

#include "tests/export/gpu/exported.hpp"
#include "tests/runtime/tridiagonal/fixture.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

template <class Real>
constexpr double tolerance = sizeof(Real) == 8 ? 1e-14 : 1e-6;

struct Case {
    Spec spec;
    const char* schedule;
};
const Case cases[] = {
    {{.block = 5, .horizon = 9, .precision = Precision::f64, .rhs = 2, .batch = 3, .operations = all_operations()}, "twisted:2"},
    {{.block = 3, .horizon = 1, .precision = Precision::f32, .rhs = 1, .batch = 1, .operations = all_operations()}, "sequential"},
    {{.block = 8, .horizon = 12, .precision = Precision::f32, .rhs = 1, .batch = 2, .operations = all_operations()}, "multi-stage"},
};

/// A system of the Case with its arrays, and a solver for it.
template <class Real>
struct Bench {
    explicit Bench(const Case& given) : problem(given.spec, given.spec.rhs, 4), solver(gpu_request(given.spec, given.schedule)) {}
    Real* d() { return problem.input.d.data(); }
    Real* e() { return problem.input.e.data(); }
    Real* b() { return problem.input.b.data(); }
    Real* x() { return problem.x.data(); }
    int factor(const Options* options = nullptr) { return solver.call("factor", options, (const Real*)d(), (const Real*)e()); }
    int solve(const Options* options = nullptr) { return solver.call("solve", options, (const Real*)b(), x()); }
    int factor_solve(const Options* options = nullptr) {
        return solver.call("factor_solve", options, (const Real*)d(), (const Real*)e(), (const Real*)b(), x());
    }
    void expect_solution() {
        CHECK(problem.residual() < tolerance<Real>);
        CHECK(solver.check() == fine);
        problem.x.assign(problem.x.size(), Real(0));
    }
    Problem<Real> problem;
    Exported solver;
};

template <class Real>
void check_operations(const Case& given) {
    Bench<Real> bench(given);
    CHECK(bench.solve() == not_factored);
    CHECK(bench.solver.check() == Status{not_factored, -1, -1, -1});
    CHECK(bench.factor_solve() == ok);
    bench.expect_solution();
    CHECK(bench.factor() == ok);
    CHECK(bench.solve() == ok);
    bench.expect_solution();
    const auto *d = bench.d(), *e = bench.e(), *b = bench.b();
    CHECK(bench.solver.call("factor_forward", nullptr, d, e, b, bench.x()) == ok);
    CHECK(bench.solver.call("backward", nullptr, (const Real*)bench.x(), bench.x()) == ok);
    bench.expect_solution();
    CHECK(bench.solver.call("forward", nullptr, b, bench.x()) == ok);
    CHECK(bench.solver.call("backward", nullptr, (const Real*)bench.x(), bench.x()) == ok);
    bench.expect_solution();
    CHECK(fake_cuda().kernel_launches == 0);
}

template <class Real>
void check_results(const Case& given) {
    Bench<Real> bench(given);
    const auto& spec = given.spec;
    const auto n = spec.block, N = spec.horizon;
    CHECK(bench.factor_solve() == ok);
    std::vector<Real> diagonal(static_cast<std::size_t>(spec.batch * N * n * n)),
        coupling(static_cast<std::size_t>(spec.batch * N * n * n));
    CHECK(bench.solver.call("inverse", nullptr, diagonal.data(), N == 1 ? nullptr : coupling.data()) == ok);
    const double bound = sizeof(Real) == 8 ? 1e-12 : 1e-4;
    for (std::int64_t member = 0; member < spec.batch; ++member) {
        const auto& system = bench.problem.systems[static_cast<std::size_t>(member)];
        const Matrix a = system.dense(), inverse = a.inverse();
        const double log_determinant = 2 * a.llt().matrixLLT().diagonal().array().log().sum();
        CHECK(bench.solver.log_determinant()[member] == doctest::Approx(log_determinant).epsilon(bound));
        for (std::int64_t c = 0; c < spec.rhs; ++c)
            CHECK(bench.solver.quadratic()[member * spec.rhs + c] ==
                  doctest::Approx(system.b.col(c).dot(inverse * system.b.col(c))).epsilon(bound));
        for (std::int64_t i = 0; i < N; ++i)
            for (std::int64_t r = 0; r < n; ++r)
                for (std::int64_t c = 0; c < n; ++c) {
                    const auto at = [&](std::int64_t blocks) { return static_cast<std::size_t>(((member * blocks + i) * n + r) * n + c); };
                    CHECK(std::abs(static_cast<double>(diagonal[at(N)]) - inverse(i * n + r, i * n + c)) < bound);
                    if (i + 1 < N) CHECK(std::abs(static_cast<double>(coupling[at(N - 1)]) - inverse((i + 1) * n + r, i * n + c)) < bound);
                }
    }
}

}  // namespace

TEST_CASE(EXPORT_BACKEND " export: every operation solves") {
    for (const auto& given : cases) {
        if (given.spec.precision == Precision::f64)
            check_operations<double>(given);
        else
            check_operations<float>(given);
    }
}

TEST_CASE(EXPORT_BACKEND " export: the selected inverse, log determinant and quadratic form") {
    for (const auto& given : cases) {
        if (given.spec.precision == Precision::f64)
            check_results<double>(given);
        else
            check_results<float>(given);
    }
}

TEST_CASE(EXPORT_BACKEND " export: the same arrays are launched as they are, others are put into the graph, and nothing is allocated") {
    Bench<double> bench(cases[0]);
    const auto allocations = fake_cuda().device_allocations;
    CHECK(fake_cuda().graph_launches == 0);
    CHECK(bench.factor_solve() == ok);
    const auto updates = fake_cuda().node_updates;
    CHECK(updates > 0);
    bench.expect_solution();
    CHECK(bench.factor_solve() == ok);
    CHECK(fake_cuda().node_updates == updates);
    CHECK(fake_cuda().graph_launches == 2);
    bench.expect_solution();
    auto b = bench.problem.input.b;
    CHECK(bench.solver.call("factor_solve", nullptr, (const double*)bench.d(), (const double*)bench.e(), (const double*)b.data(),
                            b.data()) == ok);
    CHECK(fake_cuda().node_updates == 2 * updates);
    bench.problem.x = b;  // B and X were one array
    bench.expect_solution();
    CHECK(fake_cuda().device_allocations == allocations);
}

TEST_CASE(EXPORT_BACKEND " export: fewer systems, masked systems, a shift and a diagonal") {
    Bench<double> bench(cases[0]);
    const auto& spec = cases[0].spec;
    const auto of_member = bench.problem.x.size() / static_cast<std::size_t>(spec.batch);
    const Options two{.members = 2};
    bench.problem.x.assign(bench.problem.x.size(), 7);
    CHECK(bench.factor_solve(&two) == ok);
    for (auto k = 2 * of_member; k < bench.problem.x.size(); ++k) CHECK(bench.problem.x[k] == 7);
    CHECK(bench.solve() == not_factored);  // of three
    CHECK(bench.solve(&two) == ok);
    CHECK(bench.factor_solve() == ok);
    bench.expect_solution();

    const int active[] = {1, 0, 1};
    const Options masked{.active = active};
    bench.problem.x.assign(bench.problem.x.size(), 7);
    CHECK(bench.factor_solve(&masked) == ok);
    for (std::size_t k = 0; k < bench.problem.x.size(); ++k) CHECK((bench.problem.x[k] == 7) == (k / of_member == 1));

    const double shift[] = {0.5, 1, 2};
    std::vector<double> diagonal(static_cast<std::size_t>(spec.batch * spec.horizon * spec.block));
    for (std::size_t k = 0; k < diagonal.size(); ++k) diagonal[k] = static_cast<double>(k % 5) / 4;
    const Options raised{.diagonal = diagonal.data(), .shift = shift};
    CHECK(bench.factor_solve(&raised) == ok);
    std::size_t k = 0;
    for (std::size_t member = 0; member < 3; ++member)
        for (auto& block : bench.problem.systems[member].d)
            for (Eigen::Index r = 0; r < block.rows(); ++r) block(r, r) += shift[member] + diagonal[k++];
    bench.expect_solution();
}

TEST_CASE(EXPORT_BACKEND " export: a system that is not positive definite is named, and the others are solved") {
    Bench<double> bench(cases[0]);
    const auto& spec = cases[0].spec;
    const auto of_member = bench.problem.x.size() / 3;
    auto& pivot = bench.problem.input.d[static_cast<std::size_t>(((1 * spec.horizon + 2) * spec.block + 3) * spec.block + 3)];
    const auto sound = pivot;
    for (const double bad : {-1.0, 0.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
        pivot = bad;
        CHECK(bench.factor_solve() == ok);
        CHECK(bench.solver.check() == Status{not_positive_definite, 1, 2, 3});
        CHECK(bench.solver.outcomes()[0].block == -1);
        CHECK(bench.solver.outcomes()[1].block == 2);
        for (std::size_t k = 0; k < of_member; ++k) {
            CHECK(std::isfinite(bench.problem.x[k]));
            CHECK(std::isnan(bench.problem.x[of_member + k]));
        }
    }
    pivot = sound;
    CHECK(bench.factor_solve() == ok);
    bench.expect_solution();
}

TEST_CASE(EXPORT_BACKEND " export: a system that is singular to the precision is named unless that is accepted, and all is solved") {
    Bench<double> bench(cases[0]);
    const auto& spec = cases[0].spec;
    const auto n = spec.block;
    auto &d = bench.problem.input.d, &e = bench.problem.input.e;
    const auto sound_d = d, sound_e = e;
    // In the second system two rows of a block are coupled with one another alone.
    const auto entry = [&](auto& values, std::int64_t block, std::int64_t r, std::int64_t c) -> double& {
        return values[static_cast<std::size_t>((block * n + r) * n + c)];
    };
    const auto block = spec.horizon + 2, coupling = spec.horizon - 1 + 2;
    for (std::int64_t r = 2; r <= 3; ++r)
        for (std::int64_t c = 0; c < n; ++c) {
            entry(d, block, r, c) = entry(d, block, c, r) = c == 2 || c == 3 ? 1 : 0;
            entry(e, coupling - 1, r, c) = entry(e, coupling, c, r) = 0;
        }
    entry(d, block, 3, 3) = 1 + 1e-15;
    CHECK(bench.factor_solve() == ok);
    CHECK(bench.solver.check() == Status{nearly_singular, 1, -1, -1});
    CHECK(bench.solver.message(nearly_singular).starts_with("A is singular to the precision"));
    CHECK(bench.solver.outcomes()[0].nearly_singular == 0);
    CHECK(bench.solver.outcomes()[0].least_pivot > 1e-3);
    CHECK(bench.solver.outcomes()[1].nearly_singular == 1);
    CHECK(bench.solver.outcomes()[1].least_pivot == doctest::Approx(1e-15).epsilon(0.2));
    for (const auto x : bench.problem.x) CHECK(std::isfinite(x));
    const Options accepting{.accept_nearly_singular = 1};
    CHECK(bench.factor_solve(&accepting) == ok);
    CHECK(bench.solver.check() == fine);
    d = sound_d;
    e = sound_e;
    CHECK(bench.factor_solve() == ok);
    bench.expect_solution();
}

TEST_CASE(EXPORT_BACKEND " export: a stream under capture gets the kernels one by one") {
    Bench<double> bench(cases[0]);
    CUstream stream = nullptr;
    REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
    REQUIRE(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    bench.solver.stream = stream;
    CHECK(bench.factor_solve() == ok);
    CHECK(fake_cuda().graph_launches == 0);
    CHECK(fake_cuda().kernel_launches > 0);
    bench.solver.stream = nullptr;
    bench.expect_solution();
    CHECK(cuStreamDestroy(stream) == CUDA_SUCCESS);
}

TEST_CASE(EXPORT_BACKEND " export: a system whose X or inverse leaves the range is named, until its next results are within it") {
    Bench<double> bench(cases[0]);
    const auto& spec = cases[0].spec;
    auto &d = bench.problem.input.d, &e = bench.problem.input.e, &b = bench.problem.input.b;
    const auto sound = b;
    const auto of_member = b.size() / 3, blocks = d.size() / 3, couplings = e.size() / 3;
    for (const double far : {1e300, std::nan(""), std::numeric_limits<double>::infinity()}) {
        b[of_member] = far;  // of the second system, whose A is tiny below
        for (auto k = blocks; k < 2 * blocks; ++k) d[k] *= far == 1e300 ? 0x1p-900 : 1;
        for (auto k = couplings; k < 2 * couplings; ++k) e[k] *= far == 1e300 ? 0x1p-900 : 1;
        CHECK(bench.factor_solve() == ok);
        CHECK(bench.solver.check() == Status{out_of_range, 1, -1, -1});
        CHECK(bench.solver.ranges()[0] == 0);
        CHECK(bench.solver.ranges()[2] == 1);
        CHECK(bench.solver.ranges()[4] == 0);
        CHECK(std::isnan(bench.solver.quadratic()[spec.rhs]));
        for (auto k = blocks; k < 2 * blocks; ++k) d[k] *= far == 1e300 ? 0x1p900 : 1;
        for (auto k = couplings; k < 2 * couplings; ++k) e[k] *= far == 1e300 ? 0x1p900 : 1;
        b = sound;
        CHECK(bench.factor() == ok);
        CHECK(bench.solver.check() == fine);  // of another factor
        CHECK(bench.solve() == ok);
        bench.expect_solution();
    }
    CHECK(says(bench.solver.message(out_of_range), "range"));
    // Pivots a and c - b^2 / a have reciprocals; but the inverse has 1 / a + (b / a)^2 / (c - b^2 / a).
    const auto n = static_cast<std::size_t>(spec.block);
    std::fill_n(e.begin() + static_cast<std::ptrdiff_t>(couplings), couplings, 0.0);
    for (std::size_t k = 0; k < n * n; ++k) d[blocks + k] = k % (n + 1) == 0 ? 1 : 0;
    d[blocks] = 0x1p-1020, d[blocks + n] = 0x1p-1019, d[blocks + n + 1] = 0x1p-1018 + 0x1p-1023;
    std::vector<double> diagonal(d.size()), coupling(d.size());
    CHECK(bench.factor() == ok);
    CHECK(bench.solver.check() == fine);
    CHECK(bench.solver.call("inverse", nullptr, diagonal.data(), coupling.data()) == ok);
    CHECK(bench.solver.check() == Status{out_of_range, 1, -1, -1});
    CHECK(bench.solver.ranges()[3] == 1);
}
