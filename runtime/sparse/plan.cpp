#include "runtime/sparse/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <trifold/error.hpp>

#include "generator/program/knob.hpp"
#include "generator/sparse/fields.hpp"
#include "generator/sparse/generate.hpp"
#include "generator/sparse/knobs.hpp"
#include "generator/sparse/wisdom.hpp"
#include "runtime/device/gpu.hpp"
#include "runtime/session/agree.hpp"
#include "runtime/session/capture.hpp"
#include "runtime/sparse/solver_impl.hpp"
#include "runtime/wisdom/wisdom.hpp"

namespace trifold {
namespace {

constexpr FamilyWords sparse_words{"SparsePlan", "SparseSolver", "give a smaller matrix, batch or number of right-hand sides"};

SparseSummary summary_of(const sparse::Arrangement& a) {
    SparseSummary summary{
        a.how, a.tiles(), a.largest_tile(), static_cast<std::int64_t>(a.shapes.size()), a.entries(), a.entries() - a.kept, a.filled};
    for (const auto& shape : a.shapes)
        summary.levels = std::max(summary.levels, sparse::levels_of(shape, false).count + sparse::levels_of(shape, true).count);
    return summary;
}

/// The Program and lists of a pattern, from disk where an earlier plan has left them.
sparse::Made made_of(const SparseChoice& choice, const SparsePattern& pattern, const sparse::Parts& parts, Transport* transport) {
    const auto name = transport == nullptr ? sparse::kept_name(choice, pattern, parts) : "";
    if (auto kept = sparse::find_made(name)) return std::move(*kept);
    const auto arrangement = sparse::arrange(pattern, parts, choice.spec.preconditioner, sparse::order_for(choice.target));
    sparse::Made made{sparse::generate(choice.spec, choice.target, choice.tuning, pattern, arrangement), summary_of(arrangement)};
    sparse::keep_made(name, made);
    if (transport != nullptr)
        made.generated = sparse::on_rank(std::move(made.generated), choice.spec, arrangement, transport->rank(), transport->ranks());
    return made;
}

/// The request and the choice, for TRIFOLD_CAPTURE. `trifold tune` reads the spec.
std::string describe(const SparseChoice& choice, const sparse::Sizes& sizes) {
    return fmt::format(R"("family":"sparse","spec":{},"variant":{})", sparse::to_json({choice.spec, sizes}).dump(),
                       captured_text(choice.tuning.variant));
}

/// A solution in one launch has a thread block on each multiprocessor that such a device usually has. Not all have as many, and ranks send
/// messages between launches.
void refuse_one_launch(SparseTuning& tuning, const Device& device, bool has_ranks) {
    if (device.backend() != Backend::cuda) return;
    const auto usual = device_of(device.target()).count("facts.multiprocessors");
    if (!has_ranks && gpu::multiprocessors(device.backend(), device.ordinal()) >= usual) return;
    auto variant = parse_variant(tuning.variant);
    variant.pinned.emplace("one_launch", 0);
    tuning.variant = to_string(variant);
}

}  // namespace

SparsePlan::SparsePlan(const SparseSpec& spec, const SparsePattern& pattern, const Device& device, const SparsePartition& partition,
                       const SparseTuning& tuning) {
    make(spec, pattern, device, partition, tuning, nullptr);
}

SparsePlan::SparsePlan(const SparseSpec& spec, const SparsePattern& pattern, std::shared_ptr<Transport> transport,
                       const SparsePartition& partition, const SparseTuning& tuning) {
    share(spec, pattern, Device::cpu(), partition, tuning, std::move(transport));
}

SparsePlan::SparsePlan(const SparseSpec& spec, const SparsePattern& pattern, std::shared_ptr<Transport> transport, const Device& device,
                       const SparsePartition& partition, const SparseTuning& tuning) {
    share(spec, pattern, device, partition, tuning, std::move(transport));
}

void SparsePlan::share(const SparseSpec& spec, const SparsePattern& pattern, const Device& device, const SparsePartition& partition,
                       const SparseTuning& tuning, std::shared_ptr<Transport> transport) {
    transport = ranks::carrying(std::move(transport), device);
    ranks::together(*transport, [&] {
        make(spec, pattern, device, partition, tuning, transport);
        return fmt::format(R"({{"matrix, partition or options":"{}"}})", program().id);
    });
}

void SparsePlan::make(const SparseSpec& spec, const SparsePattern& pattern, const Device& device, const SparsePartition& partition,
                      const SparseTuning& tuning, const std::shared_ptr<Transport>& transport) {
    validate(spec);
    State state{{}, pattern, {}, {}, {}};
    state.prepared = prepare(device, sparse_words, [&] {
        const auto begin = std::chrono::steady_clock::now();
        const auto target = device.target();
        const auto sizes = sparse::sizes_of(pattern);
        state.choice = choose_by_wisdom(sparse::Problem{spec, sizes}, device, tuning);
        refuse_one_launch(state.choice.tuning, device, transport != nullptr);
        const auto knobs = sparse::pinned_by(state.choice.tuning, target);
        const auto usual = sparse::usual_rows(spec, target, pattern.rows(), knobs);
        const auto most = sparse::max_parts(spec, target, pattern.rows(), knobs);
        const auto parts = sparse::parts_of(pattern, partition, spec.preconditioner, usual, most);
        auto [made, summary] = made_of(state.choice, pattern, parts, transport.get());
        state.summary = std::move(summary);
        state.summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        state.contents = std::move(made.contents);
        std::vector<std::string> asked{"update"};
        for (const auto operation : spec.operations) asked.emplace_back(to_string(operation));
        return Preparation{
            std::move(made.program),
            spec.batch,
            tuning.spin_microseconds,
            fmt::format("{} rows of {} in {} subdomains ({})", pattern.rows(), spec.block, state.summary.tiles, state.summary.partition),
            describe(state.choice, sizes),
            std::move(asked),
            transport};
    });
    state_ = std::make_shared<const State>(std::move(state));
}

const SparsePlan::State& SparsePlan::state() const { return held(state_, "SparsePlan"); }
const SparseChoice& SparsePlan::choice() const { return state().choice; }
const SparseSpec& SparsePlan::spec() const { return state().choice.spec; }
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
const SparseTuning& SparsePlan::tuning() const { return state().choice.tuning; }
const SparseSummary& SparsePlan::summary() const { return state().summary; }
const Program& SparsePlan::program() const { return state().prepared->program; }
const Device& SparsePlan::device() const { return state().prepared->device; }
const PlanReport& SparsePlan::report() const { return state().prepared->report(); }

}  // namespace trifold
