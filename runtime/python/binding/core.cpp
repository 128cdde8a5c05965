// trifold._core: what the package's files in Python are written with.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <trifold/version.h>

#include <array>
#include <regex>
#include <trifold/binary.hpp>
#include <trifold/process.hpp>

#include "runtime/compile/environment.hpp"
#include "runtime/python/binding/addresses.hpp"
#include "runtime/python/binding/bound.hpp"
#include "runtime/python/binding/gil.hpp"
#include "runtime/python/binding/grid.hpp"
#include "runtime/python/binding/parts.hpp"
#include "runtime/python/binding/plan.hpp"
#include "runtime/python/binding/ranks.hpp"
#include "runtime/python/binding/solver.hpp"
#include "runtime/python/binding/sparse.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace trifold::python {
namespace {

const nb::call_guard<InCall> guarded;

/// Python names the operation inverse as its method: selected_inverse.
std::string by_their_methods(const std::string& operations) {
    static const std::regex method("\\bselected_inverse\\b");
    return std::regex_replace(operations, method, "inverse");
}

BoundPlan make_plan(std::int64_t block, std::int64_t horizon, nb::handle dtype, std::int64_t batch, std::int64_t rhs, nb::handle device,
                    const std::string& schedule, const std::string& variant, const std::string& operations, int workers, bool any_size,
                    std::int64_t border, bool ring, bool lengths, bool sizes, std::int64_t bandwidth, const std::string& matrix) {
    Spec spec{.block = block,
              .horizon = horizon,
              .precision = precision_of(dtype),
              .rhs = rhs,
              .batch = batch,
              .ring = ring,
              .border = border,
              .lengths = lengths,
              .sizes = sizes,
              .bandwidth = bandwidth};
    choose_matrix(spec, matrix);
    if (spec.precision == Precision::mixed) spec.operations = {Operation::factor, Operation::solve, Operation::factor_solve};
    if (!operations.empty()) spec.operations = parse_operations(by_their_methods(operations));
    const auto where = device_of(device);
    const GilRelease unlocked;
    return {Factors::shared(spec, where, {.schedule = schedule, .variant = variant, .workers = workers, .any_size = any_size})};
}

std::string device_text(const Plan& plan) {
    const auto& device = plan.device();
    if (device.backend() == Backend::cpu) return "cpu";
    return fmt::format("{}:{}", device.backend() == Backend::hip ? "hip" : "cuda", device.ordinal());
}

const char* dtype_text(const Spec& spec) {
    return spec.precision == Precision::f32 ? "float32" : spec.precision == Precision::f64 ? "float64" : "mixed";
}

nb::dict report_of(const Plan& plan) {
    const auto& report = plan.report();
    nb::dict result;
    result["cache_hit"] = report.cache_hit;
    result["prebuilt"] = report.prebuilt;
    result["compiler"] = report.compiler;
    result["generate_seconds"] = report.generate_seconds;
    result["compile_seconds"] = report.compile_seconds;
    result["load_seconds"] = report.load_seconds;
    return result;
}

std::string describe(const BoundPlan& bound) {
    const auto& spec = bound.spec();
    return fmt::format("trifold.Plan(block={}, horizon={}, dtype='{}', batch={}, rhs={}, device='{}', schedule='{}'{}{}{}{}{}{})",
                       spec.block, spec.horizon, dtype_text(spec), spec.batch, spec.rhs, device_text(bound.plan()),
                       bound.plan().choice().schedule.name, spec.border > 0 ? fmt::format(", border={}", spec.border) : "",
                       spec.ring ? ", ring=True" : "", spec.lengths ? ", lengths=True" : "", spec.sizes ? ", sizes=True" : "",
                       spec.bandwidth > 1 ? fmt::format(", bandwidth={}", spec.bandwidth) : "",
                       spec.matrix != MatrixKind::positive_definite ? fmt::format(", matrix='{}'", matrix_text(spec)) : "");
}

/// Batch axis by default: there is one if the plan has more than one system.
Members members_of(const Spec& spec, std::int64_t members, std::optional<bool> batched) {
    const auto count = members == 0 ? spec.batch : members;
    return {count, batched.value_or(count != 1)};
}

/// Bytes where a Solver can work in them.
nb::object aligned_bytes(Library library, Place place, std::int64_t bytes) {
    if (place.ordinal < 0 && library != Library::torch) return allocate_bytes(bytes);
    const std::array shape{bytes};
    return make_array(library, place, shape, Element::u8);
}

nb::object copy_value(const BoundPlan& self, nb::handle value) {
    Array given(value, "value");
    if (given.element() != Element::u8 || given.shape().size() != 1)
        throw SpecError(fmt::format("value is {}; give ({},) uint8", given.describe(), self.factors->bytes()));
    auto copy = aligned_bytes(given.library(), given.place(), given.shape()[0]);
    helper("copy_into")(copy, given.object());
    const BoundSolver refuses_what_does_not_fit(self.factors, copy, {});
    return copy;
}

nb::object restorer(const char* name) { return nb::module_::import_("trifold.pickles").attr(name); }

/// Plan's arguments that make an equal one, for pickles.
nb::tuple reduced_plan(const BoundPlan& self) {
    const auto& spec = self.spec();
    const auto& tuning = self.plan().choice().tuning;
    nb::dict arguments;
    arguments["block"] = spec.block;
    arguments["horizon"] = spec.horizon;
    arguments["dtype"] = dtype_text(spec);
    arguments["batch"] = spec.batch;
    arguments["rhs"] = spec.rhs;
    arguments["device"] = device_text(self.plan());
    arguments["schedule"] = tuning.schedule;
    arguments["variant"] = tuning.variant;
    arguments["operations"] = to_string(spec.operations);
    arguments["workers"] = tuning.workers;
    arguments["any_size"] = tuning.any_size;
    arguments["border"] = spec.border;
    arguments["ring"] = spec.ring;
    arguments["lengths"] = spec.lengths;
    arguments["sizes"] = spec.sizes;
    arguments["bandwidth"] = spec.bandwidth;
    arguments["matrix"] = matrix_text(spec);
    return nb::make_tuple(restorer("plan"), nb::make_tuple(arguments));
}

/// Plans of one text read each other's values.
std::string layout_of(const BoundPlan& bound) {
    const auto& choice = bound.plan().choice();
    return fmt::format("trifold {}.{}.{}, {}, schedule {}, variant {}, {} bytes", TRIFOLD_VERSION_MAJOR, TRIFOLD_VERSION_MINOR,
                       TRIFOLD_VERSION_PATCH, to_string(choice.target), choice.schedule.name, choice.variant, bound.factors->bytes());
}

nb::tuple reduced_solver(const BoundSolver& self) {
    const BoundPlan plan{self.factors()};
    const auto [members, batched] = self.members();
    return nb::make_tuple(restorer("solver"), nb::make_tuple(plan, self.value(), members, batched, layout_of(plan)));
}

void bind_plan(nb::module_& module) {
    nb::class_<BoundPlan>(
        module, "Plan",
        R"(A problem that is prepared: kernels generated for it, compiled or taken from the cache, and loaded. Equal Plans are made once.
Pickles as its arguments.

block, horizon: n, 1 to 4096, and N. dtype: "float32", "float64", or "mixed" for float64 arrays factored in float32. batch: the most
members of a call. rhs: right-hand sides solved at once; more go in panels. device: "cpu", "cuda:0", "hip:0" or "auto".
operations: names separated by commas, "all", or "" for all but selected_inverse. workers: threads of a call on the CPU.
any_size: one compilation serves every horizon, batch and class of right-hand sides; a few percent slower on GPUs.
border: a, the rows of F and C, 0 to 512: A = [T F'; F C] with the chain T. Its Solvers take border=(F, C), (N, a, n) and (a, a), where
they take D and E, and pairs of the chain's right-hand sides and their tip, (a,) or (a, m), where they take b.
ring: E has N blocks, of which the last, A(0, N - 1), couples the last block to the first.
lengths: each member has a number of blocks of its own, which factorizations take as their option lengths.
sizes: each block has a number of rows of its own, which factorizations take as their option sizes.
bandwidth: w, the blocks that E, (N, w, n, n), has below each diagonal block. It is solved by blocks of w n rows, which
selected_inverse has too.
matrix: "positive-definite"; "symmetric", whose pivots may have both signs: A = P' L S L' P; or "general", whose Solvers take upper, the
blocks (i, i + 1) in the shape of E, where they take D and E, and have solve_transposed.
Raises SpecError, DeviceError, CompileError, CacheError.)")
        .def(
            "__init__",
            [](BoundPlan* self, std::int64_t block, std::int64_t horizon, nb::handle dtype, std::int64_t batch, std::int64_t rhs,
               nb::handle device, const std::string& schedule, const std::string& variant, const std::string& operations, int workers,
               bool any_size, std::int64_t border, bool ring, bool lengths, bool sizes, std::int64_t bandwidth, const std::string& matrix) {
                new (self) BoundPlan(make_plan(block, horizon, dtype, batch, rhs, device, schedule, variant, operations, workers, any_size,
                                               border, ring, lengths, sizes, bandwidth, matrix));
            },
            nb::kw_only(), "block"_a, "horizon"_a, "dtype"_a = "float64", "batch"_a = 1, "rhs"_a = 1, "device"_a = "cpu",
            "schedule"_a = "auto", "variant"_a = "auto", "operations"_a = "", "workers"_a = 1, "any_size"_a = false, "border"_a = 0,
            "ring"_a = false, "lengths"_a = false, "sizes"_a = false, "bandwidth"_a = 1, "matrix"_a = "positive-definite",
            nb::sig("def __init__(self, *, block: int, horizon: int, dtype: Any = 'float64', batch: int = 1, rhs: int = 1, device: Any = "
                    "'cpu', schedule: str = 'auto', variant: str = 'auto', operations: str = '', workers: int = 1, any_size: bool = False, "
                    "border: int = 0, ring: bool = False, lengths: bool = False, sizes: bool = False, bandwidth: int = 1, "
                    "matrix: str = 'positive-definite') -> None"),
            guarded)
        .def(
            "solver",
            [](const BoundPlan& self, nb::handle value, std::int64_t members, std::optional<bool> batched) {
                return new BoundSolver(self.factors, value, members_of(self.spec(), members, batched));
            },
            "value"_a = nb::none(), nb::kw_only(), "members"_a = 0, "batched"_a = nb::none(),
            nb::sig("def solver(self, value: ArrayLike | None = None, *, members: int = 0, batched: bool | None = None) -> Solver"),
            R"(A Solver with memory of its own; or over value, value_bytes of uint8 on the device, aligned to 64 bytes.

A value that is filled holds members systems (0: the batch). batched: whether their arrays have a batch axis; by default where there
is more than one system, which cannot do without.)",
            guarded)
        .def(
            "prepare",
            [](const BoundPlan& self, nb::handle value) {
                const BoundSolver refuses_what_does_not_fit(self.factors, value, {});
                self.factors->prepare(Array(value, "value", true).data());
            },
            "value"_a, nb::sig("def prepare(self, value: ArrayLike) -> None"),
            "Makes ready what the first call over a value would: before a graph is captured.", guarded)
        .def("copy_value", &copy_value, "value"_a, nb::sig("def copy_value(self, value: ArrayLike) -> Any"),
             "A copy of a value, aligned as solver() needs it: of one that comes from a file or from another copy.", guarded)
        .def_prop_ro("block", [](const BoundPlan& self) { return self.spec().block; })
        .def_prop_ro("horizon", [](const BoundPlan& self) { return self.spec().horizon; })
        .def_prop_ro("dtype", [](const BoundPlan& self) { return dtype_text(self.spec()); })
        .def_prop_ro("batch", [](const BoundPlan& self) { return self.spec().batch; })
        .def_prop_ro("rhs", [](const BoundPlan& self) { return self.spec().rhs; })
        .def_prop_ro("border", [](const BoundPlan& self) { return self.spec().border; })
        .def_prop_ro("ring", [](const BoundPlan& self) { return self.spec().ring; })
        .def_prop_ro("lengths", [](const BoundPlan& self) { return self.spec().lengths; })
        .def_prop_ro("sizes", [](const BoundPlan& self) { return self.spec().sizes; })
        .def_prop_ro("bandwidth", [](const BoundPlan& self) { return self.spec().bandwidth; })
        .def_prop_ro("matrix", [](const BoundPlan& self) { return matrix_text(self.spec()); })
        .def_prop_ro("device", [](const BoundPlan& self) { return device_text(self.plan()); })
        .def_prop_ro("device_name", [](const BoundPlan& self) { return self.plan().device().name(); })
        .def_prop_ro("schedule", [](const BoundPlan& self) { return self.plan().choice().schedule.name; })
        .def_prop_ro("variant", [](const BoundPlan& self) { return self.plan().choice().variant; })
        .def_prop_ro(
            "reason", [](const BoundPlan& self) { return self.plan().choice().reason; }, "Reason for the schedule and the variant.")
        .def_prop_ro(
            "rung", [](const BoundPlan& self) { return std::string(to_string(self.plan().choice().rung)); },
            "Source of that choice: \"pinned\", \"wisdom: exact\", \"wisdom: nearest\" or \"model\".")
        .def_prop_ro(
            "row", [](const BoundPlan& self) { return self.plan().choice().row; },
            "The row of wisdom that was taken, with its file; empty where none was.")
        .def_prop_ro("operations", [](const BoundPlan& self) { return to_string(self.spec().operations); })
        .def_prop_ro("value_bytes", [](const BoundPlan& self) { return self.factors->bytes(); })
        .def_prop_ro(
            "handle", [](const BoundPlan& self) { return reinterpret_cast<std::uintptr_t>(self.factors.get()); },
            "Address of the trifold::Factors, for C++ in this process.")
        .def_prop_ro("layout", layout_of, "Plans of the same text can read each other's values.")
        .def_prop_ro(
            "report", [](const BoundPlan& self) { return report_of(self.plan()); }, nb::sig("def report(self, /) -> dict[str, Any]"),
            "cache_hit, compiler, and the seconds that it took to generate, compile and load.")
        .def("__reduce__", &reduced_plan, nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def("__repr__", describe);
}

void bind_solver(nb::module_& module) {
    const auto none = nb::none();
    nb::class_<BoundSolver> solver(
        module, "Solver",
        R"(Calls of one Plan, one at a time. Made by Plan.solver(). Pickles with its value, where it was made over one; else without a factor.

D: (N, n, n), of which only the lower triangles are read; E: (N - 1, n, n), or None when N is 1; b, y, x: (N, n), or (N, n, m). With a
batch axis in front of D there is one in front of all. Up to the Plan's batch members may be given. Sweeps take the members of the last
factorization. out: where the result goes, contiguous; x may be b itself. Without it a new array of b's library is returned.

Options: shift (batch,) or a number, diagonal (batch, N, n), active (batch,), upper, pivot_floor, accept_nearly_singular, as in
trifold.solve.
check, by default True on the CPU: raise NotPositiveDefinite, NearlySingular, OutOfRange or NotConverged; on a GPU that waits. Else a
GPU's calls only enqueue, on the current stream of the arrays' library. Raises SpecError on arrays that do not fit.)");
    bind_calls(solver);
    solver.def("load", &BoundSolver::load, "D"_a.none(), "E"_a.none() = none, "first"_a = 0,
               nb::sig("def load(self, D: ArrayLike, E: ArrayLike | None = None, first: int = 0) -> None"),
               R"(Copies blocks of D and E, from block `first` on, to where a factorization overwrites them: (blocks, n, n) each, with E_i
next to D_i, so that at the end of the chain E has one block less. When all are there, factor(None, None) and
factor_solve(None, None, b) need no D and E in memory; the next factorization needs all loaded again. A batch is loaded as a whole,
(batch, N, n, n). The Plan must have load among its operations, and be of a GPU.)",
               guarded);
    bind_with_options<OptionsOf::sweep, 2>(
        solver, "solve_transposed",
        [](BoundSolver& self, nb::handle b, nb::handle out, const Options& options) {
            return self.sweep(Operation::solve_transposed, b, out, options);
        },
        "b"_a.none(), "out"_a = none,
        nb::sig("def solve_transposed(self, b: ArrayLike, out: ArrayLike | None = None, **options: Unpack[Sweep]) -> Any"),
        "A'^-1 b, of a Plan of general matrices that has solve among its operations. Shapes and errors are those of solve().", guarded);
    bind_with_options<OptionsOf::sweep, 1>(
        solver, "selected_inverse",
        [](BoundSolver& self, nb::handle out, const Options& options) { return self.selected_inverse(out, options); }, "out"_a = none,
        nb::sig("def selected_inverse(self, out: tuple[Any, Any] | None = None, **options: Unpack[Sweep]) -> tuple[Any, ...]"),
        R"(Blocks (i, i) of A^-1, (N, n, n), and (i + 1, i), with E's shape; with a border also those of F and C. The Plan must have it among
its operations.)",
        guarded);
    bind_with_options<OptionsOf::factorization, 3>(
        solver, "marginals",
        [](BoundSolver& self, nb::handle d, nb::handle e, nb::handle b, const Options& options) {
            return self.marginals(d, e, b, options);
        },
        "D"_a.none(), "E"_a.none(), "b"_a.none(),
        nb::sig("def marginals(self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, **options: Unpack[Factorization]) -> Marginals"),
        "Result of trifold.marginals(). The Plan must have all operations, and b has as many right-hand sides as the Plan at most.",
        guarded);
    solver.def("forward_quadratic", &BoundSolver::forward_quadratic, "b"_a.none(), "out"_a = none, "quadratic"_a = none,
               nb::sig("def forward_quadratic(self, b: ArrayLike, out: ArrayLike | None = None, quadratic: Any = None) -> tuple[Any, Any]"),
               "forward(b), and b' A^-1 b in float64: (), (m,), (batch,) or (batch, m). b has as many right-hand sides as the Plan.",
               guarded);
    bind_with_options<OptionsOf::system, 2>(
        solver, "reciprocal_condition",
        [](BoundSolver& self, nb::handle d, nb::handle e, const Options& options) { return self.reciprocal_condition(d, e, options); },
        "D"_a.none(), "E"_a.none() = none,
        nb::sig("def reciprocal_condition(self, D: ArrayLike, E: ArrayLike | None = None, **options: Unpack[System]) -> Any"),
        R"(Waits. float64 by member, as trifold.Factor has it. The Plan must have solve among its operations; status() is then that of its
own solutions.)",
        guarded);
    bind_with_options<OptionsOf::system, 4>(
        solver, "refine",
        [](BoundSolver& self, nb::handle d, nb::handle e, nb::handle b, nb::handle x, const Options& options) {
            return self.refine(d, e, b, x, options);
        },
        "D"_a.none(), "E"_a.none(), "b"_a.none(), "x"_a.none(),
        nb::sig("def refine(self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, x: ArrayLike, **options: Unpack[System]) -> Any"),
        R"(x += A^-1 (b - A x), in x itself: one step of iterative refinement. D, E and the options are those that were factored.

Returns by member the largest |b - A x| / (|A| |x| + |b|) of a row of the new x, in float64: (), or (batch,). Does not wait on a
GPU. The Plan must have refine among its operations; a Solver over a value moves to one that has, at the first call, which waits.)",
        guarded);
    solver.def("check", &BoundSolver::check, nb::sig("def check(self) -> None"), "Waits, and raises what check=True would.", guarded);
    solver
        .def("log_determinant", &BoundSolver::log_determinant, "out"_a = none,
             nb::sig("def log_determinant(self, out: ArrayLike | None = None) -> Any"),
             "log det A in float64: (), or (batch,). Does not wait on a GPU.", guarded)
        .def("status", &BoundSolver::status, nb::sig("def status(self) -> Status"), "Waits, and says how each member fared.", guarded)
        .def("copy_status", &BoundSolver::copy_status, nb::sig("def copy_status(self) -> CopiedStatus"),
             R"(Statuses of members as arrays of the library that was factored, on its device: views of one block of memory, as
trifold_status of trifold.h has it. Does not wait on a GPU, so that work on the device decides by them, in a graph for one.)",
             guarded)
        .def("refinement", &BoundSolver::refinement, nb::sig("def refinement(self) -> Refinement"),
             "Waits. How the last solution was refined: in mixed precision, or by refine.", guarded)
        .def("synchronize", &BoundSolver::synchronize, nb::sig("def synchronize(self) -> None"), "Waits for the last call.", guarded)
        .def_prop_ro("value", &BoundSolver::value, nb::sig("def value(self, /) -> Any"), "The array it works over, or None.")
        .def_prop_ro("batched", [](const BoundSolver& self) { return self.members().batched; })
        .def("__reduce__", &reduced_solver, nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def_prop_ro("plan", [](const BoundSolver& self) { return BoundPlan{self.factors()}; })
        .def(
            "sample",
            [](nb::handle self, nb::handle generator, nb::handle mean, nb::handle draws) {
                const auto members = nb::cast<const BoundSolver&>(self).members();
                const nb::object front = members.batched ? nb::object(nb::int_(members.count)) : nb::object(nb::none());
                return nb::module_::import_("trifold.samples").attr("sample")(self, generator, mean, draws, front);
            },
            "generator"_a = nb::none(), "mean"_a = nb::none(), "draws"_a = nb::none(),
            nb::sig("def sample(self, generator: Any = None, mean: ArrayLike | None = None, draws: int | None = None) -> Any"),
            "mean + L^-T z, as trifold.Factor has it. The Plan must have backward among its operations.")
        .def("__repr__", [](const BoundSolver& self) {
            return fmt::format("<Solver of {}; members={}>", describe(BoundPlan{self.factors()}), self.members().count);
        });
}

