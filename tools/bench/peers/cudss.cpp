#include <fmt/format.h>

#include <memory>

#include "runtime/base/switches.hpp"
#include "tools/bench/peers/library.hpp"
#include "tools/bench/peers/peers.hpp"

namespace trifold::bench {
namespace {

// Values of cuDSS's and CUDA's own enumerations.
enum DataType { real_f32 = 0, real_f64 = 1, int_32 = 10 };
enum MatrixType { positive_definite = 3 };
enum View { lower = 1 };
enum IndexBase { from_zero = 0 };
enum Layout { column_major = 0 };
enum Config { uniform_batch_size = 18 };
enum Phase { analysis = 0x3, factorization = 0x4, refactorization = 0x8, solution = 0x3f0 };
enum Property { major_version = 0 };

/// In the lower triangle of one member.
std::int64_t entries(std::int64_t horizon, std::int64_t n) { return horizon * n * (n + 1) / 2 + (horizon - 1) * n * n; }

/// The lower triangle of one member's pattern in compressed rows.
struct Rows {
    explicit Rows(const formats::System& system) {
        const auto n = system.block;
        columns.reserve(static_cast<std::size_t>(entries(system.horizon, n)));
        starts.push_back(0);
        for (std::int64_t i = 0; i < system.horizon; ++i) {
            for (std::int64_t r = 0; r < n; ++r) {
                for (auto column = i > 0 ? (i - 1) * n : 0; column <= i * n + r; ++column) columns.push_back(static_cast<int>(column));
                starts.push_back(static_cast<int>(columns.size()));
            }
        }
    }
    std::vector<int> starts, columns;
};

/// The values of all members, in the order of Rows.
std::vector<double> values_of(const formats::System& system) {
    const auto n = system.block, horizon = system.horizon;
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(system.batch * entries(horizon, n)));
    for (std::int64_t member = 0; member < system.batch; ++member) {
        const auto* d = system.d.data() + member * horizon * n * n;
        const auto* e = system.e.data() + member * (horizon - 1) * n * n;
        for (std::int64_t i = 0; i < horizon; ++i) {
            for (std::int64_t r = 0; r < n; ++r) {
                if (i > 0) values.insert(values.end(), e + ((i - 1) * n + r) * n, e + ((i - 1) * n + r + 1) * n);
                values.insert(values.end(), d + (i * n + r) * n, d + (i * n + r) * n + r + 1);
            }
        }
    }
    return values;
}

std::shared_ptr<void> integers(const DeviceTools& tools, const std::vector<int>& values) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(int));
    auto memory = tools.allocate(bytes);
    tools.upload(memory.get(), values.data(), bytes);
    return memory;
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
    Cudss(const Library& library, const formats::System& system, Precision precision, const DeviceTools& tools)
        : library_(library),
          rows_(system),
          starts_(integers(tools, rows_.starts)),
          columns_(integers(tools, rows_.columns)),
          values_(tools, values_of(system), precision),
          b_(tools, system.b, precision),
          x_(tools, system.b, precision) {
        x_.take();
        const std::int64_t size = system.horizon * system.block;
        const auto type = static_cast<int>(precision == Precision::f64 ? real_f64 : real_f32);
        library_.call("cudssCreate", &handle_);
        library_.call("cudssSetStream", handle_, tools.stream());
        if (!switch_value("CUDSS_THREADING_LIB").empty())
            library_.call("cudssSetThreadingLayer", handle_, static_cast<const char*>(nullptr));
        library_.call("cudssConfigCreate", &config_);
        if (auto batch = static_cast<int>(system.batch); batch > 1)
            library_.call("cudssConfigSet", config_, static_cast<int>(uniform_batch_size), static_cast<const void*>(&batch), sizeof batch);
        library_.call("cudssDataCreate", handle_, &data_);
        library_.call("cudssMatrixCreateCsr", &a_matrix_, size, size, static_cast<std::int64_t>(rows_.columns.size()), starts_.get(),
                      static_cast<void*>(nullptr), columns_.get(), values_.data(), static_cast<int>(int_32), static_cast<int>(int_32), type,
                      static_cast<int>(positive_definite), static_cast<int>(lower), static_cast<int>(from_zero));
        for (auto [matrix, array] : {std::pair{&b_matrix_, &b_}, std::pair{&x_matrix_, &x_}})
            library_.call("cudssMatrixCreateDn", matrix, size, std::int64_t{1}, size, array->data(), type, static_cast<int>(column_major));
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
    Rows rows_;
    std::shared_ptr<void> starts_, columns_;
    Array values_, b_, x_;
    void *handle_ = nullptr, *config_ = nullptr, *data_ = nullptr, *a_matrix_ = nullptr, *b_matrix_ = nullptr, *x_matrix_ = nullptr;
};

}  // namespace

Peer cudss() {
    Peer peer{.name = "cudss"};
    try {
        const auto library = open();
        int version = 0;
        library.call("cudssGetProperty", static_cast<int>(major_version), &version);
        if (version != 1) throw Error(fmt::format("this is version {} of cuDSS; version 1 is needed", version));
        // 32-bit indices.
        peer.fits = [](const Spec& spec) { return spec.rhs == 1 && entries(spec.horizon, spec.block) < (std::int64_t{1} << 31); };
        peer.make = [library](const formats::System& system, Precision precision, const DeviceTools& tools) {
            return std::make_unique<Cudss>(library, system, precision, tools);
        };
    } catch (const Error& error) {
        peer.problem = error.what();
    }
    return peer;
}

}  // namespace trifold::bench
