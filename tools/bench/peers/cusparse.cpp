#include <cmath>

#include "tools/bench/peers/peers.hpp"

namespace trifold::bench {
namespace of_cusparse {
namespace {

// Values of cuSPARSE's and CUDA's own enumerations.
constexpr int row_major = 0, as_it_is = 0, by_levels = 1;
constexpr int lower = 0, upper = 1, stored = 0, unit = 1;
constexpr int int_32 = 2, from_zero = 0, real_f64 = 1;
constexpr int fill_mode = 0, diagonal_type = 1, usual = 0;
constexpr double one = 1;

using Object = std::shared_ptr<void>;

std::vector<int> narrow(const std::vector<std::int64_t>& values) { return {values.begin(), values.end()}; }

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

/// A matrix, its factors by bsrilu02, and solutions with them by bsrsv2.
class BlockFactors {
  public:
    BlockFactors(const Place& place, const formats::BlockRows& a)
        : place_(place),
          block_(static_cast<int>(a.block)),
          rows_(static_cast<int>(a.rows())),
          entries_(static_cast<int>(a.columns.size())),
          starts_(on_device(place.tools, narrow(a.starts))),
          columns_(on_device(place.tools, narrow(a.columns))),
          values_(place.tools, a.values, Precision::f64),
          factors_(place.tools, a.values, Precision::f64),
          general_(matrix()),
          info_(place.library.make("cusparseCreateBsrilu02Info", "cusparseDestroyBsrilu02Info")) {
        for (const int half : {lower, upper}) {
            auto& triangle = triangles_[half];
            triangle = {matrix(), place.library.make("cusparseCreateBsrsv2Info", "cusparseDestroyBsrsv2Info"), {}};
            place.library.call("cusparseSetMatFillMode", triangle.matrix.get(), half);
            place.library.call("cusparseSetMatDiagType", triangle.matrix.get(), half == lower ? unit : stored);
        }
    }
    /// The levels of all three, and room for them.
    void analyze() {
        int bytes = 0;
        call("cusparseDbsrilu02_bufferSize", general_, info_, &bytes);
        room_ = place_.tools.allocate(bytes);
        call("cusparseDbsrilu02_analysis", general_, info_, by_levels, room_.get());
        for (auto& [matrix, info, room] : triangles_) {
            solve_call("cusparseDbsrsv2_bufferSize", matrix, info, &bytes);
            room = place_.tools.allocate(bytes);
            solve_call("cusparseDbsrsv2_analysis", matrix, info, by_levels, room.get());
        }
    }
    void restore() const { place_.tools.copy(factors_.data(), values_.data(), values_.bytes()); }
    void factor() const { call("cusparseDbsrilu02", general_, info_, by_levels, room_.get()); }
    void solve() const {
        for (const int half : {lower, upper}) {
            const auto& [matrix, info, room] = triangles_[half];
            place_.library.call("cusparseDbsrsv2_solve", place_.handle, row_major, as_it_is, rows_, entries_, &one, matrix.get(), factors(),
                                starts(), columns(), block_, info.get(), half == lower ? place_.b : place_.between,
                                half == lower ? place_.between : place_.x, by_levels, room.get());
        }
    }
    /// The factors as rows of numbers, on the device.
    void to_numbers(double* numbers, int* starts_of, int* columns_of) const {
        place_.library.call("cusparseDbsr2csr", place_.handle, row_major, rows_, rows_, general_.get(), factors(), starts(), columns(),
                            block_, general_.get(), numbers, starts_of, columns_of);
    }
    std::int64_t size() const { return std::int64_t{rows_} * block_; }
    std::int64_t numbers() const { return std::int64_t{entries_} * block_ * block_; }

  private:
    /// L or U.
    struct Triangle {
        Object matrix, info, room;
    };
    Object matrix() const { return place_.library.make("cusparseCreateMatDescr", "cusparseDestroyMatDescr"); }
    template <class... More>
    void call(const char* name, const Object& matrix, const Object& info, More... more) const {
        place_.library.call(name, place_.handle, row_major, rows_, entries_, matrix.get(), factors(), starts(), columns(), block_,
                            info.get(), more...);
    }
    template <class... More>
    void solve_call(const char* name, const Object& matrix, const Object& info, More... more) const {
        place_.library.call(name, place_.handle, row_major, as_it_is, rows_, entries_, matrix.get(), factors(), starts(), columns(), block_,
                            info.get(), more...);
    }
    double* factors() const { return factors_.as<double>(); }
    int* starts() const { return static_cast<int*>(starts_.get()); }
    int* columns() const { return static_cast<int*>(columns_.get()); }

