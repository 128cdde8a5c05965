#include "tests/support/cpu/conform.hpp"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "tests/support/cpu/call.hpp"
#include "tests/support/cpu/units.hpp"
#include "tests/support/guarded.hpp"

namespace trifold::test {
namespace {

double largest(const Matrix& a) { return a.size() == 0 ? 0 : a.array().abs().maxCoeff<Eigen::PropagateNaN>(); }

double log_determinant(const Matrix& a) { return a.partialPivLu().matrixLU().diagonal().array().abs().log().sum(); }

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// The worst errors by name; NaN is worse than anything.
class Worst {
  public:
    void add(const std::string& name, double error, double bound) {
        auto& worst = errors_[name];
        const double relative = error / bound;
        worst = std::isnan(relative) ? std::numeric_limits<double>::infinity() : std::max(worst, relative);
    }
    void add_if(const std::string& name, bool wrong) { add(name, wrong ? 2 : 0, 1); }

  protected:
    Errors errors_;
};

template <class Real>
class Conformance : Worst {
  public:
    Conformance(Runner& runner, const Drawn& drawn)
        : runner_(runner),
          spec_(runner.choice().spec),
          columns_(drawn.columns > 0 ? drawn.columns : spec_.rhs),
          members_(drawn.members > 0 ? drawn.members : spec_.batch),
          in_place_(drawn.in_place),
          every_way_(drawn.every_way),
          systems_(random_systems(spec_, columns_, drawn.seed)),
          user_(arrays<Real>(spec_, systems_)) {}

    Errors of_operations() {
        Guarded<Real> x(user_.b.size()), again(user_.b.size()), y(user_.b.size());
        const bool in_place = (spec_.block + spec_.horizon + spec_.rhs) % 2 == 0;
        solve_to(Operation::factor_solve, x, in_place);
        check_solution("factor_solve", x);
        check_factors();
        solve_to(Operation::solve, again, !in_place);
        check_solution("solve", again);
        if (every_way_) check_other_ways(x, again, in_place);
        run(Operation::forward, user_.b.data(), y.data());
        check_forward("forward", y);
        check_inverse();
        run(Operation::backward, y.data(), y.data());
        add_if("backward, to the bit", !same_bits(y, again));
        add_if("guard zones", !(x.intact() && again.intact() && y.intact()));
        return errors_;
    }

    Errors of_options() {
        const auto sound = results({});
        check_places(sound);
        check_masks(sound);
        check_added();
        const std::int64_t last = spec_.horizon - 1;
        for (const auto& [member, block] : {std::pair{members_ / 2, last / 2}, {std::int64_t{0}, std::int64_t{0}}, {members_ - 1, last}})
            check_failure(sound, member, block);
        if (spec_.block > 1 && !has_signs()) check_floor(members_ / 2, last / 2);
        return errors_;
    }

  private:
    /// What a factor_solve and an inverse leave of every member.
    struct Results {
        std::vector<Real> x, diagonal, coupling;
        std::vector<std::vector<double>> outcomes;
    };
    struct Options {
        const int* active = nullptr;
        const Real *diagonal = nullptr, *shift = nullptr;
        double pivot_floor = 0;
        std::int64_t members = 0;
    };
    static constexpr Real untouched = 7;

    bool has_signs() const { return spec_.matrix == MatrixKind::symmetric; }
    /// Whether the members of the call have the same bits. No call writes those of the others.
    bool same_bits(Guarded<Real>& one, Guarded<Real>& other) const {
        const auto count = one.size() / spec_.batch * members_;
        return std::memcmp(one.data(), other.data(), static_cast<std::size_t>(count) * sizeof(Real)) == 0;
    }
    Matrix solution(std::span<const Real> x, std::int64_t m) const {
        return gather(spec_, std::vector<Real>(x.begin(), x.end()), m, columns_);
    }
    bool plans(Operation operation) const { return spec_.operations.contains(operation); }

    trifold_args args(const Real* b, Real* x) const {
        trifold_args result{};
        result.d = user_.d.data(), result.e = user_.e.data(), result.b = b, result.x = x;
        result.b_strides = result.x_strides = kernel_strides(rhs_strides(spec_, columns_));
        result.columns = columns_, result.members = members_;
        return result;
    }
    void run(Operation operation, const Real* b, Real* x) { runner_.run(operation, args(b, x)); }
    void solve_to(Operation operation, Guarded<Real>& x, bool in_place) {
        in_place = in_place && in_place_;
        if (in_place) std::ranges::copy(user_.b, x.data());
        run(operation, in_place ? x.data() : user_.b.data(), x.data());
    }

