// cuBLAS, cuSOLVER, cuDSS and cuSPARSE as far as the benchmarks call them, on host memory: plain loops and Eigen. Arguments that the real
// libraries would refuse, or would take for something else, are refused.
#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

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

namespace {

/// A matrix in rows of blocks of numbers by rows, and whether it was analyzed.
struct Fill {
    int half = -1, diagonal = -1;
};
struct Analysis {
    int entries = -1;
};
struct Numbers {
    std::int64_t size = 0;
    const int *starts = nullptr, *columns = nullptr;
    const double* values = nullptr;
    int half = -1, diagonal = -1;
};
struct Vector {
    std::int64_t size = 0;
    double* values = nullptr;
};

/// Numbers by rows, each with its place in an array of blocks.
struct Places {
    std::vector<int> starts{0}, columns, places;
    Places(int rows, const int* of_rows, const int* of_blocks, int block) {
        for (int row = 0; row < rows * block; ++row) {
            for (int k = of_rows[row / block]; k < of_rows[row / block + 1]; ++k)
                for (int j = 0; j < block; ++j) {
                    columns.push_back(of_blocks[k] * block + j);
                    places.push_back((k * block + row % block) * block + j);
                }
            starts.push_back(static_cast<int>(columns.size()));
        }
    }
};

void factor(const Places& at, double* values) {
    const int rows = static_cast<int>(at.starts.size()) - 1;
    std::vector<int> place(static_cast<std::size_t>(rows), -1);  // of a column in the row
    const auto index = [](int k) { return static_cast<std::size_t>(k); };
    std::vector<double> pivots(static_cast<std::size_t>(rows));
    for (int row = 0; row < rows; ++row) {
        for (int k = at.starts[index(row)]; k < at.starts[index(row + 1)]; ++k) place[index(at.columns[index(k)])] = at.places[index(k)];
        for (int k = at.starts[index(row)]; k < at.starts[index(row + 1)] && at.columns[index(k)] < row; ++k) {
            const int above = at.columns[index(k)];
            const double factor = values[at.places[index(k)]] /= pivots[index(above)];
            for (int q = at.starts[index(above)]; q < at.starts[index(above + 1)]; ++q)
                if (const int column = at.columns[index(q)]; column > above && place[index(column)] >= 0)
                    values[place[index(column)]] -= factor * values[at.places[index(q)]];
        }
        pivots[index(row)] = values[place[index(row)]];
        for (int k = at.starts[index(row)]; k < at.starts[index(row + 1)]; ++k) place[index(at.columns[index(k)])] = -1;
    }
}

/// L with ones on its diagonal, or U.
template <class Value>
void solve(int rows, const int* starts, const int* columns, const Value& value, bool is_lower, const double* b, double* x) {
    for (int step = 0; step < rows; ++step) {
        const int row = is_lower ? step : rows - 1 - step;
        double sum = b[row], pivot = 1;
        for (int k = starts[row]; k < starts[row + 1]; ++k) {
            if (columns[k] == row && !is_lower) pivot = value(k);
            if (is_lower ? columns[k] < row : columns[k] > row) sum -= value(k) * x[columns[k]];
        }
        x[row] = sum / pivot;
    }
}

bool is_triangle(int half, int diagonal) { return (half == 0 && diagonal == 1) || (half == 1 && diagonal == 0); }

}  // namespace

