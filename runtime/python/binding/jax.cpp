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
#include "runtime/session/family.hpp"
#include "runtime/tridiagonal/solver_impl.hpp"

#ifdef TRIFOLD_HAS_JAX
#include <fmt/format.h>
#include <xla/ffi/api/ffi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
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

/// Arrays of a call in their order, by letters: D, E, U of general matrices, and b; v: the value; x; l: log det A; d and e: blocks of A^-1,
/// as D and E.
struct Call {
    std::string_view name, takes, makes;
    Operation sweep = Operation::solve;
    bool has(char array) const { return takes.find(array) != takes.npos || makes.find(array) != makes.npos; }
    bool factors() const { return takes.front() == 'D'; }
};
constexpr auto calls = std::to_array<Call>({{"factor", "DE", "v"},
                                            {"factor_solve", "DEb", "vx"},
                                            {"solve", "vb", "vx"},
                                            {"log_determinant", "v", "l"},
                                            {"selected_inverse", "v", "vde"},
                                            {"forward", "vb", "vx", Operation::forward},
                                            {"backward", "vb", "vx", Operation::backward},
                                            {"marginals", "DEb", "vldex"},
                                            {"general_factor", "DEU", "v"},
                                            {"general_factor_solve", "DEUb", "vx"},
                                            {"general_solve", "vb", "vx"},
                                            {"general_solve_transposed", "vb", "vx", Operation::solve_transposed},
                                            {"general_log_determinant", "v", "l"}});

const Call& call_of(std::string_view name) {
    const auto* const found = std::ranges::find(calls, name, &Call::name);
    if (found == calls.end()) throw SpecError("the call is not known; this trifold.jax is of another version");
    return *found;
}

void expect_value(const ffi::AnyBuffer& buffer, const Factors& factors) {
    if (buffer.element_type() == ffi::DataType::U8 && static_cast<std::int64_t>(buffer.element_count()) >= factors.bytes()) return;
    throw SpecError(fmt::format("a factor has {} bytes, and the problem's has {}", buffer.size_bytes(), factors.bytes()));
}

/// Right-hand sides: 0 where there are none, or one without an axis of its own.
std::int64_t columns_of(const Call& call, const Buffers& buffers) {
    const auto place = call.takes.find('b');
    const auto shape = place == call.takes.npos ? ffi::AnyBuffer::Dimensions{} : buffers.in(place).dimensions();
    return shape.size() == 4 ? shape.back() : 0;
}

/// Kernels go by the problem, so no buffer may be of another.
void expect_sizes(const Factors& factors, const Call& call, const Buffers& buffers) {
    const auto& spec = factors.plan().choice().spec;
    const auto real = type_of(spec.precision);
    const auto blocks = spec.batch * spec.block * spec.block, numbers = spec.batch * spec.horizon * spec.block * columns_of(call, buffers);
    const bool has_rows = spec.d.leading != dense;
    const auto expect_one = [&](char array, const ffi::AnyBuffer& buffer) {
        if (array == 'v') return expect_value(buffer, factors);
        if (array == 'l') return expect(buffer, ffi::DataType::F64, spec.batch, "log_determinant");
        if (array == 'b') return expect(buffer, real, numbers, "b");
        if (array == 'x') return expect(buffer, real, numbers, "x");
        if (has_rows) return expect(buffer, real, 3 * blocks * spec.horizon, "S");
        if (array == 'D' || array == 'd') return expect(buffer, real, blocks * spec.horizon, "D or the diagonal");
        expect(buffer, real, blocks * couplings_of(spec), "E, U or the lower blocks of an inverse");
    };
    for (std::size_t i = 0; i < call.takes.size(); ++i) expect_one(call.takes[i], buffers.in(i));
    for (std::size_t i = 0; i < call.makes.size(); ++i) expect_one(call.makes[i], buffers.result(i));
}

/// The Solver that a call is made with. XLA is told to make the value that a sweep works in an argument and a result in one. Where it reads
/// the argument as a slice of a larger array, as it does in loops on a GPU, it does not.
Factors::Borrowed borrowed_for(Factors& factors, const Call& call, const Buffers& buffers, Stream stream) {
    void* const given = buffers.in(0).untyped_data();
    void* const kept = buffers.result(0).untyped_data();
    if (call.factors()) return factors.fresh(kept, stream);
    return given == kept || call.makes == "l" ? factors.filled(given, stream) : factors.copied(given, kept, stream);
}