/// The Solver over a new value for these arrays: what trifold.solve and trifold.factor begin with.
BoundSolver* solver_for(nb::handle d, nb::handle b, const PlanSettings& settings) {
    const Array of_d(d, "D");
    Array of_b;
    if (!b.is_none()) of_b.read(b, "b");
    const auto factors = factors_for(of_d, b.is_none() ? nullptr : &of_b, settings);
    const bool batched = of_d.shape().size() == 4;
    const auto value =
        of_d.place().ordinal < 0 ? allocate_bytes(factors->bytes()) : aligned_bytes(of_d.library(), of_d.place(), factors->bytes());
    return new BoundSolver(factors, value, {batched ? of_d.shape()[0] : 1, batched}, b.is_none());
}

/// For trifold.solve: only what is needed of a GridPlan's memory.
GridOperations operations_of_one_solution(int refine) {
    GridOperations all{GridOperation::factor_solve, GridOperation::solve};
    if (refine > 0) all.insert(GridOperation::refine);
    return all;
}

void bind_grid(nb::module_& module) {
    const auto none = nb::none();
    nb::class_<BoundGrid>(module, "GridFactor", R"(Images on arrays of Python: what trifold.grid.Factor is written with.)")
        .def(
            "__init__",
            [](BoundGrid* self, nb::handle stencil, const nb::dict& settings) {
                new (self) BoundGrid(stencil, settings, all_grid_operations());
            },
            "stencil"_a.none(), "settings"_a, nb::sig("def __init__(self, stencil: ArrayLike, settings: dict[str, Any]) -> None"), guarded)
        .def("factor", &BoundGrid::factor, "check"_a.none(), nb::sig("def factor(self, check: bool | None) -> None"), guarded)
        .def("solve", &BoundGrid::solve, "b"_a.none(), "out"_a.none(), "transposed"_a,
             nb::sig("def solve(self, b: ArrayLike, out: ArrayLike | None, transposed: bool) -> Any"), guarded)
        .def("refine", &BoundGrid::refine, "b"_a.none(), "x"_a.none(), "out"_a.none(), "transposed"_a,
             nb::sig("def refine(self, b: ArrayLike, x: ArrayLike, out: ArrayLike | None, transposed: bool) -> Any"), guarded)
        .def("gradients", &BoundGrid::gradients, "x"_a.none(), "by_x"_a.none(),
             nb::sig("def gradients(self, x: ArrayLike, by_x: ArrayLike) -> tuple[Any, Any]"), guarded)
        .def("log_determinant", &BoundGrid::log_determinant, nb::sig("def log_determinant(self) -> list[tuple[float, int]]"), guarded)
        .def("status", &BoundGrid::status, nb::sig("def status(self) -> list[tuple[Any, ...]]"),
             "Fields of trifold.grid.Status for each image.", guarded)
        .def("reciprocal_condition", &BoundGrid::reciprocal_condition, nb::sig("def reciprocal_condition(self) -> list[float]"), guarded)
        .def("check", &BoundGrid::check, nb::sig("def check(self) -> None"), guarded)
        .def_prop_ro("batch_shape", &BoundGrid::batch_shape, nb::sig("def batch_shape(self, /) -> tuple[int, ...]"));
    module.def(
        "grid_solve",
        [](nb::handle stencil, nb::handle b, nb::handle out, const nb::dict& settings, int refine, std::optional<bool> check) {
            return BoundGrid(stencil, settings, operations_of_one_solution(refine)).factor_solve(b, out, refine, check);
        },
        "stencil"_a.none(), "b"_a.none(), "out"_a.none(), "settings"_a, "refine"_a, "check"_a.none(),
        nb::sig("def grid_solve(stencil: Any, b: Any, out: Any, settings: dict[str, Any], refine: int, check: bool | None) -> Any"),
        guarded);
}

