// cuBLAS, cuSOLVER and cuDSS as far as the benchmarks call them, on host memory: plain loops and Eigen. Arguments that the real libraries
// would refuse, or would take for something else, are refused.
#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <cstdint>
#include <functional>
#include <memory>

namespace {

using Matrix = Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>;

enum Status { success = 0, invalid = 7 };

Matrix matrix(double* values, int rows, int columns, int leading) { return {values, rows, columns, Eigen::OuterStride<>(leading)}; }

int handle;

}  // namespace

extern "C" {

int cublasCreate_v2(void** result) { return *result = &handle, success; }
int cublasDestroy_v2(void* given) { return given == &handle ? success : invalid; }
int cublasSetStream_v2(void* given, void*) { return given == &handle ? success : invalid; }
int cusolverDnCreate(void** result) { return *result = &handle, success; }
int cusolverDnDestroy(void* given) { return given == &handle ? success : invalid; }
int cusolverDnSetStream(void* given, void*) { return given == &handle ? success : invalid; }

int cusolverDnDpotrfBatched(void* given, int half, int n, double** a, int leading, int* info, int count) {
    if (given != &handle || half != 0 || n < 1 || leading < n || count < 1) return invalid;
    for (int k = 0; k < count; ++k) {
        auto d = matrix(a[k], n, n, leading);
        const Eigen::LLT<Eigen::MatrixXd> llt(Eigen::MatrixXd(d.selfadjointView<Eigen::Lower>()));
        info[k] = llt.info() == Eigen::Success ? 0 : 1;
        d.triangularView<Eigen::Lower>() = Eigen::MatrixXd(llt.matrixL());
    }
    return success;
}

int cublasDtrsmBatched(void* given, int side, int half, int transpose, int unit, int m, int n, const double* alpha, double** a, int lda,
                       double** b, int ldb, int count) {
    if (given != &handle || half != 0 || unit != 0 || m < 1 || n < 1 || lda < (side == 0 ? m : n) || ldb < m || count < 1) return invalid;
    const int order = side == 0 ? m : n;
    for (int k = 0; k < count; ++k) {
        const Eigen::MatrixXd l = matrix(a[k], order, order, lda).triangularView<Eigen::Lower>();
        const Eigen::MatrixXd operation = transpose == 0 ? l : Eigen::MatrixXd(l.transpose());
        auto x = matrix(b[k], m, n, ldb);
        const Eigen::MatrixXd right = *alpha * x;
        if (side == 0)
            x = operation.partialPivLu().solve(right);
        else
            x = operation.transpose().partialPivLu().solve(right.transpose()).transpose();
    }
    return success;
}

int cublasDgemmBatched(void* given, int of_a, int of_b, int m, int n, int inner, const double* alpha, double** a, int lda, double** b,
                       int ldb, const double* beta, double** c, int ldc, int count) {
    if (given != &handle || m < 1 || n < 1 || inner < 1 || lda < (of_a == 0 ? m : inner) || ldb < (of_b == 0 ? inner : n) || ldc < m ||
        count < 1)
        return invalid;
    for (int k = 0; k < count; ++k) {
        const Eigen::MatrixXd left =
            of_a == 0 ? Eigen::MatrixXd(matrix(a[k], m, inner, lda)) : Eigen::MatrixXd(matrix(a[k], inner, m, lda).transpose());
        const Eigen::MatrixXd right =
            of_b == 0 ? Eigen::MatrixXd(matrix(b[k], inner, n, ldb)) : Eigen::MatrixXd(matrix(b[k], n, inner, ldb).transpose());
        auto out = matrix(c[k], m, n, ldc);
        const Eigen::MatrixXd before = *beta == 0 ? Eigen::MatrixXd::Zero(m, n) : Eigen::MatrixXd(*beta * out);
        out = before + *alpha * left * right;
    }
    return success;
}
}

