#include "runtime/sparse/family.hpp"

#include <fmt/format.h>

#include <trifold/error.hpp>

#include "runtime/session/typed_family.hpp"

namespace trifold {
namespace of_sparse {

constexpr std::string_view of_values = "members values block block", of_rhs = "members rows block columns";
constexpr ArrayRow b{"B", of_rhs}, x{"X", of_rhs, Access::write};
constexpr ArrayRow applied[]{b, {"X", of_rhs, Access::write, "B"}}, solved[]{b, x},
    by_values[]{{"X", of_rhs}, {"dE/dB", of_rhs}, {"dE/dA", of_values, Access::update}}, updated[]{{"the values", of_values}};
constexpr OperationRow operations[]{
    {"apply", applied, false, "apply_transposed"},
    {"apply_transposed", applied, false, "apply"},
    {"multiply", solved, false, "multiply_transposed"},
    {"multiply_transposed", solved, false, "multiply"},
    {"solve", solved, false, "solve_transposed", "gradient"},
    {"solve_transposed", solved, false, "solve"},
    {"gradient", by_values},
    {"update", updated, true},
};

constexpr Field tuning[]{
    workers_field<SparseTuning>,
    spin_field<SparseTuning>,
    variant_field<SparseTuning>,
};
constexpr Field options[]{
    columns_field<SparseOptions>,
    members_field<SparseOptions>,
    field<&SparseOptions::rtol>("rtol", "tolerance over |b|; null: 1e-8, in f32 1e-5"),
    field<&SparseOptions::atol>("atol", "tolerance of |b - A x|"),
    field<&SparseOptions::maxiter>("maxiter", "the most iterations; 0: the Spec's"),
    field<&SparseOptions::renew>("renew", "iterations between two true residuals; 0: only at the end"),
    field<&SparseOptions::guess>("guess", "X holds a first guess"),
    field<&SparseOptions::shift>("shift", "added to the diagonals of pivot blocks, times their largest entry"),
};
constexpr Field outcome[]{
    field<&SparseOutcome::end>("end", "converged, or why not"),
    field<&SparseOutcome::iterations>("iterations", "until the end"),
    field<&SparseOutcome::residual>("residual", "|b - A x|, computed from x"),
    field<&SparseOutcome::norm_b>("norm_b", "|b|"),
    field<&SparseOutcome::by_rows>("by_rows", "the residual over b with rows of equal size"),
};
const Fields tuning_fields{"a SparseTuning", "{}", tuning, &usual_of<SparseTuning>},
    option_fields{"SparseOptions", "{}", options, &usual_of<SparseOptions>},
    outcome_fields{"a SparseOutcome", "{}", outcome, &usual_of<SparseOutcome>};

std::vector<std::int64_t> taken(nlohmann::json& problem, const char* name) {
    const auto found = problem.find(name);
    if (found == problem.end() || !found->is_array()) throw SpecError("a sparse system has a 'mesh', or the lists 'starts' and 'columns'");
    std::vector<std::int64_t> numbers;
    for (const auto& number : *found) numbers.push_back(field_values::whole_number(number, fmt::format("'{}' of a sparse system", name)));
    problem.erase(found);
    return numbers;
}

/// Pattern of a mesh, or of rows of blocks in compressed form: the lists "starts" and "columns".
SparsePattern pattern_of(nlohmann::json& problem) {
    if (const auto mesh = problem.find("mesh"); mesh != problem.end())
        return SparsePattern(sparse::parse_mesh(field_values::text(*mesh, "'mesh' of a sparse system"),
                                                static_cast<int>(problem.value("points", SparseMesh{}.points))));
    const auto starts = taken(problem, "starts"), columns = taken(problem, "columns");
    problem["rows"] = static_cast<std::int64_t>(starts.size()) - 1;
    problem["entries"] = static_cast<std::int64_t>(columns.size());
    return SparsePattern(std::span(starts), std::span(columns));
}

struct Faces {
    using Plan = SparsePlan;
    using Solver = SparseSolver;
    using Options = SparseOptions;
    using Tuning = SparseTuning;
    static const Family& family() { return sparse_family; }
    static Plan make(nlohmann::json problem, const Device& device, const Tuning& tuning) {
        const auto pattern = pattern_of(problem);
        return {sparse::parse_sparse_json(problem).spec, pattern, device, {}, tuning};
    }
    static nlohmann::json spec(const Plan& plan) { return sparse::to_json({plan.spec(), sparse::sizes_of(plan.pattern())}); }
    static std::int64_t extent(const Plan& plan, std::string_view name) { return sparse_extent(plan, name); }
    static void run(Solver& solver, std::size_t operation, std::span<const AnyArray> arrays, Stream stream, const Options& options) {
        family().operations[operation].expect_arrays(arrays.size());
        if (operation == sparse_update) return solver.update(arrays.front(), stream, options);
        solver.run(static_cast<SparseOperation>(operation), arrays, stream, options);
    }
    static const std::vector<SparseOutcome>& outcomes(Solver& solver) { return solver.outcomes(); }
};

}  // namespace of_sparse

std::int64_t sparse_extent(const SparsePlan& plan, std::string_view name) {
    if (name == "rows") return plan.pattern().rows();
    if (name == "values") return plan.pattern().values();
    return sparse_fields[name].get(&plan.spec());
}

constinit const Family sparse_family{.name = "sparse",
                                     .members = "sets of values",
                                     .plan = "SparsePlan",
                                     .size = "",
                                     .spec = &sparse_fields,
                                     .tuning = &of_sparse::tuning_fields,
                                     .options = &of_sparse::option_fields,
                                     .outcome = &of_sparse::outcome_fields,
                                     .operations = of_sparse::operations,
                                     .read = [](const nlohmann::json& spec) { return sparse::to_json(sparse::parse_sparse_json(spec)); },
                                     .make = &make_plan<of_sparse::Faces>};

std::string_view to_string(SparseEnd end) { return name_of(end); }

}  // namespace trifold
