#include "runtime/tridiagonal/family.hpp"

#include <trifold/solver.hpp>

#include "generator/tridiagonal/fields.hpp"
#include "runtime/session/typed_family.hpp"

namespace trifold {
namespace of_tridiagonal {

constexpr std::string_view of_blocks = "members horizon block block", of_couplings = "members couplings block block",
                           of_rhs = "members horizon block columns";
constexpr ArrayRow d{"D", of_blocks}, e{"E", of_couplings}, b{"B", of_rhs}, x{"X", of_rhs, Access::write, "B"};
constexpr ArrayRow factored[]{d, e}, swept[]{b, x}, factored_and_swept[]{d, e, b, x}, refined[]{d, e, b, {"X", of_rhs, Access::update}},
    inverted[]{{"the inverse's diagonal", of_blocks, Access::write}, {"the inverse's coupling", of_couplings, Access::write}};
constexpr OperationRow operations[]{
    {"factor", factored, true},
    {"forward", swept, false, "backward"},
    {"backward", swept, false, "forward"},
    {"solve", swept, false, "solve"},
    {"factor_forward", factored_and_swept, true},
    {"factor_solve", factored_and_swept, true},
    {"inverse", inverted},
    {"refine", refined},
};

constexpr Field tuning[]{
    field<&Tuning::schedule>("schedule", "order of elimination"),
    variant_field<Tuning>,
    workers_field<Tuning>,
    spin_field<Tuning>,
    field<&Tuning::any_size>("any_size", "one compilation for every horizon, batch and class of right-hand sides"),
};
constexpr Field options[]{
    field<&CallOptions::pivot_floor>("pivot_floor", "raises pivots below this part of the block's largest diagonal entry"),
    accept_field<CallOptions>,
    members_field<CallOptions>,
    columns_field<CallOptions>,
};
constexpr Field outcome[]{
    field<&Outcome::block>("block", "the first that fails; -1: none"),
    field<&Outcome::row>("row", "the failing row in it"),
    field<&Outcome::floors>("floors", "pivots raised to the floor"),
    field<&Outcome::solution>("solution", "x is in range"),
    field<&Outcome::inverse>("inverse", "the inverse is in range"),
    field<&Outcome::quadratic>("quadratic", "b' A^-1 b is in range"),
    field<&Outcome::least_pivot>("least_pivot", "over the diagonal entry that it began with"),
    field<&Outcome::nearly_singular>("nearly_singular", "rounding decides the least pivot"),
    field<&Outcome::negative>("negative", "pivots below zero"),
    field<&Outcome::growth>("growth", "of a row's squares in the factor, over the largest entry"),
};
const Fields tuning_fields{"a Tuning", "{}", tuning, &usual_of<Tuning>},
    option_fields{"CallOptions", "{}", options, &usual_of<CallOptions>}, outcome_fields{"an Outcome", "{}", outcome, &usual_of<Outcome>};

struct Faces {
    using Plan = trifold::Plan;
    using Solver = trifold::Solver;
    using Options = CallOptions;
    using Tuning = trifold::Tuning;
    static const Family& family() { return tridiagonal_family; }
    static Plan make(const nlohmann::json& problem, const Device& device, const Tuning& tuning) {
        return {parse_spec_json(problem), device, tuning};
    }
    static nlohmann::json spec(const Plan& plan) { return to_json(plan.choice().spec); }
    static std::int64_t extent(const Plan& plan, std::string_view name) {
        const auto& spec = plan.choice().spec;
        return name == "couplings" ? couplings_of(spec) : spec_fields[name].get(&spec).get<std::int64_t>();
    }
    static void run(Solver& solver, std::size_t operation, std::span<const AnyArray> arrays, Stream stream, Options options) {
        options.stream = stream;
        solver.run(static_cast<Operation>(operation), arrays, options);
    }
    static const std::vector<Outcome>& outcomes(Solver& solver) { return solver.status(); }
};

}  // namespace of_tridiagonal

constinit const Family tridiagonal_family{.name = "tridiagonal",
                                          .members = "members",
                                          .plan = "Plan",
                                          .size = "horizon block",
                                          .spec = &spec_fields,
                                          .tuning = &of_tridiagonal::tuning_fields,
                                          .options = &of_tridiagonal::option_fields,
                                          .outcome = &of_tridiagonal::outcome_fields,
                                          .operations = of_tridiagonal::operations,
                                          .read = [](const nlohmann::json& spec) { return to_json(parse_spec_json(spec)); },
                                          .make = &make_plan<of_tridiagonal::Faces>};

}  // namespace trifold
