#include "tools/tune/family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>
#include <trifold/trifold.hpp>

#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/fields.hpp"
#include "generator/tridiagonal/variant.hpp"
#include "generator/tridiagonal/wisdom.hpp"
#include "tools/bench/device_tools.hpp"
#include "tools/formats/residual.hpp"
#include "tools/problems/problems.hpp"

/// Block tridiagonal systems in the tuner.
namespace trifold::tune::tridiagonal {

std::vector<Candidate> pairs(const Point& point, const Target& target, bool all);  // pairs.cpp

namespace {

using nlohmann::json;

Spec parsed(const Point& point) { return parse_spec_json(point.spec); }

json parse(const json& tree) {
    auto fields = tree;
    if (fields.is_object()) fields.erase("family");
    auto spec = parse_spec_json(fields);
    spec.border = 0;  // no row of wisdom is about a border: its chain has the kernels of one without
    return to_json(spec);
}

std::string notes(const json& tree) {
    static const auto plain = to_json(Spec{.block = 1, .horizon = 1});
    std::string text = has_operation(tree, "inverse") ? " inverse" : "";
    for (const auto* field : {"ring", "bandwidth", "lengths", "sizes"})
        if (tree.at(field) != plain.at(field))
            text += fmt::format(" {}{}", field, tree.at(field).is_number() ? " " + tree.at(field).dump() : "");
    for (const auto* field : {"d", "e"})
        if (tree.at(field) != plain.at(field)) return text + " laid-out";
    return text;
}

Candidate candidate_of(const Choice& choice) { return {choice.schedule.name, choice.variant, modelled_seconds(choice)}; }

Candidate standard(const Point& point, const Target& target, std::string_view device) {
    const auto spec = parsed(point);
    return candidate_of(choose(spec, target, resolve(spec, target, Tuning{.workers = point.workers}, device, shipped_wisdom())));
}

Made make(const Point& point, const Target& target, const Candidate& candidate) {
    const auto choice = choose(parsed(point), target, Tuning{candidate.schedule, candidate.variant, point.workers});
    return {candidate_of(choice), knobs_of(choice), [choice] { return generate(choice); }};
}

/// Seconds for callers of `factor` alone where that is asked for.
double modelled(const Point& point, const Target& target, const Candidate& candidate, std::string_view operation,
                const KnownDevice& device) {
    auto spec = folded(parsed(point));
    if (operation == "factor") spec.operations = {Operation::factor};
    const auto variant = parse_variant(candidate.variant);
    return variant_named(target, candidate.variant)
        .seconds({spec, target, parse_schedule(candidate.schedule, spec.horizon, spec.ring), point.workers, {variant.pinned}}, device);
}

std::vector<ArraySize> arrays(const json& tree) {
    const auto spec = parse_spec_json(tree);
    const auto rhs = rhs_extent(spec, spec.batch, spec.rhs), blocks = solved_blocks(spec);
    const auto square = spec.batch * spec.block * spec.block * spec.bandwidth * spec.bandwidth;
    std::vector<ArraySize> all{
        {"d", diagonal_extent(spec, spec.batch)}, {"e", coupling_extent(spec, spec.batch)}, {"b", rhs}, {"x", rhs}, {"y", rhs}};
    if (spec.operations.contains(Operation::inverse)) {
        all.push_back({"inverse", square * blocks});
        all.push_back({"couplings of the inverse", square * (spec.ring ? blocks : blocks - 1)});
    }
    return all;
}

/// Raises diagonals: where blocks are shared or more of them are coupled, the sums of the rows are no longer what the diagonals were made
/// for.
void raise_diagonals(formats::System& system, std::int64_t bandwidth) {
    const auto n = system.block;
    for (std::int64_t block = 0; block < system.batch * system.horizon; ++block)
        for (std::int64_t k = 0; k < n; ++k)
            system.d[static_cast<std::size_t>((block * n + k) * n + k)] += static_cast<double>(4 * n * bandwidth);
}

/// Strides of E, each of a band's blocks as a stage of its own.
Strides strides_of_e(const Spec& spec) {
    auto strides = coupling_strides(spec);
    if (spec.bandwidth == 1) return strides;
    if (strides.stage != spec.bandwidth * band_stride(spec)) throw SpecError("the tuner has bands whose E is dense; leave its strides out");
    strides.stage = band_stride(spec);
    return strides;
}

struct Shape {
    std::int64_t members, stages, rows, columns;
};

/// Each element's place in [member][stage][row][column], and in the caller's array.
void walk(const Shape& shape, const Strides& strides, const auto& visit) {
    std::size_t plain = 0;
    for (std::int64_t member = 0; member < shape.members; ++member)
        for (std::int64_t stage = 0; stage < shape.stages; ++stage)
            for (std::int64_t row = 0; row < shape.rows; ++row)
                for (std::int64_t column = 0; column < shape.columns; ++column)
                    visit(plain++, static_cast<std::size_t>(member * strides.member + stage * strides.stage + row * strides.row +
                                                            column * strides.column));
}

/// An array in the Spec's layout, where members are shared or lie apart. `extent`: elements of one member. The values become those that the
/// array has, where blocks are shared.
std::vector<double> laid_out(std::vector<double>& values, const Shape& shape, const Strides& strides, std::int64_t extent) {
    std::vector<double> array(static_cast<std::size_t>(std::max(shape.members * strides.member, extent)));
    walk(shape, strides, [&](std::size_t from, std::size_t to) { array[to] = values[from]; });
    walk(shape, strides, [&](std::size_t from, std::size_t to) { values[from] = array[to]; });
    return array;
}

std::int64_t made_of(const Spec& spec) {
    const auto blocks = spec.horizon + couplings_of(spec) * spec.bandwidth;
    return different_members(spec.batch, blocks * spec.block * spec.block * element_bytes(spec.precision));
}

/// The numbers that a Spec's members have, which are the same for all candidates. The diagonal of an inverse means nothing beyond sizes:
/// with it blocks are whole.
struct Counts {
    explicit Counts(const Spec& spec) {
        if (spec.lengths) lengths = problems::counts(made_of(spec), spec.horizon, 1);
        if (spec.sizes && !spec.operations.contains(Operation::inverse))
            sizes = problems::counts(made_of(spec) * spec.horizon, spec.block, 2);
    }
    std::vector<int> lengths, sizes;
};

RandomProblem random(const json& tree, std::uint64_t seed) {
    const auto spec = parse_spec_json(tree);
    const auto n = spec.block, horizon = spec.horizon, w = spec.bandwidth, couplings = couplings_of(spec), made = made_of(spec);
    auto system = problems::make("dominant", {n, horizon, spec.rhs, made}, seed);
    const bool is_chain = !spec.ring && w == 1;
    if (!is_chain) system.e = problems::make("dominant", {n, couplings * w + 1, 1, made}, seed + 1).e;
    if (!is_chain || spec.d.stage == 0 || spec.d.member == 0 || spec.e.stage == 0 || spec.e.member == 0) raise_diagonals(system, w);
    for (auto* values : {&system.d, &system.e, &system.b}) round_to(spec.precision, *values);
    const auto rhs = rhs_strides(spec, spec.rhs);
    const Shape solution{made, horizon, n, spec.rhs};
    RandomProblem problem{made,
                          {{"d", laid_out(system.d, {made, horizon, n, n}, diagonal_strides(spec), diagonal_extent(spec, 1))},
                           {"e", laid_out(system.e, {made, couplings * w, n, n}, strides_of_e(spec), coupling_extent(spec, 1))},
                           {"b", laid_out(system.b, solution, rhs, rhs_extent(spec, 1, spec.rhs))}},
                          {}};
    const auto array = [](std::vector<std::int64_t> shape, std::vector<double>& values) {
        return formats::Array{std::move(shape), Precision::f64, std::move(values)};
    };
    const auto d = array({made, horizon, n, n}, system.d), b = array({made, horizon, n, spec.rhs}, system.b);
    const auto e = array(w > 1 ? std::vector{made, horizon, w, n, n} : std::vector{made, couplings, n, n}, system.e);
    const auto assembled = std::make_shared<formats::System>(formats::assemble({d, e, &b, nullptr, nullptr, spec.ring}, Precision::f64));
    const Counts counts(spec);
    problems::shorten(*assembled, counts.lengths, counts.sizes);
    problem.residual = [=](const std::vector<double>& x) {
        std::vector<double> plain(x.size());
        walk(solution, rhs, [&](std::size_t to, std::size_t at) { plain[to] = x[at]; });
        double worst = 0;
        for (const auto residual : formats::relative_residuals(*assembled, formats::with_padding(*assembled, plain)))
            worst = formats::worse(worst, residual);
        return worst;
    };
    return problem;
}

/// Which pivots there are, and so the least of them, depends on the order of elimination: it is left out.
Outputs result(Solver& solver, std::string_view last) {
    Outputs outputs{.values = {{"log determinant", solver.log_determinant()}}};
    if (last.ends_with("forward") && solver.plan().choice().spec.precision != Precision::mixed)
        outputs.values["quadratic form"] = solver.quadratic();
    for (const auto& one : solver.status())
        outputs.status.push_back(fmt::format("block {}, row {}, floors {}, nearly singular {}, sound {} {} {}", one.block, one.row,
                                             one.floors, one.nearly_singular, one.solution, one.inverse, one.quadratic));
    return outputs;
}

Solving solving(const Point& point, const Candidate& candidate, const Device& device) {
    const auto spec = parsed(point);
    const Plan plan(spec, device, {candidate.schedule, candidate.variant, point.workers});
    const auto solver = std::make_shared<Solver>(plan);
    const Counts counts(spec);
    const bool counted = counts.lengths.size() + counts.sizes.size() > 0;
    const auto tools = counted ? std::make_shared<DeviceTools>(device) : nullptr;
    // On the device, for all members.
    const auto uploaded = [&](std::vector<int> numbers, std::int64_t each) -> std::shared_ptr<void> {
        if (numbers.empty()) return nullptr;
        const auto made = numbers.size();
        for (std::size_t k = 0; numbers.size() < static_cast<std::size_t>(spec.batch * each); ++k) numbers.push_back(numbers[k % made]);
        const auto bytes = static_cast<std::int64_t>(numbers.size() * sizeof(int));
        auto memory = tools->allocate(bytes);
        tools->upload(memory.get(), numbers.data(), bytes);
        return memory;
    };
    const auto lengths = uploaded(counts.lengths, 1), sizes = uploaded(counts.sizes, spec.horizon);
    return {plan.report().kernels,
            [=](const std::string& operation, const std::vector<AnyArray>& arrays, Stream stream) {
                CallOptions options{.stream = stream};
                if (operation.starts_with("factor"))
                    options.lengths = static_cast<const int*>(lengths.get()), options.sizes = static_cast<const int*>(sizes.get());
                solver->run(value_named<Operation>(operation, "operation"), arrays, options);
                static_cast<void>(tools);  // it is there as long as its memory
            },
            [=] { solver->check(); }, [=](std::string_view last) { return result(*solver, last); }};
}

}  // namespace
}  // namespace trifold::tune::tridiagonal