void perform(Solver& solver, const Call& call, bool accept, const Buffers& buffers, Stream stream) {
    const auto& spec = solver.plan().choice().spec;
    CallOptions options{.accept_nearly_singular = accept, .columns = columns_of(call, buffers), .stream = stream};
    const auto at = [&](char array, std::int64_t offset = 0) {
        const auto place = call.takes.find(array);
        const auto buffer = place != call.takes.npos ? buffers.in(place) : buffers.result(call.makes.find(array));
        return AnyArray(static_cast<std::byte*>(buffer.untyped_data()) + offset * element_bytes(spec.precision), false, spec.precision);
    };
    if (call.has('U')) options.u = at('U');
    if (call.factors()) {
        // Rows of blocks [A(i, i - 1), A(i, i), A(i, i + 1)] have both D and E, which is the first third from row 1 on.
        const bool has_rows = spec.d.leading != dense;
        const auto d = at('D', has_rows ? spec.block : 0), e = at('E', has_rows && spec.horizon > 1 ? spec.e.stage : 0);
        if (!call.has('b')) return solver.run(Operation::factor, {d, e}, options);
        solver.run(Operation::factor_solve, {d, e, at('b'), at('x')}, options);
    } else if (call.has('b')) {
        solver.run(call.sweep, {at('b'), at('x')}, options);
    }
    if (call.has('l'))
        solver.copy_log_determinant(static_cast<double*>(buffers.result(call.makes.find('l')).untyped_data()), spec.batch, stream);
    if (call.has('d')) solver.run(Operation::inverse, {at('d'), at('e')}, {.stream = stream});
}

/// Fills a member's part of a result, unless that is bytes: all bits are set in a NaN of either type.
void write_nan(const ffi::AnyBuffer& result, std::size_t member, std::size_t members) {
    const auto each = result.size_bytes() / members;
    if (result.element_type() != ffi::DataType::U8) std::memset(static_cast<std::byte*>(result.untyped_data()) + member * each, 0xff, each);
}

/// On the CPU: what rounding alone has decided must not be taken for sound, and a compiled function cannot raise. Values are bytes, and
/// stay.
void refuse_nearly_singular(Solver& solver, const Call& call, const Buffers& buffers) {
    if (call.makes == "v") return;
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
          call_(call_of(problem.at("operation").get<std::string>())),
          on_host_(ordinal == on_cpu),
          accept_(problem.at("accept_nearly_singular")) {}

    void prepare(const Buffers& buffers) override {
        if (prepared_.exchange(true)) return;
        factors_->prepare((call_.makes == "l" ? buffers.in(0) : buffers.result(0)).untyped_data());
    }

    void execute(const Buffers& buffers, Stream stream) override {
        expect_sizes(*factors_, call_, buffers);
        const auto solver = borrowed_for(*factors_, call_, buffers, stream);
        perform(*solver, call_, accept_, buffers, stream);
        if (on_host_) refuse_nearly_singular(*solver, call_, buffers);
    }

  private:
    std::shared_ptr<Factors> factors_;
    const Call& call_;
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

/// Any family: a call that takes values of A, and then runs an operation. Arrays that it updates are results that begin as arguments.
class Stated : public Known {
  public:
    Stated(const nlohmann::json& problem, int ordinal)
        : family_(family_named(problem.at("of").get<std::string>())),
          factor_(family_.operation(problem.at("factor").get<std::string>())),
          operation_(family_.operation(problem.at("operation").get<std::string>())),
          options_(problem.at("options")),
          plan_(family_.make(problem.at("spec"), device_at(ordinal), problem.at("tuning"))),
          solver_(plan_->solver(nullptr, 0)),
          precision_(plan_->spec().at("precision") == "f32" ? Precision::f32 : Precision::f64),
          on_host_(ordinal == on_cpu) {}

    void execute(const Buffers& buffers, Stream stream) override {
        const auto rows = family_.operations[operation_].arrays;
        std::vector<AnyArray> all;
        std::size_t in = 1, out = 0;
        for (const auto& row : rows) all.push_back(any(row.access == Access::read ? buffers.in(in++) : buffers.result(out++), row.name));
        const std::array values{any(buffers.in(0), "values")};
        const std::scoped_lock lock(in_call_);
        solver_->run(factor_, values, stream, nlohmann::json::object());
        solver_->run(operation_, all, stream, options_);
    }

  private:
    AnyArray any(const ffi::AnyBuffer& buffer, const char* name) const {
        auto array = array_of(buffer, precision_, static_cast<std::int64_t>(buffer.element_count()), on_host_, name);
        array.size = static_cast<std::int64_t>(buffer.element_count());
        return array;
    }
    const Family& family_;
    std::size_t factor_, operation_;
    nlohmann::json options_;
    std::unique_ptr<AnyPlan> plan_;
    std::unique_ptr<AnySolver> solver_;
    Precision precision_;
    bool on_host_;
    std::mutex in_call_;
};

template <class Family>
std::unique_ptr<Known> make(const nlohmann::json& problem, int ordinal) {
    return std::make_unique<Family>(problem, ordinal);
}
constexpr std::pair<std::string_view, std::unique_ptr<Known> (*)(const nlohmann::json&, int)> handled[] = {
    {"tridiagonal", make<Blocks>}, {"grid", make<Images>}, {"sparse", make<System>}, {"any", make<Stated>}};

std::unique_ptr<Known> read(std::string_view problem, int ordinal) {
    const auto tree = nlohmann::json::parse(problem);
    const auto name = tree.at("family").get<std::string>();
    for (const auto& [family, make_one] : handled)
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
