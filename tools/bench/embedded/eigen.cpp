// Eigen's dense kernels of fixed size, in place of the solver of an exported project. Of four ways to write the product of a coupling,
// lazyProduct into the lower triangle took the fewest instructions.
#include <Eigen/Dense>

#include "btd_solver.h"

namespace {

constexpr int n = BTD_BLOCK, N = BTD_HORIZON, BLOCK = n * n;
using Block = Eigen::Matrix<btd_real, n, n, n == 1 ? Eigen::ColMajor : Eigen::RowMajor>;
using Vector = Eigen::Matrix<btd_real, n, 1>;
using In = Eigen::Map<const Block>;

btd_status outcome(btd_code code, int block) { return {code, block, -1}; }

}  // namespace

extern "C" btd_workspace* btd_init(void* memory) { return static_cast<btd_workspace*>(memory); }

extern "C" btd_status btd_factor(btd_workspace* __restrict w, const btd_real* __restrict d, const btd_real* __restrict e) {
    for (int i = 0; i < N; ++i) {
        Eigen::Map<Block> l(w->own_diagonal + i * BLOCK);
        l = In(d + i * BLOCK);
        if (i > 0) {
            const In before(w->own_coupling + (i - 1) * BLOCK);
            l.template triangularView<Eigen::Lower>() -= before.lazyProduct(before.transpose());
        }
        const Eigen::LLT<Eigen::Ref<Block>> llt(l);
        if (llt.info() != Eigen::Success) return outcome(BTD_NOT_POSITIVE_DEFINITE, i);
        if (i + 1 < N) {
            Eigen::Map<Block> next(w->own_coupling + i * BLOCK);
            next = In(e + i * BLOCK);
            l.transpose().template triangularView<Eigen::Upper>().template solveInPlace<Eigen::OnTheRight>(next);
        }
    }
    return outcome(BTD_OK, -1);
}

extern "C" btd_status btd_solve(const btd_workspace* w, const btd_real* b, btd_real* x) {
    Eigen::Map<Eigen::Matrix<btd_real, n * N, 1>> all(x);
    for (int i = 0; i < N; ++i) {
        Vector y = Eigen::Map<const Vector>(b + i * n);
        if (i > 0) y.noalias() -= In(w->own_coupling + (i - 1) * BLOCK) * all.template segment<n>((i - 1) * n);
        In(w->own_diagonal + i * BLOCK).template triangularView<Eigen::Lower>().solveInPlace(y);
        all.template segment<n>(i * n) = y;
    }
    for (int i = N - 1; i >= 0; --i) {
        Vector y = all.template segment<n>(i * n);
        if (i + 1 < N) y.noalias() -= In(w->own_coupling + i * BLOCK).transpose() * all.template segment<n>((i + 1) * n);
        In(w->own_diagonal + i * BLOCK).transpose().template triangularView<Eigen::Upper>().solveInPlace(y);
        all.template segment<n>(i * n) = y;
    }
    return outcome(BTD_OK, -1);
}

extern "C" btd_status btd_factor_solve(btd_workspace* w, const btd_real* d, const btd_real* e, const btd_real* b, btd_real* x) {
    const btd_status status = btd_factor(w, d, e);
    return status.code == BTD_OK ? btd_solve(w, b, x) : status;
}
