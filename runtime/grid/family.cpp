#include "runtime/grid/family.hpp"

#include "generator/grid/fields.hpp"
#include "runtime/session/typed_family.hpp"

namespace trifold {
namespace of_grid {

constexpr std::string_view of_stencil = "members height width 9", of_rhs = "members height width columns";
constexpr ArrayRow stencil{"the stencil", of_stencil}, b{"B", of_rhs}, x{"X", of_rhs, Access::write, "B"};
constexpr ArrayRow factored[]{stencil}, solved[]{b, x}, factored_and_solved[]{stencil, b, x},
    by_x[]{{"X", of_rhs}, {"dE/dX", of_rhs}, {"dE/dB", of_rhs, Access::write}, {"dE/dA", of_stencil, Access::write}},
    refined[]{stencil, b, {"X", of_rhs, Access::update}};
constexpr OperationRow operations[]{
    {"factor", factored, true},
    {"solve", solved, false, "solve_transposed", "gradient"},
    {"solve_transposed", solved, false, "solve"},
    {"factor_solve", factored_and_solved, true},
    {"gradient", by_x},
    {"refine", refined},
};

constexpr Field tuning[]{
    workers_field<GridTuning>,
    spin_field<GridTuning>,
    variant_field<GridTuning>,
};
constexpr Field options[]{
    columns_field<GridOptions>,
    members_field<GridOptions>,
    accept_field<GridOptions>,
};
constexpr Field outcome[]{
    field<&GridOutcome::problem>("problem", "none, or why it failed"),
    field<&GridOutcome::level>("level", "of the failing front"),
    field<&GridOutcome::pixel_x>("pixel_x", "where it failed"),
    field<&GridOutcome::pixel_y>("pixel_y", "where it failed"),
    field<&GridOutcome::least_pivot>("least_pivot", "over the size of its row"),
    field<&GridOutcome::growth>("growth", "of pivots"),
    field<&GridOutcome::solution>("solution", "x is in range"),
};
const Fields tuning_fields{"a GridTuning", "{}", tuning, &usual_of<GridTuning>},
    option_fields{"GridOptions", "{}", options, &usual_of<GridOptions>},
    outcome_fields{"a GridOutcome", "{}", outcome, &usual_of<GridOutcome>};

struct Faces {
    using Plan = GridPlan;
    using Solver = GridSolver;
    using Options = GridOptions;
    using Tuning = GridTuning;
    static const Family& family() { return grid_family; }
    static Plan make(const nlohmann::json& problem, const Device& device, const Tuning& tuning) {
        return {parse_grid_json(problem), device, tuning};
    }
    static nlohmann::json spec(const Plan& plan) { return to_json(plan.spec()); }
    static std::int64_t extent(const Plan& plan, std::string_view name) { return grid_fields[name].get(&plan.spec()); }
    static void run(Solver& solver, std::size_t operation, std::span<const AnyArray> arrays, Stream stream, const Options& options) {
        solver.run(static_cast<GridOperation>(operation), arrays, stream, options);
    }
    static const std::vector<GridOutcome>& outcomes(Solver& solver) { return solver.status(); }
};

}  // namespace of_grid

constinit const Family grid_family{.name = "grid",
                                   .members = "images",
                                   .plan = "GridPlan",
                                   .size = "width height",
                                   .spec = &grid_fields,
                                   .tuning = &of_grid::tuning_fields,
                                   .options = &of_grid::option_fields,
                                   .outcome = &of_grid::outcome_fields,
                                   .operations = of_grid::operations,
                                   .read = [](const nlohmann::json& spec) { return to_json(parse_grid_json(spec)); },
                                   .make = &make_plan<of_grid::Faces>};

std::string_view to_string(GridProblem problem) { return name_of(problem); }

}  // namespace trifold
