#include <algorithm>
#include <memory>

#include "tools/bench/peers/peers.hpp"

namespace trifold::bench {
namespace {

/// Columns of the lower band, 2 n entries each: A(i, j) at row i - j of column j.
template <class Real>
std::vector<Real> band_of(const formats::System& system) {
    const auto n = system.block, horizon = system.horizon, height = 2 * n;
    std::vector<Real> band(static_cast<std::size_t>(system.batch * horizon * n * height));
    for (std::int64_t k = 0; k < system.batch * horizon; ++k) {
        auto* columns = band.data() + k * n * height;
        const auto* d = system.d.data() + k * n * n;
        const auto* e = system.e.data() + (k - k / horizon) * n * n;
        for (std::int64_t c = 0; c < n; ++c) {
            for (auto r = c; r < n; ++r) columns[c * height + r - c] = static_cast<Real>(d[r * n + c]);
            if (k % horizon + 1 == horizon) continue;
            for (std::int64_t r = 0; r < n; ++r) columns[c * height + n + r - c] = static_cast<Real>(e[r * n + c]);
        }
    }
    return band;
}

template <class Real>
class Banded : public Contender {
  public:
    Banded(const Library& library, const formats::System& system)
        : library_(library),
          rows_(static_cast<int>(system.horizon * system.block)),
          height_(static_cast<int>(2 * system.block)),
          members_(system.batch),
          band_(band_of<Real>(system)),
          factor_(band_.size()),
          b_(system.b.begin(), system.b.end()),
          x_(b_.size()) {}

    std::vector<Step> steps() override {
        return {
            {.operation = "factor", .call = [this] { factor(); }, .prepare = [this] { std::ranges::copy(band_, factor_.begin()); }},
            {.operation = "solve", .call = [this] { solve(); }, .prepare = [this] { std::ranges::copy(b_, x_.begin()); }, .solves = true}};
    }
    std::vector<double> take_solution() override { return {x_.begin(), x_.end()}; }

  private:
    static constexpr bool single = sizeof(Real) == sizeof(float);

    void factor() {
        const char half = 'L';
        const int width = height_ - 1;
        const auto pbtrf =
            library_.find<void(const char*, const int*, const int*, Real*, const int*, int*)>(single ? "spbtrf_" : "dpbtrf_");
        for (std::int64_t member = 0; member < members_; ++member) {
            int info = 0;
            pbtrf(&half, &rows_, &width, factor_.data() + member * rows_ * height_, &height_, &info);
            if (info != 0) throw Error("pbtrf met a pivot that is not positive");
        }
    }

    void solve() {
        const char half = 'L';
        const int width = height_ - 1, one = 1;
        const auto pbtrs =
            library_.find<void(const char*, const int*, const int*, const int*, const Real*, const int*, Real*, const int*, int*)>(
                single ? "spbtrs_" : "dpbtrs_");
        for (std::int64_t member = 0; member < members_; ++member) {
            int info = 0;
            pbtrs(&half, &rows_, &width, &one, factor_.data() + member * rows_ * height_, &height_, x_.data() + member * rows_, &rows_,
                  &info);
        }
    }

    Library library_;
    int rows_, height_;
    std::int64_t members_;
    std::vector<Real> band_, factor_, b_, x_;
};

/// A few seconds and gigabytes are as much as a comparison is worth.
bool fits(const ChainProblem& one) {
    const auto& spec = one.spec;
    const auto rows = static_cast<double>(spec.horizon) * static_cast<double>(spec.block) * static_cast<double>(spec.batch);
    const auto width = 2 * static_cast<double>(spec.block);
    return spec.rhs == 1 && spec.precision != Precision::mixed && rows * width * width < 1e11 && rows * width < 4e8;
}

/// One LAPACK or BLAS call a block operation, over blocks by columns. D and E are left as they are, as our solver leaves them.
class Sweep : public Contender {
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
          core_(library.find<char*()>("openblas_get_corename")()),
          potrf_(library.find<Potrf>("dpotrf_")),
          trsm_(library.find<Trsm>("dtrsm_")),
          syrk_(library.find<Syrk>("dsyrk_")),
          trsv_(library.find<Trsv>("dtrsv_")),
          gemv_(library.find<Gemv>("dgemv_")) {
        for (std::int64_t k = 0; k < static_cast<std::int64_t>(e_.size()); ++k)
            e_[static_cast<std::size_t>(k / square_ * square_ + k % n_ * n_ + k % square_ / n_)] = system.e[static_cast<std::size_t>(k)];
    }
    std::vector<Step> steps() override {
        return {{"factor", [this] { factor(); }},
                {.operation = "solve", .call = [this] { solve(); }, .solves = true},
                {.operation = "factor_solve",
                 .call =
                     [this] {
                         factor();
                         solve();
                     },
                 .solves = true}};
    }
    std::vector<double> take_solution() override { return x_; }
    void complete(std::vector<Result>& results) override {
        for (auto& result : results) {
            result.more["kernels"] = core_;
            result.remark = core_ + " kernels";
        }
    }

  private:
    using Potrf = void(const char* half, const int* n, double* a, const int* lda, int* info);
    using Trsm = void(const char* side, const char* half, const char* transposed, const char* unit, const int* m, const int* n,
                      const double* alpha, const double* a, const int* lda, double* b, const int* ldb);
    using Syrk = void(const char* half, const char* transposed, const int* n, const int* k, const double* alpha, const double* a,
                      const int* lda, const double* beta, double* c, const int* ldc);
    using Trsv = void(const char* half, const char* transposed, const char* unit, const int* n, const double* a, const int* lda, double* x,
                      const int* step);
    using Gemv = void(const char* transposed, const int* m, const int* n, const double* alpha, const double* a, const int* lda,
                      const double* x, const int* x_step, const double* beta, double* y, const int* y_step);
    static constexpr double one = 1, minus_one = -1;
    static constexpr int step = 1;

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

    int n_;
    std::int64_t horizon_, square_;
    std::vector<double> d_, e_, b_, l_, r_, x_;
    std::string core_;
    Potrf* potrf_;
    Trsm* trsm_;
    Syrk* syrk_;
    Trsv* trsv_;
    Gemv* gemv_;
};

}  // namespace

Peer lapack(int workers) {
    return opened({.name = "lapack", .families = {Family::tridiagonal}, .fits = of_family<ChainProblem>(fits)}, [&](Peer& peer) {
        const Library library({"libopenblas.so.0", "liblapack.so.3"});
        try {
            library.find<void(int)>("openblas_set_num_threads")(workers);
        } catch (const Error&) {  // another LAPACK
        }
        peer.make = [library](const Problem& problem, const DeviceTools&) -> std::unique_ptr<Contender> {
            const auto& [spec, system] = std::get<ChainProblem>(problem);
            if (spec.precision == Precision::f32) return std::make_unique<Banded<float>>(library, system);
            return std::make_unique<Banded<double>>(library, system);
        };
    });
}

Peer openblas() {
    return opened({.name = "openblas", .families = {Family::tridiagonal}}, [](Peer& peer) {
        peer.fits = of_family<ChainProblem>(
            [](const ChainProblem& one) { return fits(one) && one.spec.precision == Precision::f64 && one.spec.batch == 1; });
        peer.make = [library = Library({"libopenblas.so.0"})](const Problem& problem, const DeviceTools&) {
            library.find<void(int)>("openblas_set_num_threads")(1);
            return std::make_unique<Sweep>(library, std::get<ChainProblem>(problem).system);
        };
    });
}

}  // namespace trifold::bench
