#include "tools/bench/sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <trifold/error.hpp>

#include "generator/sparse/knobs.hpp"
#include "runtime/sparse/partition.hpp"

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

double relative_residual(const SparseCase& one, const std::vector<double>& x) {
    const auto block = one.spec.block;
    double error = 0, size = 0;
    const auto starts = one.pattern.starts();
    const auto columns = one.pattern.columns(), sources = one.pattern.sources();
    for (std::int64_t row = 0; row < one.pattern.rows(); ++row)
        for (std::int64_t i = 0; i < block; ++i) {
            double sum = one.b[static_cast<std::size_t>(row * block + i)];
            size += sum * sum;
            for (auto k = starts[static_cast<std::size_t>(row)]; k < starts[static_cast<std::size_t>(row) + 1]; ++k) {
                const std::int64_t source = sources.empty() ? k : sources[static_cast<std::size_t>(k)];
                for (std::int64_t j = 0; j < block; ++j)
                    sum -= one.values[static_cast<std::size_t>((source * block + i) * block + j)] *
                           x[static_cast<std::size_t>(columns[static_cast<std::size_t>(k)] * block + j)];
            }
            error += sum * sum;
        }
    return std::sqrt(error / size);
}

/// |x - y| / |y|.
double relative_distance(const std::vector<double>& x, const std::vector<double>& y) {
    double error = 0, size = 0;
    for (std::size_t k = 0; k < y.size(); ++k) {
        error += (x[k] - y[k]) * (x[k] - y[k]);
        size += y[k] * y[k];
    }
    return std::sqrt(error / size);
}

/// The subdomains that a plan has made, for its peers.
std::vector<std::int32_t> parts_of(const SparsePlan& plan, const SparseCase& one) {
    const auto& choice = plan.choice();
    const auto usual = sparse::usual_rows(one.spec, choice.target, one.pattern.rows(), sparse::pinned_by(choice.tuning, choice.target));
    return sparse::parts_of(one.pattern, one.partition, one.spec.preconditioner, usual).of_row;
}

formats::BlockRows rows_of(const SparseCase& one) {
    formats::BlockRows rows{one.spec.block,
                            {one.pattern.starts().begin(), one.pattern.starts().end()},
                            {one.pattern.columns().begin(), one.pattern.columns().end()},
                            {}};
    if (one.pattern.sources().empty()) {
        rows.values = one.values;
        return rows;
    }
    const auto square = rows.block * rows.block;
    rows.values.reserve(static_cast<std::size_t>(one.pattern.entries() * square));
    for (const auto source : one.pattern.sources())
        rows.values.insert(rows.values.end(), one.values.begin() + source * square, one.values.begin() + (source + 1) * square);
    return rows;
}

/// Rows get other numbers, and stay in the subdomains that were given for them.
void shuffle(SparseCase& one, std::uint64_t seed) {
    const auto before = rows_of(one);
    const auto square = before.block * before.block;
    std::vector<std::int64_t> old_of(static_cast<std::size_t>(before.rows())), new_of(old_of.size());
    std::iota(old_of.begin(), old_of.end(), 0);
    std::ranges::shuffle(old_of, std::mt19937_64(seed));
    for (std::size_t row = 0; row < old_of.size(); ++row) new_of[static_cast<std::size_t>(old_of[row])] = static_cast<std::int64_t>(row);
    formats::BlockRows after{.block = before.block};
    std::vector<std::int32_t> parts;
    std::vector<std::pair<std::int64_t, std::int64_t>> entries;  // of a row: the column, and the old place
    for (const auto old : old_of) {
        entries.clear();
        for (auto k = before.starts[static_cast<std::size_t>(old)]; k < before.starts[static_cast<std::size_t>(old) + 1]; ++k)
            entries.emplace_back(new_of[static_cast<std::size_t>(before.columns[static_cast<std::size_t>(k)])], k);
        std::ranges::sort(entries);
        for (const auto& [column, place] : entries) {
            after.columns.push_back(column);
            after.values.insert(after.values.end(), before.values.begin() + place * square, before.values.begin() + (place + 1) * square);
        }
        after.starts.push_back(static_cast<std::int64_t>(after.columns.size()));
        if (!one.partition.parts.empty()) parts.push_back(one.partition.parts[static_cast<std::size_t>(old)]);
    }
    one.pattern = SparsePattern(std::span<const std::int64_t>(after.starts), std::span<const std::int64_t>(after.columns));
    one.values = std::move(after.values);
    one.partition.parts = std::move(parts);
    one.name += " in random order";
}

/// Our solver on a case, its data in place.
class OurSparse {
  public:
    OurSparse(const SparseCase& one, const SparsePlan& plan, const SparseRequest& request, DeviceTools& tools,
              const std::function<void(const SparseResult&)>& result)
        : one_(one),
          request_(request),
          tools_(tools),
          result_(result),
          summary_(plan.summary()),
          solver_(plan),
          a_(tools, one.spec.precision, one.values),
          b_(tools, one.spec.precision, one.b),
          x_(tools, one.spec.precision, one.b) {}

    /// `begin`: when the solver was asked for.
    void run(std::chrono::steady_clock::time_point begin) {
        result_({"trifold", "tables", summarize({std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()})});
        const auto& spec = one_.spec;
        time("update", 2 * matrix() + matrix() + factors(), [this] { solver_.update(a_.any(), stream()); });
        using enum SparseOperation;
        for (const auto& [operation, bytes] :
             {std::pair{apply, factors()}, {apply_transposed, factors()}, {multiply, matrix()}, {multiply_transposed, matrix()}})
            if (spec.operations.contains(operation))
                time(std::string(to_string(operation)), bytes + 2 * vector(), [this, operation] { call(operation); });
        if (spec.operations.contains(solve)) run_solve();
    }
    /// The result of `apply`.
    std::vector<double> applied() {
        call(SparseOperation::apply);
        return x_.host();
    }

