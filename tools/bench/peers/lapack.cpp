#include <algorithm>

#include "tools/bench/peers/peers.hpp"

namespace trifold::bench {
namespace {

// Parameters of LAPACK's and BLAS's functions.
using Text = const char*;
using Int = const int*;
template <class Real>
using In = const Real*;
using Number = In<double>;

/// A function of a library by its name, without a result.
template <class... Parameters>
struct Routine {
    Routine(const Library& library, const char* name) : address(library.find<void(Parameters...)>(name)) {}
    void operator()(Parameters... arguments) const { address(arguments...); }
    void (*address)(Parameters...);
};

/// Columns of the lower band, 2 n entries each: A(i, j) at row i - j of column j.
template <class Real>
struct Banded {
    Banded(const Library& library, const formats::System& system)
        : rows(static_cast<int>(system.horizon * system.block)),
          height(static_cast<int>(2 * system.block)),
          members(system.batch),
          band(static_cast<std::size_t>(members * rows * height)),
          b(system.b.begin(), system.b.end()),
          pbtrf(library, is_single ? "spbtrf_" : "dpbtrf_"),
          pbtrs(library, is_single ? "spbtrs_" : "dpbtrs_") {
        for (std::int64_t member = 0; member < members; ++member)
            for_each_entry(system, member, [&](std::int64_t row, std::int64_t column, double value) {
                band[static_cast<std::size_t>((member * rows + column) * height + row - column)] = static_cast<Real>(value);
            });
        factors = band;
        x = b;
    }
    void factor() {
        for (std::int64_t member = 0; member < members; ++member) {
            int info = 0;
            pbtrf("L", &rows, &width, factors.data() + member * rows * height, &height, &info);
            if (info != 0) throw Error("pbtrf met a pivot that is not positive");
        }
    }
    void solve() {
        const int one = 1;
        int info = 0;
        for (std::int64_t member = 0; member < members; ++member)
            pbtrs("L", &rows, &width, &one, factors.data() + member * rows * height, &height, x.data() + member * rows, &rows, &info);
    }
    static constexpr bool is_single = sizeof(Real) == sizeof(float);
    int rows, height, width = height - 1;
    std::int64_t members;
    std::vector<Real> band, b, factors, x;
    Routine<Text, Int, Int, Real*, Int, int*> pbtrf;
    Routine<Text, Int, Int, Int, In<Real>, Int, Real*, Int, int*> pbtrs;
};

template <class Real>
Contender banded(const Library& library, const formats::System& system) {
    const auto all = std::make_shared<Banded<Real>>(library, system);
    return {.steps = {{.operation = "factor",
                       .call = [all] { all->factor(); },
                       .prepare = [all] { std::ranges::copy(all->band, all->factors.begin()); }},
                      {.operation = "solve",
                       .call = [all] { all->solve(); },
                       .prepare = [all] { std::ranges::copy(all->b, all->x.begin()); },
                       .solves = true}},
            .take_solution = [all] { return std::vector<double>(all->x.begin(), all->x.end()); }};
}

/// A few seconds and gigabytes are as much as a comparison is worth.
bool fits(const ChainProblem& one) {
    const auto& spec = one.spec;
    const auto rows = static_cast<double>(spec.horizon) * static_cast<double>(spec.block) * static_cast<double>(spec.batch);
    const auto width = 2 * static_cast<double>(spec.block);
    return spec.rhs == 1 && spec.precision != Precision::mixed && rows * width * width < 1e11 && rows * width < 4e8;
}

/// One LAPACK or BLAS call a block operation, over blocks by columns. D and E are left as they are, as our solver leaves them.
class Sweep {
  public:
    Sweep(const Library& library, const formats::System& system)
        : n_(static_cast<int>(system.block)),
          horizon_(system.horizon),
          square_(system.block * system.block),
          d_(system.d),
          e_(system.e.size()),
          b_(system.b),
          l_(d_.size()),
          r_(d_.size()),
          x_(b_.size()),
          potrf_(library, "dpotrf_"),
          trsm_(library, "dtrsm_"),
          syrk_(library, "dsyrk_"),
          trsv_(library, "dtrsv_"),
          gemv_(library, "dgemv_") {
        for (std::int64_t k = 0; k < static_cast<std::int64_t>(e_.size()); ++k)
            e_[static_cast<std::size_t>(k / square_ * square_ + k % n_ * n_ + k % square_ / n_)] = system.e[static_cast<std::size_t>(k)];
    }
    const std::vector<double>& x() const { return x_; }

