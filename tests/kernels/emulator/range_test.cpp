// The range of exponents: whatever has data, pivots and a solution in the normal range of the precision is solved as well as at scale 1.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "tests/kernels/emulator/fixture.hpp"
#include "tests/support/cpu/units.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// A batch whose members are in different units, run against dense algebra at scale 1.
template <class Real>
class RangeCase {
  public:
    RangeCase(Spec given, const std::string& schedule, const std::string& variant, const std::string& target)
        : units_(promised<Real>(is_slow(given, variant) ? 1 : 2)),
          spec_(filled(given)),
          members_(static_cast<std::int64_t>(units_.size())),
          unit_(choose(spec_, parse_target(target), {.schedule = schedule, .variant = variant}),
                variant == "tile-dataflow" ? EmulatedUnit::Build::plain : EmulatedUnit::Build::watched),  // whose tiles are large
          workspace_(unit_.program()) {
        for (std::size_t m = 0; m < units_.size(); ++m) {
            at_one_.push_back(random_system(spec_.block, spec_.horizon, spec_.rhs, static_cast<unsigned>(m + 3)));
            systems_.push_back(scaled(at_one_[m], units_[m], spec_));
        }
        user_ = arrays<Real>(spec_, systems_);
        x_.resize(user_.b.size());
        args_ = arguments(spec_, user_, x_, workspace_);
        args_.members = members_;
    }

    void check() {
        run(Operation::factor_solve);
        check_solutions();
        check_factors();
        std::fill(x_.begin(), x_.end(), Real(0));
        run(Operation::solve);
        check_solutions();
        if (spec_.operations.contains(Operation::inverse)) check_inverses();
        check_leaving();
        check_pivots();
        for (const auto& finding : unit_.findings()) FAIL_CHECK(finding);
    }

  private:
    static bool is_slow(const Spec& spec, const std::string& variant) {
        return spec.block > 30 || variant == "tile-dataflow" || variant == "tiled";
    }
    Spec filled(Spec spec) {
        spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
        spec.batch = std::max(spec.batch, static_cast<std::int64_t>(units_.size()));
        return spec;
    }
    void run(Operation operation) { unit_.run(operation, args_, {trifold::test::Order::random, ++runs_, 3}); }
    template <class T>
    const T* buffer(std::string_view name) {
        return workspace_.buffer<T>(unit_.program(), name);
    }
    trifold_range range(std::size_t m) { return buffer<trifold_range>("range")[m]; }

    void check_solutions() {
        for (std::size_t m = 0; m < units_.size(); ++m) {
            CAPTURE(units_[m].matrix);
            CAPTURE(units_[m].rhs);
            CAPTURE(units_[m].stage);
            CHECK(buffer<trifold_status>("status")[m].block == -1);
            CHECK(range(m).solution == 0);
            const Matrix x = at_scale_one(gather(spec_, x_, static_cast<std::int64_t>(m), spec_.rhs), units_[m], spec_);
            CHECK(relative_residual(at_one_[m].dense(), x, at_one_[m].b) <= tolerance<Real>);
        }
    }

    void check_factors() {
        for (std::size_t m = 0; m < units_.size(); ++m) {
            const auto& u = units_[m];
            CAPTURE(u.matrix);
            CAPTURE(u.rhs);
            CAPTURE(u.stage);
            const auto factor = at_one_[m].dense().llt();
            const double rows = static_cast<double>(spec_.block * spec_.horizon), row = static_cast<double>(spec_.block);
            const double log_det =
                2 * factor.matrixLLT().diagonal().array().log().sum() + std::log(2.0) * (rows * u.matrix + 2 * row * u.stage);
            CHECK(buffer<double>("log_determinant")[m] == doctest::Approx(log_det).epsilon(10 * tolerance<Real>));
            const Matrix x = factor.solve(at_one_[m].b);
            for (std::int64_t c = 0; c < spec_.rhs; ++c)
                check_quadratic(buffer<double>("quadratic")[static_cast<std::int64_t>(m) * spec_.rhs + c],
                                at_one_[m].b.col(c).dot(x.col(c)), 2 * u.rhs - u.matrix);
        }
    }
    static void check_quadratic(double quadratic, double at_one, int exponent) {
        const double expected = std::ldexp(at_one, exponent);
        CAPTURE(expected);
        if (std::isnormal(expected))
            CHECK(std::ldexp(quadratic, -exponent) == doctest::Approx(at_one).epsilon(20 * tolerance<Real>));
        else
            CHECK(std::isnan(quadratic));
    }

