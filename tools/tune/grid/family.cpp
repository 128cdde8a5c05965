#include "tools/tune/family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>
#include <trifold/grid.hpp>

#include "generator/grid/fields.hpp"
#include "generator/grid/knobs.hpp"
#include "generator/grid/wisdom.hpp"
#include "tools/formats/residual.hpp"
#include "tools/problems/problems.hpp"

/// Images in the tuner.
namespace trifold::tune::grid {
namespace {

using nlohmann::json;

GridSpec parsed(const Point& point) { return parse_grid_json(point.spec); }

/// --grid "129x65" as width and height.
json of_options(json fields) {
    const auto text = fields.at("size").get<std::string>();
    const auto sides = parse_size(text, 2, 2);
    if (sides.empty())
        throw SpecError(
            fmt::format("--grid '{}' is no size of an image; give WIDTHxHEIGHT, such as 129x65, with commas between several", text));
    fields.erase("size");
    fields.update({{"width", sides[0]}, {"height", sides[1]}});
    return fields;
}

Candidate candidate_of(const GridChoice& choice) { return {std::string(::trifold::grid::dissection), choice.tuning.variant}; }

Made make(const Point& point, const Target& target, const Candidate& candidate) {
    if (!candidate.schedule.empty() && candidate.schedule != ::trifold::grid::dissection)  // captured programs name none
        throw SpecError(fmt::format("unknown schedule '{}' of a grid; give {}", candidate.schedule, ::trifold::grid::dissection));
    const auto choice = choose(parsed(point), target, {.workers = point.workers, .variant = candidate.variant});
    return {candidate_of(choice), ::trifold::grid::decided(choice), [choice] { return generate(choice); }};
}

std::vector<ArraySize> arrays(const json& tree) {
    const auto spec = parse_grid_json(tree);
    const auto pixels = spec.batch * spec.width * spec.height, rhs = pixels * spec.rhs;
    std::vector<ArraySize> all{{"stencil", 9 * pixels}, {"b", rhs}, {"x", rhs}};
    if (spec.operations.contains(GridOperation::gradient)) {
        all.push_back({"gradient", 9 * pixels});
        all.push_back({"gradient by b", rhs});
    }
    return all;
}

RandomProblem random(const json& tree, std::uint64_t seed) {
    const auto spec = parse_grid_json(tree);
    const auto made = different_members(spec.batch, 9 * spec.width * spec.height * element_bytes(spec.precision));
    const auto* const name = spec.matrix == GridMatrix::symmetric ? "grid-anisotropic" : "grid-convection";
    auto system = problems::make_grid(name, spec.width, spec.height, spec.rhs, made, seed);
    for (auto* values : {&system.stencil, &system.b}) round_to(spec.precision, *values);
    return {made, {{"stencil", system.stencil}, {"b", system.b}}, [spec, system](const std::vector<double>& x) {
                double worst = 0;
                for (const auto residual : formats::relative_residuals(system, spec, x)) worst = formats::worse(worst, residual);
                return worst;
            }};
}

/// The least pivot of an image and its growth depend on the order of elimination: they are left out.
Outputs result(GridSolver& solver) {
    Outputs outputs;
    for (const auto& determinant : solver.log_determinant()) outputs.values["log determinant"].push_back(determinant.log);
    for (const auto& one : solver.status())
        outputs.status.push_back(fmt::format("{}, level {}, pixel {} {}, {}", to_string(one.problem), one.level, one.pixel_x, one.pixel_y,
                                             one.solution ? "sound" : "out of range"));
    return outputs;
}

Solving solving(const Point& point, const Candidate& candidate, const Device& device) {
    const GridPlan plan(parsed(point), device, {.workers = point.workers, .variant = candidate.variant});
    const auto solver = std::make_shared<GridSolver>(plan);
    return {plan.report().kernels,
            [=](const std::string& name, const std::vector<AnyArray>& arrays, Stream stream) {
                solver->run(value_named<GridOperation>(name, "operation"), arrays, stream);
            },
            [=] { solver->check(); }, [=](std::string_view) { return result(*solver); }};
}

}  // namespace
}  // namespace trifold::tune::grid

const trifold::tune::TunedFamily& trifold::tune::grid_family() {
    using namespace grid;
    static const TunedFamily one{
        .name = "grid",
        // The gradient is that of E = sum(b x), whose derivative by x is b.
        .operations = {{"factor", {"stencil"}},
                       {"solve", {"b", "x"}},
                       {"solve_transposed", {"b", "x"}},
                       {"factor_solve", {"stencil", "b", "x"}},
                       {"gradient", {"x", "b", "gradient by b", "gradient"}},
                       {"refine", {"stencil", "b", "x"}}},
        .sizes = {"width", "height"},
        .fields = &grid_fields,
        .options = {{"--grid", "size", "Sizes of images, WIDTHxHEIGHT"}},
        .of_options = of_options,
        .parse = [](const json& spec) { return to_json(parse_grid_json(spec)); },
        .standard =
            [](const Point& point, const Target& target, std::string_view device) {
                return candidate_of(choose(parsed(point), target, GridTuning{.workers = point.workers}, device, shipped_wisdom()));
            },
        .knobs = [](const Target& target, const std::string&) { return ::trifold::grid::knobs_for(target); },
        .make = make,
        .factors = {"factor", "factor_solve"},
        .experiments =
            {{{"factor_solve"}}, {{"solve"}}, {{"solve_transposed"}}, {{"solve", "refine"}}, {{"solve", "gradient"}, "gradient"}},
        .arrays = arrays,
        .random = random,
        .solving = solving,
        .owns = is_grid,
        .key = [](const Point& point, const Target& target) { return key_of(parsed(point), target, point.workers); },
        .spec = [](const ProblemKey& key) { return to_json(grid_of(key)); }};
    return one;
}
