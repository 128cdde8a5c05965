/// General matrices by a Solver: what fails, masks, what is added to A, and many small matrices that are hard.
#include <fmt/format.h>

#include <trifold/trifold.hpp>

#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/cpu/hard.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

using Dense = Eigen::MatrixXd;

Spec general(std::int64_t block, std::int64_t horizon, std::int64_t batch = 1, Precision precision = Precision::f64) {
    return {.block = block, .horizon = horizon, .precision = precision, .matrix = MatrixKind::general, .rhs = 2, .batch = batch};
}
template <class Real>
FactorOptions<Real> with_u(const GeneralSystems<Real>& systems) {
    FactorOptions<Real> options;
    options.u = systems.u().data();
    return options;
}
/// A column of A that is zero, so that the matrix has no inverse, whatever is eliminated first.
template <class Real>
void clear_column(GeneralSystems<Real>& systems, const Spec& spec, std::int64_t member, std::int64_t block, std::int64_t column) {
    for (std::int64_t i = std::max<std::int64_t>(block - 1, 0); i < std::min(block + 2, spec.horizon); ++i)
        for (std::int64_t r = 0; r < spec.block; ++r) systems.set(member, i, block, r, column, Real(0));
}
template <class Real>
bool is_nan(const Spec& spec, const std::vector<Real>& x, std::int64_t member) {
    const auto each = rhs_extent(spec, spec.batch, spec.rhs) / spec.batch;
    return std::all_of(x.begin() + member * each, x.begin() + (member + 1) * each, [](Real value) { return std::isnan(value); });
}

}  // namespace

TEST_CASE_TEMPLATE("a column of zeros names member, block and row, and the other members of a general batch are solved", Real, double,
                   float) {
    const double most = sizeof(Real) == 8 ? 1e-13 : 1e-5;
    for (const auto* schedule : {"sequential", "twisted:2", "recursive:2"})
        for (const std::int64_t n : {1, 3, 17}) {
            const auto spec = general(n, 6, 9, sizeof(Real) == 8 ? Precision::f64 : Precision::f32);
            Solver solver(Plan(spec, Device::cpu(), tuning(schedule)));
            for (const std::int64_t block : {0, 2, 5}) {
                GeneralSystems<Real> systems(spec, 3);
                clear_column(systems, spec, 4, block, n / 2);
                std::vector<Real> x(systems.b().size());
                solver.factor_solve(systems.d(), systems.e(), systems.b(), x, with_u(systems));
                CHECK(!solver.ok());
                CHECK(solver.status()[4].block == block);
                CHECK(solver.status()[4].row == n / 2);
                CHECK(solver.status()[4].least_pivot == 0);
                CHECK(std::isnan(solver.log_determinant()[4]));
                for (std::int64_t m = 0; m < spec.batch; ++m) {
                    CHECK(is_nan(spec, x, m) == (m == 4));
                    CHECK(solver.status()[static_cast<std::size_t>(m)].ok() == (m != 4));
                    if (m != 4) CHECK(systems.backward_error(m, x, systems.b()) <= most);
                }
                try {
                    solver.check();
                    FAIL("check() has not thrown");
                } catch (const NotPositiveDefinite& error) {
                    CHECK(says(error.what(), "1 of 9 general matrices"));
                    CHECK(says(error.what(), fmt::format("member 4 at block {}, row {}", block, n / 2)));
                }
            }
        }
}

TEST_CASE("a mask leaves members of a general batch as they are, and reads nothing of them") {
    for (const std::int64_t n : {2, 20}) {
        const auto spec = general(n, 5, 6);
        Solver solver(Plan(spec, Device::cpu()));
        GeneralSystems<double> systems(spec, 5);
        std::vector<double> x(systems.b().size()), y(x.size());
        solver.factor_solve(systems.d(), systems.e(), systems.b(), x, with_u(systems));
        const auto before = x;
        auto d = systems.d(), e = systems.e(), u = systems.u(), b = systems.b();
        std::vector<int> active{1, 0, 1, 1, 0, 1};
        for (std::size_t m = 0; m < active.size(); ++m)
            for (auto* array : {&d, &e, &u, &b}) {
                const auto each = array->size() / active.size();
                if (active[m] == 0) std::fill_n(array->begin() + static_cast<std::ptrdiff_t>(m * each), each, NAN);
            }
        auto options = with_u(systems);
        options.u = u.data();
        options.active = active.data();
        std::ranges::fill(x, 7.0);
        solver.factor_solve(d, e, b, x, options);
        solver.check();
        std::vector<MemberInertia> inertia(6);
        solver.copy_inertia(inertia.data(), 6);
        for (std::size_t m = 0; m < inertia.size(); ++m)
            CHECK((inertia[m].negative == solver.status()[m].negative && inertia[m].growth == solver.status()[m].growth));
        const auto each = x.size() / active.size();
        for (std::size_t k = 0; k < x.size(); ++k) CHECK(x[k] == (active[k / each] != 0 ? before[k] : 7.0));
        solver.solve(systems.b(), y);  // the factors of masked members are those of the first call
        CHECK(y == before);
    }
}