extern "C" {

int cusparseCreate(void** result) { return *result = &handle, success; }
int cusparseDestroy(void* given) { return given == &handle ? success : invalid; }
int cusparseSetStream(void* given, void*) { return given == &handle ? success : invalid; }
int cusparseCreateMatDescr(void** result) { return *result = new Fill, success; }
int cusparseDestroyMatDescr(void* given) { return delete static_cast<Fill*>(given), success; }
int cusparseSetMatFillMode(void* given, int half) { return static_cast<Fill*>(given)->half = half, success; }
int cusparseSetMatDiagType(void* given, int diagonal) { return static_cast<Fill*>(given)->diagonal = diagonal, success; }
int cusparseCreateBsrilu02Info(void** result) { return *result = new Analysis, success; }
int cusparseDestroyBsrilu02Info(void* given) { return delete static_cast<Analysis*>(given), success; }
int cusparseCreateBsrsv2Info(void** result) { return *result = new Analysis, success; }
int cusparseDestroyBsrsv2Info(void* given) { return delete static_cast<Analysis*>(given), success; }

int cusparseDbsrilu02_bufferSize(void* given, int, int, int, void*, double*, const int*, const int*, int, void*, int* bytes) {
    return *bytes = 16, given == &handle ? success : invalid;
}
int cusparseDbsrilu02_analysis(void* given, int direction, int, int entries, void*, double*, const int*, const int*, int, void* info,
                               int policy, void* room) {
    if (given != &handle || direction != 0 || policy != 1 || room == nullptr) return invalid;
    return static_cast<Analysis*>(info)->entries = entries, success;
}
int cusparseDbsrilu02(void* given, int direction, int rows, int entries, void*, double* values, const int* starts, const int* columns,
                      int block, void* info, int policy, void* room) {
    if (given != &handle || direction != 0 || policy != 1 || room == nullptr || static_cast<Analysis*>(info)->entries != entries ||
        starts[rows] != entries)
        return invalid;
    return factor(Places(rows, starts, columns, block), values), success;
}
int cusparseDbsrsv2_bufferSize(void* given, int, int, int, int, void*, double*, const int*, const int*, int, void*, int* bytes) {
    return *bytes = 16, given == &handle ? success : invalid;
}
int cusparseDbsrsv2_analysis(void* given, int direction, int transpose, int, int entries, void* descriptor, const double*, const int*,
                             const int*, int, void* info, int policy, void* room) {
    const auto& fill = *static_cast<Fill*>(descriptor);
    if (given != &handle || direction != 0 || transpose != 0 || policy != 1 || room == nullptr || !is_triangle(fill.half, fill.diagonal))
        return invalid;
    return static_cast<Analysis*>(info)->entries = entries, success;
}
int cusparseDbsrsv2_solve(void* given, int direction, int transpose, int rows, int entries, const double* alpha, void* descriptor,
                          const double* values, const int* starts, const int* columns, int block, void* info, const double* b, double* x,
                          int policy, void* room) {
    if (given != &handle || direction != 0 || transpose != 0 || *alpha != 1 || policy != 1 || room == nullptr ||
        static_cast<Analysis*>(info)->entries != entries)
        return invalid;
    const Places at(rows, starts, columns, block);
    const auto value = [&](int k) { return values[at.places[static_cast<std::size_t>(k)]]; };
    return solve(rows * block, at.starts.data(), at.columns.data(), value, static_cast<Fill*>(descriptor)->half == 0, b, x), success;
}
int cusparseDbsr2csr(void* given, int direction, int rows, int columns_of, void*, const double* values, const int* starts,
                     const int* columns, int block, void*, double* numbers, int* starts_of_numbers, int* columns_of_numbers) {
    if (given != &handle || direction != 0 || rows != columns_of) return invalid;
    const Places at(rows, starts, columns, block);
    std::ranges::copy(at.starts, starts_of_numbers);
    std::ranges::copy(at.columns, columns_of_numbers);
    std::ranges::transform(at.places, numbers, [&](int place) { return values[place]; });
    return success;
}
int cusparseCreateCsr(void** matrix, std::int64_t rows, std::int64_t columns, std::int64_t entries, void* starts, void* indices,
                      void* values, int starts_type, int indices_type, int base, int type) {
    const auto* first = static_cast<const int*>(starts);
    if (rows != columns || first[rows] != entries || starts_type != 2 || indices_type != 2 || base != 0 || type != 1) return invalid;
    return *matrix = new Numbers{rows, first, static_cast<const int*>(indices), static_cast<const double*>(values)}, success;
}
int cusparseSpMatSetAttribute(void* matrix, int attribute, const int* value, std::size_t bytes) {
    if (bytes != sizeof(int) || attribute < 0 || attribute > 1) return invalid;
    auto& numbers = *static_cast<Numbers*>(matrix);
    return (attribute == 0 ? numbers.half : numbers.diagonal) = *value, success;
}
int cusparseDestroySpMat(void* matrix) { return delete static_cast<Numbers*>(matrix), success; }
int cusparseCreateDnVec(void** vector, std::int64_t size, void* values, int type) {
    if (type != 1) return invalid;
    return *vector = new Vector{size, static_cast<double*>(values)}, success;
}
int cusparseDestroyDnVec(void* vector) { return delete static_cast<Vector*>(vector), success; }
int cusparseSpSV_createDescr(void** plan) { return *plan = new Analysis, success; }
int cusparseSpSV_destroyDescr(void* plan) { return delete static_cast<Analysis*>(plan), success; }
int cusparseSpSV_bufferSize(void* given, int, const double*, void*, void*, void*, int, int, void*, std::size_t* bytes) {
    return *bytes = 16, given == &handle ? success : invalid;
}
int cusparseSpSV_analysis(void* given, int transpose, const double*, void* matrix, void*, void*, int type, int, void* plan, void* room) {
    const auto& numbers = *static_cast<Numbers*>(matrix);
    if (given != &handle || transpose != 0 || type != 1 || room == nullptr || !is_triangle(numbers.half, numbers.diagonal)) return invalid;
    return static_cast<Analysis*>(plan)->entries = numbers.starts[numbers.size], success;
}
int cusparseSpSV_solve(void* given, int transpose, const double* alpha, void* matrix, void* b, void* x, int type, int, void* plan) {
    const auto& a = *static_cast<Numbers*>(matrix);
    const auto &from = *static_cast<Vector*>(b), &to = *static_cast<Vector*>(x);
    if (given != &handle || transpose != 0 || *alpha != 1 || type != 1 || from.size != a.size || to.size != a.size ||
        static_cast<Analysis*>(plan)->entries != a.starts[a.size])
        return invalid;
    const auto value = [&](int k) { return a.values[k]; };
    return solve(static_cast<int>(a.size), a.starts, a.columns, value, a.half == 0, from.values, to.values), success;
}
}