    void check_inverses() {
        const auto n = spec_.block;
        std::vector<Real> diagonal(static_cast<std::size_t>(spec_.batch * spec_.horizon * n * n)), coupling(diagonal.size());
        args_.inverse_diagonal = diagonal.data(), args_.inverse_coupling = coupling.data();
        run(Operation::inverse);
        args_.inverse_diagonal = args_.inverse_coupling = nullptr;
        for (std::size_t m = 0; m < units_.size(); ++m) {
            const auto& u = units_[m];
            CAPTURE(u.matrix);
            CAPTURE(u.stage);
            CHECK(range(m).inverse == 0);
            const Matrix inverse = at_one_[m].dense().inverse();
            for (std::int64_t i = 0; i < spec_.horizon; ++i) {
                const auto* block = diagonal.data() + (static_cast<std::int64_t>(m) * spec_.horizon + i) * n * n;
                const Matrix expected = inverse.block(i * n, i * n, n, n);
                const double scale = power(u.matrix + (i == odd_block(spec_) ? 2 * u.stage : 0));
                for (std::int64_t k = 0; k < n * n; ++k)
                    CHECK(std::abs(static_cast<double>(block[k]) * scale - expected(k / n, k % n)) <=
                          200 * tolerance<Real> * expected.cwiseAbs().maxCoeff());
            }
        }
    }

    /// Results beyond the range are said, and no longer once they are within it; the other members are as before.
    void check_leaving() {
        auto systems = systems_;
        const double far = sizeof(Real) == 8 ? 1e300 : 1e36;
        const auto changed = [&](std::size_t m) { return units_[m].matrix < 0 && units_[m].stage == 0; };
        const auto leaves = [&](std::size_t m) {
            if (!changed(m)) return false;
            const Matrix x = at_one_[m].dense().llt().solve(Matrix::Constant(at_one_[m].b.rows(), 1, 1.0));
            return std::log10(x.cwiseAbs().maxCoeff()) + std::log10(far) - units_[m].matrix * std::log10(2.0) >
                   (sizeof(Real) == 8 ? 308 : 38);
        };
        for (std::size_t m = 0; m < units_.size(); ++m)
            if (changed(m)) systems[m].b.setConstant(far);
        const auto good = args_.b;
        const auto user = arrays<Real>(spec_, systems);
        int left = 0;
        for (const auto operation : {Operation::solve, Operation::factor_solve}) {
            args_.b = user.b.data();
            run(operation);
            for (std::size_t m = 0; m < units_.size(); ++m) {
                CAPTURE(units_[m].matrix);
                CHECK(range(m).solution == (leaves(m) ? 1 : 0));
                left += leaves(m);
            }
            args_.b = good;
            run(operation);
            check_solutions();
        }
        CHECK(left >= (units_.size() > 20 ? 12 : 6));
    }

    /// Pivots whose reciprocals are infinite fail, although they are positive.
    void check_pivots() {
        auto systems = at_one_;
        for (auto& system : systems) system = scaled(system, {sizeof(Real) == 8 ? -1040 : -140, 0, 0}, spec_);
        const auto user = arrays<Real>(spec_, systems);
        args_.d = user.d.data(), args_.e = user.e.data();
        run(Operation::factor_solve);
        for (std::size_t m = 0; m < units_.size(); ++m) {
            CHECK(buffer<trifold_status>("status")[m].block >= 0);
            CHECK(buffer<trifold_status>("status")[m].row == 0);
            CHECK(std::isnan(buffer<double>("log_determinant")[m]));
            CHECK(range(m).solution == 1);
        }
    }

