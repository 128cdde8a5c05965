#include <cmath>
#include <memory>

#include "tools/bench/peers/peers.hpp"

namespace trifold::bench {
namespace of_cusparse {
namespace {

// Values of cuSPARSE's and CUDA's own enumerations.
enum Direction { row_major = 0 };
enum Operation { as_it_is = 0 };
enum Policy { by_levels = 1 };
enum Half { lower = 0, upper = 1 };
enum Diagonal { stored = 0, unit = 1 };
enum IndexType { int_32 = 2 };
enum IndexBase { from_zero = 0 };
enum DataType { real_f64 = 1 };
enum Attribute { fill_mode = 0, diagonal_type = 1 };
enum Algorithm { usual = 0 };

constexpr double one = 1;

template <class From>
std::vector<int> narrow(const std::vector<From>& values) {
    return {values.begin(), values.end()};
}

/// The matrix without the columns of other subdomains.
formats::BlockRows within(const formats::BlockRows& a, const std::vector<std::int32_t>& parts) {
    const auto square = a.block * a.block;
    formats::BlockRows kept{.block = a.block};
    for (std::int64_t row = 0; row < a.rows(); ++row) {
        for (auto k = a.starts[static_cast<std::size_t>(row)]; k < a.starts[static_cast<std::size_t>(row) + 1]; ++k) {
            const auto column = a.columns[static_cast<std::size_t>(k)];
            if (parts[static_cast<std::size_t>(row)] != parts[static_cast<std::size_t>(column)]) continue;
            kept.columns.push_back(column);
            kept.values.insert(kept.values.end(), a.values.begin() + k * square, a.values.begin() + (k + 1) * square);
        }
        kept.starts.push_back(static_cast<std::int64_t>(kept.columns.size()));
    }
    return kept;
}

/// Arrays that all triangular solves read and write, and what they need.
struct Place {
    const Library& library;
    const DeviceTools& tools;
    void* handle;
    double *b, *between, *x;
};

/// L or U of factors in rows of blocks, by bsrsv2.
class BlockTriangle {
  public:
    BlockTriangle(const Place& place, Half half) : library_(place.library) {
        library_.call("cusparseCreateMatDescr", &descriptor_);
        library_.call("cusparseSetMatFillMode", descriptor_, static_cast<int>(half));
        library_.call("cusparseSetMatDiagType", descriptor_, static_cast<int>(half == lower ? unit : stored));
        library_.call("cusparseCreateBsrsv2Info", &info_);
    }
    ~BlockTriangle() {
        library_.find<int(void*)>("cusparseDestroyBsrsv2Info")(info_);
        library_.find<int(void*)>("cusparseDestroyMatDescr")(descriptor_);
    }
    BlockTriangle(const BlockTriangle&) = delete;
    BlockTriangle& operator=(const BlockTriangle&) = delete;
    void* descriptor() const { return descriptor_; }
    void* info() const { return info_; }

  private:
    const Library& library_;
    void *descriptor_ = nullptr, *info_ = nullptr;
};

/// A matrix, its factors by bsrilu02, and solutions with them by bsrsv2.
class BlockFactors {
  public:
    BlockFactors(const Place& place, const formats::BlockRows& a)
        : place_(place),
          block_(static_cast<int>(a.block)),
          rows_(static_cast<int>(a.rows())),
          entries_(static_cast<int>(a.columns.size())),
          starts_(integers(place.tools, narrow(a.starts))),
          columns_(integers(place.tools, narrow(a.columns))),
          values_(place.tools, a.values, Precision::f64),
          factors_(place.tools, a.values, Precision::f64),
          lower_(place, lower),
          upper_(place, upper) {
        place_.library.call("cusparseCreateMatDescr", &general_);
        place_.library.call("cusparseCreateBsrilu02Info", &info_);
    }
    ~BlockFactors() {
        place_.library.find<int(void*)>("cusparseDestroyBsrilu02Info")(info_);
        place_.library.find<int(void*)>("cusparseDestroyMatDescr")(general_);
    }
    BlockFactors(const BlockFactors&) = delete;
    BlockFactors& operator=(const BlockFactors&) = delete;