    void check_solution(const std::string& name, Guarded<Real>& x) {
        for (std::int64_t m = 0; m < members_; ++m)
            add(name, relative_residual(systems_[at(m)].dense(), solution(x.values(), m), systems_[at(m)].b), tolerance<Real>);
    }
    void check_factors() {
        for (std::int64_t m = 0; m < members_; ++m) {
            const auto status = runner_.status(m);
            add_if("status", status.block != -1 || status.floors != 0 || status.nearly_singular != 0);
            const auto least = least_pivot_oracle(systems_[at(m)], runner_.choice().schedule);
            add("least pivot", std::abs(status.least_pivot - least), 1000 * tolerance<Real> * least);
            const auto expected = log_determinant(systems_[at(m)].dense());
            add("log determinant", std::abs(runner_.log_determinant(m) - expected), tolerance<Real> * (1 + std::abs(expected)));
            if (has_signs()) check_inertia(m);
        }
    }
    void check_inertia(std::int64_t m) {
        const auto factors = factored(systems_[at(m)], runner_.choice().schedule);
        const auto inertia = runner_.inertia(m);
        const double growth = factors.sums.maxCoeff() / largest(systems_[at(m)].dense());
        add_if("negative pivots", inertia.negative != (factors.signs.array() < 0).count());
        add("growth", std::abs(inertia.growth - growth), 1000 * tolerance<Real> * growth);
    }
    void check_forward(const std::string& name, Guarded<Real>& y) {
        for (std::int64_t m = 0; m < members_; ++m) {
            const auto expected = forward_oracle(systems_[at(m)], runner_.choice().schedule);
            add(name, largest(solution(y.values(), m) - expected), 100 * tolerance<Real> * largest(expected));
            for (std::int64_t c = 0; c < columns_ && columns_ <= spec_.rhs; ++c) {
                const auto scale = expected.col(c).squaredNorm();
                const auto square =
                    has_signs() ? systems_[at(m)].b.col(c).dot(systems_[at(m)].dense().partialPivLu().solve(systems_[at(m)].b.col(c)))
                                : scale;
                add("quadratic", std::abs(runner_.quadratic(m, c) - square), 10 * tolerance<Real> * (1 + scale));
            }
        }
    }
    void check_other_ways(Guarded<Real>& x, Guarded<Real>& again, bool in_place) {
        Guarded<Real> other(user_.b.size());
        solve_to(Operation::factor_solve, other, !in_place);
        add_if("factor_solve in place, to the bit", !same_bits(other, x));
        solve_to(Operation::solve, other, in_place);
        add_if("solve in place, to the bit", !same_bits(other, again));
        run(Operation::factor_forward, user_.b.data(), other.data());
        check_forward("factor_forward", other);
        run(Operation::factor, nullptr, nullptr);
        check_factors();
        add_if("guard zones", !other.intact());
    }
    void check_inverse() {
        if (!plans(Operation::inverse)) return;
        const auto n = spec_.block, area = n * n;
        Guarded<Real> diagonal(members_ * spec_.horizon * area), coupling(members_ * (spec_.horizon - 1) * area);
        auto call = args(nullptr, nullptr);
        call.inverse_diagonal = diagonal.data(), call.inverse_coupling = coupling.data();
        runner_.run(Operation::inverse, call);
        using Block = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
        for (std::int64_t m = 0; m < members_; ++m) {
            const Matrix a = systems_[at(m)].dense(), inverse = a.inverse();
            const auto norm = [](const Matrix& of) { return of.cwiseAbs().rowwise().sum().maxCoeff(); };
            // Multiples of the rounding: no method can promise more than the condition.
            const auto bound =
                largest(inverse) * std::min(100 * tolerance<Real>, std::numeric_limits<Real>::epsilon() * norm(a) * norm(inverse));
            const auto compare = [&](const Real* block, std::int64_t row, std::int64_t column) {
                const Matrix own = Block(block, n, n).template cast<double>();
                add("inverse", largest(own - inverse.block(row * n, column * n, n, n)), bound);
                if (row == column) add_if("symmetry of the inverse", own != own.transpose());
            };
            for (std::int64_t i = 0; i < spec_.horizon; ++i) {
                compare(diagonal.data() + (m * spec_.horizon + i) * area, i, i);
                if (i + 1 < spec_.horizon) compare(coupling.data() + (m * (spec_.horizon - 1) + i) * area, i + 1, i);
            }
        }
        add_if("guard zones", !(diagonal.intact() && coupling.intact()));
    }

