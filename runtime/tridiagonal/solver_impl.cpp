#include "runtime/tridiagonal/solver_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <trifold/error.hpp>

#include "generator/tridiagonal/operands.hpp"

namespace trifold {
namespace {

constexpr std::array every_operation{
    Operation::factor, Operation::factor_forward, Operation::factor_solve,     Operation::forward, Operation::backward,
    Operation::solve,  Operation::inverse,        Operation::solve_transposed, Operation::refine,  Operation::load};

std::size_t operand_count(const Plan& plan) {
    const auto& choice = plan.choice();
    return choice.spec.border == 0 ? border_itself : panels_of(choice).operands();
}

Session make_session(const Plan& plan, void* workspace, std::int64_t bytes, Holds holds) {
    KernelArgs args{};
    set_sizes(args, plan.program());
    args.args.members = plan.choice().spec.batch;
    args.args.columns = plan.choice().spec.rhs;
    const std::vector<Operand> stand_in(operand_count(plan), {&args, bytes_of_args(plan.program()), args.args.members});
    return {plan.state()->prepared, stand_in, workspace, bytes, holds};
}

constexpr std::int64_t sizeof_refined = sizeof(trifold_refined);

/// How later panels of right-hand sides are done, once the first has been factored along.
Operation without_factor(Operation operation) {
    if (operation == Operation::factor_forward) return Operation::forward;
    if (operation == Operation::factor_solve) return Operation::solve;
    return operation;
}

/// Elements behind the last one of D or E that its strides may leave unused.
std::int64_t gaps_of(const Spec& spec, Array array) {
    if (array != Array::d && array != Array::e && array != Array::u) return 0;
    const auto s = array == Array::d ? diagonal_strides(spec) : coupling_strides(spec);
    const auto blocks = array == Array::d ? spec.horizon : couplings_of(spec);
    const auto extent = array == Array::d ? diagonal_extent(spec, spec.batch) : coupling_extent(spec, spec.batch);
    const auto whole = s.member > 0 ? spec.batch * s.member : s.stage > 0 ? blocks * s.stage : spec.block * std::max(s.row, s.column);
    return std::max<std::int64_t>(0, whole - extent);
}

/// A band is solved by blocks of several.
void unfold(const Spec& spec, Outcome& outcome) {
    if (outcome.block < 0) return;
    const bool is_tip = outcome.block >= solved_blocks(spec);
    outcome.block = is_tip ? spec.horizon : outcome.block * spec.bandwidth + outcome.row / spec.block;
    if (!is_tip) outcome.row %= spec.block;
}

}  // namespace

Solver::Impl::Impl(const Plan& given, void* workspace, std::int64_t bytes, Holds holds)
    : plan(given),
      session(make_session(given, workspace, bytes, holds)),
      kernel_columns_(columns_at_once(given.choice())),
      args_(operand_count(given)),
      operands_(args_.size()) {
    if (given.choice().spec.border > 0) {
        panels_ = panels_of(given.choice());
        kernel_columns_ = panels_.most;
    }
    for (std::size_t k = 0; k < args_.size(); ++k) {
        set_sizes(args_[k], plan.program(), k == tip_operand ? 1 : 0);
        operands_[k] = {&args_[k], bytes_of_args(plan.program()), 0};
    }
    for (const auto operation : every_operation)
        if (plan.program().operations.contains(std::string(to_string(operation))))
            numbers_.at(static_cast<std::size_t>(operation)) = session.operation(to_string(operation));
}

void Solver::Impl::adopt(void* workspace, Stream stream, std::int64_t members) {
    session.adopt(workspace, stream);
    loaded_.clear();
    factored = members;
    solved = inverted = refined = swept_members = swept_columns = 0;
}

void Solver::Impl::take_factor(Impl& other) {
    if (&other == this) return;
    const auto &own = plan.choice(), &given = other.plan.choice();
    auto spec = given.spec;
    if (spec.border == 0) spec.rhs = own.spec.rhs;
    if (own.spec.operations.contains(Operation::refine)) spec.operations.insert(Operation::refine);
    const bool fits = spec == own.spec && own.target == given.target && own.schedule == given.schedule && own.variant == given.variant;
    if (!fits)
        throw SpecError(
            "the other Solver's Plan differs in more than rhs and refine, so its factor has another layout; make this one's by "
            "Plan::widened");
    other.require_factor("take_factor");
    // Both may have work in flight, each on a stream of its own.
    session.synchronize();
    other.session.synchronize();
    copy_factor(other);
    session.synchronize();
    factored = other.factored;
    solved = inverted = refined = swept_members = swept_columns = 0;
}

void Solver::Impl::copy_factor(Impl& other) {
    const Session::Call call(session);
    Session::Call of_other(other.session);
    for (const auto& from : other.plan.program().buffers) {
        const auto& to = buffer(plan.program(), from.name);
        // Buffers that depend on rhs are of another size, and zeroed ones count the calls of their Solver. Neither holds a factor.
        if (to.bytes == from.bytes && to.bytes > 0 && !to.zeroed) of_other.copy(from.name, session.place(to.name), to.bytes, {});
    }
    session.adopt(session.workspace(), {});
}

void Solver::Impl::prepare(Request& request) const {
    resolve(plan.choice().spec, request);
    require_planned(request.operation, "");
    if (request.columns > plan.choice().spec.rhs)
        require_planned(without_factor(request.operation), ", which takes the columns beyond the Spec's rhs");
    if (factors(request.operation) || request.operation == Operation::load) return;
    require_factor(to_string(request.operation));
    if (request.members > factored)
        throw SpecError(
            fmt::format("{} for {} members, but only {} have been factored", to_string(request.operation), request.members, factored));
}

void Solver::Impl::require_planned(Operation operation, const char* why) const {
    const auto& spec = plan.choice().spec;
    const auto& planned = spec.operations;
    const bool with_solve = operation == Operation::solve_transposed && spec.matrix == MatrixKind::general;
    if (planned.contains(operation) || (with_solve && planned.contains(Operation::solve))) return;
    if (plan.choice().spec.precision == Precision::mixed && operation != Operation::solve && operation != Operation::factor_solve)
        throw SpecError(fmt::format("mixed precision has factor, solve and factor_solve, not {}; make a Plan of precision f64 for that",
                                    to_string(operation)));
    throw SpecError(fmt::format("this Plan has no kernels for {}{}; add it to the Spec's operations, which are {}", to_string(operation),
                                why, to_string(planned)));
}

void Solver::Impl::require_factor(std::string_view what) const {
    if (factored == 0) throw SpecError(fmt::format("{} needs a factorization; call factor, factor_forward or factor_solve first", what));
}

void Solver::Impl::enqueue(Session::Call& call, const Request& request) {
    const auto& spec = plan.choice().spec;
    auto operation = request.operation;
    const auto step = std::min(spec.rhs, kernel_columns_);
    const auto all_columns = sweeps(request.operation) ? request.columns : step;  // others treat no columns, and once is enough
    for (std::int64_t first = 0; first < all_columns; first += step) {
        const auto columns = std::min(step, all_columns - first);
        set_operands(request, first, columns);
        call.run(numbers_[static_cast<std::size_t>(operation)], operands_);
        operation = without_factor(operation);
    }
    if (request.operation == Operation::load) {
        loaded_.resize(static_cast<std::size_t>(spec.horizon));
        std::fill_n(loaded_.begin() + request.first_block, request.blocks, request.members);
        factored = 0;  // a block of it is overwritten
    }
    if (factors(request.operation)) factored = std::max(factored, request.members), loaded_.clear();
    if (factors(request.operation) || factored == 0) solved = inverted = refined = 0;
    if (request.operation == Operation::refine) refined = request.members, swept_members = 0;
    if (solves(request.operation)) solved = request.members;
    if (request.operation == Operation::inverse) inverted = request.members;
    if (sweeps_forward(request.operation)) {
        swept_members = request.members;
        swept_columns = request.columns;
    }
}

void Solver::Impl::set_operands(const Request& request, std::int64_t first, std::int64_t columns) {
    const auto& spec = plan.choice().spec;
    const auto& buffers = plan.program().buffers;
    const auto caller = panel_args(spec, request, first, columns, session.workspace());
    for (auto& operand : operands_) operand.members = request.members;
    if (spec.border == 0) {
        const auto all = operands_of(spec, kernel_columns_, buffers, caller);
        for (std::size_t k = 0; k < all.size(); ++k) set_args(args_[k], all[k]);
        return;
    }
    const auto strides = tip_strides(spec, request.columns);
    const auto panel = [&](const void* array) {
        return array == nullptr ? nullptr : static_cast<const char*>(array) + first * strides.column * element_bytes(spec.precision);
    };
    const BorderArrays tip{request[Array::f], request[Array::c], panel(request[Array::tip_b]),
                           const_cast<char*>(panel(request[Array::tip_x])), strides};
    for (std::size_t k = 0; k < args_.size(); ++k) set_args(args_[k], border_operand(spec, panels_, k, buffers, caller, tip));
}

/// From what the call touches to what an array has in full, for the Spec's whole batch and with the gaps of its strides. Any other size
/// means that the caller thinks of another problem, one of more columns for example.
void Solver::Impl::check_sizes(const Request& request, std::span<const AnyArray> arrays) const {
    const auto& spec = plan.choice().spec;
    const auto real = element_bytes(spec.precision);
    auto full = request;
    full.members = spec.batch;
    const RequestArrays touched(spec, request), most(spec, full);
    for (std::size_t k = 0; k < touched.list().size(); ++k) {
        const auto array = touched.at(k);
        const auto named = listed(request.operation);
        const auto place = static_cast<std::size_t>(std::ranges::find(named, array) - named.begin());
        const auto size = place < arrays.size() ? arrays[place].size : -1;  // the options' arrays have none
        const auto least = touched.list()[k].bytes / real, largest = most.list()[k].bytes / real + gaps_of(spec, array);
        if (size < 0 || (size >= least && size <= largest)) continue;
        const bool columns = size > largest && array >= Array::b && array <= Array::x;
        throw SpecError(
            fmt::format("{} has {} elements; the Spec's layout needs {}{}", to_string(array), size, least,
                        columns ? fmt::format(" for {} columns; give more columns in the options' `columns`", request.columns) : ""));
    }
}

void Solver::Impl::run(Operation operation, std::span<const AnyArray> arrays, const CallOptions& options) {
    Session::Call call(session);
    const auto& spec = plan.choice().spec;
    auto request = request_of(spec, operation, arrays, options);
    prepare(request);
    if (spec.operations.contains(Operation::load) && factors(operation)) load_given(call, request, arrays, options.stream);
    carry_out(call, request, arrays, options.stream);
}

void Solver::Impl::carry_out(Session::Call& call, Request request, std::span<const AnyArray> arrays, Stream stream) {
    const auto& spec = plan.choice().spec;
    const RequestArrays all(spec, request);
    if (arrays.front().on_host) check_sizes(request, arrays);
    if (arrays.front().on_host || plan.device().backend() == Backend::cpu) check_lengths(spec, request);
    call.bind(all.list(), arrays, stream);
    for (std::size_t k = 0; k < all.list().size(); ++k) request[all.at(k)] = call.at(k);
    enqueue(call, request);
    call.finish();
}

void Solver::Impl::load_given(Session::Call& call, Request& request, std::span<const AnyArray> arrays, Stream stream) {
    const auto& spec = plan.choice().spec;
    if (request[Array::d] != nullptr || request[Array::e] != nullptr) {
        Request load{.operation = Operation::load, .members = request.members};
        load[Array::d] = request[Array::d], load[Array::e] = request[Array::e];
        resolve(spec, load);
        carry_out(call, load, arrays.first(2), stream);
        request[Array::d] = request[Array::e] = nullptr;
    }
    loaded_.resize(static_cast<std::size_t>(spec.horizon));
    for (std::size_t k = 0; k < loaded_.size(); ++k)
        if (loaded_[k] < request.members)
            throw SpecError(
                fmt::format("D and E of block {} have not been loaded since the last factorization, which overwrote them; load "
                            "all {} blocks of {} systems, or give D and E",
                            k, spec.horizon, request.members));
}

void Solver::Impl::check_readable(std::span<const AnyArray> arrays, std::int64_t members) const {
    const auto& spec = plan.choice().spec;
    auto request = request_of(spec, Operation::factor, arrays, {.members = members, .columns = 1});
    resolve(spec, request);
    check_sizes(request, arrays);
}

const std::vector<Outcome>& Solver::Impl::status() {
    Session::Call call(session);
    read_status(call);
    return outcomes_;
}

void Solver::Impl::read_status(Session::Call& call) {
    require_factor("status");
    outcomes_.assign(static_cast<std::size_t>(factored), Outcome{});
    const auto factors = call.read<trifold_status>("status", factored);
    for (std::size_t k = 0; k < outcomes_.size(); ++k) {
        outcomes_[k].block = factors[k].block;
        outcomes_[k].row = factors[k].row;
        if (const auto& spec = plan.choice().spec; spec.bandwidth > 1) unfold(spec, outcomes_[k]);
        outcomes_[k].floors = factors[k].floors;
        if (factors[k].floors < 0) continue;  // never factored
        outcomes_[k].least_pivot = factors[k].least_pivot;
        // In mixed precision pivots of f32 may be small, and solutions be refined to the last digit all the same.
        outcomes_[k].nearly_singular = factors[k].nearly_singular != 0 && plan.choice().spec.precision != Precision::mixed;
    }
    if (plan.choice().spec.matrix != MatrixKind::positive_definite) read_inertia(call);
    if (plan.choice().spec.precision == Precision::mixed) return;  // there it is in the refinement
    const auto sound = [&](std::size_t k) { return outcomes_[k].block < 0 && outcomes_[k].floors >= 0; };
    const auto ranges = call.read<trifold_range>("range", std::max(solved, inverted));
    for (std::size_t k = 0; k < ranges.size(); ++k) {
        const auto member = static_cast<std::int64_t>(k);
        // On a CPU each panel of right-hand sides has a bit. Memory that no solution has reached is all ones.
        outcomes_[k].solution = !(member < solved && sound(k) && ranges[k].solution > 0);
        outcomes_[k].inverse = !(member < inverted && sound(k) && ranges[k].inverse == 1);
    }
    if (!quadratic_known() || plan.choice().spec.matrix == MatrixKind::general) return;
    const auto rhs = plan.choice().spec.rhs;
    const auto quadratics = call.read<double>("quadratic", swept_members * rhs);
    for (std::int64_t member = 0; member < swept_members; ++member)
        for (std::int64_t c = 0; c < swept_columns; ++c) {
            const auto k = static_cast<std::size_t>(member);
            if (sound(k) && std::isnan(quadratics[static_cast<std::size_t>(member * rhs + c)])) outcomes_[k].quadratic = false;
        }
}

namespace {

struct Both {
    trifold_status status;
    trifold_inertia inertia;
};

}  // namespace

std::int64_t Solver::Impl::inertia_offset() const {
    return buffer(plan.program(), "status").bytes / static_cast<std::int64_t>(sizeof(Both)) *
           static_cast<std::int64_t>(sizeof(trifold_status));
}

void Solver::Impl::read_inertia(Session::Call& call) {
    const auto before = static_cast<std::size_t>(inertia_offset());
    const auto bytes = std::as_bytes(call.read<Both>("status", inertia_offset() / std::int64_t{sizeof(trifold_status)})).subspan(before);
    for (std::size_t k = 0; k < outcomes_.size(); ++k) {
        trifold_inertia inertia;
        std::memcpy(&inertia, bytes.data() + k * sizeof inertia, sizeof inertia);
        if (outcomes_[k].block >= 0 || outcomes_[k].floors < 0) continue;
        outcomes_[k].negative = inertia.negative;
        outcomes_[k].growth = inertia.growth;
    }
}

const std::vector<double>& Solver::Impl::log_determinant() {
    Session::Call call(session);
    require_factor("log_determinant");
    const auto values = call.read<double>("log_determinant", factored);
    log_determinants_.assign(values.begin(), values.end());
    return log_determinants_;
}

bool Solver::Impl::quadratic_known() const { return swept_members > 0 && swept_columns <= plan.choice().spec.rhs; }

void Solver::Impl::copy_log_determinant(double* to, std::int64_t members, Stream stream) {
    Session::Call call(session);
    require_factored("log_determinant", members);
    call.copy("log_determinant", to, members * static_cast<std::int64_t>(sizeof *to), stream);
}

void Solver::Impl::copy_quadratic(double* to, std::int64_t members, Stream stream, std::int64_t columns) {
    Session::Call call(session);
    require_quadratic();
    if (members < 0 || members > swept_members)
        throw SpecError(fmt::format("quadratic of {} members, but the last forward sweep had {}", members, swept_members));
    const auto rhs = plan.choice().spec.rhs, bytes = static_cast<std::int64_t>(sizeof *to);
    if (columns == 0) columns = rhs;
    if (columns < 0 || columns > rhs)
        throw SpecError(fmt::format("quadratic of {} columns, but a Plan with rhs = {} keeps that many", columns, rhs));
    if (columns == rhs) return call.copy("quadratic", to, members * rhs * bytes, stream);
    for (std::int64_t member = 0; member < members; ++member)
        call.copy("quadratic", to + member * columns, columns * bytes, stream, member * rhs * bytes);
}

void Solver::Impl::require_factored(std::string_view what, std::int64_t members) const {
    require_factor(what);
    if (members < 0 || members > factored)
        throw SpecError(fmt::format("{} of {} members, but {} have been factored", what, members, factored));
}

void Solver::Impl::copy_status(MemberStatus* to, std::int64_t members, Stream stream) {
    static_assert(sizeof(MemberStatus) == sizeof(trifold_status) && sizeof(MemberInertia) == sizeof(trifold_inertia) &&
                  offsetof(MemberStatus, least_pivot) == offsetof(trifold_status, least_pivot));
    Session::Call call(session);
    require_factored("copy_status", members);
    call.copy("status", to, members * static_cast<std::int64_t>(sizeof *to), stream);
}

void Solver::Impl::copy_inertia(MemberInertia* to, std::int64_t members, Stream stream) {
    Session::Call call(session);
    if (plan.choice().spec.matrix == MatrixKind::positive_definite)
        throw SpecError("copy_inertia is for symmetric and general matrices, and this Plan's are positive definite; set the Spec's matrix");
    require_factored("copy_inertia", members);
    call.copy("status", to, members * static_cast<std::int64_t>(sizeof *to), stream, inertia_offset());
}

void Solver::Impl::copy_backward_error(double* to, std::int64_t members, Stream stream) {
    Session::Call call(session);
    if (members < 0 || members > refined)
        throw SpecError(fmt::format("the backward errors of {} members, but {} have been refined", members, refined));
    const auto each = static_cast<std::int64_t>(sizeof *to), capacity = buffer(plan.program(), "refined").bytes / (each + sizeof_refined);
    call.copy("refined", to, members * each, stream, capacity * sizeof_refined);
}

void Solver::Impl::require_quadratic() const {
    const auto rhs = plan.choice().spec.rhs;
    if (plan.choice().spec.precision == Precision::mixed)
        throw SpecError("mixed precision has no quadratic; multiply b and x, or make a Plan of precision f64");
    if (plan.choice().spec.matrix == MatrixKind::general) throw SpecError("a general matrix has no quadratic; multiply b and x");
    if (swept_members == 0) throw SpecError("quadratic needs a forward sweep; call forward, solve, factor_forward or factor_solve first");
    if (!quadratic_known())
        throw SpecError(fmt::format("quadratic holds one panel of {} columns and the last forward sweep had {}; make a Plan with rhs = {}",
                                    rhs, swept_columns, swept_columns));
}

const std::vector<double>& Solver::Impl::quadratic() {
    Session::Call call(session);
    require_quadratic();
    const auto rhs = plan.choice().spec.rhs;
    const auto all = call.read<double>("quadratic", swept_members * rhs);
    quadratics_.clear();
    for (std::int64_t member = 0; member < swept_members; ++member) {
        const auto row = all.subspan(static_cast<std::size_t>(member * rhs), static_cast<std::size_t>(swept_columns));
        quadratics_.insert(quadratics_.end(), row.begin(), row.end());
    }
    return quadratics_;
}

const std::vector<Refinement>& Solver::Impl::refinement() {
    Session::Call call(session);
    read_refinement(call);
    return refinements_;
}

void Solver::Impl::read_refinement(Session::Call& call) {
    const auto& spec = plan.choice().spec;
    if (spec.precision != Precision::mixed && !spec.operations.contains(Operation::refine))
        throw SpecError(
            fmt::format("this Plan has precision {} and no operation refine, so it refines nothing", to_string(spec.precision)));
    refinements_.clear();
    for (const auto& member : call.read<trifold_refined>("refined", spec.precision == Precision::mixed ? solved : refined))
        refinements_.push_back({member.iterations, member.converged != 0, member.backward_error});
}

bool Solver::Impl::ok() {
    Session::Call call(session);
    read_status(call);
    if (!std::ranges::all_of(outcomes_, &Outcome::ok)) return false;
    if (plan.choice().spec.precision != Precision::mixed) return true;
    read_refinement(call);
    for (std::size_t k = 0; k < refinements_.size(); ++k)
        if (!refinements_[k].converged && outcomes_[k].floors >= 0) return false;
    return true;
}

}  // namespace trifold