    /// The levels of all three, and room for them.
    void analyze() {
        const auto& [library, tools, handle, b, between, x] = place_;
        int bytes = 0;
        const auto room = [&] { return rooms_.emplace_back(tools.allocate(bytes)).get(); };
        library.call("cusparseDbsrilu02_bufferSize", handle, int{row_major}, rows_, entries_, general_, factors(), starts(), columns(),
                     block_, info_, &bytes);
        library.call("cusparseDbsrilu02_analysis", handle, int{row_major}, rows_, entries_, general_, factors(), starts(), columns(),
                     block_, info_, int{by_levels}, room());
        for (const auto* triangle : {&lower_, &upper_}) {
            library.call("cusparseDbsrsv2_bufferSize", handle, int{row_major}, int{as_it_is}, rows_, entries_, triangle->descriptor(),
                         factors(), starts(), columns(), block_, triangle->info(), &bytes);
            library.call("cusparseDbsrsv2_analysis", handle, int{row_major}, int{as_it_is}, rows_, entries_, triangle->descriptor(),
                         factors(), starts(), columns(), block_, triangle->info(), int{by_levels}, room());
        }
    }
    void restore() const { place_.tools.copy(factors(), values_.data(), values_.bytes()); }
    void factor() const {
        place_.library.call("cusparseDbsrilu02", place_.handle, int{row_major}, rows_, entries_, general_, factors(), starts(), columns(),
                            block_, info_, int{by_levels}, rooms_[0].get());
    }
    void solve() const {
        solve(lower_, place_.b, place_.between, 1);
        solve(upper_, place_.between, place_.x, 2);
    }
    /// The factors as rows of numbers, on the device.
    void to_numbers(double* numbers, int* starts_of, int* columns_of) const {
        place_.library.call("cusparseDbsr2csr", place_.handle, int{row_major}, rows_, rows_, general_, factors(), starts(), columns(),
                            block_, general_, numbers, starts_of, columns_of);
    }
    std::int64_t size() const { return std::int64_t{rows_} * block_; }
    std::int64_t numbers() const { return std::int64_t{entries_} * block_ * block_; }

  private:
    void solve(const BlockTriangle& triangle, double* from, double* to, std::size_t room) const {
        place_.library.call("cusparseDbsrsv2_solve", place_.handle, int{row_major}, int{as_it_is}, rows_, entries_, &one,
                            triangle.descriptor(), factors(), starts(), columns(), block_, triangle.info(), from, to, int{by_levels},
                            rooms_[room].get());
    }
    double* factors() const { return factors_.as<double>(); }
    int* starts() const { return static_cast<int*>(starts_.get()); }
    int* columns() const { return static_cast<int*>(columns_.get()); }

    Place place_;
    int block_, rows_, entries_;
    std::shared_ptr<void> starts_, columns_;
    Array values_, factors_;
    BlockTriangle lower_, upper_;
    void *general_ = nullptr, *info_ = nullptr;
    std::vector<std::shared_ptr<void>> rooms_;  // of the factorization, L and U
};

/// Factors as rows of numbers, by SpSV.
class NumberFactors {
  public:
    explicit NumberFactors(const Place& place) : place_(place) {}
    ~NumberFactors() {
        for (auto* triangle : {&lower_, &upper_}) {
            if (triangle->plan != nullptr) place_.library.find<int(void*)>("cusparseSpSV_destroyDescr")(triangle->plan);
            if (triangle->matrix != nullptr) place_.library.find<int(void*)>("cusparseDestroySpMat")(triangle->matrix);
        }
        for (auto* vector : {b_, between_, x_})
            if (vector != nullptr) place_.library.find<int(void*)>("cusparseDestroyDnVec")(vector);
    }
    NumberFactors(const NumberFactors&) = delete;
    NumberFactors& operator=(const NumberFactors&) = delete;

    void analyze(const BlockFactors& factors) {
        const auto& tools = place_.tools;
        numbers_ = tools.allocate(factors.numbers() * static_cast<std::int64_t>(sizeof(double)));
        starts_ = tools.allocate((factors.size() + 1) * static_cast<std::int64_t>(sizeof(int)));
        columns_ = tools.allocate(factors.numbers() * static_cast<std::int64_t>(sizeof(int)));
        factors.to_numbers(static_cast<double*>(numbers_.get()), static_cast<int*>(starts_.get()), static_cast<int*>(columns_.get()));
        for (const auto& [vector, array] : {std::pair{&b_, place_.b}, std::pair{&between_, place_.between}, std::pair{&x_, place_.x}})
            place_.library.call("cusparseCreateDnVec", vector, factors.size(), static_cast<void*>(array), int{real_f64});
        prepare(lower_, factors, lower, b_, between_);
        prepare(upper_, factors, upper, between_, x_);
    }
    void solve() const {
        for (const auto& [triangle, from, to] : {std::tuple{&lower_, b_, between_}, std::tuple{&upper_, between_, x_}})
            place_.library.call("cusparseSpSV_solve", place_.handle, int{as_it_is}, &one, triangle->matrix, from, to, int{real_f64},
                                int{usual}, triangle->plan);
    }