    Results results(const Options& options) {
        Results all{std::vector<Real>(user_.b.size(), untouched), {}, {}, {}};
        auto call = args(user_.b.data(), all.x.data());
        call.active = options.active, call.diagonal = options.diagonal, call.shift = options.shift;
        call.pivot_floor = options.pivot_floor;
        if (options.members > 0) call.members = options.members;
        runner_.run(Operation::factor_solve, call);
        if (plans(Operation::inverse)) {
            const auto area = spec_.block * spec_.block;
            all.diagonal.assign(at(members_ * spec_.horizon * area), untouched);
            all.coupling.assign(at(members_ * (spec_.horizon - 1) * area), untouched);
            call.inverse_diagonal = all.diagonal.data(), call.inverse_coupling = all.coupling.data();
            runner_.run(Operation::inverse, call);
        }
        for (std::int64_t m = 0; m < call.members; ++m) {
            const auto status = runner_.status(m);
            auto& outcome = all.outcomes.emplace_back(std::vector<double>{double(status.block), double(status.row), double(status.floors),
                                                                          status.least_pivot, runner_.log_determinant(m)});
            for (std::int64_t c = 0; c < columns_; ++c) outcome.push_back(runner_.quadratic(m, c));
        }
        return all;
    }
    /// All that is one member's.
    std::vector<std::uint64_t> bits(const Results& all, std::int64_t m) const {
        std::vector<std::uint64_t> result;
        const auto take = [&](const auto& values) {
            for (const auto value : values) result.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
        };
        take(solution(all.x, m).reshaped());
        take(all.outcomes[at(m)]);
        for (const auto* blocks : {&all.diagonal, &all.coupling}) {
            const auto each = static_cast<std::int64_t>(blocks->size()) / members_;
            take(std::span(*blocks).subspan(at(m * each), at(each)));
        }
        return result;
    }
    template <class Test>
    bool all_outputs(const Results& all, std::int64_t m, const Test& test) const {
        bool holds = std::ranges::all_of(solution(all.x, m).reshaped(), test);
        for (const auto* blocks : {&all.diagonal, &all.coupling}) {
            const auto each = static_cast<std::int64_t>(blocks->size()) / members_;
            holds = holds && std::ranges::all_of(std::span(*blocks).subspan(at(m * each), at(each)), test);
        }
        return holds;
    }
    void replace(std::vector<System> systems) {
        systems_ = std::move(systems);
        user_ = arrays<Real>(spec_, systems_);
    }
    double residual(const Results& all, std::int64_t m, const Matrix& a) const {
        return relative_residual(a, solution(all.x, m), systems_[at(m)].b);
    }

