#include "tools/bench/sparse.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <random>

namespace trifold::bench {
namespace {

/// A host array on the device, in the precision of the arrays of a Spec.
class DeviceArray {
  public:
    DeviceArray(const DeviceTools& tools, Precision precision, const std::vector<double>& host)
        : tools_(tools), is_single_(precision == Precision::f32), size_(host.size()), memory_(tools.allocate(bytes())) {
        if (is_single_) {
            const std::vector<float> narrow(host.begin(), host.end());
            tools_.upload(memory_.get(), narrow.data(), bytes());
        } else
            tools_.upload(memory_.get(), host.data(), bytes());
    }
    AnyArray any() const { return {memory_.get(), false, is_single_ ? Precision::f32 : Precision::f64}; }
    std::vector<double> host() const {
        tools_.synchronize();
        std::vector<double> wide(size_);
        if (!is_single_) {
            tools_.download(wide.data(), memory_.get(), bytes());
            return wide;
        }
        std::vector<float> narrow(size_);
        tools_.download(narrow.data(), memory_.get(), bytes());
        return {narrow.begin(), narrow.end()};
    }

  private:
    std::int64_t bytes() const { return static_cast<std::int64_t>(size_ * (is_single_ ? sizeof(float) : sizeof(double))); }
    const DeviceTools& tools_;
    bool is_single_;
    std::size_t size_;
    std::shared_ptr<void> memory_;
};

SparsePattern pattern_of(const SparseCase& one) {
    const SparsePattern mesh(one.mesh);
    return one.by_pattern ? SparsePattern(mesh.starts(), mesh.columns()) : mesh;
}

/// The subdomains of a mesh's boxes, for the same pattern in compressed form.
SparsePartition partition_of(const SparseCase& one) {
    const auto& [mesh, box, spec, by_pattern] = one;
    if (box == std::array<std::int64_t, 3>{}) return {};
    if (!by_pattern) return {.by = SparsePartitioning::box, .box = box};
    SparsePartition given{.by = SparsePartitioning::given};
    const auto across = (mesh.width + box[0] - 1) / box[0], down = (mesh.height + box[1] - 1) / box[1];
    for (std::int64_t z = 0; z < mesh.depth; ++z)
        for (std::int64_t y = 0; y < mesh.height; ++y)
            for (std::int64_t x = 0; x < mesh.width; ++x)
                given.parts.push_back(static_cast<std::int32_t>(x / box[0] + across * (y / box[1] + down * (z / box[2]))));
    return given;
}

std::vector<double> random_numbers(std::int64_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> number(-1, 1);
    std::vector<double> all(static_cast<std::size_t>(count));
    for (auto& one : all) one = number(random);
    return all;
}

/// As the device has them.
std::vector<double> rounded(std::vector<double> values, Precision precision) {
    if (precision == Precision::f32)
        for (auto& value : values) value = static_cast<float>(value);
    return values;
}

double relative_residual(const SparsePattern& pattern, std::int64_t block, const std::vector<double>& values, const std::vector<double>& x,
                         const std::vector<double>& b) {
    double error = 0, size = 0;
    const auto starts = pattern.starts();
    const auto columns = pattern.columns(), sources = pattern.sources();
    for (std::int64_t row = 0; row < pattern.rows(); ++row)
        for (std::int64_t i = 0; i < block; ++i) {
            double sum = b[static_cast<std::size_t>(row * block + i)];
            size += sum * sum;
            for (auto k = starts[static_cast<std::size_t>(row)]; k < starts[static_cast<std::size_t>(row) + 1]; ++k) {
                const std::int64_t source = sources.empty() ? k : sources[static_cast<std::size_t>(k)];
                for (std::int64_t j = 0; j < block; ++j)
                    sum -= values[static_cast<std::size_t>((source * block + i) * block + j)] *
                           x[static_cast<std::size_t>(columns[static_cast<std::size_t>(k)] * block + j)];
            }
            error += sum * sum;
        }
    return std::sqrt(error / size);
}

}  // namespace

std::string to_string(const SparseCase& one) {
    const auto& m = one.mesh;
    return fmt::format("{}x{}x{} {} points, blocks of {}, {}, {}, {}{}", m.width, m.height, m.depth, m.points, one.spec.block,
                       to_string(one.spec.precision), to_string(one.spec.preconditioner), to_string(one.spec.method),
                       one.by_pattern ? ", by rows" : "");
}

std::vector<double> sparse_values(const SparsePattern& pattern, std::int64_t block, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> number(-1, 1);
    std::vector<double> values(static_cast<std::size_t>(pattern.values() * block * block), 0.0);
    const auto starts = pattern.starts();
    const auto columns = pattern.columns(), sources = pattern.sources();
    for (std::int64_t row = 0; row < pattern.rows(); ++row)
        for (auto k = starts[static_cast<std::size_t>(row)]; k < starts[static_cast<std::size_t>(row) + 1]; ++k) {
            const std::int64_t source = sources.empty() ? k : sources[static_cast<std::size_t>(k)];
            const auto away = columns[static_cast<std::size_t>(k)] - row;
            for (std::int64_t i = 0; i < block; ++i)
                for (std::int64_t j = 0; j < block; ++j) {
                    const double own = away == 0 ? 6.05 : away == 1 ? -0.9 : away == -1 ? -1.1 : -1;
                    values[static_cast<std::size_t>((source * block + i) * block + j)] =
                        (i == j ? own : 0) + (block > 1 ? (away == 0 ? 0.3 : 0.1) * number(random) : 0);
                }
        }
    return values;
}

double copy_rate(DeviceTools& tools, std::int64_t bytes, const Budget& budget) {
    const auto from = tools.allocate(bytes), to = tools.allocate(bytes);
    const auto seconds =
        summarize(time_step(tools, {.operation = "copy", .call = [&] { tools.copy(to.get(), from.get(), bytes); }}, budget));
    return 2 * static_cast<double>(bytes) / seconds.median;
}

void measure_sparse(const SparseCase& one, const SparseRequest& request, const std::function<void(const SparseResult&)>& result,
                    const std::function<void(const SparseSummary&)>& plan_made) {
    const auto& [device, workers, peers, budget, seed, tolerance] = request;
    DeviceTools tools(device);
    const auto pattern = pattern_of(one);
    const auto& spec = one.spec;
    const SparsePlan plan(spec, pattern, device, partition_of(one), {.workers = workers});
    plan_made(plan.summary());
    const auto begin = std::chrono::steady_clock::now();
    SparseSolver solver(plan);
    result({"tables", summarize({std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()})});
    const auto values = rounded(sparse_values(pattern, spec.block, seed), spec.precision);
    const auto size = pattern.rows() * spec.block;
    const auto b = rounded(random_numbers(size, seed + 1), spec.precision);
    const DeviceArray a(tools, spec.precision, values), right(tools, spec.precision, b), x(tools, spec.precision, b);
    const Stream stream{tools.stream()};
    const auto real = static_cast<double>(element_bytes(spec.precision)), square = static_cast<double>(spec.block * spec.block);
    const auto& summary = plan.summary();
    const double matrix = static_cast<double>(summary.entries) * square * real, vector = static_cast<double>(size) * real;
    const double factors = static_cast<double>(summary.factored) * square * (spec.precision == Precision::f64 ? 8 : 4);
    const auto time = [&](std::string operation, double bytes, const std::function<void()>& call) {
        SparseResult timed{std::move(operation), summarize(time_step(tools, {.operation = "step", .call = call}, budget)), bytes};
        result(timed);
    };
    const SparseOptions options{.relative = tolerance};
    time("update", 2 * matrix + matrix + factors, [&] { solver.update(a.any(), stream); });
    using enum SparseOperation;
    const std::array two{right.any(), x.any()};
    for (const auto& [operation, bytes] :
         {std::pair{apply, factors}, {apply_transposed, factors}, {multiply, matrix}, {multiply_transposed, matrix}})
        if (spec.operations.contains(operation))
            time(std::string(to_string(operation)), bytes + 2 * vector, [&, operation] { solver.run(operation, two, stream, options); });
    if (!spec.operations.contains(solve)) return;
    SparseResult solved{
        "solve", summarize(time_step(tools, {.operation = "solve", .call = [&] { solver.run(solve, two, stream, options); }}, budget))};
    const auto outcome = solver.outcomes().front();
    solved.end = to_string(outcome.end);
    solved.iterations = outcome.iterations;
    solved.residual = relative_residual(pattern, spec.block, values, x.host(), b);
    result(solved);
    // An iteration of BiCGSTAB moves two applications, two products, and vectors around them.
    constexpr double vectors = 18;
    auto each = solved.seconds;
    each.median /= static_cast<double>(std::max<std::int64_t>(1, outcome.iterations));
    SparseResult iteration{"iteration", each, spec.method == SparseMethod::bicgstab ? 2 * (matrix + factors) + vectors * vector : 0};
    result(iteration);
}

}  // namespace trifold::bench
