#include <algorithm>
#include <cmath>
#include <random>
#include <trifold/error.hpp>
#include <trifold/sparse.hpp>

#include "tools/formats/block_rows.hpp"
#include "tools/formats/residual.hpp"
#include "tools/tune/sparse/family.hpp"

namespace trifold::tune::sparse {
namespace {

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

std::vector<double> random_numbers(std::int64_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> number(-1, 1);
    std::vector<double> all(at(count));
    for (auto& one : all) one = number(random);
    return all;
}

/// The place of an entry's value.
std::int64_t source_of(const SparsePattern& pattern, std::int64_t entry) {
    return pattern.sources().empty() ? entry : pattern.sources()[at(entry)];
}

/// A diffusion with some convection, without which the matrix is symmetric. A row's diagonal is a little more than its neighbours together,
/// so that iterations are as many as in a diffusion.
std::vector<double> make_values(const SparsePattern& pattern, std::int64_t block, bool is_symmetric) {
    constexpr double more = 0.05, wind = 0.1, coupling = 0.02;
    const auto square = block * block;
    std::vector<double> values(at(pattern.values() * square), 0.0);
    for (std::int64_t row = 0; row < pattern.rows(); ++row)
        for (auto k = pattern.starts()[at(row)]; k < pattern.starts()[at(row) + 1]; ++k) {
            const auto away = pattern.columns()[at(k)] - row;
            const auto neighbours = static_cast<double>(pattern.starts()[at(row) + 1] - pattern.starts()[at(row)] - 1);
            const double blown = is_symmetric || std::abs(away) != 1 ? 0 : away > 0 ? wind : -wind;
            const double diagonal = away == 0 ? neighbours + more : blown - 1,
                         other = away == 0 ? coupling / static_cast<double>(block) : 0;
            for (std::int64_t i = 0; i < square; ++i)
                values[at(source_of(pattern, k) * square + i)] = i % (block + 1) == 0 ? diagonal : other;
        }
    return values;
}

/// All members have the same values.
class Systems : public PointData {
  public:
    Systems(const Problem& problem, std::uint64_t seed, DeviceTools& tools, std::int64_t sets)
        : PointData(tools, problem.spec.precision, sets), spec_(problem.spec), pattern_(pattern_of(problem.sizes)), tools_(tools) {
        auto values = make_values(pattern_, spec_.block, spec_.method == SparseMethod::cg);
        b_ = random_numbers(pattern_.rows() * spec_.block * spec_.rhs, seed);
        values_ = static_cast<std::int64_t>(values.size());
        arrays.add("values", values, spec_.batch * values_);
        arrays.add("b", b_, spec_.batch * static_cast<std::int64_t>(b_.size()));
        arrays.add_zeros("x", spec_.batch * static_cast<std::int64_t>(b_.size()), true);
        if (spec_.operations.contains(SparseOperation::gradient))
            arrays.add_zeros("gradient", spec_.batch * values_);  // of points beyond a mesh none is written
        a_.block = spec_.block;
        a_.starts.assign(pattern_.starts().begin(), pattern_.starts().end());
        a_.columns.assign(pattern_.columns().begin(), pattern_.columns().end());
        const auto square = spec_.block * spec_.block;
        for (std::int64_t k = 0; k < static_cast<std::int64_t>(a_.columns.size()); ++k)
            std::copy_n(values.begin() + source_of(pattern_, k) * square, square, std::back_inserter(a_.values));
    }

    std::unique_ptr<Prepared> prepare(const Point& point, const Candidate& candidate, const Device& device) const override;

    std::vector<double> result(const std::string& array) const override {
        return array == "x" ? arrays.read(array, 0, static_cast<std::int64_t>(b_.size()) * spec_.batch) : arrays.read(array, 0, values_);
    }

    double residual() const override {
        double worst = 0;
        for (const auto member : {std::int64_t{0}, spec_.batch - 1}) {
            const auto size = static_cast<std::int64_t>(b_.size());
            const auto x = arrays.read("x", member * size, size);
            for (std::int64_t column = 0; column < spec_.rhs; ++column)
                worst = formats::worse(worst, formats::relative_residual(a_, x, b_, spec_.rhs, column));
        }
        return worst;
    }

    const SparseSpec& spec() const { return spec_; }
    const SparsePattern& pattern() const { return pattern_; }
    DeviceTools& tools() const { return tools_; }

  private:
    const SparseSpec spec_;
    const SparsePattern pattern_;
    DeviceTools& tools_;
    formats::BlockRows a_;
    std::vector<double> b_;    // of a member
    std::int64_t values_ = 0;  // likewise
};

class PreparedSparse : public Prepared {
  public:
    PreparedSparse(const Point& point, const Candidate& candidate, const Device& device, const Systems& systems)
        : systems_(systems),
          plan_(systems.spec(), systems.pattern(), device, {}, {.workers = point.workers, .variant = candidate.variant}),
          solver_(plan_) {}

    const std::vector<KernelResources>& resources() const override { return plan_.report().kernels; }

    void run(const std::string& name, std::int64_t set) override {
        const auto array = [&](const char* of) { return systems_.arrays.at(of, set); };
        const Stream stream{systems_.tools().stream()};
        if (name == "update") return solver_.update(array("values"), stream);
        if (name == "gradient") return solver_.run(SparseOperation::gradient, {array("x"), array("b"), array("gradient")}, stream, {});
        const auto all = all_sparse_operations();
        const auto found = std::ranges::find(all, name, [](SparseOperation operation) { return to_string(operation); });
        if (found == all.end()) throw SpecError("'" + name + "' is no operation of sparse systems");
        solver_.run(*found, {array("b"), array("x")}, stream, {.rtol = asked_of(systems_.spec().precision)});
    }

    void check() override {
        systems_.tools().synchronize();
        solver_.check();
    }

    Outputs numbers() override { return {{}, {solver_.ok() ? "sound" : "failed"}}; }

  private:
    const Systems& systems_;
    const SparsePlan plan_;
    SparseSolver solver_;
};

std::unique_ptr<Prepared> Systems::prepare(const Point& point, const Candidate& candidate, const Device& device) const {
    return std::make_unique<PreparedSparse>(point, candidate, device, *this);
}

}  // namespace

double asked_of(Precision precision) { return precision == Precision::f32 ? 1e-5 : 1e-8; }

std::int64_t data_bytes(const Problem& problem) {
    const auto& [spec, sizes] = problem;
    const auto values = sizes.mesh ? sizes.rows * sizes.mesh->points : sizes.entries;
    return spec.batch * spec.block * (values * spec.block + 2 * sizes.rows * spec.rhs) * element_bytes(spec.precision);
}

std::unique_ptr<PointData> make_data(const Problem& problem, std::uint64_t seed, DeviceTools& tools, std::int64_t sets) {
    return std::make_unique<Systems>(problem, seed, tools, sets);
}

}  // namespace trifold::tune::sparse
