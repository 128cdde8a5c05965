// Results of the exported C, compiled for this machine, against dense algebra in double.
#include "tests/export/c99/solver.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

template <class Real>
bool all_nan(const std::vector<Real>& values) {
    return std::ranges::all_of(values, [](Real value) { return std::isnan(value); });
}

template <class Real>
bool same_bits(const std::vector<Real>& left, const std::vector<Real>& right) {
    return left.size() == right.size() && (left.empty() || std::memcmp(left.data(), right.data(), left.size() * sizeof(Real)) == 0);
}

Build ldlt(const std::string& compiler = "gcc -O2") {
    auto build = plain(compiler);
    build.factorization = Factorization::ldlt;
    return build;
}

/// L, or L P with 1 / P on the diagonal.
Matrix expected_factor(const System& system, Factorization factorization) {
    Matrix l = system.dense().llt().matrixL();
    if (factorization == Factorization::ldlt) l *= l.diagonal().eval().asDiagonal();
    return l;
}

/// The lower triangles of `d` hold a factor with reciprocals on the diagonal, E holds its couplings; the upper triangles are as they were.
template <class Real>
void check_factor(const Spec& spec, const Matrix& l, const Arrays<Real>& before, const Arrays<Real>& after) {
    const auto n = spec.block;
    double worst = 0;
    for (std::int64_t i = 0; i < spec.horizon; ++i)
        for (std::int64_t r = 0; r < n; ++r)
            for (std::int64_t c = 0; c < n; ++c) {
                const auto at = static_cast<std::size_t>((i * n + r) * n + c);
                const auto row = i * n + r, column = i * n + c;
                const auto expected = r == c ? 1 / l(row, column) : l(row, column);
                if (c <= r) worst = std::max(worst, std::fabs(static_cast<double>(after.d[at]) - expected));
                if (c > r) CHECK(std::memcmp(&before.d[at], &after.d[at], sizeof(Real)) == 0);
                if (i + 1 < spec.horizon) worst = std::max(worst, std::fabs(static_cast<double>(after.e[at]) - l(row + n, column)));
            }
    CHECK(worst <= 100 * tolerance<Real> * l.cwiseAbs().maxCoeff());
}

template <class Real>
void check_solves(std::int64_t n, std::int64_t horizon, std::int64_t rhs, const Build& build) {
    INFO(n, " ", horizon, " ", rhs, " ", build.compiler);
    Exported<Real> solver(n, horizon, rhs, build);
    const auto system = random_system(n, horizon, rhs, 3);
    const auto a = system.dense();
    const auto user = arrays<Real>(solver.spec(), {system});
    std::vector<Real> x(user.b.size()), again(user.b.size()), in_place = user.b;
    CHECK(solver.factor_solve(user, x.data()) == fine);
    CHECK(relative_residual(a, gather(solver.spec(), x, 0, rhs), system.b) <= tolerance<Real>);
    CHECK(solver.factor(user.d.data(), user.e.data()) == fine);
    CHECK(solver.solve(user.b.data(), again.data()) == fine);
    CHECK(same_bits(x, again));
    auto overwritten = user;
    if (build.in_place()) {
        CHECK(solver.refactor(overwritten.d.data(), overwritten.e.data()) == fine);
        check_factor(solver.spec(), expected_factor(system, build.factorization), user, overwritten);
    }
    CHECK(solver.solve(in_place.data(), in_place.data()) == fine);
    CHECK(same_bits(x, in_place));
}

