#include <fmt/format.h>

#include <memory>

#include "runtime/base/switches.hpp"
#include "tools/bench/peers/peers.hpp"

namespace trifold::bench {
namespace {

// Values of cuDSS's and CUDA's own enumerations.
enum DataType { real_f32 = 0, real_f64 = 1, int_32 = 10 };
enum MatrixType { general = 0, positive_definite = 3 };
enum View { whole = 0, lower_triangle = 1 };
enum IndexBase { from_zero = 0 };
enum Layout { column_major = 0 };
enum Config { uniform_batch_size = 18 };
enum Phase { analysis = 0x3, factorization = 0x4, refactorization = 0x8, solution = 0x3f0 };
enum Property { major_version = 0 };

/// In the lower triangle of one member.
std::int64_t entries(std::int64_t horizon, std::int64_t n) { return horizon * n * (n + 1) / 2 + (horizon - 1) * n * n; }

/// Matrices of one pattern in compressed rows, and what is solved with them.
struct Rows {
    MatrixType type = positive_definite;  ///< of a positive definite one the lower triangle is here
    std::int64_t size = 0, batch = 1;
    std::vector<int> starts{0}, columns;
    std::vector<double> values;  ///< of all members
    const std::vector<double>* b = nullptr;
};

Rows rows_of(const ChainProblem& problem) {
    const auto& system = problem.system;
    const auto n = system.block, horizon = system.horizon;
    Rows rows{positive_definite, horizon * n, system.batch, {0}, {}, {}, &system.b};
    rows.columns.reserve(static_cast<std::size_t>(entries(horizon, n)));
    rows.values.reserve(static_cast<std::size_t>(system.batch * entries(horizon, n)));
    for (std::int64_t i = 0; i < horizon; ++i) {
        for (std::int64_t r = 0; r < n; ++r) {
            for (auto column = i > 0 ? (i - 1) * n : 0; column <= i * n + r; ++column) rows.columns.push_back(static_cast<int>(column));
            rows.starts.push_back(static_cast<int>(rows.columns.size()));
        }
    }
    for (std::int64_t member = 0; member < system.batch; ++member) {
        const auto* d = system.d.data() + member * horizon * n * n;
        const auto* e = system.e.data() + member * (horizon - 1) * n * n;
        for (std::int64_t i = 0; i < horizon; ++i) {
            for (std::int64_t r = 0; r < n; ++r) {
                if (i > 0) rows.values.insert(rows.values.end(), e + ((i - 1) * n + r) * n, e + ((i - 1) * n + r + 1) * n);
                rows.values.insert(rows.values.end(), d + (i * n + r) * n, d + (i * n + r) * n + r + 1);
            }
        }
    }
    return rows;
}

/// Zeros of a stencil have places too: images of a batch share the pattern.
Rows rows_of(const ImageProblem& problem) {
    const auto& system = problem.system;
    constexpr std::int64_t entries = 9, own = 4;
    const auto pixels = system.width * system.height;
    const bool is_lower = problem.spec.matrix == GridMatrix::symmetric;
    Rows rows{is_lower ? positive_definite : general, pixels, system.batch, {0}, {}, {}, &system.b};
    for (std::int64_t image = 0; image < system.batch; ++image) {
        for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
            for (std::int64_t k = 0; k < (is_lower ? own + 1 : entries); ++k) {
                const auto x = pixel % system.width + k % 3 - 1, y = pixel / system.width + k / 3 - 1;
                if (x < 0 || y < 0 || x >= system.width || y >= system.height) continue;
                rows.values.push_back(system.stencil[static_cast<std::size_t>((image * pixels + pixel) * entries + k)]);
                if (image == 0) rows.columns.push_back(static_cast<int>(y * system.width + x));
            }
            if (image == 0) rows.starts.push_back(static_cast<int>(rows.columns.size()));
        }
    }
    return rows;
}

/// Numbers of full blocks.
Rows rows_of(const SparseProblem& problem) {
    const auto& a = problem.a;
    Rows rows{general, a.rows() * a.block, 1, {0}, {}, {}, &problem.b};
    rows.columns.reserve(a.values.size());
    rows.values.reserve(a.values.size());
    for (std::int64_t row = 0; row < rows.size; ++row) {
        for (auto k = a.starts[static_cast<std::size_t>(row / a.block)]; k < a.starts[static_cast<std::size_t>(row / a.block) + 1]; ++k)
            for (std::int64_t j = 0; j < a.block; ++j) {
                rows.columns.push_back(static_cast<int>(a.columns[static_cast<std::size_t>(k)] * a.block + j));
                rows.values.push_back(a.values[static_cast<std::size_t>((k * a.block + row % a.block) * a.block + j)]);
            }
        rows.starts.push_back(static_cast<int>(rows.columns.size()));
    }
    return rows;
}

/// cuDSS needs these two; a copy that is open already serves it wherever it lies.
Library open() {
    for (const auto* needed : {"libnvrtc.so.13", "libcublasLt.so.13", "libcublas.so.13"}) {
        try {
            Library{{needed}};
        } catch (const Error&) {  // cuDSS may find it by itself, or says that it did not
        }
    }
    return Library({"libcudss.so.1"});
}

class Cudss : public Contender {
  public:
    Cudss(const Library& library, const Rows& rows, Precision precision, const DeviceTools& tools)
        : library_(library),
          starts_(integers(tools, rows.starts)),
          columns_(integers(tools, rows.columns)),
          values_(tools, rows.values, precision),
          b_(tools, *rows.b, precision),
          x_(tools, *rows.b, precision) {
        x_.take();
        const auto type = static_cast<int>(precision == Precision::f64 ? real_f64 : real_f32);
        library_.call("cudssCreate", &handle_);
        library_.call("cudssSetStream", handle_, tools.stream());
        if (!switch_value("CUDSS_THREADING_LIB").empty())
            library_.call("cudssSetThreadingLayer", handle_, static_cast<const char*>(nullptr));
        library_.call("cudssConfigCreate", &config_);
        if (auto batch = static_cast<int>(rows.batch); batch > 1)
            library_.call("cudssConfigSet", config_, static_cast<int>(uniform_batch_size), static_cast<const void*>(&batch), sizeof batch);
        library_.call("cudssDataCreate", handle_, &data_);
        library_.call("cudssMatrixCreateCsr", &a_matrix_, rows.size, rows.size, static_cast<std::int64_t>(rows.columns.size()),
                      starts_.get(), static_cast<void*>(nullptr), columns_.get(), values_.data(), static_cast<int>(int_32),
                      static_cast<int>(int_32), type, static_cast<int>(rows.type),
                      static_cast<int>(rows.type == general ? whole : lower_triangle), static_cast<int>(from_zero));
        for (auto [matrix, array] : {std::pair{&b_matrix_, &b_}, std::pair{&x_matrix_, &x_}})
            library_.call("cudssMatrixCreateDn", matrix, rows.size, std::int64_t{1}, rows.size, array->data(), type,
                          static_cast<int>(column_major));
    }