void bind_sparse(nb::module_& module) {
    nb::class_<BoundSparse>(
        module, "SparseSystem",
        "A pattern and its values, for contiguous arrays of the processor, or all of its GPU: what trifold.sparse.Solver "
        "is written with.")
        .def(
            "__init__",
            [](BoundSparse* self, nb::handle starts, nb::handle columns, nb::handle parts, nb::handle device, const nb::dict& settings,
               BoundTransport* transport) {
                new (self) BoundSparse(starts, columns, parts, device, settings, transport == nullptr ? nullptr : transport->take());
            },
            "starts"_a, "columns"_a, "parts"_a.none(), "device"_a.none(), "settings"_a, "transport"_a.none() = nb::none(),
            nb::sig("def __init__(self, starts: Any, columns: Any, parts: Any, device: Any, settings: dict[str, Any], "
                    "transport: Transport | None = None) -> None"),
            guarded)
        .def_prop_ro("usual_tolerance", &BoundSparse::usual_tolerance)
        .def("update", &BoundSparse::update, "values"_a, "shift"_a, nb::sig("def update(self, values: Any, shift: float) -> None"), guarded)
        .def("run", &BoundSparse::run, "operation"_a, "b"_a, "x"_a, "columns"_a,
             nb::sig("def run(self, operation: str, b: Any, x: Any, columns: int) -> None"), guarded)
        .def("solve", &BoundSparse::solve, "b"_a, "x"_a, "columns"_a, nb::kw_only(), "transposed"_a, "guess"_a, "rtol"_a, "atol"_a,
             "maxiter"_a, "check"_a = false, "callback"_a = nb::none(),
             nb::sig("def solve(self, b: Any, x: Any, columns: int, *, transposed: bool, guess: bool, rtol: float, atol: "
                     "float, maxiter: int, check: bool = False, callback: Any = None) -> list[tuple[str, int, float, float, "
                     "list[float]]]"),
             "Returns for each right-hand side how it ended, iterations, |b - A x|, |b|, and the history of the last panel's.", guarded)
        .def("gradient", &BoundSparse::gradient, "x"_a, "by_b"_a, "by_values"_a, "columns"_a,
             nb::sig("def gradient(self, x: Any, by_b: Any, by_values: Any, columns: int) -> None"), guarded)
        .def("solve_with", &BoundSparse::solve_with, "values"_a, "b"_a, "x"_a, "columns"_a, "transposed"_a, "rtol"_a, "atol"_a, "maxiter"_a,
             "shift"_a,
             nb::sig("def solve_with(self, values: Any, b: Any, x: Any, columns: int, transposed: bool, rtol: float, atol: float, "
                     "maxiter: int, shift: float) -> None"),
             "Solves with these values of A, for arrays of the processor. Results that fail are NaN.", guarded)
        .def("summary", &BoundSparse::summary, nb::sig("def summary(self) -> dict[str, Any]"))
        .def_prop_ro("number", &BoundSparse::number, nb::sig("def number(self) -> int"), "Number by which XLA calls it.")
        .def_prop_ro("device", &BoundSparse::device, nb::sig("def device(self) -> str"), "cpu or cuda:0.");
}