template <class Real>
void check_failures(std::int64_t n, std::int64_t horizon, const Build& build) {
    Exported<Real> solver(n, horizon, 2, build);
    const auto system = random_system(n, horizon, 2, 5);
    const auto infinity = std::numeric_limits<Real>::infinity(), nan = std::numeric_limits<Real>::quiet_NaN();
    const auto sound = arrays<Real>(solver.spec(), {system});
    std::vector<Real> x(sound.b.size());
    for (const auto block : {std::int64_t{0}, horizon / 2, horizon - 1})
        for (const auto row : {std::int64_t{0}, n / 2, n - 1})
            for (const Real value : {Real{-1000}, Real{-0.0}, nan, infinity, -infinity}) {
                INFO(block, " ", row, " ", value);
                auto user = sound;
                user.d[static_cast<std::size_t>((block * n + row) * n + row)] = value;
                const Status expected{not_positive_definite, static_cast<int>(block), static_cast<int>(row)};
                CHECK(solver.factor(sound.d.data(), sound.e.data()) == fine);
                CHECK(solver.factor_solve(user, x.data()) == expected);
                CHECK(all_nan(x));
                std::ranges::fill(x, Real{1});
                CHECK(solver.solve(sound.b.data(), x.data()) == Status{not_factored, -1, -1});
                CHECK(all_nan(x));
                if (build.in_place()) CHECK(solver.refactor(user.d.data(), user.e.data()) == expected);
                CHECK(solver.factor_solve(sound, x.data()) == fine);
            }
}

/// Exports of kernels that this machine runs.
std::vector<Build> kernel_builds() {
    std::vector<Build> builds;
    for (const std::string compiler : {"gcc -O3", "clang-19 -O3"}) {
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
            builds.push_back({"c99:avx2", compiler + " -std=gnu11 -march=x86-64-v3 -ffp-contract=fast -Wall -Wextra -Werror"});
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
            builds.push_back(
                {"c99:avx512",
                 compiler + " -std=gnu11 -march=x86-64-v4 -ffp-contract=fast -Wall -Wextra -Wno-aggressive-loop-optimizations"});
    }
    return builds;
}

/// A system whose numbers are exact in single precision, with a condition of about `condition`: a multiple of I is taken off that leaves
/// the smallest eigenvalue so much smaller than the largest.
System ill_conditioned(std::int64_t n, std::int64_t horizon, std::int64_t rhs, double condition) {
    auto system = random_system(n, horizon, rhs, 6);
    const auto shift = Eigen::SelfAdjointEigenSolver<Matrix>(system.dense()).eigenvalues();
    const double smallest = shift(0), largest = shift(shift.size() - 1);
    for (auto& block : system.d) {
        block.diagonal().array() -= smallest - largest / condition;
        block = block.cast<float>().cast<double>().eval();
    }
    for (auto& block : system.e) block = block.cast<float>().cast<double>().eval();
    system.b = system.b.cast<float>().cast<double>().eval();
    return system;
}

double forward_error(const Matrix& x, const Matrix& exact) { return (x - exact).cwiseAbs().maxCoeff() / exact.cwiseAbs().maxCoeff(); }

void check_refines(std::int64_t n, std::int64_t horizon, std::int64_t rhs, Build build) {
    INFO(n, " ", build.compiler, " ", build.target);
    build.corrections = 3;
    Exported<float> solver(n, horizon, rhs, build);
    const auto system = ill_conditioned(n, horizon, rhs, 2e4);
    const Matrix exact = system.dense().llt().solve(system.b);
    const auto user = arrays<float>(solver.spec(), {system});
    std::vector<float> x(user.b.size()), refined(user.b.size());
    CHECK(solver.factor_solve(user, x.data()) == fine);
    CHECK(solver.solve_refined(user, refined.data()) == fine);
    const double plain_error = forward_error(gather(solver.spec(), x, 0, rhs), exact);
    const double error = forward_error(gather(solver.spec(), refined, 0, rhs), exact);
    CHECK(error <= 1.5 * std::numeric_limits<float>::epsilon());
    CHECK(plain_error > 20 * std::numeric_limits<float>::epsilon());
}

}  // namespace

TEST_CASE("export: kernels solve") {
    CHECK(kernel_builds().size() >= 2);
    for (const auto& build : kernel_builds()) {
        for (const std::int64_t n : {1, 4, 7, 12, 33}) check_solves<double>(n, 6, n % 2 + 1, build);
        for (const std::int64_t horizon : {1, 2, 31}) check_solves<float>(12, horizon, horizon == 2 ? 3 : 1, build);
        check_solves<double>(9, 6, 70, build);  // two panels of right-hand sides
    }
}

