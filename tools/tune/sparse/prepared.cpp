#include "tools/tune/sparse/prepared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

namespace trifold::tune::sparse {
namespace {

using enum SparseOperation;

SparsePlan fitting_plan(const Point& point, const Candidate& candidate, const Device& device, const Systems& systems) {
    SparsePlan plan(systems.spec(), systems.pattern(), device, {}, tuning_of(point, candidate));
    check_memory(plan.program().workspace_bytes, systems.sets() * data_bytes(systems.problem()), device);
    return plan;
}

}  // namespace

PreparedSparse::PreparedSparse(const Point& point, const Candidate& candidate, const Device& device, const Systems& systems,
                               DeviceTools& tools)
    : systems_(systems), tools_(tools), plan_(fitting_plan(point, candidate, device, systems)), solver_(plan_) {}

void PreparedSparse::update(std::int64_t set) { solver_.update(systems_.values(set), stream()); }

void PreparedSparse::run(SparseOperation operation, std::int64_t set) {
    if (operation == gradient)
        solver_.run(operation, {systems_.x(set), systems_.b(set), systems_.like_values()}, stream(), {});
    else
        solver_.run(operation, {systems_.b(set), systems_.x(set)}, stream(), {.relative = asked_of(systems_.spec().precision)});
}

void PreparedSparse::finish() {
    tools_.synchronize();
    solver_.check();
}

std::vector<double> PreparedSparse::result_of(SparseOperation operation) {
    systems_.poison();
    run(operation, 0);
    finish();
    return systems_.solution();
}

double PreparedSparse::residual() {
    update(0);
    finish();
    if (!has(solve)) return 0;
    result_of(solve);
    return systems_.residual();
}

/// Other subdomains make another preconditioner: what it alone gives is left out.
Outputs PreparedSparse::outputs() {
    Outputs outputs;
    update(0);
    for (const auto operation : {solve_transposed, solve, multiply_transposed, multiply})
        if (has(operation)) outputs.values[std::string(to_string(operation))] = result_of(operation);
    if (has(gradient) && has(multiply)) {  // of what is in X now
        run(gradient, 0);
        finish();
        outputs.values["gradient"] = systems_.gradient();
    }
    outputs.status.emplace_back(solver_.ok() ? "sound" : "failed");
    return outputs;
}

/// A solution repeats its launches as often as its data need, which no graph of a caller can record.
Timed PreparedSparse::timed(const std::string& name) {
    update(0);
    finish();
    if (name == "update") return timed_calls(tools_, systems_.sets(), [this](std::int64_t set) { update(set); });
    const auto all = all_sparse_operations();
    const auto found = std::ranges::find(all, name, [](SparseOperation operation) { return to_string(operation); });
    if (found == all.end()) throw SpecError(fmt::format("'{}' is no operation of sparse systems", name));
    const auto call = [this, operation = *found](std::int64_t set) { run(operation, set); };
    const bool repeats = *found == solve || *found == solve_transposed;
    return repeats ? enqueued_calls(tools_, systems_.sets(), call) : timed_calls(tools_, systems_.sets(), call);
}

}  // namespace trifold::tune::sparse