TEST_CASE("shift and diagonal are added to a general matrix, and fewer members may be given than there are") {
    const auto spec = general(3, 4, 7);
    Solver solver(Plan(spec, Device::cpu()));
    GeneralSystems<double> systems(spec, 6);
    std::vector<double> shift, diagonal, x(systems.b().size(), 7.0), turned(x.size());
    for (int m = 0; m < 7; ++m) shift.push_back(0.5 * m);
    for (int k = 0; k < 7 * 12; ++k) diagonal.push_back(systems.draw());
    auto options = with_u(systems);
    options.shift = shift.data(), options.diagonal = diagonal.data(), options.members = 5;
    solver.factor_solve(systems.d(), systems.e(), systems.b(), x, options);
    solver.check();
    CHECK(solver.status().size() == 5);
    solver.solve_transposed(systems.b(), turned, {.members = 5});
    for (std::int64_t m = 0; m < 5; ++m) {
        for (std::int64_t k = 0; k < 12; ++k)
            systems.dense(m)(k, k) += shift[static_cast<std::size_t>(m)] + diagonal[static_cast<std::size_t>(m * 12 + k)];
        CHECK(systems.backward_error(m, x, systems.b()) <= 1e-14);
        CHECK(systems.backward_error(m, turned, systems.b(), true) <= 1e-14);
    }
    CHECK(std::all_of(x.begin() + 5 * (std::ssize(x) / 7), x.end(), [](double value) { return value == 7; }));
}

TEST_CASE("what general matrices do not have is refused in words") {
    const auto spec = general(2, 3);
    GeneralSystems<double> systems(spec, 7);
    Solver solver(Plan(spec, Device::cpu()));
    std::vector<double> x(systems.b().size()), inverse(100);
    CHECK_REFUSED("U is a null pointer", solver.factor(systems.d(), systems.e()));
    CHECK_REFUSED("needs the U that was factored", solver.reciprocal_condition(systems.d(), systems.e()));
    auto options = with_u(systems);
    solver.factor_solve(systems.d(), systems.e(), systems.b(), x, options);
    CHECK_REFUSED("a general matrix has no quadratic", solver.quadratic());
    CHECK_REFUSED("inverse", solver.selected_inverse(inverse, inverse));
    options.pivot_floor = 1e-8;
    CHECK_REFUSED("pivot_floor", solver.factor(systems.d(), systems.e(), options));
    Solver definite(Plan({.block = 2, .horizon = 3, .rhs = 2}, Device::cpu()));
    CHECK_REFUSED("set matrix to general", definite.factor(systems.d(), systems.e(), with_u(systems)));
    CHECK_REFUSED("solve_transposed", definite.solve_transposed(systems.b(), x));
    const auto plan = [&](auto change) {
        auto wrong = spec;
        change(wrong);
        return Plan(wrong, Device::cpu());
    };
    CHECK_REFUSED("mixed precision", plan([](Spec& s) { s.precision = Precision::mixed; }));
    CHECK_REFUSED("border", plan([](Spec& s) { s.border = 2; }));
    CHECK_REFUSED("lengths", plan([](Spec& s) { s.lengths = true; }));
    CHECK_REFUSED("sizes", plan([](Spec& s) { s.sizes = true; }));
    CHECK_REFUSED("bandwidth", plan([](Spec& s) { s.bandwidth = 2; }));
    CHECK_REFUSED("coupling lower", plan([](Spec& s) { s.coupling = Coupling::upper; }));
    CHECK_REFUSED("selected inverse", plan([](Spec& s) { s.operations.insert(Operation::inverse); }));
}