nb::dict tools() {
    nb::dict result;
    const auto environment = [] {
        const GilRelease unlocked;
        return probe_environment();
    }();
    for (const auto& tool : environment.tools) {
        nb::dict one;
        one["found"] = tool.found;
        one["version"] = tool.version;
        one["path"] = tool.path;
        one["advice"] = tool.advice;
        result[tool.name.c_str()] = one;
    }
    return result;
}

nb::dict devices() {
    const auto [cuda, hip] = [] {
        const GilRelease unlocked;
        return std::pair(probe_cuda(), probe_hip());
    }();
    nb::dict result;
    result["cpu"] = Device::cpu().name();
    for (const auto* report : {&cuda, &hip}) {
        nb::dict one;
        nb::list names;
        for (const auto& device : report->devices) names.append(device.name() + " (" + device.target().arch + ")");
        one["driver"] = report->driver;
        one["devices"] = names;
        one["problem"] = report->problem;
        result[report == &cuda ? "cuda" : "hip"] = one;
    }
    return result;
}

nb::dict process() {
    const auto report = process_report();
    nb::dict result;
    result["compilations"] = report.compilations;
    result["compile_seconds"] = report.compile_seconds;
    result["plans"] = report.plans;
    result["solvers"] = report.solvers;
    result["workspace_bytes"] = report.workspace_bytes;
    result["modules"] = report.modules;
    result["module_bytes"] = report.module_bytes;
    result["binaries"] = report.binaries;
    result["binary_bytes"] = report.binary_bytes;
    return result;
}

}  // namespace
}  // namespace trifold::python

