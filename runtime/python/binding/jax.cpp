// XLA's side of trifold.jax: one handler for all operations on blocks, which are functions of buffers without state, as a factor is a
// value; one that solves images; and one that solves sparse systems.
#include <trifold/factors.hpp>
#include <trifold/generate.hpp>

#include "runtime/python/binding/gil.hpp"
#include "runtime/python/binding/grid_pool.hpp"
#include "runtime/python/binding/parts.hpp"
#include "runtime/python/binding/plan.hpp"
#include "runtime/python/binding/sparse.hpp"
#include "runtime/tridiagonal/wisdom.hpp"

#ifdef TRIFOLD_HAS_JAX
#include <fmt/format.h>
#include <xla/ffi/api/ffi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <trifold/error.hpp>
#endif

namespace trifold::python {
namespace {

/// Entries of the attribute `problem`, in this order. trifold/jax/__init__.py writes it.
enum Field : std::size_t { f_call, f_block, f_horizon, f_batch, f_rhs, f_bits, f_inverse, f_accept, f_rows, fields };

Spec spec_of(const std::int64_t* problem) {
    Spec spec{.block = problem[f_block], .horizon = problem[f_horizon]};
    spec.precision = problem[f_bits] == 32 ? Precision::f32 : Precision::f64;
    spec.rhs = problem[f_rhs];
    spec.batch = problem[f_batch];
    spec.operations = {Operation::factor_solve, Operation::solve};
    if (problem[f_rows] != 0) {
        const auto leading = 3 * spec.block, stage = spec.block * leading, member = spec.horizon * stage;
        spec.d = spec.e = {.leading = leading, .stage = stage, .member = member};
    }
    if (problem[f_inverse] != 0) spec.operations.insert({Operation::factor, Operation::forward, Operation::backward, Operation::inverse});
    return spec;
}

/// Traced functions have their shapes from arrays, and there are many.
const Tuning for_any_size{.any_size = true};

}  // namespace

std::int64_t jax_value_bytes(const std::vector<std::int64_t>& problem, nb::handle device) {
    if (problem.size() != fields) throw SpecError("problem is not what trifold.jax gives");
    const auto where = device_of(device);
    const GilRelease unlocked;
    return generate(choose_by_wisdom(spec_of(problem.data()), where, for_any_size)).workspace_bytes;
}

#ifdef TRIFOLD_HAS_JAX
namespace {

namespace ffi = xla::ffi;
using Problem = ffi::Span<const std::int64_t>;
enum class Call : std::int64_t { factor, factor_solve, solve, log_determinant, selected_inverse, forward, backward, marginals };

/// A problem on a device. Kept for good: XLA's captured graphs may hold its kernels for as long as the process lives.
struct KnownProblem {
    explicit KnownProblem(std::shared_ptr<Factors> made) : factors(std::move(made)) {}
    std::shared_ptr<Factors> factors;
    std::atomic<bool> prepared = false;
};

constexpr int on_cpu = -1;

Device device_at(int ordinal) {
    if (ordinal != on_cpu) return Device::cuda(ordinal);
    static const auto cpu = Device::cpu();
    return cpu;
}

/// Compiles at the first call.
KnownProblem& known(Problem problem, int ordinal) {
    static auto& mutex = *new std::shared_mutex;
    static auto& all = *new std::map<std::array<std::int64_t, fields>, KnownProblem>;
    if (problem.size() != fields) throw SpecError("problem is not what trifold.jax gives");
    std::array<std::int64_t, fields> key;
    std::copy(problem.begin(), problem.end(), key.begin());
    key[f_call] = ordinal;  // the same Plan serves all calls
    key[f_accept] = 0;
    {
        const std::shared_lock lock(mutex);
        if (const auto found = all.find(key); found != all.end()) return found->second;
    }
    auto factors = Factors::shared(spec_of(problem.begin()), device_at(ordinal), for_any_size);
    const std::unique_lock lock(mutex);
    return all.try_emplace(key, std::move(factors)).first->second;
}

/// The buffers of a call.
struct Buffers {
    ffi::RemainingArgs arguments;
    ffi::RemainingRets results;
    ffi::AnyBuffer in(std::size_t i) const {
        const auto buffer = arguments.get<ffi::AnyBuffer>(i);
        if (!buffer.has_value()) throw SpecError(buffer.error().message());
        return *buffer;
    }
    ffi::AnyBuffer result(std::size_t i) const {
        auto buffer = results.get<ffi::AnyBuffer>(i);
        if (!buffer.has_value()) throw SpecError(buffer.error().message());
        return **buffer;
    }
    void* out(std::size_t i) const { return result(i).untyped_data(); }
    template <class Real>
    const Real* read(std::size_t i) const {
        return static_cast<const Real*>(in(i).untyped_data());
    }
    template <class Real>
    Real* write(std::size_t i) const {
        return static_cast<Real*>(out(i));
    }
    std::int64_t columns(std::size_t i) const { return in(i).dimensions().size() == 4 ? in(i).dimensions().back() : 0; }
};

void expect(const ffi::AnyBuffer& buffer, ffi::DataType type, std::int64_t elements, const char* name) {
    if (buffer.element_type() == type && static_cast<std::int64_t>(buffer.element_count()) == elements) return;
    throw SpecError(
        fmt::format("{} has {} elements, and the problem's has {}, or they are of another type", name, buffer.element_count(), elements));
}

void expect_value(const ffi::AnyBuffer& buffer, const Factors& factors) {
    if (buffer.element_type() == ffi::DataType::U8 && static_cast<std::int64_t>(buffer.element_count()) >= factors.bytes()) return;
    throw SpecError(fmt::format("a factor has {} bytes, and the problem's has {}", buffer.size_bytes(), factors.bytes()));
}

bool factors_in(Call call) { return call == Call::factor || call == Call::factor_solve || call == Call::marginals; }

/// Results of Call::marginals, in this order.
enum Marginal : std::size_t { m_value, m_log_determinant, m_diagonal, m_lower, m_x };

/// Kernels go by the problem, so no buffer may be of another.
void expect_sizes(const Factors& factors, Call call, const Buffers& buffers) {
    const auto& spec = factors.plan().choice().spec;
    const auto real = spec.precision == Precision::f32 ? ffi::DataType::F32 : ffi::DataType::F64;
    const auto blocks = [&](const ffi::AnyBuffer& diagonal, const ffi::AnyBuffer& lower) {
        const auto each = spec.batch * spec.block * spec.block;
        if (spec.d.leading != dense) return expect(diagonal, real, 3 * each * spec.horizon, "S");
        expect(diagonal, real, each * spec.horizon, "D or the diagonal");
        expect(lower, real, each * (spec.horizon - 1), "E or what is below the diagonal");
    };
    const auto columns = [&](std::size_t argument, std::size_t result = 1) {
        const auto elements = spec.batch * spec.horizon * spec.block * buffers.columns(argument);
        expect(buffers.in(argument), real, elements, "b");
        expect(buffers.result(result), real, elements, "x");
    };
    const bool factored = factors_in(call);
    if (factored) blocks(buffers.in(0), buffers.in(1));
    if (!factored) expect_value(buffers.in(0), factors);
    if (call == Call::log_determinant) return expect(buffers.result(0), ffi::DataType::F64, spec.batch, "log_determinant");
    expect_value(buffers.result(0), factors);
    if (call == Call::factor_solve) columns(2);
    if (call == Call::solve || call == Call::forward || call == Call::backward) columns(1);
    if (call == Call::selected_inverse) blocks(buffers.result(1), buffers.result(2));
    if (call != Call::marginals) return;
    expect(buffers.result(m_log_determinant), ffi::DataType::F64, spec.batch, "log_determinant");
    blocks(buffers.result(m_diagonal), buffers.result(m_lower));
    columns(2, m_x);
}

/// The value that a sweep works in. XLA is told to make it an argument and a result in one. Where it reads the argument as a slice of a
/// larger array, as it does in loops on a GPU, it does not.
Factors::Borrowed through(Factors& factors, const Buffers& buffers, Stream stream) {
    void* const given = buffers.in(0).untyped_data();
    void* const kept = buffers.out(0);
    return given == kept ? factors.filled(kept, stream) : factors.copied(given, kept, stream);
}

/// The Solver that a call is made with.
Factors::Borrowed borrowed_for(Factors& factors, Call call, const Buffers& buffers, Stream stream) {
    if (factors_in(call)) return factors.fresh(buffers.out(0), stream);
    if (call == Call::log_determinant) return factors.filled(buffers.in(0).untyped_data(), stream);
    return through(factors, buffers, stream);
}

/// D and E of a call. Rows of blocks [A(i, i - 1), A(i, i), A(i, i + 1)] have both: E is the first third from row 1 on, D the second.
template <class Real>
std::pair<const Real*, const Real*> matrix_of(const Spec& spec, const Buffers& buffers) {
    const auto* const d = buffers.read<Real>(0);
    if (spec.d.leading == dense) return {d, buffers.read<Real>(1)};
    return {d + spec.block, spec.horizon > 1 ? d + spec.e.stage : nullptr};
}

template <class Real>
void perform(Solver& solver, Call call, bool accept, const Buffers& buffers, Stream stream) {
    FactorOptions<Real> options;
    options.accept_nearly_singular = accept;
    const auto& spec = solver.plan().choice().spec;
    switch (call) {
        case Call::factor: {
            const auto [d, e] = matrix_of<Real>(spec, buffers);
            return solver.factor(d, e, stream, options);
        }
        case Call::factor_solve: {
            const auto [d, e] = matrix_of<Real>(spec, buffers);
            options.columns = buffers.columns(2);
            return solver.factor_solve(d, e, buffers.read<Real>(2), buffers.write<Real>(1), stream, options);
        }
        case Call::solve:
            return solver.solve(buffers.read<Real>(1), buffers.write<Real>(1), stream, {.columns = buffers.columns(1)});
        case Call::forward:
            return solver.forward(buffers.read<Real>(1), buffers.write<Real>(1), stream, {.columns = buffers.columns(1)});
        case Call::backward:
            return solver.backward(buffers.read<Real>(1), buffers.write<Real>(1), stream, {.columns = buffers.columns(1)});
        case Call::log_determinant:
            return solver.copy_log_determinant(buffers.write<double>(0), spec.batch, stream);
        case Call::selected_inverse:
            return solver.selected_inverse(buffers.write<Real>(1), buffers.write<Real>(2), stream);
        case Call::marginals:
            options.columns = buffers.columns(2);
            solver.factor_solve(buffers.read<Real>(0), buffers.read<Real>(1), buffers.read<Real>(2), buffers.write<Real>(m_x), stream,
                                options);
            solver.copy_log_determinant(buffers.write<double>(m_log_determinant), spec.batch, stream);
            return solver.selected_inverse(buffers.write<Real>(m_diagonal), buffers.write<Real>(m_lower), stream);
    }
    throw SpecError("the call is not known; this trifold.jax is of another version");
}

/// Fills a member's part of a result.
template <class Real>
void write_nan_of(const ffi::AnyBuffer& result, std::size_t member, std::size_t members) {
    const auto elements = result.element_count() / members;
    std::fill_n(static_cast<Real*>(result.untyped_data()) + member * elements, elements, std::numeric_limits<Real>::quiet_NaN());
}
void write_nan(const ffi::AnyBuffer& result, std::size_t member, std::size_t members) {
    if (result.element_type() == ffi::DataType::F64) write_nan_of<double>(result, member, members);
    if (result.element_type() == ffi::DataType::F32) write_nan_of<float>(result, member, members);
}

/// On the CPU: what rounding alone has decided must not be taken for sound, and a compiled function cannot raise. Values are bytes, and
/// stay.
void refuse_nearly_singular(Solver& solver, Call call, const Buffers& buffers) {
    if (call == Call::factor) return;
    const auto& members = solver.status();
    for (std::size_t k = 0; k < members.size(); ++k) {
        if (!members[k].nearly_singular) continue;
        for (std::size_t i = 0; i < buffers.results.size(); ++i) write_nan(buffers.result(i), k, members.size());
    }
}

/// Errors of ours as XLA's. A member that fails is none: its results are NaN.
template <class Body>
ffi::Error guarded(Body body) {
    try {
        body();
        return ffi::Error::Success();
    } catch (const SpecError& error) {
        return {ffi::ErrorCode::kInvalidArgument, std::string("trifold: ") + error.what()};
    } catch (const CompileError& error) {
        return {ffi::ErrorCode::kInternal, std::string("trifold: ") + error.what() + "\n" + error.log};
    } catch (const std::exception& error) {
        return {ffi::ErrorCode::kInternal, std::string("trifold: ") + error.what()};
    }
}

void execute(Problem problem, const Buffers& buffers, int ordinal, Stream stream) {
    auto& factors = *known(problem, ordinal).factors;
    const auto call = static_cast<Call>(problem[f_call]);
    expect_sizes(factors, call, buffers);
    const auto solver = borrowed_for(factors, call, buffers, stream);
    const auto perform_in = [&]<class Real>(Real) {
        perform<Real>(*solver, call, problem[f_accept] != 0, buffers, stream);
        if (ordinal == on_cpu) refuse_nearly_singular(*solver, call, buffers);
    };
    if (problem[f_bits] == 32)
        perform_in(float{});
    else
        perform_in(double{});
}

/// Compiles, and makes a Solver, for while XLA records a command buffer none can be made.
void prepare(Problem problem, const Buffers& buffers, int ordinal) {
    auto& entry = known(problem, ordinal);
    if (entry.prepared.exchange(true)) return;
    const auto call = static_cast<Call>(problem[f_call]);
    entry.factors->prepare(call == Call::log_determinant ? buffers.in(0).untyped_data() : buffers.out(0));
}

ffi::Error compile_cpu(Problem problem) {
    return guarded([&] { known(problem, on_cpu); });
}
ffi::Error execute_cpu(ffi::RemainingArgs arguments, ffi::RemainingRets results, Problem problem) {
    return guarded([&] { execute(problem, {arguments, results}, on_cpu, {}); });
}
ffi::Error prepare_cuda(std::int32_t ordinal, ffi::RemainingArgs arguments, ffi::RemainingRets results, Problem problem) {
    return guarded([&] { prepare(problem, {arguments, results}, ordinal); });
}
ffi::Error execute_cuda(void* stream, std::int32_t ordinal, ffi::RemainingArgs arguments, ffi::RemainingRets results, Problem problem) {
    return guarded([&] { execute(problem, {arguments, results}, ordinal, {stream}); });
}

XLA_FFI_DEFINE_HANDLER(cpu_instantiate, compile_cpu, ffi::Ffi::BindInstantiate().Attr<Problem>("problem"));
XLA_FFI_DEFINE_HANDLER(cpu_execute, execute_cpu, ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<Problem>("problem"));
XLA_FFI_DEFINE_HANDLER(
    cuda_initialize, prepare_cuda,
    ffi::Ffi::Bind<ffi::ExecutionStage::kInitialize>().Ctx<ffi::DeviceOrdinal>().RemainingArgs().RemainingRets().Attr<Problem>("problem"));
XLA_FFI_DEFINE_HANDLER(
    cuda_execute, execute_cuda,
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().Ctx<ffi::DeviceOrdinal>().RemainingArgs().RemainingRets().Attr<Problem>("problem"),
    {ffi::Traits::kCmdBufferCompatible});

// Images: one call, which factors and solves.

/// Entries of its attribute `problem`, in this order. trifold/jax/grid.py writes it.
enum GridField : std::size_t { g_matrix, g_pivoting, g_boundary, g_workers, g_transposed, grid_fields };
constexpr std::int64_t max_columns_of_grid = 32;  // right-hand sides that are solved at once

/// For stencils (batch, H, W, 9) and right-hand sides (batch, H, W, m).
GridSpec grid_spec_of(Problem problem, const Buffers& buffers) {
    const auto shape = buffers.in(0).dimensions();
    GridSpec spec{.width = shape[2], .height = shape[1]};
    spec.precision = buffers.in(0).element_type() == ffi::DataType::F32 ? Precision::f32 : Precision::f64;
    spec.matrix = problem[g_matrix] != 0 ? GridMatrix::symmetric : GridMatrix::general;
    spec.pivoting = problem[g_pivoting] != 0 ? GridPivoting::none : GridPivoting::partial;
    spec.boundary = problem[g_boundary] != 0 ? GridBoundary::fixed : GridBoundary::natural;
    spec.batch = shape[0];
    spec.rhs = std::min(buffers.columns(1), max_columns_of_grid);
    if (problem[g_transposed] != 0)
        spec.operations = {GridOperation::factor, GridOperation::solve_transposed};
    else
        spec.operations = {GridOperation::factor_solve, GridOperation::solve};
    return spec;
}

void execute_grid(Problem problem, const Buffers& buffers, int ordinal, Stream stream) {
    if (problem.size() != grid_fields || buffers.in(0).dimensions().size() != 4) throw SpecError("problem is not what trifold.jax gives");
    const auto spec = grid_spec_of(problem, buffers);
    const auto pixels = spec.batch * spec.height * spec.width, elements = pixels * buffers.columns(1);
    const auto real = spec.precision == Precision::f32 ? ffi::DataType::F32 : ffi::DataType::F64;
    expect(buffers.in(0), real, 9 * pixels, "stencil");
    expect(buffers.in(1), real, elements, "b");
    expect(buffers.result(0), real, elements, "x");
    PooledGridSolver pooled(spec, device_at(ordinal), {.workers = static_cast<int>(problem[g_workers])}, stream);
    // On the host an array goes with its size: then the solver looks closer where it doubts.
    const auto array = [&](void* data, std::int64_t size) {
        AnyArray result(data, ordinal == on_cpu, spec.precision);
        if (ordinal == on_cpu) result.size = size;
        return result;
    };
    const auto stencil = array(buffers.in(0).untyped_data(), 9 * pixels), b = array(buffers.in(1).untyped_data(), elements);
    const auto x = array(buffers.out(0), elements);
    const GridOptions options{.columns = buffers.columns(1)};
    if (problem[g_transposed] == 0) return pooled->run(GridOperation::factor_solve, {stencil, b, x}, stream, options);
    pooled->run(GridOperation::factor, {stencil}, stream, {});
    pooled->run(GridOperation::solve_transposed, {b, x}, stream, options);
}

ffi::Error execute_grid_cpu(ffi::RemainingArgs arguments, ffi::RemainingRets results, Problem problem) {
    return guarded([&] { execute_grid(problem, {arguments, results}, on_cpu, {}); });
}
ffi::Error execute_grid_cuda(void* stream, std::int32_t ordinal, ffi::RemainingArgs arguments, ffi::RemainingRets results,
                             Problem problem) {
    return guarded([&] { execute_grid(problem, {arguments, results}, ordinal, {stream}); });
}
XLA_FFI_DEFINE_HANDLER(grid_cpu_execute, execute_grid_cpu, ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<Problem>("problem"));
XLA_FFI_DEFINE_HANDLER(
    grid_cuda_execute, execute_grid_cuda,
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().Ctx<ffi::DeviceOrdinal>().RemainingArgs().RemainingRets().Attr<Problem>("problem"));

// Sparse systems: one call, with a Solver of Python that the problem names by its number.

/// Entries of its attribute `problem`, in this order. trifold/jax/sparse.py writes it. Those that end with _bits are a double's.
enum SparseField : std::size_t { s_number, s_transposed, s_maxiter, s_rtol_bits, s_atol_bits, s_shift_bits, sparse_fields };

void execute_sparse(Problem problem, const Buffers& buffers, int ordinal, Stream stream) {
    if (problem.size() != sparse_fields) throw SpecError("problem is not what trifold.jax gives");
    const auto solver = shared_sparse(problem[s_number]);
    const auto& plan = solver->plan();
    const auto& device = plan.device();
    if (ordinal != on_cpu && (device.backend() != Backend::cuda || device.ordinal() != ordinal))
        throw SpecError(
            fmt::format("b is on GPU {}, and the Solver on {}; make it with device='cuda:{}'", ordinal, device.name(), ordinal));
    const auto block = plan.spec().block, rows = plan.pattern().rows() * block;
    const auto shape = buffers.in(1).dimensions();
    const std::int64_t columns = shape.size() == 2 ? shape[1] : 1;
    const auto precision = plan.spec().precision == Precision::f32 ? Precision::f32 : Precision::f64;
    const auto array = [&](const ffi::AnyBuffer& buffer, std::int64_t elements, const char* name) {
        expect(buffer, precision == Precision::f32 ? ffi::DataType::F32 : ffi::DataType::F64, elements, name);
        AnyArray result(buffer.untyped_data(), ordinal == on_cpu, precision);
        if (ordinal == on_cpu) result.size = elements;
        return result;
    };
    const auto number = [&](SparseField field) { return std::bit_cast<double>(problem[field]); };
    const SparseOptions options{.columns = columns,
                                .rtol = number(s_rtol_bits),
                                .atol = number(s_atol_bits),
                                .maxiter = problem[s_maxiter],
                                .shift = number(s_shift_bits)};
    solver->solve(array(buffers.in(0), plan.pattern().values() * block * block, "A"), array(buffers.in(1), rows * columns, "b"),
                  array(buffers.result(0), rows * columns, "x"), problem[s_transposed] != 0, stream, options);
}

ffi::Error execute_sparse_cpu(ffi::RemainingArgs arguments, ffi::RemainingRets results, Problem problem) {
    return guarded([&] { execute_sparse(problem, {arguments, results}, on_cpu, {}); });
}
ffi::Error execute_sparse_cuda(void* stream, std::int32_t ordinal, ffi::RemainingArgs arguments, ffi::RemainingRets results,
                               Problem problem) {
    return guarded([&] { execute_sparse(problem, {arguments, results}, ordinal, {stream}); });
}
XLA_FFI_DEFINE_HANDLER(sparse_cpu_execute, execute_sparse_cpu, ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<Problem>("problem"));
XLA_FFI_DEFINE_HANDLER(
    sparse_cuda_execute, execute_sparse_cuda,
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().Ctx<ffi::DeviceOrdinal>().RemainingArgs().RemainingRets().Attr<Problem>("problem"));

/// Does nothing: tests measure with it what a call costs without us.
ffi::Error nothing(void*, std::int32_t, ffi::RemainingArgs, ffi::RemainingRets, Problem) { return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER(
    cuda_nothing, nothing,
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().Ctx<ffi::DeviceOrdinal>().RemainingArgs().RemainingRets().Attr<Problem>("problem"),
    {ffi::Traits::kCmdBufferCompatible});

}  // namespace

void jax_compile(const std::vector<std::int64_t>& problem, nb::handle device) {
    const auto where = device_of(device);
    const GilRelease unlocked;
    static_cast<void>(
        guarded([&] { known({problem.data(), problem.size()}, where.backend() == Backend::cpu ? on_cpu : where.ordinal()); }));
}

nb::dict jax_handlers() {
    nb::dict result;
    const auto add = [&](const char* name, XLA_FFI_Handler* handler) { result[name] = nb::capsule(reinterpret_cast<void*>(handler)); };
    add("cpu_instantiate", cpu_instantiate);
    add("cpu_execute", cpu_execute);
    add("cuda_initialize", cuda_initialize);
    add("cuda_execute", cuda_execute);
    add("cuda_nothing", cuda_nothing);
    add("grid_cpu_execute", grid_cpu_execute);
    add("grid_cuda_execute", grid_cuda_execute);
    add("sparse_cpu_execute", sparse_cpu_execute);
    add("sparse_cuda_execute", sparse_cuda_execute);
    return result;
}
#else
nb::dict jax_handlers() { return {}; }
void jax_compile(const std::vector<std::int64_t>&, nb::handle) {}
#endif

}  // namespace trifold::python
