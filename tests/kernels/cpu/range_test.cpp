// The range of exponents: whatever has data, pivots and a solution in the normal range of the precision is solved as well as at scale 1.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cfenv>
#include <cmath>

#include "tests/support/cpu/call.hpp"
#include "tests/support/cpu/units.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// A member's results in its own units, against dense algebra at scale 1.
struct Expected {
    explicit Expected(const System& system) : a(system.dense()), inverse(a.inverse()), x(a.llt().solve(system.b)), b(system.b) {}
    Matrix a, inverse, x, b;
};

template <class Real>
class RangeCase {
  public:
    RangeCase(Spec given, const std::string& schedule, const std::string& variant, const Target& target)
        : units_(promised<Real>(4)),
          spec_(filled(given)),
          unit_(choose(spec_, target, {.schedule = schedule, .variant = variant}), "-O1"),
          workspace_(unit_.program()) {
        for (std::size_t m = 0; m < units_.size(); ++m) {
            const auto system = random_system(spec_.block, spec_.horizon, spec_.rhs, static_cast<unsigned>(m + 3));
            expected_.emplace_back(system);
            systems_.push_back(scaled(system, units_[m], spec_));
        }
        user_ = arrays<Real>(spec_, systems_);
        x_.resize(user_.b.size());
        args_ = kernel_args(spec_, user_, x_, spec_.rhs, workspace_);
    }

    /// Every operation raises no exception of floating-point arithmetic, but that the quadratic may leave the range of f64.
    void check() {
        run(Operation::factor_solve);
        check_solutions();
        check_factors();
        std::fill(x_.begin(), x_.end(), Real(0));
        run(Operation::factor);
        run(Operation::solve);
        check_solutions();
        const auto area = spec_.block * spec_.block;
        std::vector<Real> diagonal(static_cast<std::size_t>(spec_.batch * spec_.horizon * area)), coupling(diagonal.size());
        args_.inverse_diagonal = diagonal.data();
        args_.inverse_coupling = coupling.data();
        run(Operation::inverse);
        check_inverses(diagonal);
        check_leaving();
    }

  private:
    Spec filled(Spec spec) {
        spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
        spec.batch = static_cast<std::int64_t>(units_.size());
        spec.operations = all_operations();
        return spec;
    }
    template <class T>
    const T* buffer(std::string_view name) const {
        return workspace_.buffer<T>(unit_.program(), name);
    }
    trifold_range range(std::size_t m) const { return buffer<trifold_range>("range")[m]; }

    void run(Operation operation) {
        const bool squares = sizeof(Real) == 8 && operation != Operation::factor && operation != Operation::inverse;
        std::feclearexcept(FE_ALL_EXCEPT);
        unit_.run(operation, args_);
        CHECK(std::fetestexcept(FE_INVALID | FE_DIVBYZERO | (squares ? 0 : FE_OVERFLOW)) == 0);
    }

    Matrix solution(std::size_t m) const {
        return at_scale_one(gather(spec_, x_, static_cast<std::int64_t>(m), spec_.rhs), units_[m], spec_);
    }

    void check_solutions() const {
        for (std::size_t m = 0; m < units_.size(); ++m) {
            CAPTURE(units_[m].matrix);
            CAPTURE(units_[m].rhs);
            CAPTURE(units_[m].stage);
            CHECK(buffer<trifold_status>("status")[m].block == -1);
            CHECK(range(m).solution == 0);
            CHECK(relative_residual(expected_[m].a, solution(m), expected_[m].b) <= tolerance<Real>);
        }
    }

    void check_factors() const {
        for (std::size_t m = 0; m < units_.size(); ++m) {
            const auto& u = units_[m];
            CAPTURE(u.matrix);
            CAPTURE(u.rhs);
            CAPTURE(u.stage);
            const double rows = static_cast<double>(spec_.block * spec_.horizon), row = static_cast<double>(spec_.block);
            const double log_det =
                2 * expected_[m].a.llt().matrixLLT().diagonal().array().log().sum() + std::log(2.0) * (rows * u.matrix + 2 * row * u.stage);
            CHECK(buffer<double>("log_determinant")[m] == doctest::Approx(log_det).epsilon(10 * tolerance<Real>));
            for (std::int64_t c = 0; c < spec_.rhs; ++c) {
                const double quadratic = buffer<double>("quadratic")[static_cast<std::int64_t>(m) * spec_.rhs + c];
                const double at_one = expected_[m].b.col(c).dot(expected_[m].x.col(c));
                const double expected = std::ldexp(at_one, 2 * u.rhs - u.matrix);
                CAPTURE(expected);
                if (std::isnormal(expected))
                    CHECK(std::ldexp(quadratic, u.matrix - 2 * u.rhs) == doctest::Approx(at_one).epsilon(20 * tolerance<Real>));
                else
                    CHECK(std::isnan(quadratic));
            }
        }
    }

    void check_inverses(const std::vector<Real>& diagonal) const {
        const auto n = spec_.block;
        for (std::size_t m = 0; m < units_.size(); ++m) {
            const auto& u = units_[m];
            CAPTURE(u.matrix);
            CAPTURE(u.stage);
            CHECK(range(m).inverse == 0);
            for (std::int64_t i = 0; i < spec_.horizon; ++i) {
                const auto* block = diagonal.data() + (static_cast<std::int64_t>(m) * spec_.horizon + i) * n * n;
                const Matrix expected = expected_[m].inverse.block(i * n, i * n, n, n);
                const double scale = power(u.matrix + (i == odd_block(spec_) ? 2 * u.stage : 0));
                Matrix computed(n, n);
                for (std::int64_t k = 0; k < n * n; ++k) computed(k / n, k % n) = static_cast<double>(block[k]) * scale;
                CHECK((computed - expected).cwiseAbs().maxCoeff() <= 200 * tolerance<Real> * expected.cwiseAbs().maxCoeff());
            }
        }
    }