TEST_CASE("export: every block size solves") {
    for (const std::int64_t n : {1, 2, 3, 4, 6, 7, 8, 12, 13, 24, 33, 64}) {
        check_solves<double>(n, 5, n % 3 == 0 ? 3 : 1, plain());
        check_solves<float>(n, 4, n % 4 == 0 ? 2 : 1, plain("gcc -O3 -march=native"));
    }
}

TEST_CASE("export: every block size solves without square roots") {
    for (const std::int64_t n : {1, 2, 3, 7, 12, 33}) check_solves<double>(n, n == 1 ? 1 : 5, n % 3 == 0 ? 3 : 1, ldlt());
    for (const std::int64_t n : {4, 13, 64}) check_solves<float>(n, 4, n % 4 == 0 ? 2 : 1, ldlt("gcc -O3 -march=native"));
}

TEST_CASE("export: short, long and prime horizons solve") {
    for (const std::int64_t horizon : {1, 2, 3, 31, 101}) {
        check_solves<double>(3, horizon, 1, plain("clang-19 -O2"));
        check_solves<float>(6, horizon, 5, plain("gcc -Os"));
    }
}

TEST_CASE("export: a pivot that fails is named, X is NaN, and the next call works") {
    check_failures<double>(5, 7, plain());
    check_failures<float>(1, 1, plain());
    check_failures<float>(8, 2, plain());
    check_failures<double>(5, 7, ldlt());
    check_failures<float>(8, 2, ldlt());
    for (const auto& build : kernel_builds()) check_failures<double>(5, 7, build);
}

