#include <trifold/trifold.h>

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/c/calls.hpp"
#include "runtime/grid/family.hpp"
#include "runtime/sparse/family.hpp"
#include "runtime/tridiagonal/family.hpp"

using namespace trifold;
using namespace trifold::c;
using nlohmann::json;

std::vector<const Family*>& trifold::families() {
    static std::vector<const Family*> all{&tridiagonal_family, &grid_family, &sparse_family};
    return all;
}

struct trifold_any_plan {
    const Family& family;
    std::shared_ptr<const AnyPlan> plan;
};

struct trifold_any_solver {
    const Family& family;
    std::shared_ptr<const AnyPlan> plan;
    std::unique_ptr<AnySolver> solver;
    std::string outcomes{};
};

namespace {

/// Null stands for no fields.
json tree_of(const char* text, const char* what) {
    if (text == nullptr) return json::object();
    auto tree = json::parse(text, nullptr, false);
    if (!tree.is_object()) throw SpecError(fmt::format("{} is no JSON object: {}", what, text));
    return tree;
}

template <class Call>
trifold_code call_any(trifold_any_solver* solver, Call call) {
    return guarded([&] { call(given(solver, "the solver")); });
}

json described(const Fields& fields) {
    auto all = json::array();
    for (const auto& field : fields.all)
        all.push_back({{"name", field.name}, {"about", field.about}, {"usual", field.get(fields.usual)}, {"words", field.words}});
    return all;
}

json described(const Family& family) {
    constexpr std::string_view access[]{"read", "write", "update"};
    auto operations = json::array();
    for (const auto& operation : family.operations) {
        auto arrays = json::array();
        for (const auto& array : operation.arrays)
            arrays.push_back({{"name", array.name},
                              {"extents", array.extents},
                              {"access", access[static_cast<std::size_t>(array.access)]},
                              {"may_equal", array.may_equal == nullptr ? "" : array.may_equal}});
        operations.push_back({{"name", operation.name},
                              {"factors", operation.factors},
                              {"adjoint", operation.adjoint},
                              {"outer", operation.outer},
                              {"arrays", arrays}});
    }
    return {{"name", family.name},
            {"spec", described(*family.spec)},
            {"tuning", described(*family.tuning)},
            {"options", described(*family.options)},
            {"outcome", described(*family.outcome)},
            {"operations", operations}};
}

}  // namespace

extern "C" {

const char* trifold_families(void) {
    static const auto text = [] {
        auto all = json::array();
        for (const auto* family : families()) all.push_back(described(*family));
        return all.dump();
    }();
    return text.c_str();
}

trifold_code trifold_any_plan_create(const char* family, const char* problem, const char* device, const char* tuning,
                                     trifold_any_plan** plan) {
    return guarded([&] {
        given(plan, "where to put the plan") = nullptr;
        const auto& row = family_named(&given(family, "the family's name"));
        const auto where = Device::parse(&given(device, "the device's name"));
        *plan = new trifold_any_plan{row, row.make(tree_of(problem, "the problem"), where, tree_of(tuning, "the tuning"))};
    });
}
void trifold_any_plan_destroy(trifold_any_plan* plan) { delete plan; }
std::int64_t trifold_any_plan_workspace_bytes(const trifold_any_plan* plan) {
    return plan == nullptr ? 0 : plan->plan->program().workspace_bytes;
}

trifold_code trifold_any_solver_create(const trifold_any_plan* plan, void* workspace, std::int64_t bytes, trifold_any_solver** solver) {
    return guarded([&] {
        given(solver, "where to put the solver") = nullptr;
        const auto& [family, of] = given(plan, "the plan");
        *solver = new trifold_any_solver{family, of, of->solver(workspace, bytes)};
    });
}
void trifold_any_solver_destroy(trifold_any_solver* solver) { delete solver; }

trifold_code trifold_any_run(trifold_any_solver* solver, const char* operation, const trifold_call* call, const void* const* arrays,
                             std::int64_t count, const char* options) {
    return call_any(solver, [&](trifold_any_solver& of) {
        const auto& how = call_of_reals(call);
        if (count < 0 || count > static_cast<std::int64_t>(max_arrays))
            throw SpecError(fmt::format("{} arrays; give 0 to {}", count, max_arrays));
        std::vector<AnyArray> all;
        for (std::int64_t k = 0; k < count; ++k) all.push_back(any_array(how, (&given(arrays, "the list of arrays"))[k]));
        of.solver->run(of.family.operation(&given(operation, "the operation's name")), all, {how.stream}, tree_of(options, "the options"));
    });
}
trifold_code trifold_any_check(trifold_any_solver* solver) {
    return call_any(solver, [](trifold_any_solver& of) { of.solver->check(); });
}
trifold_code trifold_any_prepare(trifold_any_solver* solver) {
    return call_any(solver, [](trifold_any_solver& of) { of.solver->prepare(); });
}
trifold_code trifold_any_synchronize(trifold_any_solver* solver) {
    return call_any(solver, [](trifold_any_solver& of) { of.solver->synchronize(); });
}
trifold_code trifold_any_outcomes(trifold_any_solver* solver, const char** outcomes) {
    return call_any(solver, [&](trifold_any_solver& of) {
        of.outcomes = of.solver->outcomes().dump();
        given(outcomes, "where to put the outcomes") = of.outcomes.c_str();
    });
}

}  // extern "C"