namespace {

struct Config {
    int batch = 1;
};
struct Sparse {
    std::int64_t rows = 0;
    const int *starts = nullptr, *columns = nullptr;
    void* values = nullptr;
    int type = 0, kind = 0;
};
struct Data {
    int phases = 0;  // that were done
    std::vector<std::function<Eigen::VectorXd(const Eigen::VectorXd&)>> factors;
};
constexpr int general = 0, full = 0, positive_definite = 3, lower = 1;

/// What keeps the factors and solves with them.
template <class Solver>
std::function<Eigen::VectorXd(const Eigen::VectorXd&)> factored(const Eigen::SparseMatrix<double>& matrix) {
    const auto solver = std::make_shared<Solver>();
    solver->compute(matrix);
    return [solver](const Eigen::VectorXd& b) -> Eigen::VectorXd { return solver->solve(b); };
}

double value(const Sparse& matrix, std::int64_t at) {
    return matrix.type == 1 ? static_cast<const double*>(matrix.values)[at]
                            : static_cast<double>(static_cast<const float*>(matrix.values)[at]);
}

void factor(const Sparse& a, std::int64_t member, Data& data) {
    std::vector<Eigen::Triplet<double>> entries;
    for (int row = 0; row < a.rows; ++row)
        for (int k = a.starts[row]; k < a.starts[row + 1]; ++k)
            entries.emplace_back(row, a.columns[k], value(a, member * a.starts[a.rows] + k));
    Eigen::SparseMatrix<double> matrix(a.rows, a.rows);
    matrix.setFromTriplets(entries.begin(), entries.end());
    using SparseMatrix = Eigen::SparseMatrix<double>;
    data.factors.push_back(a.kind == general ? factored<Eigen::SparseLU<SparseMatrix>>(matrix)
                                             : factored<Eigen::SimplicialLLT<SparseMatrix, Eigen::Lower>>(matrix));
}

void solve(const Sparse& x, const Sparse& b, std::int64_t member, const Data& data) {
    Eigen::VectorXd right(b.rows);
    for (std::int64_t k = 0; k < b.rows; ++k) right[k] = value(b, member * b.rows + k);
    const Eigen::VectorXd solution = data.factors[static_cast<std::size_t>(member)](right);
    for (std::int64_t k = 0; k < x.rows; ++k) {
        if (x.type == 1)
            static_cast<double*>(x.values)[member * x.rows + k] = solution[k];
        else
            static_cast<float*>(x.values)[member * x.rows + k] = static_cast<float>(solution[k]);
    }
}

}  // namespace

extern "C" {

int cudssGetProperty(int property, int* result) { return *result = property == 0 ? 1 : 0, success; }
int cudssCreate(void** result) { return *result = &handle, success; }
int cudssDestroy(void* given) { return given == &handle ? success : invalid; }
int cudssSetStream(void* given, void*) { return given == &handle ? success : invalid; }
int cudssConfigCreate(void** config) { return *config = new Config, success; }
int cudssConfigDestroy(void* config) { return delete static_cast<Config*>(config), success; }
int cudssConfigSet(void* config, int parameter, const void* given, std::size_t bytes) {
    if (parameter != 18 || bytes != sizeof(int)) return invalid;
    return static_cast<Config*>(config)->batch = *static_cast<const int*>(given), success;
}
int cudssDataCreate(void* given, void** data) { return *data = new Data, given == &handle ? success : invalid; }
int cudssDataDestroy(void*, void* data) { return delete static_cast<Data*>(data), success; }
int cudssMatrixDestroy(void* matrix) { return delete static_cast<Sparse*>(matrix), success; }
int cudssMatrixCreateCsr(void** matrix, std::int64_t rows, std::int64_t columns, std::int64_t entries, void* starts, void* ends,
                         void* indices, void* values, int offset_type, int index_type, int value_type, int kind, int view, int base) {
    const auto* first = static_cast<const int*>(starts);
    if (rows != columns || first[0] != 0 || first[rows] != entries || ends != nullptr || offset_type != 10 || index_type != 10 || base != 0)
        return invalid;
    if ((kind != general || view != full) && (kind != positive_definite || view != lower)) return invalid;
    return *matrix = new Sparse{rows, first, static_cast<const int*>(indices), values, value_type, kind}, success;
}
int cudssMatrixCreateDn(void** matrix, std::int64_t rows, std::int64_t columns, std::int64_t leading, void* values, int type, int layout) {
    if (columns != 1 || leading != rows || layout != 0) return invalid;
    return *matrix = new Sparse{rows, nullptr, nullptr, values, type, general}, success;
}
int cudssExecute(void* given, int phase, void* config, void* raw, void* a, void* x, void* b) {
    auto& data = *static_cast<Data*>(raw);
    const int needed = phase == 0x3 ? 0 : phase == 0x4 ? 0x3 : phase == 0x8 ? 0x7 : 0x7;  // of the phases, which come first
    if (given != &handle || (phase != 0x3 && phase != 0x4 && phase != 0x8 && phase != 0x3f0) || (data.phases & needed) != needed)
        return invalid;
    data.phases |= phase;
    if (phase == 0x4 || phase == 0x8) data.factors.clear();
    for (std::int64_t member = 0; member < static_cast<Config*>(config)->batch && phase != 0x3; ++member) {
        if (phase == 0x3f0)
            solve(*static_cast<Sparse*>(x), *static_cast<Sparse*>(b), member, data);
        else
            factor(*static_cast<Sparse*>(a), member, data);
    }
    return success;
}
}