TEST_CASE("export: what is not finite ends in a status") {
    for (const auto& build : kernel_builds()) {
        Exported<float> kernels(3, 4, 1, build);
        auto user = arrays<float>(kernels.spec(), {random_system(3, 4, 1, 9)});
        std::vector<float> x(user.b.size());
        user.b[7] = std::numeric_limits<float>::infinity();
        CHECK(kernels.factor_solve(user, x.data()).code == out_of_range);
        user.e[11] = std::nanf("");
        CHECK(kernels.factor_solve(user, x.data()) == Status{not_positive_definite, 2, 0});
        CHECK(all_nan(x));
    }
    Exported<double> solver(4, 5, 1);
    const auto system = random_system(4, 5, 1, 9);
    const auto sound = arrays<double>(solver.spec(), {system});
    std::vector<double> x(sound.b.size());
    for (const double value : {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
        for (std::size_t k = 0; k < sound.e.size(); ++k) {
            auto user = sound;
            user.e[k] = value;
            const auto status = solver.factor_solve(user, x.data());
            CHECK(status.code == not_positive_definite);
            CHECK(status.block == static_cast<int>(k / 16) + 1);
            CHECK(status.row == static_cast<int>(k % 16 / 4));
            CHECK(all_nan(x));
        }
        for (std::size_t k = 0; k < sound.b.size(); ++k) {
            auto user = sound;
            user.b[k] = value;
            CHECK(solver.factor_solve(user, x.data()).code == out_of_range);
        }
    }
    // Finite numbers, but x leaves the range.
    auto user = sound;
    for (auto& value : user.b) value = std::numeric_limits<double>::max();
    for (auto& value : user.d) value *= 1e-10;
    for (auto& value : user.e) value = 0;
    CHECK(solver.factor_solve(user, x.data()) == Status{out_of_range, 0, 0});
}

TEST_CASE("export: a pivot's reciprocal has to be finite") {
    for (const auto& build : {plain(), ldlt()}) {
        Exported<float> solver(1, 1, 1, build);
        const float largest = std::numeric_limits<float>::max(), smallest = std::nextafter(1 / largest, 1.0f);
        for (const float d : {largest, std::numeric_limits<float>::min(), smallest}) {
            CAPTURE(d);
            const float b = d / 4;
            float x = 0;
            CHECK(solver.factor(&d, nullptr) == fine);
            CHECK(solver.solve(&b, &x) == fine);
            CHECK(x == doctest::Approx(0.25).epsilon(1e-5));
        }
        for (const float d : {1 / largest, std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::infinity()})
            CHECK(solver.factor(&d, nullptr) == Status{not_positive_definite, 0, 0});
    }
}

TEST_CASE("export: memory that is null or not aligned makes no workspace") {
    Exported<double> solver(2, 2, 1);
    auto* init = solver.function<void*(void*)>("btd_init");
    alignas(64) char memory[1024];
    CHECK(init(nullptr) == nullptr);
    CHECK(init(memory) == memory);
    for (int offset = 1; offset < 8; ++offset) CHECK(init(memory + offset) == nullptr);
    CHECK(init(memory + 8) == memory + 8);
}

TEST_CASE("export: a refined solution in single precision has an error near one rounding, where a plain one has not") {
    check_refines(12, 20, 1, plain());
    check_refines(7, 9, 3, plain("clang-19 -O2 -mfma"));
    auto build = plain("gcc -O3 -march=native");
    build.factorization = Factorization::ldlt;
    check_refines(5, 31, 2, build);
    build = plain();
    build.schedule = "twisted:3";
    check_refines(6, 20, 1, build);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        check_refines(12, 20, 1, {"c99:avx2", "gcc -O3 -std=gnu11 -march=x86-64-v3 -ffp-contract=off"});
}

TEST_CASE("export: refining ends in a status where plain solving does") {
    auto build = plain();
    build.corrections = 2;
    Exported<double> solver(3, 4, 1, build);
    auto user = arrays<double>(solver.spec(), {random_system(3, 4, 1, 9)});
    std::vector<double> x(user.b.size());
    CHECK(solver.solve_refined(user, x.data()) == Status{not_factored, -1, -1});
    CHECK(solver.factor(user.d.data(), user.e.data()) == fine);
    CHECK(solver.solve_refined(user, x.data()) == fine);
    auto bad = user;
    bad.b[5] = std::numeric_limits<double>::infinity();
    CHECK(solver.solve_refined(bad, x.data()).code == out_of_range);
    bad = user;
    bad.e[7] = std::numeric_limits<double>::quiet_NaN();  // not what was factored: the residual is NaN
    std::vector<double> good(x.size());
    CHECK(solver.solve(user.b.data(), good.data()) == fine);
    CHECK(solver.solve_refined(bad, x.data()).code == out_of_range);
    CHECK(x == good);
}

TEST_CASE("export: refinements and factorizations that cannot be exported are refused") {
    const auto good = request(4, 6, Precision::f32);
    for (const std::int64_t corrections : {-1, 11}) CHECK_REFUSED("give 0 to 10", export_project(with_corrections(good, corrections)));
    CHECK_REFUSED("factorization ldlt is of plain C and the sequential schedule",
                  export_project(with_ldlt(with_schedule(good, "twisted:2"))));
    CHECK_REFUSED("target 'c99:avx2' with schedule sequential has llt",
                  export_project(with_ldlt(request(4, 6, Precision::f32, 1, "c99:avx2"))));
    auto tables = good;
    tables.prefactored = Prefactored{.d = std::vector<double>(96, 1), .e = std::vector<double>(80)};
    CHECK_REFUSED("factors as constants take no square root", export_project(with_ldlt(tables)));
    CHECK_REFUSED("leave the refinement out", export_project(with_corrections(tables, 1)));
    CHECK_REFUSED("has one kind of kernels", export_project(with_size(request(5, 4, Precision::f64, 1, "c99:neon"))));
    CHECK_REFUSED("give speed or size", parse_optimize("fast"));
    CHECK_REFUSED("give llt or ldlt", parse_factorization("cholesky"));
}
