#include "runtime/tridiagonal/solver_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <trifold/error.hpp>

#include "runtime/base/one_call.hpp"
#include "runtime/device/gpu.hpp"

namespace trifold {
namespace {

void check_alignment(const void* workspace) {
    if (reinterpret_cast<std::uintptr_t>(workspace) % workspace_base_alignment != 0)
        throw SpecError(fmt::format("the workspace is not aligned to {} bytes", workspace_base_alignment));
}

std::unique_ptr<Engine> make_engine(const Plan& plan, void* workspace, std::int64_t bytes, Holds holds) {
    const auto needed = plan.program().workspace_bytes;
    if (workspace != nullptr && bytes < needed)
        throw SpecError(fmt::format("the workspace has {} bytes; this Plan needs {}", bytes, needed));
    check_alignment(workspace);
    const bool on_cpu = plan.device().backend() == Backend::cpu;
    return on_cpu ? make_cpu_engine(plan.state(), workspace, holds) : make_gpu_engine(plan.state(), workspace, holds);
}

/// How later panels of right-hand sides are done, once the first has been factored along.
Operation without_factor(Operation operation) {
    if (operation == Operation::factor_forward) return Operation::forward;
    if (operation == Operation::factor_solve) return Operation::solve;
    return operation;
}

/// Elements behind the last one of D or E that its strides may leave unused.
std::int64_t gaps_of(const Spec& spec, Array array) {
    if (array != Array::d && array != Array::e) return 0;
    const auto s = array == Array::d ? diagonal_strides(spec) : coupling_strides(spec);
    const auto blocks = array == Array::d ? spec.horizon : spec.horizon - 1;
    const auto extent = array == Array::d ? diagonal_extent(spec, spec.batch) : coupling_extent(spec, spec.batch);
    const auto whole = s.member > 0 ? spec.batch * s.member : s.stage > 0 ? blocks * s.stage : spec.block * std::max(s.row, s.column);
    return std::max<std::int64_t>(0, whole - extent);
}

}  // namespace

Solver::Impl::Impl(const Plan& given, void* workspace, std::int64_t bytes, Holds holds)
    : plan(given), engine(make_engine(given, workspace, bytes, holds)) {
    capture = Capture::make(plan, *engine);
}

void Solver::Impl::adopt(void* workspace, Stream stream, std::int64_t members) {
    check_alignment(workspace);
    engine->adopt(workspace, stream);
    factored = members;
    solved = inverted = swept_members = swept_columns = 0;
}

void Solver::Impl::check_precision(Precision precision) const {
    const auto expected = plan.choice().spec.precision;
    if (precision != (expected == Precision::f32 ? Precision::f32 : Precision::f64))
        throw SpecError(fmt::format("the arrays are {} and the Plan is specialized for {}", to_string(precision), to_string(expected)));
}

void Solver::Impl::prepare(Call& call, const Sizes* sizes) const {
    resolve(plan.choice().spec, call);
    require_planned(call.operation, "");
    if (call.columns > plan.choice().spec.rhs)
        require_planned(without_factor(call.operation), ", which takes the columns beyond the Spec's rhs");
    if (sizes != nullptr) check_sizes(call, *sizes);
    check_arrays(plan.choice().spec, plan.program().workspace_bytes, call, engine->workspace());
    if (factors(call.operation)) return;
    require_factor(to_string(call.operation));
    if (call.members > factored)
        throw SpecError(
            fmt::format("{} for {} members, but only {} have been factored", to_string(call.operation), call.members, factored));
}

void Solver::Impl::require_planned(Operation operation, const char* why) const {
    const auto& planned = plan.choice().spec.operations;
    if (planned.contains(operation)) return;
    if (plan.choice().spec.precision == Precision::mixed && operation != Operation::solve && operation != Operation::factor_solve)
        throw SpecError(fmt::format("mixed precision has factor, solve and factor_solve, not {}; make a Plan of precision f64 for that",
                                    to_string(operation)));
    throw SpecError(fmt::format("this Plan has no kernels for {}{}; add it to the Spec's operations, which are {}", to_string(operation),
                                why, to_string(planned)));
}

void Solver::Impl::require_factor(std::string_view what) const {
    if (factored == 0) throw SpecError(fmt::format("{} needs a factorization; call factor, factor_forward or factor_solve first", what));
}

void Solver::Impl::launch(Operation operation, const trifold_args& args, Stream stream) {
    if (capture == nullptr) {
        engine->run(operation, args, stream, nullptr);
        return;
    }
    auto* timer = capture->begin(operation);
    const bool recorded = engine->run(operation, args, stream, timer);
    capture->end(operation, args.members, recorded);
}

void Solver::Impl::enqueue(const Call& call, Stream stream) {
    const auto& spec = plan.choice().spec;
    auto operation = call.operation;
    for (std::int64_t first = 0; first < call.columns; first += spec.rhs) {
        launch(operation, panel_args(spec, call, first, std::min(spec.rhs, call.columns - first), engine->workspace()), stream);
        operation = without_factor(operation);
    }
    if (factors(call.operation)) factored = std::max(factored, call.members);
    if (factors(call.operation)) solved = inverted = 0;
    if (solves(call.operation)) solved = call.members;
    if (call.operation == Operation::inverse) inverted = call.members;
    if (sweeps_forward(call.operation)) {
        swept_members = call.members;
        swept_columns = call.columns;
    }
}

/// From what the call touches to what an array has in full, for the Spec's whole batch and with the gaps of its strides. Any other size
/// means that the caller thinks of another problem, one of more columns for example.
void Solver::Impl::check_sizes(const Call& call, const Sizes& sizes) const {
    const auto& spec = plan.choice().spec;
    const auto real = element_bytes(spec.precision);
    auto full = call;
    full.members = spec.batch;
    const ArrayUses uses(spec, call), most(spec, full);
    for (auto use = uses.begin(), whole = most.begin(); use != uses.end(); ++use, ++whole) {
        const auto size = sizes[static_cast<std::size_t>(use->array)];
        const auto least = use->bytes / real, gaps = gaps_of(spec, use->array), largest = whole->bytes / real + gaps;
        if (size < 0 || (size >= least && size <= largest)) continue;
        const bool columns = size > largest && use->array >= Array::b && use->array <= Array::x;
        throw SpecError(
            fmt::format("{} has {} elements; the Spec's layout needs {}{}", to_string(use->array), size, least,
                        columns ? fmt::format(" for {} columns; give more columns in the options' `columns`", call.columns) : ""));
    }
}

void Solver::Impl::run(Call call, Stream stream) {
    const OneCall guard(busy, "Solver");
    prepare(call, nullptr);
    enqueue(call, stream);
}

void Solver::Impl::run_on_host(Call call, const Sizes& sizes) {
    const OneCall guard(busy, "Solver");
    prepare(call, &sizes);
    engine->synchronize();  // the last call may be on another stream
    auto on_device = call;
    transfer(on_device, call, true);
    enqueue(on_device, engine->host_stream());
    transfer(on_device, call, false);
    engine->synchronize();
}

void Solver::Impl::transfer(Call& call, const Call& host, bool in) {
    for (const auto& use : ArrayUses(plan.choice().spec, host)) {
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
std::span<const T> Solver::Impl::read(std::string_view name, std::int64_t count) {
    static_assert(sizeof(T) % sizeof(double) == 0 && alignof(T) <= alignof(double));
    const auto entries = static_cast<std::size_t>(count);
    read_.resize(entries * sizeof(T) / sizeof(double));
    engine->synchronize();
    if (count == 0) return {};  // nothing has no address
    engine->read(read_.data(), buffer(plan.program(), name).offset, count * static_cast<std::int64_t>(sizeof(T)));
    return {reinterpret_cast<const T*>(read_.data()), entries};
}

const std::vector<Outcome>& Solver::Impl::status() {
    const OneCall guard(busy, "Solver");
    require_factor("status");
    outcomes_.assign(static_cast<std::size_t>(factored), Outcome{});
    const auto factors = read<trifold_status>("status", factored);
    for (std::size_t k = 0; k < outcomes_.size(); ++k) {
        outcomes_[k].block = factors[k].block;
        outcomes_[k].row = factors[k].row;
        outcomes_[k].floors = factors[k].floors;
        if (factors[k].floors < 0) continue;  // never factored
        outcomes_[k].least_pivot = factors[k].least_pivot;
        // In mixed precision pivots of f32 may be small, and solutions be refined to the last digit all the same.
        outcomes_[k].nearly_singular = factors[k].nearly_singular != 0 && plan.choice().spec.precision != Precision::mixed;
    }
    if (plan.choice().spec.precision == Precision::mixed) return outcomes_;  // there it is in the refinement
    const auto sound = [&](std::size_t k) { return outcomes_[k].block < 0 && outcomes_[k].floors >= 0; };
    const auto ranges = read<trifold_range>("range", std::max(solved, inverted));
    for (std::size_t k = 0; k < ranges.size(); ++k) {
        const auto member = static_cast<std::int64_t>(k);
        outcomes_[k].solution = !(member < solved && sound(k) && ranges[k].solution == 1);
        outcomes_[k].inverse = !(member < inverted && sound(k) && ranges[k].inverse == 1);
    }
    if (!quadratic_known()) return outcomes_;
    const auto rhs = plan.choice().spec.rhs;
    const auto quadratics = read<double>("quadratic", swept_members * rhs);
    for (std::int64_t member = 0; member < swept_members; ++member)
        for (std::int64_t c = 0; c < swept_columns; ++c) {
            const auto k = static_cast<std::size_t>(member);
            if (sound(k) && std::isnan(quadratics[static_cast<std::size_t>(member * rhs + c)])) outcomes_[k].quadratic = false;
        }
    return outcomes_;
}

const std::vector<double>& Solver::Impl::log_determinant() {
    const OneCall guard(busy, "Solver");
    require_factor("log_determinant");
    const auto values = read<double>("log_determinant", factored);
    log_determinants_.assign(values.begin(), values.end());
    return log_determinants_;
}

bool Solver::Impl::quadratic_known() const { return swept_members > 0 && swept_columns <= plan.choice().spec.rhs; }

void Solver::Impl::copy(std::string_view name, double* to, std::int64_t count, Stream stream) {
    if (to == nullptr && count > 0) throw SpecError(fmt::format("{} is to be copied to a null pointer", name));
    const auto& from = buffer(plan.program(), name);
    engine->copy(to, from.offset, count * static_cast<std::int64_t>(sizeof(double)), stream);
}

void Solver::Impl::copy_log_determinant(double* to, std::int64_t members, Stream stream) {
    const OneCall guard(busy, "Solver");
    require_factor("log_determinant");
    if (members < 0 || members > factored)
        throw SpecError(fmt::format("the log determinants of {} members, but {} have been factored", members, factored));
    copy("log_determinant", to, members, stream);
}

void Solver::Impl::copy_quadratic(double* to, std::int64_t members, Stream stream) {
    const OneCall guard(busy, "Solver");
    require_quadratic();
    if (members < 0 || members > swept_members)
        throw SpecError(fmt::format("quadratic of {} members, but the last forward sweep had {}", members, swept_members));
    copy("quadratic", to, members * plan.choice().spec.rhs, stream);
}

void Solver::Impl::require_quadratic() const {
    const auto rhs = plan.choice().spec.rhs;
    if (plan.choice().spec.precision == Precision::mixed)
        throw SpecError("mixed precision has no quadratic; multiply b and x, or make a Plan of precision f64");
    if (swept_members == 0) throw SpecError("quadratic needs a forward sweep; call forward, solve, factor_forward or factor_solve first");
    if (!quadratic_known())
        throw SpecError(fmt::format("quadratic holds one panel of {} columns and the last forward sweep had {}; make a Plan with rhs = {}",
                                    rhs, swept_columns, swept_columns));
}

const std::vector<double>& Solver::Impl::quadratic() {
    const OneCall guard(busy, "Solver");
    require_quadratic();
    const auto rhs = plan.choice().spec.rhs;
    const auto all = read<double>("quadratic", swept_members * rhs);
    quadratics_.clear();
    for (std::int64_t member = 0; member < swept_members; ++member) {
        const auto row = all.subspan(static_cast<std::size_t>(member * rhs), static_cast<std::size_t>(swept_columns));
        quadratics_.insert(quadratics_.end(), row.begin(), row.end());
    }
    return quadratics_;
}

const std::vector<Refinement>& Solver::Impl::refinement() {
    const OneCall guard(busy, "Solver");
    if (plan.choice().spec.precision != Precision::mixed)
        throw SpecError(fmt::format("this Plan has precision {} and refines nothing; refinement is for mixed",
                                    to_string(plan.choice().spec.precision)));
    refinements_.clear();
    for (const auto& member : read<trifold_refined>("refined", solved))
        refinements_.push_back({member.iterations, member.converged != 0, member.backward_error});
    return refinements_;
}

bool Solver::Impl::ok() {
    const auto& members = status();
    if (!std::ranges::all_of(members, &Outcome::ok)) return false;
    if (plan.choice().spec.precision != Precision::mixed) return true;
    const auto& refined = refinement();
    for (std::size_t k = 0; k < refined.size(); ++k)
        if (!refined[k].converged && members[k].floors >= 0) return false;
    return true;
}

}  // namespace trifold