TEST_CASE("the reciprocal condition of a general matrix is that of the matrix with rows and columns scaled to ones") {
    for (const bool ring : {false, true}) {
        auto spec = general(3, 4, 4);
        spec.ring = ring;
        GeneralSystems<double> systems(spec, 8);
        for (std::int64_t r = 0; r < 3; ++r)  // member 1 has rows, and member 2 columns, of other sizes; member 3 is nearly singular
            for (std::int64_t c = 0; c < 3; ++c) {
                systems.set(1, 1, 1, r, c, 0), systems.set(2, 2, 2, r, c, 0);
                if (r == c) systems.set(1, 1, 1, r, c, std::pow(1e6, r)), systems.set(2, 2, 2, r, c, std::pow(1e-6, c));
                systems.set(3, 0, 0, r, c, 1 + (r == c ? 1e-9 * static_cast<double>(r) : 0));
            }
        Solver solver(Plan(spec, Device::cpu()));
        auto options = with_u(systems);
        options.accept_nearly_singular = true;
        solver.factor(systems.d(), systems.e(), options);
        const auto found = solver.reciprocal_condition(systems.d(), systems.e(), options);
        for (std::int64_t m = 0; m < 4; ++m) {
            Dense a = systems.dense(m);
            const Eigen::VectorXd rows = a.cwiseAbs().rowwise().maxCoeff();
            a = rows.cwiseInverse().asDiagonal() * a;
            const Eigen::VectorXd columns = a.cwiseAbs().colwise().maxCoeff();
            a = a * columns.cwiseInverse().asDiagonal();
            const auto norm = [](const Dense& of) { return of.cwiseAbs().colwise().sum().maxCoeff(); };
            const double exact = 1 / (norm(a) * norm(a.inverse()));
            INFO(m, " ", found[static_cast<std::size_t>(m)], " for ", exact);
            CHECK(found[static_cast<std::size_t>(m)] >= exact * 0.999);
            CHECK(found[static_cast<std::size_t>(m)] <= exact * 3);
        }
    }
}

TEST_CASE("10 000 small general matrices: those with status ok are solved backward stably, and have the right sign of det A") {
    std::mt19937 random(1);
    std::int64_t all = 0, sound = 0;
    std::array<std::int64_t, std::size(hard_kinds)> sound_of{};
    std::vector<std::string> wrong;
    double worst = 0;
    for (const std::int64_t n : {1, 2, 3, 4, 6})
        for (const std::int64_t horizon : {1, 2, 3, 5, 8}) {
            auto spec = general(n, horizon, 50 * std::ssize(hard_kinds));
            spec.rhs = 1;
            Tuning how;
            how.schedule = horizon % 2 == 0 ? "recursive:2" : "sequential";
            how.any_size = true;
            Solver solver(Plan(spec, Device::cpu(), how));
            GeneralSystems<double> systems(spec, static_cast<unsigned>(10 * n + horizon));
            for (std::int64_t m = 0; m < spec.batch; ++m)
                make_hard(systems, spec, m, static_cast<std::size_t>(m) % std::size(hard_kinds), random);
            std::vector<double> x(systems.b().size()), residual(x.size()), change(x.size());
            solver.factor_solve(systems.d(), systems.e(), systems.b(), x, with_u(systems));
            const auto outcomes = solver.status();
            const auto each = n * horizon;
            for (std::int64_t m = 0; m < spec.batch; ++m) {
                const Dense left = systems.columns(m, systems.b()) - systems.dense(m) * systems.columns(m, x);
                std::copy_n(left.data(), each, residual.begin() + m * each);
            }
            solver.solve(residual, change);
            for (std::size_t k = 0; k < x.size(); ++k) x[k] += change[k];
            for (std::int64_t m = 0; m < spec.batch; ++m, ++all) {
                const auto& outcome = outcomes[static_cast<std::size_t>(m)];
                if (!outcome.ok()) continue;
                const auto kind = static_cast<std::size_t>(m) % std::size(hard_kinds);
                ++sound, ++sound_of[kind];
                const auto& a = systems.dense(m);
                const Dense one = systems.columns(m, x), b = systems.columns(m, systems.b());
                const double scale = a.cwiseAbs().rowwise().sum().maxCoeff() * one.cwiseAbs().maxCoeff() + b.cwiseAbs().maxCoeff();
                const double error = (a * one - b).cwiseAbs().maxCoeff() / scale;
                worst = std::max(worst, std::isfinite(error) ? error : HUGE_VAL);
                const int sign = outcome.negative % 2 == 0 ? 1 : -1, expected = sign_of_determinant(a);
                if (!(error <= 1e-12) || sign != expected)
                    wrong.push_back(
                        fmt::format("{}, n = {}, N = {}, member {}: error {:.1e}, sign {} for {}, growth {:.1e}, least pivot {:.1e}",
                                    hard_kinds[kind], n, horizon, m, error, sign, expected, outcome.growth, outcome.least_pivot));
            }
        }
    INFO(fmt::format("{}", fmt::join(wrong, "\n")));
    MESSAGE(fmt::format("{} of {} are sound ({}), worst error {:.1e}", sound, all, fmt::join(sound_of, " "), worst));
    CHECK(all == 10'000);
    CHECK(sound > 5'000);
    CHECK(wrong.empty());
}
