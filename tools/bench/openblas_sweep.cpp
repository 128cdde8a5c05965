#include "tools/bench/openblas_sweep.hpp"

#include <cstring>
#include <stdexcept>

extern "C" {
void dpotrf_(const char* half, const int* n, double* a, const int* lda, int* info);
void dtrsm_(const char* side, const char* half, const char* transposed, const char* unit, const int* m, const int* n, const double* alpha,
            const double* a, const int* lda, double* b, const int* ldb);
void dsyrk_(const char* half, const char* transposed, const int* n, const int* k, const double* alpha, const double* a, const int* lda,
            const double* beta, double* c, const int* ldc);
void dtrsv_(const char* half, const char* transposed, const char* unit, const int* n, const double* a, const int* lda, double* x,
            const int* step);
void dgemv_(const char* transposed, const int* m, const int* n, const double* alpha, const double* a, const int* lda, const double* x,
            const int* x_step, const double* beta, double* y, const int* y_step);
void openblas_set_num_threads(int threads);
char* openblas_get_corename(void);
}

namespace trifold::bench {
namespace {
constexpr double one = 1, minus_one = -1;
constexpr int step = 1;
}  // namespace

OpenblasSweep::OpenblasSweep(std::int64_t block, std::int64_t horizon)
    : n_(static_cast<int>(block)), horizon_(horizon), stage_(block * block), l_(static_cast<std::size_t>(horizon * stage_)), r_(l_.size()) {
    openblas_set_num_threads(1);
}

std::string OpenblasSweep::core() { return openblas_get_corename(); }

void OpenblasSweep::factor(const std::vector<double>& d, const std::vector<double>& e) {
    const auto bytes = static_cast<std::size_t>(stage_) * sizeof(double);
    std::memcpy(l_.data(), d.data(), bytes);
    for (std::int64_t i = 0; i < horizon_; ++i) {
        double *l = l_.data() + i * stage_, *r = r_.data() + i * stage_;
        int info = 0;
        dpotrf_("L", &n_, l, &n_, &info);
        if (info != 0) throw std::runtime_error("dpotrf failed");
        if (i + 1 == horizon_) break;
        std::memcpy(r, e.data() + i * stage_, bytes);
        dtrsm_("R", "L", "T", "N", &n_, &n_, &one, l, &n_, r, &n_);
        std::memcpy(l + stage_, d.data() + (i + 1) * stage_, bytes);
        dsyrk_("L", "N", &n_, &n_, &minus_one, r, &n_, &one, l + stage_, &n_);
    }
}

void OpenblasSweep::solve(const std::vector<double>& b, std::vector<double>& x) const {
    std::memcpy(x.data(), b.data(), b.size() * sizeof(double));
    for (std::int64_t i = 0; i < horizon_; ++i) {
        double* y = x.data() + i * n_;
        if (i > 0) dgemv_("N", &n_, &n_, &minus_one, r_.data() + (i - 1) * stage_, &n_, y - n_, &step, &one, y, &step);
        dtrsv_("L", "N", "N", &n_, l_.data() + i * stage_, &n_, y, &step);
    }
    for (auto i = horizon_ - 1; i >= 0; --i) {
        double* y = x.data() + i * n_;
        if (i + 1 < horizon_) dgemv_("T", &n_, &n_, &minus_one, r_.data() + i * stage_, &n_, y + n_, &step, &one, y, &step);
        dtrsv_("L", "T", "N", &n_, l_.data() + i * stage_, &n_, y, &step);
    }
}

}  // namespace trifold::bench