    /// X beyond the range is said, and no longer once a solution is within it; the other members are as before.
    void check_leaving() {
        auto systems = systems_;
        const double far = sizeof(Real) == 8 ? 1e300 : 1e36;
        for (std::size_t m = 0; m < units_.size(); ++m)
            if (units_[m].matrix < 0 && units_[m].stage == 0) systems[m].b.setConstant(far);
        const auto fits = [&](std::size_t m) {
            const Matrix x = expected_[m].a.llt().solve(Matrix::Constant(expected_[m].b.rows(), 1, 1.0));
            return std::log10(x.cwiseAbs().maxCoeff()) + std::log10(far) - units_[m].matrix * std::log10(2.0) <
                   (sizeof(Real) == 8 ? 308 : 38);
        };
        const auto good = args_.b;
        const auto user = arrays<Real>(spec_, systems);
        args_.b = user.b.data();
        unit_.run(Operation::solve, args_);
        int left = 0;
        for (std::size_t m = 0; m < units_.size(); ++m) {
            const bool changed = units_[m].matrix < 0 && units_[m].stage == 0, leaves = changed && !fits(m);
            CAPTURE(units_[m].matrix);
            CHECK(range(m).solution == (leaves ? 1 : 0));
            left += leaves;
        }
        CHECK(left > 4);
        args_.b = good;
        run(Operation::solve);
        check_solutions();
    }

    std::vector<Units> units_;
    Spec spec_;
    CompiledProgram unit_;
    Workspace workspace_;
    std::vector<Expected> expected_;
    std::vector<System> systems_;
    Arrays<Real> user_;
    std::vector<Real> x_;
    trifold_args args_{};
};

void check_range(const Spec& spec, const std::string& schedule, const std::string& variant, const Target& target = host_target()) {
    CAPTURE(spec.block);
    CAPTURE(schedule);
    CAPTURE(variant);
    RangeCase<double>(spec, schedule, variant, target).check();
    RangeCase<float>(spec, schedule, variant, target).check();
}

}  // namespace

/// Groups of members that fill their vectors, or do not, by their number or by a mask.
template <class Real>
void check_exceptions(const Spec& given, const std::string& schedule) {
    auto spec = given;
    spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
    spec.batch = 19;
    spec.operations = all_operations();
    const CompiledProgram unit(choose(spec, host_target(), {.schedule = schedule, .variant = "lanes"}), "-O1");
    const Workspace workspace(unit.program());
    const auto user = arrays<Real>(spec, random_systems(spec, spec.rhs, 5));
    std::vector<Real> x(user.b.size()), diagonal(user.d.size()), coupling(user.d.size());
    std::vector<int> active(19);
    auto args = kernel_args(spec, user, x, spec.rhs, workspace);
    args.inverse_diagonal = diagonal.data();
    args.inverse_coupling = coupling.data();
    for (int members = 1; members <= 19; ++members)
        for (const int every : {1, 2, 7}) {
            for (int m = 0; m < 19; ++m) active[static_cast<std::size_t>(m)] = m % every == 0;
            CAPTURE(members);
            CAPTURE(every);
            args.members = members;
            args.active = active.data();
            for (const auto operation : {Operation::factor, Operation::solve, Operation::factor_solve, Operation::inverse})
                unit.run(operation, args);
            CHECK(unit.exceptions() == 0);
        }
}

TEST_CASE("targets whose vectors have no masks solve over the whole range of exponents") {
    for (const std::string arch : {"x86-64", "x86-64-v3"}) {
        if (host_target().arch == "x86-64" && arch != "x86-64") continue;
        check_range({.block = 9, .horizon = 4, .rhs = 1}, "twisted:2", "tile", {Backend::cpu, arch});
        check_range({.block = 3, .horizon = 4, .rhs = 1}, "multi-stage", "lanes", {Backend::cpu, arch});
    }
}

TEST_CASE("lanes that are idle raise no exceptions") {
    check_exceptions<double>({.block = 6, .horizon = 7}, "multi-stage");
    check_exceptions<float>({.block = 6, .horizon = 7, .rhs = 2}, "sequential");
    check_exceptions<float>({.block = 3, .horizon = 5}, "partitioned:2");
}

TEST_CASE("tiles solve over the whole range of exponents") {
    check_range({.block = 1, .horizon = 5, .rhs = 2}, "sequential", "tile");
    check_range({.block = 7, .horizon = 6, .rhs = 2}, "partitioned:2", "tile");
    check_range({.block = 33, .horizon = 3, .rhs = 1}, "multi-stage", "tile");
}

TEST_CASE("lanes solve over the whole range of exponents") {
    check_range({.block = 1, .horizon = 6, .rhs = 2}, "multi-stage", "lanes");
    check_range({.block = 6, .horizon = 5, .rhs = 1}, "sequential", "lanes");
    check_range({.block = 9, .horizon = 6, .rhs = 2}, "partitioned:2", "lanes");
}
