#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <trifold/error.hpp>
#include <vector>

#include "runtime/python/binding/array.hpp"
#include "runtime/python/binding/gil.hpp"
#include "runtime/python/binding/parts.hpp"

namespace trifold::python {
namespace {

using Index = std::int64_t;

/// An argument: a matrix or a vector, by its number of axes, for each member and time, or one for all. None holds nothing.
template <class Real>
struct Series {
    Series(nb::handle given, const char* name, Index elements, std::size_t axes, bool has_times = true) : each(elements) {
        if (given.is_none()) return;
        array.read(given, name);
        const auto front = array.shape().first(array.shape().size() - axes);
        times = has_times ? front.back() : 1;
        members = front.size() > (has_times ? 1U : 0U) ? front[0] : 1;
        data = array.as<const Real>();
    }
    explicit operator bool() const { return data != nullptr; }
    const Real* at(Index member, Index time) const { return data + (place(member, time))*each; }
    /// Index of an argument's matrix among those that are given.
    Index place(Index member, Index time) const { return (members > 1 ? member * times : 0) + (times > 1 ? time : 0); }
    Index count() const { return members * times; }

    Array array;
    Index each, times = 1, members = 1;
    const Real* data = nullptr;
};

/// C (rows x columns) += sign * A' B, where A is (inner x rows) and B (inner x columns).
template <class Real>
void add_product_of_transposed(Real* c, const Real* a, const Real* b, Index inner, Index rows, Index columns, Real sign = 1) {
    for (Index k = 0; k < inner; ++k)
        for (Index i = 0; i < rows; ++i) {
            const auto factor = sign * a[k * rows + i];
            if (factor == 0) continue;
            for (Index j = 0; j < columns; ++j) c[i * columns + j] += factor * b[k * columns + j];
        }
}

/// C = A B, where A (rows x inner) is lower triangular.
template <class Real>
void product_with_triangle(Real* c, const Real* a, const Real* b, Index rows, Index columns) {
    std::fill_n(c, rows * columns, Real{0});
    for (Index i = 0; i < rows; ++i)
        for (Index k = 0; k <= i; ++k)
            for (Index j = 0; j < columns; ++j) c[i * columns + j] += a[i * rows + k] * b[k * columns + j];
}

/// A row of a matrix times a vector. Four sums go on at a time, for each waits for its own last addition.
template <class Real>
Real row_times(const Real* row, const Real* x, Index n) {
    Real sums[4]{};
    Index j = 0;
    for (; j + 4 <= n; j += 4)
        for (Index k = 0; k < 4; ++k) sums[k] += row[j + k] * x[j + k];
    for (; j < n; ++j) sums[0] += row[j] * x[j];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// y = A x, of rows and columns as said.
template <class Real>
void times_vector(Real* y, const Real* a, const Real* x, Index rows, Index columns) {
    for (Index i = 0; i < rows; ++i) y[i] = row_times(a + i * columns, x, columns);
}

/// y = A x, where A is lower triangular.
template <class Real>
void triangle_times_vector(Real* y, const Real* a, const Real* x, Index rows) {
    for (Index i = 0; i < rows; ++i) y[i] = row_times(a + i * rows, x, i + 1);
}

template <class Real>
double squares(const Real* x, Index n) {
    double sum = 0;
    for (Index i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
    return sum;
}

/// W with W' W the inverse of a covariance: the inverse of its Cholesky factor, scaled to a diagonal of 1 on the way. False where there is
/// none, or none but for rounding. Of the covariance the lower triangle is read.
template <class Real>
bool whiten(Real* w, const Real* covariance, Index n, std::vector<Real>& work) {
    work.assign(static_cast<std::size_t>(n * n + n), 0);
    Real *const factor = work.data(), *const scale = factor + n * n;
    for (Index i = 0; i < n; ++i) {
        if (!(covariance[i * n + i] > 0)) return false;
        scale[i] = std::sqrt(covariance[i * n + i]);
    }
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j <= i; ++j) {
            Real sum = covariance[i * n + j] / (scale[i] * scale[j]);
            for (Index k = 0; k < j; ++k) sum -= factor[i * n + k] * factor[j * n + k];
            if (i == j && !(sum > 0)) return false;
            factor[i * n + j] = i == j ? std::sqrt(sum) : sum / factor[j * n + j];
        }
    std::fill_n(w, n * n, Real{0});
    for (Index i = 0; i < n; ++i) {  // row i of the inverse from those before it
        for (Index k = 0; k < i; ++k)
            for (Index j = 0; j <= k; ++j) w[i * n + j] -= factor[i * n + k] * w[k * n + j];
        w[i * n + i] = 1;
        for (Index j = 0; j <= i; ++j) w[i * n + j] /= factor[i * n + i];
    }
    constexpr Real epsilon = std::numeric_limits<Real>::epsilon();
    bool sound = true;
    for (Index i = 0; i < n; ++i) {
        sound = sound && w[i * n + i] * w[i * n + i] * (16 * static_cast<Real>(n) * epsilon) < 1;  // rounding's part of a pivot
        for (Index j = 0; j <= i; ++j) w[i * n + j] /= scale[j];
    }
    return sound;
}

/// The log determinant of a covariance, from its W.
template <class Real>
double log_of(const Real* w, Index n) {
    double sum = 0;
    for (Index i = 0; i < n; ++i) sum -= 2 * std::log(static_cast<double>(w[i * n + i]));
    return sum;
}

class StateSpace {
  public:
    StateSpace() = default;
    StateSpace(const StateSpace&) = delete;
    StateSpace& operator=(const StateSpace&) = delete;
    virtual ~StateSpace() = default;
    virtual nb::object least(nb::handle x) = 0;
    nb::object d, e, b;
    std::string array, problem;  ///< which argument has which problem; none where it is empty
    bool complete = true;        ///< whether no value is missing
};

/// Arguments in the order that Python gives them in.
struct Arguments {
    nb::handle f, h, q, r, p0, ys, m0, c, d;
};

template <class Real>
class StateSpaceOf : public StateSpace {
  public:
    StateSpaceOf(const Arguments& given, Index batch, Index horizon, Index n, Index m)
        : batched_(batch >= 0),
          members_(std::max<Index>(batch, 1)),
          horizon_(horizon),
          n_(n),
          m_(m),
          f_(given.f, "F", n * n, 2),
          h_(given.h, "H", m * n, 2),
          q_(given.q, "Q", n * n, 2),
          r_(given.r, "R", m * m, 2),
          p0_(given.p0, "P0", n * n, 2, false),
          ys_(given.ys, "ys", m, 1),
          m0_(given.m0, "m0", n, 1, false),
          c_(given.c, "c", n, 1),
          d_(given.d, "d", m, 1) {
        if (!is_sound()) return;
        const auto matrices = std::max({f_.members, h_.members, q_.members, r_.members, p0_.members, complete ? 1 : ys_.members});
        systems_ = matrices > 1 ? members_ : 1;
        make_arrays();
        const GilRelease unlocked;
        if (whiten_all()) assemble();
    }

    /// -2 log p of the observations and of states x, by member.
    nb::object least(nb::handle x) override {
        Array states(x, "x"), results;
        states.make_contiguous();
        const std::vector<Index> shape{members_};
        auto result = make_array(Library::numpy, {}, shape, Element::f64);
        results.read(result, "result", true);
        const GilRelease unlocked;
        for (Index k = 0; k < members_; ++k) results.as<double>()[k] = min_of(k, states.as<const Real>() + k * horizon_ * n_);
        return result;
    }

  private:
    bool fails(const char* name, const char* what) {
        array = name;
        problem = what;
        return false;
    }
    bool is_finite(const Series<Real>& series, const char* name) {
        const auto all = series.array.template all<const Real>();
        return std::ranges::all_of(all, [](Real entry) { return std::isfinite(entry); }) || fails(name, "finite");
    }
    bool is_covariance(const Series<Real>& series, const char* name, Index n) {
        if (!is_finite(series, name)) return false;
        const Real allowed = sizeof(Real) == 4 ? Real(1e-3) : Real(1e-8);
        for (Index k = 0; k < series.count(); ++k) {
            const auto* const matrix = series.data + k * n * n;
            for (Index i = 0; i < n; ++i)
                for (Index j = 0; j < i; ++j)
                    if (!(std::abs(matrix[i * n + j] - matrix[j * n + i]) <=
                          allowed * std::sqrt(std::abs(matrix[i * n + i]) * std::abs(matrix[j * n + j]))))
                        return fails(name, "symmetric");
        }
        return true;
    }
    bool is_sound() {
        for (const auto value : ys_.array.template all<const Real>()) {
            if (std::isinf(value)) return fails("ys", "infinite");
            complete = complete && !std::isnan(value);
        }
        return is_covariance(p0_, "P0", n_) && is_finite(f_, "F") && is_covariance(q_, "Q", n_) && is_finite(m0_, "m0") &&
               is_finite(c_, "c") && is_finite(h_, "H") && is_covariance(r_, "R", m_) && is_finite(d_, "d");
    }
    void make_arrays() {
        const auto make = [&](Array& array, bool with_members, Index members, std::initializer_list<Index> of_one) {
            std::vector<Index> shape;
            if (with_members) shape.push_back(members);
            shape.insert(shape.end(), of_one);
            auto object = make_array(Library::numpy, {}, shape, sizeof(Real) == 4 ? Element::f32 : Element::f64);
            array.read(object, "result", true);
            return object;
        };
        d = make(out_d_, systems_ > 1, systems_, {horizon_, n_, n_});
        e = make(out_e_, systems_ > 1, systems_, {horizon_ - 1, n_, n_});
        b = make(out_b_, batched_, members_, {horizon_, n_});
    }
    bool whiten_series(const Series<Real>& series, std::vector<Real>& all, const char* name, Index n) {
        all.resize(static_cast<std::size_t>(series.count() * n * n));
        for (Index k = 0; k < series.count(); ++k)
            if (!whiten(all.data() + k * n * n, series.data + k * n * n, n, work_)) return fails(name, "singular");
        return true;
    }
    /// Whitens R for what is there of it: a missing value is 0, of variance 1, and has nothing to do with states or other values.
    bool whiten_observations() {
        if (!whiten_series(r_, whole_v_, "R", m_)) return false;
        if (complete) return true;
        v_.resize(static_cast<std::size_t>(members_ * horizon_ * m_ * m_));
        std::vector<Real> seen(static_cast<std::size_t>(m_ * m_));
        for (Index k = 0; k < members_; ++k)
            for (Index t = 0; t < horizon_; ++t) {
                const auto *const y = ys_.at(k, t), *const r = r_.at(k, t);
                auto* const v = v_.data() + (k * horizon_ + t) * m_ * m_;
                if (std::none_of(y, y + m_, [](Real value) { return std::isnan(value); })) {
                    std::copy_n(whole_v_.data() + r_.place(k, t) * m_ * m_, m_ * m_, v);
                    continue;
                }
                for (Index i = 0; i < m_; ++i)
                    for (Index j = 0; j < m_; ++j)
                        seen[static_cast<std::size_t>(i * m_ + j)] = std::isnan(y[i]) || std::isnan(y[j]) ? Real(i == j) : r[i * m_ + j];
                if (!whiten(v, seen.data(), m_, work_)) return fails("R", "singular");
            }
        return true;
    }
    bool whiten_all() { return whiten_series(p0_, w0_, "P0", n_) && whiten_series(q_, w_, "Q", n_) && whiten_observations(); }
    const Real* w0_at(Index k) const { return w0_.data() + p0_.place(k, 0) * n_ * n_; }
    const Real* w_at(Index k, Index t) const { return w_.data() + q_.place(k, t) * n_ * n_; }
    const Real* v_at(Index k, Index t) const {
        return complete ? whole_v_.data() + r_.place(k, t) * m_ * m_ : v_.data() + (k * horizon_ + t) * m_ * m_;
    }
    /// Values less d, with 0 where one is missing.
    void values_at(Real* y, Index k, Index t) const {
        const auto* const given = ys_.at(k, t);
        const auto* const shift = d_ ? d_.at(k, t) : nullptr;
        for (Index i = 0; i < m_; ++i) y[i] = std::isnan(given[i]) ? 0 : given[i] - (shift == nullptr ? 0 : shift[i]);
    }

    /// Products that steps with the same F and Q share.
    struct Step {
        std::vector<Real> g, ww, gg, wg;
    };
    void make_step(Step& step, Index k, Index t) const {
        const auto size = static_cast<std::size_t>(n_ * n_);
        for (auto* part : {&step.g, &step.ww, &step.gg, &step.wg}) part->assign(size, 0);
        const auto* const w = w_at(k, t);
        product_with_triangle(step.g.data(), w, f_.at(k, t), n_, n_);
        add_product_of_transposed(step.ww.data(), w, w, n_, n_, n_);
        add_product_of_transposed(step.gg.data(), step.g.data(), step.g.data(), n_, n_, n_);
        add_product_of_transposed(step.wg.data(), w, step.g.data(), n_, n_, n_, Real{-1});
    }
    void assemble_matrix(Index k) {
        const auto size = n_ * n_;
        auto* const diagonal = out_d_.template as<Real>() + k * horizon_ * size;
        auto* const lower = out_e_.template as<Real>() + k * (horizon_ - 1) * size;
        // Each time gets a part from the step before it (the first one from P0), one from the step after it, and one from what is observed.
        std::vector<Real> before(static_cast<std::size_t>(size)), none(before), seen(before), u(static_cast<std::size_t>(m_ * n_));
        add_product_of_transposed(before.data(), w0_at(k), w0_at(k), n_, n_, n_);
        Step step;
        for (Index t = 0; t < horizon_; ++t) {
            const bool is_last = t + 1 == horizon_;
            if (!is_last && (t == 0 || f_.times > 1 || q_.times > 1)) make_step(step, k, t);
            if (t == 0 || !complete || h_.times > 1 || r_.times > 1) {
                observed(u.data(), k, t);
                std::ranges::fill(seen, Real{0});
                add_product_of_transposed(seen.data(), u.data(), u.data(), m_, n_, n_);
            }
            const auto& after = is_last ? none : step.gg;
            for (std::size_t i = 0; i < before.size(); ++i) diagonal[t * size + static_cast<Index>(i)] = before[i] + after[i] + seen[i];
            if (is_last) break;
            std::copy_n(step.wg.data(), size, lower + t * size);
            if (t == 0 || q_.times > 1) before = step.ww;
        }
    }
    /// U = V H, where H is zero for what is missing.
    void observed(Real* u, Index k, Index t) {
        const auto* h = h_.at(k, t);
        if (!complete) {
            work_.assign(h, h + m_ * n_);
            const auto* const y = ys_.at(k, t);
            for (Index i = 0; i < m_; ++i)
                if (std::isnan(y[i])) std::fill_n(work_.data() + i * n_, n_, Real{0});
            h = work_.data();
        }
        product_with_triangle(u, v_at(k, t), h, m_, n_);
    }
    void assemble_right_hand_side(Index k) {
        auto* const right = out_b_.template as<Real>() + k * horizon_ * n_;
        std::fill_n(right, horizon_ * n_, Real{0});
        std::vector<Real> u(static_cast<std::size_t>(m_ * n_)), y(static_cast<std::size_t>(m_)),
            white(static_cast<std::size_t>(std::max(m_, n_)));
        for (Index t = 0; t < horizon_; ++t) {
            if (t == 0 || !complete || h_.times > 1 || r_.times > 1) observed(u.data(), k, t);
            values_at(y.data(), k, t);
            triangle_times_vector(white.data(), v_at(k, t), y.data(), m_);
            add_product_of_transposed(right + t * n_, u.data(), white.data(), m_, n_, Index{1});
        }
        if (m0_) {
            triangle_times_vector(white.data(), w0_at(k), m0_.at(k, 0), n_);
            add_product_of_transposed(right, w0_at(k), white.data(), n_, n_, Index{1});
        }
        if (!c_) return;
        std::vector<Real> g(static_cast<std::size_t>(n_ * n_));
        for (Index t = 0; t + 1 < horizon_; ++t) {
            if (t == 0 || f_.times > 1 || q_.times > 1) product_with_triangle(g.data(), w_at(k, t), f_.at(k, t), n_, n_);
            triangle_times_vector(white.data(), w_at(k, t), c_.at(k, t), n_);
            add_product_of_transposed(right + (t + 1) * n_, w_at(k, t), white.data(), n_, n_, Index{1});
            add_product_of_transposed(right + t * n_, g.data(), white.data(), n_, n_, Index{1}, Real{-1});
        }
    }
    void assemble() {
        for (Index k = 0; k < systems_; ++k) assemble_matrix(k);
        for (Index k = 0; k < members_; ++k) assemble_right_hand_side(k);
    }

    double min_of(Index k, const Real* x) const {
        const auto longest = static_cast<std::size_t>(std::max(m_, n_));
        std::vector<Real> rest(longest), white(longest), seen(longest);
        double total = log_of(w0_at(k), n_), values = 0;
        for (Index t = 0; t < horizon_; ++t) {
            const auto* const given = ys_.at(k, t);
            values_at(rest.data(), k, t);
            times_vector(seen.data(), h_.at(k, t), x + t * n_, m_, n_);
            for (Index i = 0; i < m_; ++i) {
                const auto place = static_cast<std::size_t>(i);
                const bool missing = std::isnan(given[i]);
                rest[place] = missing ? 0 : rest[place] - seen[place];
                values += missing ? 0 : 1;
            }
            triangle_times_vector(white.data(), v_at(k, t), rest.data(), m_);
            total += squares(white.data(), m_) + log_of(v_at(k, t), m_);
        }
        const auto add = [&](const Real* w, const Real* states, const Real* less) {
            for (Index i = 0; i < n_; ++i) rest[static_cast<std::size_t>(i)] = states[i] - (less == nullptr ? 0 : less[i]);
            triangle_times_vector(white.data(), w, rest.data(), n_);
            total += squares(white.data(), n_);
        };
        add(w0_at(k), x, m0_ ? m0_.at(k, 0) : nullptr);
        std::vector<Real> step(static_cast<std::size_t>(n_));
        for (Index t = 0; t + 1 < horizon_; ++t) {
            times_vector(step.data(), f_.at(k, t), x + t * n_, n_, n_);
            for (Index i = 0; i < n_; ++i) step[static_cast<std::size_t>(i)] = x[(t + 1) * n_ + i] - step[static_cast<std::size_t>(i)];
            add(w_at(k, t), step.data(), c_ ? c_.at(k, t) : nullptr);
            total += log_of(w_at(k, t), n_);
        }
        return total + std::log(2 * std::numbers::pi) * values;
    }

    bool batched_;
    Index members_, horizon_, n_, m_, systems_ = 1;  // systems_: members that have a matrix of their own
    Series<Real> f_, h_, q_, r_, p0_, ys_, m0_, c_, d_;
    Array out_d_, out_e_, out_b_;
    std::vector<Real> w0_, w_, whole_v_, v_, work_;
};

std::unique_ptr<StateSpace> make(const Arguments& given, Index batch, Index horizon, Index n, Index m) {
    if (Array(given.ys, "ys").element() == Element::f32) return std::make_unique<StateSpaceOf<float>>(given, batch, horizon, n, m);
    return std::make_unique<StateSpaceOf<double>>(given, batch, horizon, n, m);
}

}  // namespace

void bind_state_space(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<StateSpace>(module, "StateSpace", "Arrays that trifold/state_space.py makes of a model of NumPy's arrays.")
        .def_ro("D", &StateSpace::d, nb::sig("def D(self, /) -> Any"))
        .def_ro("E", &StateSpace::e, nb::sig("def E(self, /) -> Any"))
        .def_ro("b", &StateSpace::b, nb::sig("def b(self, /) -> Any"))
        .def_ro("array", &StateSpace::array)
        .def_ro("problem", &StateSpace::problem)
        .def_ro("complete", &StateSpace::complete)
        .def("least", &StateSpace::least, "x"_a, nb::sig("def least(self, x: Any) -> Any"));
    module.def(
        "state_space",
        [](nb::handle f, nb::handle h, nb::handle q, nb::handle r, nb::handle p0, nb::handle ys, nb::handle m0, nb::handle c, nb::handle d,
           Index batch, Index horizon, Index n, Index m) { return make({f, h, q, r, p0, ys, m0, c, d}, batch, horizon, n, m).release(); },
        "F"_a, "H"_a, "Q"_a, "R"_a, "P0"_a, "ys"_a, "m0"_a.none(), "c"_a.none(), "d"_a.none(), "batch"_a, "horizon"_a, "n"_a, "m"_a,
        nb::sig(
            "def state_space(F: Any, H: Any, Q: Any, R: Any, P0: Any, ys: Any, m0: Any, c: Any, d: Any, batch: int, horizon: int, n: int, "
            "m: int) -> StateSpace"),
        nb::call_guard<InCall>());
}

}  // namespace trifold::python