    std::vector<Units> units_;
    Spec spec_;
    std::int64_t members_;
    EmulatedUnit unit_;
    EmulatedWorkspace workspace_;
    std::vector<System> at_one_, systems_;
    Arrays<Real> user_;
    std::vector<Real> x_;
    trifold_args args_{};
    unsigned runs_ = 0;
};

template <class Real>
void check_range_in(const Spec& spec, const std::string& schedule, const std::string& variant, const std::string& target) {
    CAPTURE(spec.block);
    CAPTURE(schedule);
    CAPTURE(variant);
    CAPTURE(target);
    CAPTURE(sizeof(Real));
    RangeCase<Real>(spec, schedule, variant, target).check();
}
void check_range(const Spec& spec, const std::string& schedule, const std::string& variant, const std::string& target) {
    check_range_in<double>(spec, schedule, variant, target);
    check_range_in<float>(spec, schedule, variant, target);
}

}  // namespace

TEST_CASE("kernels of a launch a level solve over the whole range of exponents on the emulated GPU") {
    check_range({.block = 5, .horizon = 4, .rhs = 2, .operations = all_operations()}, "partitioned:2", "fused", "cuda:sm_90");
    check_range({.block = 6, .horizon = 3, .operations = all_operations()}, "sequential", "fused", "hip:gfx942");
    check_range({.block = 5, .horizon = 3, .rhs = 2, .operations = all_operations()}, "multi-stage", "tiled", "cuda:sm_90");
}

TEST_CASE("teams solve over the whole range of exponents on the emulated GPU") {
    check_range({.block = 3, .horizon = 5, .rhs = 2}, "sequential", "team", "cuda:sm_90");
    check_range({.block = 5, .horizon = 4}, "recursive:2", "team", "hip:gfx906");
}

TEST_CASE("chains solve over the whole range of exponents on the emulated GPU") {
    check_range({.block = 17, .horizon = 4, .rhs = 2}, "twisted:2", "chains", "cuda:sm_90");
    check_range({.block = 20, .horizon = 3}, "sequential", "chains:chain_teams=1,chain_helper=0", "cuda:sm_90");
    check_range({.block = 17, .horizon = 4}, "twisted:2", "chains:chain_teams=1", "cuda:sm_90");
}

TEST_CASE("dataflow solves over the whole range of exponents on the emulated GPU") {
    check_range({.block = 5, .horizon = 5, .rhs = 2}, "multi-stage", "dataflow", "cuda:sm_90");
    check_range({.block = 5, .horizon = 3, .rhs = 17}, "multi-stage", "dataflow", "cuda:sm_90");  // several thread blocks have x of a front
    check_range({.block = 5, .horizon = 1}, "multi-stage", "dataflow", "cuda:sm_90");             // the last front is the first
    check_range({.block = 5, .horizon = 3}, "multi-stage", "dataflow", "hip:gfx1100");
    check_range({.block = 40, .horizon = 2}, "multi-stage", "dataflow", "cuda:sm_90");  // rows of [R; G] in shared memory
}

TEST_CASE("dataflow with a launch for wide levels solves over the whole range of exponents on the emulated GPU") {
    check_range({.block = 5, .horizon = 7, .batch = 512}, "multi-stage", "dataflow", "cuda:sm_90");
}

TEST_CASE("tile dataflow solves over the whole range of exponents on the emulated GPU") {
    check_range({.block = 5, .horizon = 3, .rhs = 2}, "twisted:2", "tile-dataflow", "cuda:sm_75");
    check_range_in<float>({.block = 70, .horizon = 2, .operations = all_operations()}, "multi-stage", "tile-dataflow",
                          "cuda:sm_90");  // in halves
}
