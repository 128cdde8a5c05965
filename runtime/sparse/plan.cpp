#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <trifold/error.hpp>

#include "generator/sparse/ranks.hpp"
#include "runtime/base/log.hpp"
#include "runtime/session/agree.hpp"
#include "runtime/session/capture.hpp"
#include "runtime/sparse/metis.hpp"
#include "runtime/sparse/plan_state.hpp"

namespace trifold {
namespace {

constexpr FamilyWords sparse_words{"SparsePlan", "SparseSolver", "give a smaller matrix, batch or number of right-hand sides"};

sparse::Parts parts_by_metis(const SparsePattern& pattern, std::int64_t rows) {
    std::string why;
    if (auto parts = sparse::metis_parts(pattern, rows, why)) return std::move(*parts);
    auto parts = sparse::greedy_parts(pattern, rows);
    parts.how += fmt::format("; without METIS: {}", why);
    return parts;
}

const SparseMesh& mesh_of(const SparsePattern& pattern) {
    if (pattern.mesh() == nullptr)
        throw SpecError("subdomains are to be boxes of cells, but the pattern is no mesh; give metis, greedy or given");
    return *pattern.mesh();
}

sparse::Parts parts_of(const SparseSpec& spec, const SparsePattern& pattern, const Device& device, const SparsePartition& partition) {
    const bool is_local = spec.preconditioner == SparsePreconditioner::none || spec.preconditioner == SparsePreconditioner::jacobi;
    const auto rows = partition.rows > 0 ? partition.rows : sparse::usual_rows(spec, device.target());
    if (partition.rows < 0)
        throw SpecError(fmt::format("a subdomain of {} rows; give at least 1, or 0 for the usual number", partition.rows));
    switch (partition.by) {
        case SparsePartitioning::box: {
            const auto& mesh = mesh_of(pattern);
            const bool is_open = partition.box == std::array<std::int64_t, 3>{};
            return sparse::parts_of_boxes(mesh, is_open ? sparse::box_of(mesh, rows) : partition.box);
        }
        case SparsePartitioning::metis:
            return parts_by_metis(pattern, rows);
        case SparsePartitioning::greedy:
            return sparse::greedy_parts(pattern, rows);
        case SparsePartitioning::given:
            return sparse::given_parts(pattern, partition.parts);
        case SparsePartitioning::whole:
            return sparse::whole(pattern);
        case SparsePartitioning::automatic:
            break;
    }
    if (pattern.mesh() != nullptr) return sparse::parts_of_boxes(*pattern.mesh(), sparse::box_of(*pattern.mesh(), rows));
    return is_local ? sparse::greedy_parts(pattern, rows) : parts_by_metis(pattern, rows);
}

SparseSummary summary_of(const sparse::Arrangement& a, double seconds) {
    SparseSummary summary{
        a.how,    a.tiles(), a.largest_tile(), static_cast<std::int64_t>(a.shapes.size()), a.entries(), a.entries() - a.kept,
        a.filled, 0,         seconds};
    for (const auto& shape : a.shapes)
        summary.levels = std::max(summary.levels, sparse::lower_levels(shape).count + sparse::upper_levels(shape).count);
    return summary;
}

/// For TRIFOLD_CAPTURE.
std::string describe(const SparseSpec& spec, const SparsePattern& pattern) {
    return fmt::format(R"("family":"sparse","rows":{},"entries":{},"block":{},"precision":"{}","preconditioner":"{}","method":"{}")",
                       pattern.rows(), pattern.entries(), spec.block, to_string(spec.precision), to_string(spec.preconditioner),
                       to_string(spec.method));
}

}  // namespace

SparsePlan::SparsePlan(const SparseSpec& spec, const SparsePattern& pattern, const Device& device, const SparsePartition& partition,
                       const SparseTuning& tuning) {
    make(spec, pattern, device, partition, tuning, nullptr);
}

SparsePlan::SparsePlan(const SparseSpec& spec, const SparsePattern& pattern, std::shared_ptr<Transport> transport,
                       const SparsePartition& partition, const SparseTuning& tuning) {
    if (transport == nullptr) throw SpecError("there is no transport; take one of LocalRanks, or make an MpiTransport");
    std::exception_ptr failed;
    std::string values, problem;
    try {
        make(spec, pattern, Device::cpu(), partition, tuning, transport);
        values = fmt::format(R"({{"matrix, partition or options":"{}"}})", program().id);
    } catch (const std::exception& error) {
        problem = error.what();
        failed = std::current_exception();
    }
    try {
        ranks::agree(*transport, values, problem);
    } catch (const RankError&) {
        if (failed == nullptr) throw;
    }
    if (failed != nullptr) std::rethrow_exception(failed);
}

void SparsePlan::make(const SparseSpec& spec, const SparsePattern& pattern, const Device& device, const SparsePartition& partition,
                      const SparseTuning& tuning, const std::shared_ptr<Transport>& transport) {
    validate(spec);
    State state{spec, pattern, tuning, {}, {}, {}};
    state.prepared = prepare(device, sparse_words, [&] {
        const auto begin = std::chrono::steady_clock::now();
        const auto arrangement = sparse::arrange(pattern, parts_of(spec, pattern, device, partition), spec.preconditioner);
        auto made = sparse::generate(spec, device.target(), tuning, pattern, arrangement);
        state.summary = summary_of(arrangement, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        state.contents = std::move(made.contents);
        if (transport != nullptr)
            made.program = sparse::on_rank(std::move(made.program), spec, arrangement, transport->rank(), transport->ranks());
        std::vector<std::string> asked{"update"};
        for (const auto operation : spec.operations) asked.emplace_back(to_string(operation));
        return Preparation{
            std::move(made.program),
            spec.batch,
            tuning.spin_microseconds,
            fmt::format("{} rows of {} in {} subdomains ({})", pattern.rows(), spec.block, state.summary.tiles, state.summary.partition),
            describe(spec, pattern),
            std::move(asked),
            transport};
    });
    state_ = std::make_shared<const State>(std::move(state));
}

const SparsePlan::State& SparsePlan::state() const {
    if (state_ == nullptr) throw SpecError("this SparsePlan has been moved from; use the one it was moved to, or assign another to it");
    return *state_;
}
const SparseSpec& SparsePlan::spec() const { return state().spec; }
const SparsePattern& SparsePlan::pattern() const { return state().pattern; }
void SparsePlan::expect(const SparsePattern& now) const {
    const auto& then = pattern();
    constexpr auto advice = "make a new SparsePlan for the new pattern";
    if (now.rows() != then.rows())
        throw SpecError(fmt::format("the matrix has {} rows, and {} when the SparsePlan was made; {}", now.rows(), then.rows(), advice));
    const auto row_of = [](const SparsePattern& p, std::size_t row) {
        return p.columns().subspan(static_cast<std::size_t>(p.starts()[row]),
                                   static_cast<std::size_t>(p.starts()[row + 1] - p.starts()[row]));
    };
    for (std::size_t row = 0; row < static_cast<std::size_t>(now.rows()); ++row)
        if (!std::ranges::equal(row_of(now, row), row_of(then, row)))
            throw SpecError(fmt::format("the pattern has changed in row {} since the SparsePlan was made; {}", row, advice));
    if (!std::ranges::equal(now.sources(), then.sources()))
        throw SpecError(
            fmt::format("the values come in another order than when the SparsePlan was made, as a mesh or as rows; {}", advice));
}
const SparseTuning& SparsePlan::tuning() const { return state().tuning; }
const SparseSummary& SparsePlan::summary() const { return state().summary; }
const Program& SparsePlan::program() const { return state().prepared->program; }
const Device& SparsePlan::device() const { return state().prepared->device; }
const PlanReport& SparsePlan::report() const { return state().prepared->report(); }

}  // namespace trifold