    void check_places(const Results& sound) {
        const auto original = systems_;
        auto rotated = original;
        std::ranges::rotate(rotated, rotated.begin() + static_cast<std::ptrdiff_t>(members_ / 2));
        replace(rotated);
        const auto moved = results({});
        for (std::int64_t m = 0; m < members_; ++m)
            add_if("bits at another place of the batch", bits(moved, m) != bits(sound, (m + members_ / 2) % members_));
        replace(original);
    }
    /// Members 1, 4, 7 ... are masked, and the last is beyond the call.
    void check_masks(const Results& sound) {
        std::vector<int> active(at(members_));
        for (std::size_t m = 0; m < active.size(); ++m) active[m] = m % 3 != 1;
        const auto count = std::max<std::int64_t>(members_ - 1, 1);
        const auto is_idle = [&](std::int64_t m) { return m >= count || m % 3 == 1; };
        runner_.reset();
        const auto some = results({.active = active.data(), .members = count});
        const auto original = systems_;
        for (std::int64_t m = 0; m < members_; ++m) {
            if (!is_idle(m)) {
                add_if("bits next to idle members", bits(some, m) != bits(sound, m));
                continue;
            }
            add_if("idle members are untouched", !all_outputs(some, m, [](double value) { return value == untouched; }));
            if (m < count)
                add_if("idle members have no outcome", runner_.status(m).floors != -1 || !std::isnan(runner_.log_determinant(m)));
        }
        // A factorization of the others leaves the factors of the first ones alone.
        auto larger = original;
        for (auto& system : larger) {
            for (auto& d : system.d) d *= 4;
            for (auto& e : system.e) e *= 4;
        }
        replace(larger);
        for (auto& flag : active) flag = 1 - flag;
        std::vector<Real> x(user_.b.size(), untouched);
        auto call = args(user_.b.data(), x.data());
        call.active = active.data(), call.members = count;
        runner_.run(Operation::factor, call);
        for (auto& flag : active) flag = 1 - flag;
        runner_.run(Operation::solve, call);
        replace(original);
        for (std::int64_t m = 0; m < members_; ++m) {
            if (is_idle(m))
                add_if("idle members are untouched", solution(x, m) != solution(some.x, m));
            else  // not to the bit: a factorization may solve along by other kernels
                add("factors of idle members stay", relative_residual(systems_[at(m)].dense(), solution(x, m), systems_[at(m)].b),
                    tolerance<Real>);
        }
    }
    void check_added() {
        const auto rows = spec_.block * spec_.horizon;
        std::vector<Real> diagonal(at(members_ * rows)), shift(at(members_));
        const auto sign = [&](std::size_t k) {
            return has_signs() ? sign_of_row(static_cast<std::int64_t>(k) % rows / spec_.block, static_cast<std::int64_t>(k) % spec_.block)
                               : 1;
        };
        for (std::size_t k = 0; k < diagonal.size(); ++k) diagonal[k] = static_cast<Real>(sign(k) * static_cast<double>(k % 7) / 4);
        for (std::size_t m = 0; m < shift.size(); ++m) shift[m] = static_cast<Real>(1 + m % 5) / (has_signs() ? 64 : 4);
        const auto all = results({.diagonal = diagonal.data(), .shift = shift.data()});
        for (std::int64_t m = 0; m < members_; ++m) {
            auto a = systems_[at(m)].dense();
            for (std::int64_t k = 0; k < rows; ++k) a(k, k) += static_cast<double>(diagonal[at(m * rows + k)] + shift[at(m)]);
            add("a diagonal and shifts", residual(all, m, a), tolerance<Real>);
            const auto expected = log_determinant(a);
            add("log determinant", std::abs(runner_.log_determinant(m) - expected), tolerance<Real> * (1 + std::abs(expected)));
        }
    }
    void check_failure(const Results& sound, std::int64_t member, std::int64_t block) {
        const auto original = systems_;
        auto broken = original;
        const auto row = (member + block + spec_.block - 1) % spec_.block;
        auto& [d, e, b] = broken[at(member)];
        d[at(block)](row, row) = -1e6;
        if (has_signs()) {  // any finite pivot but zero will do: a row of zeros has none
            d[at(block)].row(row).setZero(), d[at(block)].col(row).setZero();
            if (block + 1 < spec_.horizon) e[at(block)].col(row).setZero();
            if (block > 0) e[at(block - 1)].row(row).setZero();
        }
        replace(broken);
        const auto all = results({});
        const auto status = runner_.status(member);
        add_if("the failed block and row", status.block != block || status.row != row);
        const auto is_nan = [](auto value) { return std::isnan(value); };
        add_if("a failed member is NaN", !all_outputs(all, member, is_nan) || !is_nan(runner_.log_determinant(member)));
        for (std::int64_t m = 0; m < members_; ++m)
            if (m != member) add_if("bits next to a failed member", bits(all, m) != bits(sound, m));
        replace(original);
    }
    /// The first row of a block has no coupling and a tiny diagonal entry: A is solved as if that were the floor.
    void check_floor(std::int64_t member, std::int64_t block) {
        constexpr double floor = 1e-6;
        const auto original = systems_;
        auto low = original;
        auto& [d, e, b] = low[at(member)];
        d[at(block)].row(0).setZero(), d[at(block)].col(0).setZero();
        if (block + 1 < spec_.horizon) e[at(block)].col(0).setZero();
        if (block > 0) e[at(block - 1)].row(0).setZero();
        d[at(block)](0, 0) = 1e-30;
        replace(low);
        const auto all = results({.pivot_floor = floor});
        for (std::int64_t m = 0; m < members_; ++m)
            add_if("pivots raised to the floor", runner_.status(m).block != -1 || runner_.status(m).floors != (m == member ? 1 : 0));
        auto a = low[at(member)].dense();
        a(block * spec_.block, block * spec_.block) = floor * low[at(member)].d[at(block)].diagonal().maxCoeff();
        add("with a raised pivot", residual(all, member, a), tolerance<Real>);
        replace(original);
    }