    ~Cudss() override {
        for (auto* matrix : {a_matrix_, b_matrix_, x_matrix_}) library_.find<int(void*)>("cudssMatrixDestroy")(matrix);
        library_.find<int(void*, void*)>("cudssDataDestroy")(handle_, data_);
        library_.find<int(void*)>("cudssConfigDestroy")(config_);
        library_.find<int(void*)>("cudssDestroy")(handle_);
    }

    std::vector<Step> steps() override {
        return {{.operation = "analysis", .call = [this] { execute(analysis); }, .once = true},
                {.operation = "factor", .call = [this] { execute(factorization); }},
                {.operation = "refactor", .call = [this] { execute(refactorization); }},
                {.operation = "solve", .call = [this] { execute(solution); }, .solves = true}};
    }
    std::vector<double> take_solution() override { return x_.take(); }

  private:
    void execute(Phase phase) const {
        library_.call("cudssExecute", handle_, static_cast<int>(phase), config_, data_, a_matrix_, x_matrix_, b_matrix_);
    }

    Library library_;
    std::shared_ptr<void> starts_, columns_;
    Array values_, b_, x_;
    void *handle_ = nullptr, *config_ = nullptr, *data_ = nullptr, *a_matrix_ = nullptr, *b_matrix_ = nullptr, *x_matrix_ = nullptr;
};

/// Of the version whose calls these are. Throws Error.
Library open_version_1() {
    const auto library = open();
    int version = 0;
    library.call("cudssGetProperty", static_cast<int>(major_version), &version);
    if (version != 1) throw Error(fmt::format("this is version {} of cuDSS; version 1 is needed", version));
    return library;
}

constexpr std::int64_t max_entries = (std::int64_t{1} << 31) - 1;  // indices have 32 bits

/// Entries that one member has here.
std::int64_t entries_of(const ChainProblem& one) { return entries(one.spec.horizon, one.spec.block); }
std::int64_t entries_of(const ImageProblem& one) { return 9 * one.spec.width * one.spec.height; }
std::int64_t entries_of(const SparseProblem& one) { return one.pattern.entries() * one.spec.block * one.spec.block; }

}  // namespace

Peer cudss() {
    return opened({.name = "cudss", .families = {Family::tridiagonal, Family::grid, Family::sparse}}, [](Peer& peer) {
        peer.fits = [](const Problem& problem) {
            return std::visit(
                [](const auto& one) {
                    return one.spec.rhs == 1 && entries_of(one) <= max_entries &&
                           (!std::same_as<std::decay_t<decltype(one)>, SparseProblem> ||
                            (one.spec.precision != Precision::f32 && one.spec.batch == 1));
                },
                problem);
        };
        peer.make = [library = open_version_1()](const Problem& problem, const DeviceTools& tools) {
            return std::visit(
                [&](const auto& one) {
                    const auto precision = one.spec.precision == Precision::f32 ? Precision::f32 : Precision::f64;
                    return std::make_unique<Cudss>(library, rows_of(one), precision, tools);
                },
                problem);
        };
    });
}

}  // namespace trifold::bench