  private:
    struct Triangle {
        void *matrix = nullptr, *plan = nullptr;
        std::shared_ptr<void> room;
    };
    void prepare(Triangle& triangle, const BlockFactors& factors, Half half, void* from, void* to) const {
        const auto& library = place_.library;
        library.call("cusparseCreateCsr", &triangle.matrix, factors.size(), factors.size(), factors.numbers(), starts_.get(),
                     columns_.get(), numbers_.get(), int{int_32}, int{int_32}, int{from_zero}, int{real_f64});
        int which = half, diagonal = half == lower ? unit : stored;
        library.call("cusparseSpMatSetAttribute", triangle.matrix, int{fill_mode}, &which, sizeof which);
        library.call("cusparseSpMatSetAttribute", triangle.matrix, int{diagonal_type}, &diagonal, sizeof diagonal);
        library.call("cusparseSpSV_createDescr", &triangle.plan);
        std::size_t bytes = 0;
        library.call("cusparseSpSV_bufferSize", place_.handle, int{as_it_is}, &one, triangle.matrix, from, to, int{real_f64}, int{usual},
                     triangle.plan, &bytes);
        triangle.room = place_.tools.allocate(static_cast<std::int64_t>(bytes));
        library.call("cusparseSpSV_analysis", place_.handle, int{as_it_is}, &one, triangle.matrix, from, to, int{real_f64}, int{usual},
                     triangle.plan, triangle.room.get());
    }

    Place place_;
    std::shared_ptr<void> numbers_, starts_, columns_;
    Triangle lower_, upper_;
    void *b_ = nullptr, *between_ = nullptr, *x_ = nullptr;
};

class Cusparse : public Contender {
  public:
    Cusparse(const Library& library, const SparseProblem& one, const DeviceTools& tools)
        : library_(library),
          ours_(one.ours),
          b_(tools, one.b, Precision::f64),
          between_(tools, one.b, Precision::f64),
          x_(tools, one.b, Precision::f64),
          handle_(create(library, tools)),
          place_{library_, tools, handle_, b_.as<double>(), between_.as<double>(), x_.as<double>()},
          whole_(place_, one.a),
          dropped_(place_, within(one.a, one.ours->parts)),
          numbers_(place_) {
        x_.take();
    }
    ~Cusparse() override { library_.find<int(void*)>("cusparseDestroy")(handle_); }
    Cusparse(const Cusparse&) = delete;
    Cusparse& operator=(const Cusparse&) = delete;

    std::vector<Step> steps() override {
        return {{.operation = "analysis, A", .call = [this] { whole_.analyze(); }, .once = true},
                {.operation = "bsrilu02, A", .call = [this] { whole_.factor(); }, .prepare = [this] { whole_.restore(); }},
                {.operation = "bsrsv2, A", .call = [this] { whole_.solve(); }},
                {.operation = "analysis, subdomains", .call = [this] { dropped_.analyze(); }, .once = true},
                {.operation = "bsrilu02, subdomains", .call = [this] { dropped_.factor(); }, .prepare = [this] { dropped_.restore(); }},
                {.operation = "bsrsv2, subdomains", .call = [this] { dropped_.solve(); }, .solves = true},
                {.operation = "SpSV analysis", .call = [this] { numbers_.analyze(dropped_); }, .once = true},
                {.operation = "SpSV, subdomains", .call = [this] { numbers_.solve(); }, .solves = true}};
    }
    std::vector<double> take_solution() override { return x_.take(); }
    /// |x - y| / |y|, where y is what our preconditioner gives.
    void check(const Problem&, Result& result) override {
        const auto x = take_solution();
        double error = 0, size = 0;
        for (std::size_t k = 0; k < x.size(); ++k) {
            error += (x[k] - ours_->applied[k]) * (x[k] - ours_->applied[k]);
            size += ours_->applied[k] * ours_->applied[k];
        }
        result.apart = std::sqrt(error / size);
    }

  private:
    static void* create(const Library& library, const DeviceTools& tools) {
        void* handle = nullptr;
        library.call("cusparseCreate", &handle);
        library.call("cusparseSetStream", handle, tools.stream());
        return handle;
    }
    Library library_;
    std::shared_ptr<const OurSparseResult> ours_;
    Array b_, between_, x_;
    void* handle_;
    Place place_;
    BlockFactors whole_, dropped_;
    NumberFactors numbers_;
};

constexpr std::int64_t max_numbers = (std::int64_t{1} << 31) - 1;  // indices have 32 bits

}  // namespace
}  // namespace of_cusparse

Peer cusparse() {
    return opened({.name = "cusparse", .families = {Family::sparse}}, [](Peer& peer) {
        peer.fits = of_family<SparseProblem>([](const SparseProblem& one) {
            const auto& spec = one.spec;
            return spec.precision != Precision::f32 && spec.preconditioner == SparsePreconditioner::ildu0 && spec.batch == 1 &&
                   spec.rhs == 1 && one.pattern.entries() * spec.block * spec.block <= of_cusparse::max_numbers;
        });
        peer.make = [library = Library({"libcusparse.so.12"})](const Problem& problem, const DeviceTools& tools) {
            const auto& one = std::get<SparseProblem>(problem);
            if (one.ours->parts.empty()) throw Error("it is compared with our preconditioner, which was not measured");
            return std::make_unique<of_cusparse::Cusparse>(library, one, tools);
        };
    });
}

}  // namespace trifold::bench