    Runner& runner_;
    Spec spec_;
    std::int64_t columns_, members_;
    bool in_place_, every_way_;
    std::vector<System> systems_;
    Arrays<Real> user_;
};

template <class Real>
class RangeConformance : Worst {
  public:
    RangeConformance(Runner& runner, int parts, bool exceptions)
        : runner_(runner), spec_(runner.choice().spec), exceptions_(exceptions), units_(promised<Real>(parts)) {
        for (std::size_t m = 0; m < units_.size(); ++m) {
            at_one_.push_back(random_system(spec_.block, spec_.horizon, spec_.rhs, static_cast<unsigned>(m + 3)));
            if (spec_.matrix == MatrixKind::symmetric) at_one_.back() = quasi_definite(std::move(at_one_.back()));
            systems_.push_back(scaled(at_one_[m], units_[m], spec_));
            factors_.emplace_back(at_one_[m].dense());
        }
        user_ = arrays<Real>(spec_, systems_);
        x_.resize(user_.b.size());
    }

    Errors all() {
        run(Operation::factor_solve, user_);
        check_solutions();
        check_factors();
        std::ranges::fill(x_, Real(0));
        run(Operation::factor, user_);
        run(Operation::solve, user_);
        check_solutions();
        if (spec_.operations.contains(Operation::inverse)) check_inverses();
        check_leaving();
        check_pivots();
        return errors_;
    }

  private:
    static constexpr bool wide = sizeof(Real) == 8;
    trifold_args args(const Arrays<Real>& user) {
        trifold_args result{};
        result.d = user.d.data(), result.e = user.e.data(), result.b = user.b.data(), result.x = x_.data();
        result.b_strides = result.x_strides = kernel_strides(rhs_strides(spec_, spec_.rhs));
        result.columns = spec_.rhs, result.members = static_cast<std::int64_t>(units_.size());
        return result;
    }
    void run_checked(Operation operation, const trifold_args& given) {
        const bool squares = wide && operation != Operation::factor && operation != Operation::inverse;
        std::feclearexcept(FE_ALL_EXCEPT);
        runner_.run(operation, given);
        // Infinite squares of both signs have no sum.
        const int of_squares = spec_.matrix == MatrixKind::symmetric ? FE_OVERFLOW | FE_INVALID : FE_OVERFLOW;
        if (exceptions_)
            add_if("exceptions", std::fetestexcept((FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW) & ~(squares ? of_squares : 0)) != 0);
    }
    void run(Operation operation, const Arrays<Real>& user) { run_checked(operation, args(user)); }

