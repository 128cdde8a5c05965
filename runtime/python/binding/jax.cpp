// XLA's side of trifold.jax: one handler for all families. Its only attribute is a problem, a text in JSON that trifold/_jax_primitives.py
// writes: {"family", "operation", "spec"} and what else the family reads, all by name. Operations on blocks are functions of buffers
// without state, as a factor is a value.
#include <trifold/generate.hpp>
#include <trifold/solver.hpp>

#include "generator/grid/fields.hpp"
#include "generator/tridiagonal/fields.hpp"
#include "runtime/python/binding/gil.hpp"
#include "runtime/python/binding/grid_pool.hpp"
#include "runtime/python/binding/parts.hpp"
#include "runtime/python/binding/plan.hpp"
#include "runtime/python/binding/sparse.hpp"
#include "runtime/tridiagonal/solver_impl.hpp"

#ifdef TRIFOLD_HAS_JAX
#include <fmt/format.h>
#include <xla/ffi/api/ffi.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <trifold/error.hpp>
#endif

namespace trifold::python {
namespace {

/// Traced functions have their shapes from arrays, and there are many.
const Tuning for_any_size{.any_size = true};

}  // namespace

std::int64_t jax_value_bytes(const std::string& problem, nb::handle device) {
    const auto where = device_of(device);
    const GilRelease unlocked;
    const auto spec = parse_spec_json(nlohmann::json::parse(problem).at("spec"));
    return generate(choose_by_wisdom(spec, where, for_any_size)).workspace_bytes;
}

#ifdef TRIFOLD_HAS_JAX
namespace {

namespace ffi = xla::ffi;

constexpr int on_cpu = -1;

Device device_at(int ordinal) {
    if (ordinal != on_cpu) return Device::cuda(ordinal);
    static const auto cpu = Device::cpu();
    return cpu;
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

ffi::DataType type_of(Precision precision) { return precision == Precision::f32 ? ffi::DataType::F32 : ffi::DataType::F64; }

void expect(const ffi::AnyBuffer& buffer, ffi::DataType type, std::int64_t elements, const char* name) {
    if (buffer.element_type() == type && static_cast<std::int64_t>(buffer.element_count()) == elements) return;
    throw SpecError(
        fmt::format("{} has {} elements, and the problem's has {}, or they are of another type", name, buffer.element_count(), elements));
}

/// A buffer of that many numbers. On the host it goes with its size: then the solver looks closer where it doubts.
AnyArray array_of(const ffi::AnyBuffer& buffer, Precision precision, std::int64_t elements, bool on_host, const char* name) {
    expect(buffer, type_of(precision), elements, name);
    AnyArray array(buffer.untyped_data(), on_host, precision);
    if (on_host) array.size = elements;
    return array;
}

/// A problem on a device.
class Known {
  public:
    virtual ~Known() = default;
    /// Compiles, and makes what cannot be made while XLA records a command buffer.
    virtual void prepare(const Buffers&) {}
    virtual void execute(const Buffers& buffers, Stream stream) = 0;
};

// Blocks.

enum class Call { factor, factor_solve, solve, log_determinant, selected_inverse, forward, backward, marginals };

constexpr std::array<std::string_view, 8> calls{"factor",           "factor_solve", "solve",    "log_determinant",
                                                "selected_inverse", "forward",      "backward", "marginals"};

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
    const auto real = type_of(spec.precision);
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

class Blocks : public Known {
  public:
    Blocks(const nlohmann::json& problem, int ordinal)
        : factors_(Factors::shared(parse_spec_json(problem.at("spec")), device_at(ordinal), for_any_size)),
          call_(static_cast<Call>(place_of(problem.at("operation").get<std::string>(), calls, "operation"))),
          on_host_(ordinal == on_cpu),
          accept_(problem.at("accept_nearly_singular")) {}

    void prepare(const Buffers& buffers) override {
        if (prepared_.exchange(true)) return;
        factors_->prepare(call_ == Call::log_determinant ? buffers.in(0).untyped_data() : buffers.out(0));
    }

    void execute(const Buffers& buffers, Stream stream) override {
        expect_sizes(*factors_, call_, buffers);
        const auto solver = borrowed_for(*factors_, call_, buffers, stream);
        const auto perform_in = [&]<class Real>(Real) {
            perform<Real>(*solver, call_, accept_, buffers, stream);
            if (on_host_) refuse_nearly_singular(*solver, call_, buffers);
        };
        if (factors_->plan().choice().spec.precision == Precision::f32)
            perform_in(float{});
        else
            perform_in(double{});
    }

  private:
    std::shared_ptr<Factors> factors_;
    Call call_;
    bool on_host_, accept_;
    std::atomic<bool> prepared_ = false;
};

/// Images: one call, which factors and solves stencils (batch, H, W, 9) and right-hand sides (batch, H, W, m).
class Images : public Known {
  public:
    Images(const nlohmann::json& problem, int ordinal)
        : spec_(parse_grid_json(problem.at("spec"))),
          columns_(problem.at("columns")),
          tuning_{.workers = problem.at("workers")},
          device_(device_at(ordinal)),
          on_host_(ordinal == on_cpu) {}

    void execute(const Buffers& buffers, Stream stream) override {
        const auto pixels = spec_.batch * spec_.height * spec_.width, elements = pixels * columns_;
        const auto stencil = array_of(buffers.in(0), spec_.precision, 9 * pixels, on_host_, "stencil");
        const auto b = array_of(buffers.in(1), spec_.precision, elements, on_host_, "b");
        const auto x = array_of(buffers.result(0), spec_.precision, elements, on_host_, "x");
        PooledGridSolver pooled(spec_, device_, tuning_, stream);
        const GridOptions options{.columns = columns_};
        if (spec_.operations.contains(GridOperation::factor_solve))
            return pooled->run(GridOperation::factor_solve, {stencil, b, x}, stream, options);
        pooled->run(GridOperation::factor, {stencil}, stream, {});
        pooled->run(GridOperation::solve_transposed, {b, x}, stream, options);
    }

  private:
    GridSpec spec_;
    std::int64_t columns_;
    GridTuning tuning_;
    Device device_;
    bool on_host_;
};

/// A sparse system: one call, with a Solver of Python that the problem names by its number.
class System : public Known {
  public:
    System(const nlohmann::json& problem, int ordinal)
        : number_(problem.at("number")),
          ordinal_(ordinal),
          is_transposed_(problem.at("operation") == "solve_transposed"),
          options_{.columns = problem.at("columns"),
                   .rtol = problem.at("rtol"),
                   .atol = problem.at("atol"),
                   .maxiter = problem.at("maxiter"),
                   .shift = problem.at("shift")} {}

    void execute(const Buffers& buffers, Stream stream) override {
        const auto solver = shared_sparse(number_);
        const auto& plan = solver->plan();
        const auto& device = plan.device();
        const bool on_host = ordinal_ == on_cpu;
        if (!on_host && (device.backend() != Backend::cuda || device.ordinal() != ordinal_))
            throw SpecError(
                fmt::format("b is on GPU {}, and the Solver on {}; make it with device='cuda:{}'", ordinal_, device.name(), ordinal_));
        const auto block = plan.spec().block, elements = plan.pattern().rows() * block * options_.columns;
        const auto precision = plan.spec().precision == Precision::f32 ? Precision::f32 : Precision::f64;
        solver->solve(array_of(buffers.in(0), precision, plan.pattern().values() * block * block, on_host, "A"),
                      array_of(buffers.in(1), precision, elements, on_host, "b"),
                      array_of(buffers.result(0), precision, elements, on_host, "x"), is_transposed_, stream, options_);
    }

  private:
    std::int64_t number_;
    int ordinal_;
    bool is_transposed_;
    SparseOptions options_;
};

template <class Family>
std::unique_ptr<Known> make(const nlohmann::json& problem, int ordinal) {
    return std::make_unique<Family>(problem, ordinal);
}
constexpr std::pair<std::string_view, std::unique_ptr<Known> (*)(const nlohmann::json&, int)> families[] = {
    {"tridiagonal", make<Blocks>}, {"grid", make<Images>}, {"sparse", make<System>}};

std::unique_ptr<Known> read(std::string_view problem, int ordinal) {
    const auto tree = nlohmann::json::parse(problem);
    const auto name = tree.at("family").get<std::string>();
    for (const auto& [family, make_one] : families)
        if (family == name) return make_one(tree, ordinal);
    throw SpecError("no family is called '" + name + "'; this trifold.jax is of another version");
}

/// Compiles blocks at the first call. Kept for good: XLA's captured graphs may hold the kernels for as long as the process lives.
Known& known(std::string_view problem, int ordinal) {
    static auto& mutex = *new std::shared_mutex;
    static auto& all = *new std::map<int, std::map<std::string, std::unique_ptr<Known>, std::less<>>>;
    {
        const std::shared_lock lock(mutex);
        const auto here = all.find(ordinal);
        if (here != all.end())
            if (const auto found = here->second.find(problem); found != here->second.end()) return *found->second;
    }
    auto made = read(problem, ordinal);
    const std::unique_lock lock(mutex);
    return *all[ordinal].try_emplace(std::string(problem), std::move(made)).first->second;
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

ffi::Error compile_cpu(std::string_view problem) {
    return guarded([&] { known(problem, on_cpu); });
}
ffi::Error execute_cpu(ffi::RemainingArgs arguments, ffi::RemainingRets results, std::string_view problem) {
    return guarded([&] { known(problem, on_cpu).execute({arguments, results}, {}); });
}
ffi::Error prepare_cuda(std::int32_t ordinal, ffi::RemainingArgs arguments, ffi::RemainingRets results, std::string_view problem) {
    return guarded([&] { known(problem, ordinal).prepare({arguments, results}); });
}
ffi::Error execute_cuda(void* stream, std::int32_t ordinal, ffi::RemainingArgs arguments, ffi::RemainingRets results,
                        std::string_view problem) {
    return guarded([&] { known(problem, ordinal).execute({arguments, results}, {stream}); });
}
/// Does nothing: tests measure with it what a call costs without us.
ffi::Error nothing(void*, std::int32_t, ffi::RemainingArgs, ffi::RemainingRets, std::string_view) { return ffi::Error::Success(); }

XLA_FFI_DEFINE_HANDLER(cpu_instantiate, compile_cpu, ffi::Ffi::BindInstantiate().Attr<std::string_view>("problem"));
XLA_FFI_DEFINE_HANDLER(cpu_execute, execute_cpu, ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<std::string_view>("problem"));
XLA_FFI_DEFINE_HANDLER(
    cuda_initialize, prepare_cuda,
    ffi::Ffi::Bind<ffi::ExecutionStage::kInitialize>().Ctx<ffi::DeviceOrdinal>().RemainingArgs().RemainingRets().Attr<std::string_view>(
        "problem"));
// Blocks may be recorded in a command buffer. Solutions of images and sparse systems may not, as the host takes part in them.
#define TRIFOLD_ON_CUDA                                                                                                                  \
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().Ctx<ffi::DeviceOrdinal>().RemainingArgs().RemainingRets().Attr<std::string_view>( \
        "problem")
XLA_FFI_DEFINE_HANDLER(cuda_execute, execute_cuda, TRIFOLD_ON_CUDA);
XLA_FFI_DEFINE_HANDLER(cuda_record, execute_cuda, TRIFOLD_ON_CUDA, {ffi::Traits::kCmdBufferCompatible});
XLA_FFI_DEFINE_HANDLER(cuda_nothing, nothing, TRIFOLD_ON_CUDA, {ffi::Traits::kCmdBufferCompatible});
#undef TRIFOLD_ON_CUDA

}  // namespace

void jax_compile(const std::string& problem, nb::handle device) {
    const auto where = device_of(device);
    const GilRelease unlocked;
    static_cast<void>(guarded([&] { known(problem, where.backend() == Backend::cpu ? on_cpu : where.ordinal()); }));
}

nb::dict jax_handlers() {
    nb::dict result;
    const auto add = [&](const char* name, XLA_FFI_Handler* handler) { result[name] = nb::capsule(reinterpret_cast<void*>(handler)); };
    add("cpu_instantiate", cpu_instantiate);
    add("cpu_execute", cpu_execute);
    add("cuda_initialize", cuda_initialize);
    add("cuda_execute", cuda_execute);
    add("cuda_record", cuda_record);
    add("cuda_nothing", cuda_nothing);
    return result;
}
#else
nb::dict jax_handlers() { return {}; }
void jax_compile(const std::string&, nb::handle) {}
#endif

}  // namespace trifold::python