    void factor() {
        std::copy_n(d_.begin(), square_, l_.begin());
        for (std::int64_t i = 0; i < horizon_; ++i) {
            double *l = l_.data() + i * square_, *r = r_.data() + i * square_;
            int info = 0;
            potrf_("L", &n_, l, &n_, &info);
            if (info != 0) throw Error("dpotrf met a pivot that is not positive");
            if (i + 1 == horizon_) break;
            std::copy_n(e_.begin() + i * square_, square_, r);
            trsm_("R", "L", "T", "N", &n_, &n_, &one, l, &n_, r, &n_);
            std::copy_n(d_.begin() + (i + 1) * square_, square_, l + square_);
            syrk_("L", "N", &n_, &n_, &minus_one, r, &n_, &one, l + square_, &n_);
        }
    }

    void solve() {
        x_ = b_;
        for (std::int64_t i = 0; i < horizon_; ++i) {
            double* y = x_.data() + i * n_;
            if (i > 0) gemv_("N", &n_, &n_, &minus_one, r_.data() + (i - 1) * square_, &n_, y - n_, &step, &one, y, &step);
            trsv_("L", "N", "N", &n_, l_.data() + i * square_, &n_, y, &step);
        }
        for (auto i = horizon_ - 1; i >= 0; --i) {
            double* y = x_.data() + i * n_;
            if (i + 1 < horizon_) gemv_("T", &n_, &n_, &minus_one, r_.data() + i * square_, &n_, y + n_, &step, &one, y, &step);
            trsv_("L", "T", "N", &n_, l_.data() + i * square_, &n_, y, &step);
        }
    }

  private:
    static constexpr double one = 1, minus_one = -1;
    static constexpr int step = 1;
    int n_;
    std::int64_t horizon_, square_;
    std::vector<double> d_, e_, b_, l_, r_, x_;
    Routine<Text, Int, double*, Int, int*> potrf_;
    Routine<Text, Text, Text, Text, Int, Int, Number, Number, Int, double*, Int> trsm_;
    Routine<Text, Text, Int, Int, Number, Number, Int, Number, double*, Int> syrk_;
    Routine<Text, Text, Text, Int, Number, Int, double*, Int> trsv_;
    Routine<Text, Int, Int, Number, Number, Int, Number, Int, Number, double*, Int> gemv_;
};

Contender sweep(const Library& library, const formats::System& system) {
    library.find<void(int)>("openblas_set_num_threads")(1);
    const auto all = std::make_shared<Sweep>(library, system);
    const auto both = [all] {
        all->factor();
        all->solve();
    };
    return {.steps = {{"factor", [all] { all->factor(); }},
                      {.operation = "solve", .call = [all] { all->solve(); }, .solves = true},
                      {.operation = "factor_solve", .call = both, .solves = true}},
            .take_solution = [all] { return all->x(); },
            .complete =
                [core = std::string(library.find<char*()>("openblas_get_corename")())](std::vector<Result>& results) {
                    for (auto& result : results) {
                        result.more["kernels"] = core;
                        result.remark = core + " kernels";
                    }
                }};
}

}  // namespace

Peer lapack(int workers) {
    return peer_of<ChainProblem>("lapack", fits, [workers] {
        const Library library({"libopenblas.so.0", "liblapack.so.3"});
        try {
            library.find<void(int)>("openblas_set_num_threads")(workers);
        } catch (const Error&) {  // another LAPACK
        }
        return [library](const ChainProblem& one, const DeviceTools&) {
            return one.spec.precision == Precision::f32 ? banded<float>(library, one.system) : banded<double>(library, one.system);
        };
    });
}

Peer openblas() {
    const auto suits = [](const ChainProblem& one) { return fits(one) && one.spec.precision == Precision::f64 && one.spec.batch == 1; };
    return peer_of<ChainProblem>("openblas", suits, [] {
        return
            [library = Library({"libopenblas.so.0"})](const ChainProblem& one, const DeviceTools&) { return sweep(library, one.system); };
    });
}

}  // namespace trifold::bench