const trifold::tune::TunedFamily& trifold::tune::tridiagonal_family() {
    using namespace tridiagonal;
    static const TunedFamily one{
        .name = "tridiagonal",
        .operations = {{"factor", {"d", "e"}},
                       {"forward", {"b", "y"}},
                       {"backward", {"y", "x"}},
                       {"solve", {"b", "x"}},
                       {"factor_forward", {"d", "e", "b", "y"}},
                       {"factor_solve", {"d", "e", "b", "x"}},
                       {"inverse", {"inverse", "couplings of the inverse"}}},
        .sizes = {"horizon", "block"},
        .fields = &spec_fields,
        .in_files = "matrix",
        .options =
            {{.name = "--horizon", .field = "horizon", .help = "Numbers of diagonal blocks N", .is_number = true},
             {.name = "--bandwidth", .field = "bandwidth", .help = "Of bands, blocks w below each diagonal block", .is_number = true},
             {.name = "--ring", .field = "ring", .help = "Whether the last block is coupled to the first: true or false"},
             {.name = "--lengths", .field = "lengths", .help = "Whether members have lengths, uniform in 1 to N: true or false"},
             {.name = "--sizes", .field = "sizes", .help = "Whether blocks have sizes, uniform in 1 to n: true or false"}},
        .usual_block = 0,
        .parse = parse,
        .notes = notes,
        .standard = standard,
        .others = pairs,
        .knobs = [](const Target& target, const std::string& variant) { return variant_named(target, variant).knobs; },
        .make = make,
        .modelled = modelled,
        .factors = {"factor", "factor_solve", "factor_forward"},
        // Y of a forward sweep depends on the order of elimination: it is judged by the backward sweep after it.
        .experiments = {{{"factor_solve"}},
                        {{"factor_forward", "backward"}},
                        {{"solve"}},
                        {{"forward", "backward"}},
                        {{"inverse"}, "inverse"},
                        {{"inverse"}, "couplings of the inverse"}},
        .arrays = arrays,
        .random = random,
        .solving = solving,
        .owns = has_blocks,
        .key = [](const Point& point, const Target& target) { return key_of(parsed(point), target, point.workers); },
        .spec = [](const ProblemKey& key) { return to_json(spec_of(key)); }};
    return one;
}
