#include "runtime/solver_impl.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <trifold/error.hpp>

#include "runtime/gpu.hpp"

namespace trifold {
namespace {

std::unique_ptr<Engine> make_engine(const Plan& plan, void* workspace, std::int64_t bytes) {
    const auto needed = plan.program().workspace_bytes;
    if (workspace != nullptr && bytes < needed)
        throw SpecError(fmt::format("the workspace has {} bytes; this Plan needs {}", bytes, needed));
    if (reinterpret_cast<std::uintptr_t>(workspace) % workspace_alignment != 0)
        throw SpecError(fmt::format("the workspace is not aligned to {} bytes", workspace_alignment));
    const bool on_cpu = plan.device().backend() == Backend::cpu;
    return on_cpu ? make_cpu_engine(plan.state(), workspace) : gpu::make_engine(plan.state(), workspace);
}

/// Two threads in one Solver would corrupt its workspace.
class OneCall {
  public:
    explicit OneCall(std::atomic_flag& busy) : busy_(busy) {
        if (busy_.test_and_set(std::memory_order_acquire))
            throw SpecError(
                "another thread is inside a call of this Solver; give each thread a Solver of its own (they may share the Plan)");
    }
    ~OneCall() { busy_.clear(std::memory_order_release); }
    OneCall(const OneCall&) = delete;
    OneCall& operator=(const OneCall&) = delete;

  private:
    std::atomic_flag& busy_;
};

/// How later panels of right-hand sides are done, once the first has been factored along.
Operation without_factor(Operation operation) {
    if (operation == Operation::factor_forward) return Operation::forward;
    if (operation == Operation::factor_solve) return Operation::solve;
    return operation;
}

}  // namespace

Solver::Impl::Impl(const Plan& given, void* workspace, std::int64_t bytes) : plan(given), engine(make_engine(given, workspace, bytes)) {}

void Solver::Impl::check_precision(Precision precision) const {
    const auto expected = plan.program().spec.precision;
    if (precision != (expected == Precision::f32 ? Precision::f32 : Precision::f64))
        throw SpecError(fmt::format("the arrays are {} and the Plan is specialized for {}", to_string(precision), to_string(expected)));
}

void Solver::Impl::prepare(Call& call) const {
    resolve(plan.program().spec, call);
    require_planned(call.operation, "");
    if (call.columns > plan.program().spec.rhs)
        require_planned(without_factor(call.operation), ", which takes the columns beyond the Spec's rhs");
    check_arrays(plan.program(), call, engine->workspace());
    if (factors(call.operation)) return;
    require_factor(to_string(call.operation));
    if (call.members > factored)
        throw SpecError(
            fmt::format("{} for {} members, but only {} have been factored", to_string(call.operation), call.members, factored));
}

void Solver::Impl::require_planned(Operation operation, const char* why) const {
    const auto& planned = plan.program().spec.operations;
    if (planned.contains(operation)) return;
    if (plan.program().spec.precision == Precision::mixed && operation != Operation::solve && operation != Operation::factor_solve)
        throw SpecError(fmt::format("mixed precision has factor, solve and factor_solve, not {}; make a Plan of precision f64 for that",
                                    to_string(operation)));
    throw SpecError(fmt::format("this Plan has no kernels for {}{}; add it to the Spec's operations, which are {}", to_string(operation),
                                why, to_string(planned)));
}

void Solver::Impl::require_factor(std::string_view what) const {
    if (factored == 0) throw SpecError(fmt::format("{} needs a factorization; call factor, factor_forward or factor_solve first", what));
}

void Solver::Impl::enqueue(const Call& call, Stream stream) {
    const auto& spec = plan.program().spec;
    auto operation = call.operation;
    for (std::int64_t first = 0; first < call.columns; first += spec.rhs) {
        engine->run(operation, panel_args(spec, call, first, std::min(spec.rhs, call.columns - first), engine->workspace()), stream);
        operation = without_factor(operation);
    }
    if (factors(call.operation)) factored = std::max(factored, call.members);
    refined = sweeps(call.operation) ? call.members : 0;
    if (sweeps_forward(call.operation)) {
        swept_members = call.members;
        swept_columns = call.columns;
    }
}

void Solver::Impl::run(Call call, Stream stream) {
    const OneCall guard(busy);
    prepare(call);
    enqueue(call, stream);
}

void Solver::Impl::run_on_host(Call call, const Sizes& sizes) {
    const OneCall guard(busy);
    prepare(call);
    const auto real = element_bytes(plan.program().spec.precision);
    for (const auto& use : ArrayUses(plan.program().spec, call)) {
        const auto size = sizes[static_cast<std::size_t>(use.array)];
        if (size >= 0 && size < use.bytes / real)
            throw SpecError(fmt::format("{} has {} elements; the Spec's layout needs {}", to_string(use.array), size, use.bytes / real));
    }
    engine->synchronize();  // the last call may be on another stream
    auto on_device = call;
    transfer(on_device, call, true);
    enqueue(on_device, engine->host_stream());
    transfer(on_device, call, false);
    engine->synchronize();
}

void Solver::Impl::transfer(Call& call, const Call& host, bool in) {
    for (const auto& use : ArrayUses(plan.program().spec, host)) {
        const auto* array = host[use.array];
        if (array == nullptr || use.bytes == 0) continue;
        if (!in) {
            if (use.written) engine->download(const_cast<void*>(array), call[use.array], use.bytes);
            continue;
        }
        call[use.array] = engine->device_array(use.array, array, use.bytes);
        // Masked members of an output keep what they hold.
        if (!use.written || host[Array::active] != nullptr) engine->upload(const_cast<void*>(call[use.array]), array, use.bytes);
    }
}

template <class T>
std::vector<T> Solver::Impl::read(std::string_view name, std::int64_t count) {
    const OneCall guard(busy);
    std::vector<T> values(static_cast<std::size_t>(count));
    engine->synchronize();
    if (count == 0) return values;  // nothing has no address
    engine->read(values.data(), buffer(plan.program(), name).offset, count * static_cast<std::int64_t>(sizeof(T)));
    return values;
}

std::vector<trifold_status> Solver::Impl::status() {
    require_factor("status");
    return read<trifold_status>("status", factored);
}

std::vector<double> Solver::Impl::log_determinant() {
    require_factor("log_determinant");
    return read<double>("log_determinant", factored);
}

std::vector<double> Solver::Impl::quadratic() {
    const auto rhs = plan.program().spec.rhs;
    if (plan.program().spec.precision == Precision::mixed)
        throw SpecError("mixed precision has no quadratic; multiply b and x, or make a Plan of precision f64");
    if (swept_members == 0) throw SpecError("quadratic needs a forward sweep; call forward, solve, factor_forward or factor_solve first");
    if (swept_columns > rhs)
        throw SpecError(fmt::format("quadratic holds one panel of {} columns and the last forward sweep had {}; make a Plan with rhs = {}",
                                    rhs, swept_columns, swept_columns));
    const auto all = read<double>("quadratic", swept_members * rhs);
    std::vector<double> result;
    for (std::int64_t member = 0; member < swept_members; ++member) {
        const auto* row = all.data() + member * rhs;
        result.insert(result.end(), row, row + swept_columns);
    }
    return result;
}

std::vector<trifold_refined> Solver::Impl::refinement() {
    if (plan.program().spec.precision != Precision::mixed)
        throw SpecError(fmt::format("this Plan has precision {} and refines nothing; refinement is for mixed",
                                    to_string(plan.program().spec.precision)));
    return read<trifold_refined>("refined", refined);
}

}  // namespace trifold