  private:
    void run_solve() {
        const auto seconds =
            summarize(time_step(tools_, {.operation = "solve", .call = [this] { call(SparseOperation::solve); }}, request_.budget));
        const auto outcome = solver_.outcomes().front();
        result_({"trifold",
                 "solve",
                 seconds,
                 0,
                 outcome.iterations,
                 std::string(to_string(outcome.end)),
                 relative_residual(one_, x_.host()),
                 {}});
        // An iteration of BiCGSTAB moves two applications, two products, and vectors around them.
        constexpr double vectors = 18;
        auto each = seconds;
        each.median /= static_cast<double>(std::max<std::int64_t>(1, outcome.iterations));
        result_({"trifold", "iteration", each,
                 one_.spec.method == SparseMethod::bicgstab ? 2 * (matrix() + factors()) + vectors * vector() : 0});
    }
    void time(std::string operation, double bytes, const std::function<void()>& call) {
        result_(
            {"trifold", std::move(operation), summarize(time_step(tools_, {.operation = "step", .call = call}, request_.budget)), bytes});
    }
    void call(SparseOperation operation) {
        const std::array two{b_.any(), x_.any()};
        solver_.run(operation, two, stream(), {.relative = request_.tolerance});
    }
    Stream stream() const { return {tools_.stream()}; }
    double square() const { return static_cast<double>(one_.spec.block * one_.spec.block); }
    double real() const { return static_cast<double>(element_bytes(one_.spec.precision)); }
    double matrix() const { return static_cast<double>(summary_.entries) * square() * real(); }
    double vector() const { return static_cast<double>(one_.pattern.rows() * one_.spec.block) * real(); }
    double factors() const { return static_cast<double>(summary_.factored) * square() * (one_.spec.precision == Precision::f64 ? 8 : 4); }

    const SparseCase& one_;
    const SparseRequest& request_;
    DeviceTools& tools_;
    const std::function<void(const SparseResult&)>& result_;
    const SparseSummary summary_;
    SparseSolver solver_;
    const DeviceArray a_, b_, x_;
};

void measure_peer(const SparsePeer& peer, const SparseCase& one, const SparseSystem& system, const std::vector<double>& applied,
                  const SparseRequest& request, DeviceTools& tools, const std::function<void(const SparseResult&)>& result) {
    const auto contender = peer.make(system, tools);
    for (const auto& step : contender->steps()) {
        SparseResult timed{peer.name, step.operation, summarize(time_step(tools, step, request.budget))};
        if (step.solves) {
            const auto x = contender->take_solution();
            if (peer.preconditions)
                timed.apart = relative_distance(x, applied);
            else
                timed.residual = relative_residual(one, x);
        }
        result(timed);
    }
}

}  // namespace

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

SparseCase case_of_mesh(const SparseMesh& mesh, const SparseSpec& spec, const SparsePartition& partition, MeshForm form,
                        std::uint64_t seed) {
    SparsePattern pattern(mesh);
    if (form != MeshForm::mesh) pattern = SparsePattern(pattern.starts(), pattern.columns());
    auto values = rounded(sparse_values(pattern, spec.block, seed), spec.precision);
    auto b = rounded(random_numbers(pattern.rows() * spec.block, seed + 1), spec.precision);
    auto name = fmt::format("{}x{}x{} {} points", mesh.width, mesh.height, mesh.depth, mesh.points);
    SparseCase one{std::move(name), spec, pattern, partition, std::move(values), std::move(b), mesh};
    if (form == MeshForm::random_rows) shuffle(one, seed);
    return one;
}

SparseCase case_of_rows(std::string name, formats::BlockRows a, const SparseSpec& spec, const SparsePartition& partition,
                        std::uint64_t seed) {
    SparsePattern pattern{std::span<const std::int64_t>(a.starts), std::span<const std::int64_t>(a.columns)};
    auto b = rounded(random_numbers(a.rows() * a.block, seed + 1), spec.precision);
    return {std::move(name), spec, pattern, partition, rounded(std::move(a.values), spec.precision), std::move(b), std::nullopt};
}

void measure_sparse(const SparseCase& one, const SparseRequest& request, const SparseListener& listener) {
    DeviceTools tools(request.device);
    const SparsePlan plan(one.spec, one.pattern, request.device, one.partition, {.workers = request.workers});
    listener.plan(plan.summary());
    std::vector<double> applied;
    {
        const auto begin = std::chrono::steady_clock::now();
        OurSparse ours(one, plan, request, tools, listener.result);
        ours.run(begin);
        if (!request.peers.empty()) applied = ours.applied();
    }
    std::optional<SparseSystem> system;  // made once there is a peer that takes it
    for (const auto& peer : request.peers) {
        if (!peer.problem.empty() || !peer.fits(one.spec, one.pattern)) continue;
        try {
            if (!system) system = SparseSystem{rows_of(one), one.b, parts_of(plan, one)};
            measure_peer(peer, one, *system, applied, request, tools, listener.result);
        } catch (const Error& error) {
            listener.failure(peer.name, error.what());
        }
    }
}

}  // namespace trifold::bench