    void check_solutions() {
        for (std::size_t m = 0; m < units_.size(); ++m) {
            const auto member = static_cast<std::int64_t>(m);
            add_if("status", runner_.status(member).block != -1 || runner_.range(member).solution != 0);
            const Matrix x = at_scale_one(gather(spec_, x_, member, spec_.rhs), units_[m], spec_);
            add("solution", relative_residual(at_one_[m].dense(), x, at_one_[m].b), tolerance<Real>);
        }
    }
    void check_factors() {
        const double rows = static_cast<double>(spec_.block * spec_.horizon), row = static_cast<double>(spec_.block);
        for (std::size_t m = 0; m < units_.size(); ++m) {
            const auto& u = units_[m];
            const auto member = static_cast<std::int64_t>(m);
            const double expected =
                factors_[m].matrixLU().diagonal().array().abs().log().sum() + std::log(2.0) * (rows * u.matrix + 2 * row * u.stage);
            add("log determinant", std::abs(runner_.log_determinant(member) - expected), 10 * tolerance<Real> * (1 + std::abs(expected)));
            const Matrix x = factors_[m].solve(at_one_[m].b);
            const bool has_signs = spec_.matrix == MatrixKind::symmetric;
            for (std::int64_t c = 0; c < spec_.rhs; ++c) {
                const double at_one = at_one_[m].b.col(c).dot(x.col(c)), quadratic = runner_.quadratic(member, c);
                const int exponent = 2 * u.rhs - u.matrix;
                if (std::isnormal(std::ldexp(at_one, exponent)))
                    add("quadratic", std::abs(std::ldexp(quadratic, -exponent) - at_one),
                        20 * tolerance<Real> * (1 + (has_signs ? at_one_[m].b.col(c).cwiseAbs().dot(x.col(c).cwiseAbs()) : at_one)));
                else
                    add_if("a quadratic out of range is NaN", !std::isnan(quadratic));
            }
        }
    }
    void check_inverses() {
        const auto n = spec_.block;
        std::vector<Real> diagonal(at(spec_.batch * spec_.horizon * n * n)), coupling(diagonal.size());
        auto call = args(user_);
        call.inverse_diagonal = diagonal.data(), call.inverse_coupling = coupling.data();
        run_checked(Operation::inverse, call);
        for (std::size_t m = 0; m < units_.size(); ++m) {
            add_if("range of the inverse", runner_.range(static_cast<std::int64_t>(m)).inverse != 0);
            const Matrix inverse = at_one_[m].dense().inverse();
            for (std::int64_t i = 0; i < spec_.horizon; ++i) {
                const auto* block = diagonal.data() + (static_cast<std::int64_t>(m) * spec_.horizon + i) * n * n;
                const Matrix expected = inverse.block(i * n, i * n, n, n);
                const double scale = power(units_[m].matrix + (i == odd_block(spec_) ? 2 * units_[m].stage : 0));
                for (std::int64_t k = 0; k < n * n; ++k)
                    add("inverse", std::abs(static_cast<double>(block[k]) * scale - expected(k / n, k % n)),
                        200 * tolerance<Real> * largest(expected));
            }
        }
    }
    void check_leaving() {
        constexpr double far = wide ? 1e300 : 1e36, highest = wide ? 308 : 38;
        auto systems = systems_;
        std::vector<bool> leaves(units_.size());
        for (std::size_t m = 0; m < units_.size(); ++m) {
            if (units_[m].matrix >= 0 || units_[m].stage != 0) continue;
            systems[m].b.setConstant(far);
            const Matrix x = factors_[m].solve(Matrix::Constant(at_one_[m].b.rows(), 1, 1.0));
            leaves[m] = std::log10(largest(x)) + std::log10(far) - units_[m].matrix * std::log10(2.0) > highest;
        }
        const auto user = arrays<Real>(spec_, systems);
        for (const auto operation : {Operation::solve, Operation::factor_solve}) {
            runner_.run(operation, args(user));
            for (std::size_t m = 0; m < units_.size(); ++m)
                add_if("range of the solution", (runner_.range(static_cast<std::int64_t>(m)).solution == 1) != leaves[m]);
            run(operation, user_);
            check_solutions();
        }
        add_if("enough solutions leave the range", std::ranges::count(leaves, true) < (units_.size() > 20 ? 6 : 3));
    }
    /// Pivots whose reciprocals are infinite fail, although they are positive.
    void check_pivots() {
        auto systems = at_one_;
        for (auto& system : systems) system = scaled(system, {wide ? -1040 : -140, 0, 0}, spec_);
        runner_.run(Operation::factor_solve, args(arrays<Real>(spec_, systems)));
        for (std::int64_t m = 0; m < static_cast<std::int64_t>(units_.size()); ++m)
            add_if("pivots without a reciprocal fail", runner_.status(m).block < 0 || runner_.status(m).row != 0 ||
                                                           !std::isnan(runner_.log_determinant(m)) ||
                                                           !gather(spec_, x_, m, spec_.rhs).array().isNaN().all());
    }

    Runner& runner_;
    Spec spec_;
    bool exceptions_;
    std::vector<Units> units_;
    std::vector<System> at_one_, systems_;
    std::vector<Eigen::PartialPivLU<Matrix>> factors_;
    Arrays<Real> user_;
    std::vector<Real> x_;
};

}  // namespace

Errors errors_of(Runner& runner, const Drawn& drawn) {
    return runner.choice().spec.precision == Precision::f32 ? Conformance<float>(runner, drawn).of_operations()
                                                            : Conformance<double>(runner, drawn).of_operations();
}

Errors option_errors_of(Runner& runner, const Drawn& drawn) {
    return runner.choice().spec.precision == Precision::f32 ? Conformance<float>(runner, drawn).of_options()
                                                            : Conformance<double>(runner, drawn).of_options();
}

Spec with_units(Spec spec, int parts) {
    const auto count = spec.precision == Precision::f32 ? promised<float>(parts).size() : promised<double>(parts).size();
    spec.batch = std::max(spec.batch, static_cast<std::int64_t>(count));
    return spec;
}

Errors range_errors_of(Runner& runner, int parts, bool exceptions) {
    return runner.choice().spec.precision == Precision::f32 ? RangeConformance<float>(runner, parts, exceptions).all()
                                                            : RangeConformance<double>(runner, parts, exceptions).all();
}

}  // namespace trifold::test