NB_MODULE(_core, module) {
    using namespace trifold::python;
    nb::set_leak_warnings(false);  // a thread that is in a call while the interpreter ends keeps what it works on
    translate_errors();
    handle_signals_in_calls();
    bind_plan(module);
    bind_solver(module);
    bind_addresses(module);
    bind_torch(module);
    bind_grid(module);
    bind_sparse(module);
    bind_families(module);
    bind_state_space(module);
    bind_ranks(module);
    module.def("show_signatures", &make_built_in, "type"_a, nb::sig("def show_signatures(type: Any) -> None"));
    module.def(
        "solver_for",
        [](nb::handle d, nb::handle b, const std::string& operations, const std::string& schedule, int workers, bool mixed,
           std::int64_t rhs, std::int64_t border, bool ring, bool lengths, bool sizes, std::int64_t bandwidth, const std::string& matrix) {
            const PlanSettings settings{.schedule = schedule,
                                        .operations = operations,
                                        .workers = workers,
                                        .mixed = mixed,
                                        .rhs = rhs,
                                        .border = border,
                                        .ring = ring,
                                        .lengths = lengths,
                                        .sizes = sizes,
                                        .bandwidth = bandwidth,
                                        .matrix = matrix};
            return solver_for(d, b, settings);
        },
        "D"_a.none(), "b"_a.none(), "operations"_a, "schedule"_a, "workers"_a, "mixed"_a, "rhs"_a, "border"_a = 0, "ring"_a = false,
        "lengths"_a = false, "sizes"_a = false, "bandwidth"_a = 1, "matrix"_a = "positive-definite",
        nb::sig("def solver_for(D: Any, b: Any, operations: str, schedule: str, workers: int, mixed: bool, rhs: int, border: int = 0, "
                "ring: bool = False, lengths: bool = False, sizes: bool = False, bandwidth: int = 1, matrix: str = 'positive-definite') "
                "-> Solver"),
        guarded);
    module.def("allocate_bytes", &allocate_bytes, "bytes"_a, nb::sig("def allocate_bytes(bytes: int) -> Any"));
    module.def("seconds_of_solve", &BoundSolver::seconds_of_solve, "solver"_a, "b"_a, "out"_a, "repeats"_a,
               nb::sig("def seconds_of_solve(solver: Solver, b: Any, out: Any, repeats: int) -> float"), guarded);
    module.def("seconds_of_factor_solve", &BoundSolver::seconds_of_factor_solve, "solver"_a, "D"_a, "E"_a, "b"_a, "out"_a, "repeats"_a,
               nb::sig("def seconds_of_factor_solve(solver: Solver, D: Any, E: Any, b: Any, out: Any, repeats: int) -> float"), guarded);
    module.def("finish_calls", &finish_calls);
    module.def("add_layer", [](const std::string& directory) { trifold::add_layer(directory); }, "directory"_a);
    module.def("layers", [] { return trifold::probe_layers(); }, nb::sig("def layers() -> list[str]"));
    module.def("jax_handlers", &jax_handlers, nb::sig("def jax_handlers() -> dict[str, Any]"));
    module.def("jax_compile", &jax_compile, "problem"_a, "device"_a, nb::sig("def jax_compile(problem: str, device: Any) -> None"),
               guarded);
    module.def("jax_value_bytes", &jax_value_bytes, "problem"_a, "device"_a,
               nb::sig("def jax_value_bytes(problem: str, device: Any) -> int"), guarded);
    module.def("tools", &tools, nb::sig("def tools() -> dict[str, dict[str, Any]]"), guarded);
    module.def("devices", &devices, nb::sig("def devices() -> dict[str, Any]"), guarded);
    module.def("process", &process, nb::sig("def process() -> dict[str, Any]"));
    module.attr("version") = fmt::format("{}.{}.{}", TRIFOLD_VERSION_MAJOR, TRIFOLD_VERSION_MINOR, TRIFOLD_VERSION_PATCH);
}