    Place place_;
    int block_, rows_, entries_;
    Object starts_, columns_;
    Array values_, factors_;
    Object general_, info_, room_;
    Triangle triangles_[2];
};

/// Factors as rows of numbers, by SpSV.
class NumberFactors {
  public:
    explicit NumberFactors(const Place& place) : place_(place) {}
    void analyze(const BlockFactors& factors) {
        const auto& [library, tools, handle, b, between, x] = place_;
        numbers_ = tools.allocate(factors.numbers() * static_cast<std::int64_t>(sizeof(double)));
        starts_ = tools.allocate((factors.size() + 1) * static_cast<std::int64_t>(sizeof(int)));
        columns_ = tools.allocate(factors.numbers() * static_cast<std::int64_t>(sizeof(int)));
        factors.to_numbers(static_cast<double*>(numbers_.get()), static_cast<int*>(starts_.get()), static_cast<int*>(columns_.get()));
        auto* vector = vectors_;
        for (void* array : {b, between, x})
            *vector++ = library.make("cusparseCreateDnVec", "cusparseDestroyDnVec", factors.size(), array, real_f64);
        for (const int half : {lower, upper}) {
            auto& [matrix, plan, room] = triangles_[half];
            matrix = library.make("cusparseCreateCsr", "cusparseDestroySpMat", factors.size(), factors.size(), factors.numbers(),
                                  starts_.get(), columns_.get(), numbers_.get(), int_32, int_32, from_zero, real_f64);
            int which = half, diagonal = half == lower ? unit : stored;
            library.call("cusparseSpMatSetAttribute", matrix.get(), fill_mode, &which, sizeof which);
            library.call("cusparseSpMatSetAttribute", matrix.get(), diagonal_type, &diagonal, sizeof diagonal);
            plan = library.make("cusparseSpSV_createDescr", "cusparseSpSV_destroyDescr");
            std::size_t bytes = 0;
            call("cusparseSpSV_bufferSize", half, &bytes);
            room = tools.allocate(static_cast<std::int64_t>(bytes));
            call("cusparseSpSV_analysis", half, room.get());
        }
    }
    void solve() const {
        for (const int half : {lower, upper}) call("cusparseSpSV_solve", half);
    }

  private:
    struct Triangle {
        Object matrix, plan, room;
    };
    template <class... More>
    void call(const char* name, int half, More... more) const {
        const auto& [matrix, plan, room] = triangles_[half];
        place_.library.call(name, place_.handle, as_it_is, &one, matrix.get(), vectors_[half].get(), vectors_[half + 1].get(), real_f64,
                            usual, plan.get(), more...);
    }
    Place place_;
    Object numbers_, starts_, columns_;
    Object vectors_[3];  // b, what is between L and U, and x
    Triangle triangles_[2];
};

struct Cusparse {
    Cusparse(const Library& of, const SparseProblem& problem, const DeviceTools& tools)
        : library(of),
          ours(problem.ours),
          b(tools, problem.b, Precision::f64),
          between(tools, problem.b, Precision::f64),
          x(tools, problem.b, Precision::f64),
          handle(of.make("cusparseCreate", "cusparseDestroy")),
          place{library, tools, handle.get(), b.as<double>(), between.as<double>(), x.as<double>()},
          whole(place, problem.a),
          dropped(place, within(problem.a, problem.ours->parts)),
          numbers(place) {
        library.call("cusparseSetStream", handle.get(), tools.stream());
        x.take();
    }
    /// |x - y| / |y|, where y is what our preconditioner gives.
    double apart() {
        const auto found = x.take();
        double error = 0, size = 0;
        for (std::size_t k = 0; k < found.size(); ++k) {
            error += (found[k] - ours->applied[k]) * (found[k] - ours->applied[k]);
            size += ours->applied[k] * ours->applied[k];
        }
        return std::sqrt(error / size);
    }
    Library library;
    std::shared_ptr<const OurSparseResult> ours;
    Array b, between, x;
    Object handle;
    Place place;
    BlockFactors whole, dropped;
    NumberFactors numbers;
};

Contender contender(const Library& library, const SparseProblem& problem, const DeviceTools& tools) {
    if (problem.ours->parts.empty()) throw Error("it is compared with our preconditioner, which was not measured");
    const auto all = std::make_shared<Cusparse>(library, problem, tools);
    Contender result{.steps = {}, .take_solution = [all] { return all->x.take(); }};
    for (const auto& [factors, name] : {std::pair{&all->whole, "A"}, {&all->dropped, "subdomains"}}) {
        const auto of = [name](const char* operation) { return std::string(operation) + ", " + name; };
        result.steps.push_back({.operation = of("analysis"), .call = [all, factors] { factors->analyze(); }, .once = true});
        result.steps.push_back({.operation = of("bsrilu02"),
                                .call = [all, factors] { factors->factor(); },
                                .prepare = [all, factors] { factors->restore(); }});
        result.steps.push_back(
            {.operation = of("bsrsv2"), .call = [all, factors] { factors->solve(); }, .solves = factors == &all->dropped});
    }
    result.steps.push_back({.operation = "SpSV analysis", .call = [all] { all->numbers.analyze(all->dropped); }, .once = true});
    result.steps.push_back({.operation = "SpSV, subdomains", .call = [all] { all->numbers.solve(); }, .solves = true});
    result.check = [all](Result& found) { found.apart = all->apart(); };
    return result;
}

}  // namespace
}  // namespace of_cusparse

Peer cusparse() {
    const auto fits = [](const SparseProblem& one) {
        constexpr std::int64_t max_numbers = (std::int64_t{1} << 31) - 1;  // indices have 32 bits
        const auto& spec = one.spec;
        return spec.precision != Precision::f32 && spec.preconditioner == SparsePreconditioner::ildu0 && spec.batch == 1 && spec.rhs == 1 &&
               one.pattern.entries() * spec.block * spec.block <= max_numbers;
    };
    return peer_of<SparseProblem>("cusparse", fits, [] {
        return [library = Library({"libcusparse.so.12"})](const SparseProblem& one, const DeviceTools& tools) {
            return of_cusparse::contender(library, one, tools);
        };
    });
}

}  // namespace trifold::bench
