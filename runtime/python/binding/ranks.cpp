#include "runtime/python/binding/ranks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/device/gpu_driver.hpp"
#include "runtime/python/binding/gil.hpp"
#include "runtime/python/binding/objects.hpp"
#include "runtime/python/binding/plan.hpp"
#include "runtime/session/agree.hpp"

using namespace nanobind::literals;

namespace trifold::python {
namespace {

const nb::call_guard<InCall> in_call;

constexpr ChainWords of_ranks{.fits = {.place = "ranks are on",
                                       .move = "copy the array there",
                                       .element = "; these ranks take",
                                       .convert = ": convert the array, or give its dtype (float32 or float64) to trifold.ranks",
                                       .library = "another array of"},
                              .takes = "these ranks take",
                              .owner = "trifold.ranks"};

std::chrono::milliseconds time_limit_of(double seconds) {
    constexpr double most = 1e9;
    if (!(seconds > 0 && seconds < most)) throw SpecError(fmt::format("timeout = {} is out of range; give seconds above 0", seconds));
    return std::chrono::milliseconds(std::max<std::int64_t>(1, std::llround(seconds * 1e3)));
}

/// A transport that is written in Python. Its object's methods are called with memory of a message, which ends with the call.
class PythonTransport final : public Transport {
  public:
    explicit PythonTransport(nb::handle object)
        : object_(nb::borrow(object)), rank_(nb::cast<int>(object.attr("rank"))), ranks_(nb::cast<int>(object.attr("ranks"))) {
        if (ranks_ < 1 || rank_ < 0 || rank_ >= ranks_)
            throw SpecError(fmt::format("rank {} of {} ranks; ranks count from 0", rank_, ranks_));
    }
    PythonTransport(const PythonTransport&) = delete;
    PythonTransport& operator=(const PythonTransport&) = delete;
    ~PythonTransport() override {
        if (Py_IsInitialized() == 0) {
            object_.release();
            return;
        }
        const nb::gil_scoped_acquire locked;
        object_.reset();
    }
    int rank() const override { return rank_; }
    int ranks() const override { return ranks_; }
    void send(int to, const void* data, std::int64_t bytes, Stream) override { call("send", to, const_cast<void*>(data), bytes); }
    void receive(int from, void* data, std::int64_t bytes, Stream) override { call("receive", from, data, bytes); }

  private:
    /// The object's exceptions go through the library as they are, but for RankError, which the library has to know.
    void call(const char* method, int peer, void* data, std::int64_t bytes) {
        const nb::gil_scoped_acquire locked;
        try {
            const auto view = steal(PyMemoryView_FromMemory(static_cast<char*>(data), bytes, PyBUF_WRITE));
            object_.attr(method)(peer, view);
            view.attr("release")();
        } catch (nb::python_error& error) {
            if (!error.matches(nb::module_::import_("trifold.errors").attr("RankError"))) throw;
            throw RankError(nb::cast<std::string>(nb::str(error.value())), nb::cast<int>(error.value().attr("rank")));
        }
    }

    nb::object object_;
    int rank_, ranks_;
};

/// The address of what C calls a pointer, of an integer of Python.
void* address_of(nb::handle number) {
    auto* const address = PyLong_Check(number.ptr()) ? PyLong_AsVoidPtr(number.ptr()) : nullptr;
    if (address != nullptr) return address;
    PyErr_Clear();
    throw SpecError(
        fmt::format("nccl = {} is no address of an ncclComm_t; give it as an integer above 0, such as CuPy's "
                    "NcclCommunicator.comm",
                    nb::repr(number).c_str()));
}

/// Arrays of a call are of another type than the solver's while it lives.
struct WithElement {
    WithElement(Element& of, Element now) : element(of), usual(std::exchange(of, now)) {}
    WithElement(const WithElement&) = delete;
    WithElement& operator=(const WithElement&) = delete;
    ~WithElement() { element = usual; }
    Element& element;
    Element usual;
};

/// Makes the device's context current while it lives, as a message of the device needs it.
struct OnDevice {
    explicit OnDevice(const Device& device) : context(gpu::driver(device.backend()), device.ordinal()), current(context) {}
    gpu::Context context;
    gpu::Current current;
};

}  // namespace

BoundLocalRanks::BoundLocalRanks(int ranks, double timeout) : time_limit_(time_limit_of(timeout)), all_(ranks, time_limit_) {}

BoundTransport::BoundTransport(std::shared_ptr<Transport> transport, std::chrono::milliseconds time_limit)
    : transport_(std::move(transport)), device_(device_of(nb::str("cpu"))) {
    nccl_.time_limit = time_limit;
}

BoundTransport::BoundTransport(nb::handle object, double timeout)
    : BoundTransport(std::make_shared<PythonTransport>(object), time_limit_of(timeout)) {}

Transport& BoundTransport::there() const {
    if (transport_ == nullptr) throw SpecError("this transport belongs to a solver already; take another for each solver");
    return *transport_;
}

std::vector<std::int64_t> BoundTransport::gather(std::int64_t mine) const {
    auto& transport = there();
    const GilRelease unlocked;
    const auto all = ranks::gather(transport, std::as_bytes(std::span(&mine, 1)));
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(transport.ranks()));
    std::memcpy(numbers.data(), all.data(), all.size());
    return numbers;
}

void BoundTransport::place(nb::handle device, nb::handle nccl) {
    device_ = device_of(device);
    if (!nccl.is_none()) nccl_.communicator = address_of(nccl);
    if (device_.backend() == Backend::cpu && nccl_.communicator != nullptr)
        throw SpecError("a communicator of NCCL is for GPUs; give device='cuda:0' or its like with it");
    if (device_.backend() == Backend::cuda)
        nccl_.library = nb::cast<std::string>(nb::module_::import_("trifold.toolkit").attr("nccl_path")());
}

std::shared_ptr<Transport> BoundTransport::take() {
    there();
    auto hosts = std::move(transport_);
    if (device_.backend() == Backend::cpu || hosts->ranks() == 1) return hosts;
    const GilRelease unlocked;
    return std::make_shared<NcclTransport>(std::move(hosts), device_, nccl_);
}

BoundRanks::BoundRanks(BoundTransport& transport, const Spec& spec, const Tuning& tuning, std::vector<std::int64_t> shards)
    : BoundChain(of_ranks), device_(transport.device()), transport_(transport.take()) {
    element_ = spec.precision == Precision::f32 ? Element::f32 : Element::f64;
    if (device_.backend() != Backend::cpu) place_.ordinal = device_.ordinal();
    const GilRelease unlocked;
    solver_ = std::make_unique<RankSolver>(RankPlan(spec, transport_, device_, tuning, std::move(shards)));
}

/// Other ranks of this process run on meanwhile, since NCCL may wait for them.
BoundRanks::~BoundRanks() {
    if (was_forked()) static_cast<void>(solver_.release());
    if (on_host()) return;
    const GilRelease unlocked;
    solver_.reset();
    transport_.reset();
}

std::string BoundRanks::reason_for_d() const {
    return fmt::format(", and rank {} holds {} of {} blocks, from {} on", spec().rank, blocks(), spec().spec.horizon, spec().first_block());
}

std::string BoundRanks::reason_for_e() const {
    return couplings() == blocks() ? ": its last block leads to the next rank's first one" : ": the last rank has one block less than D";
}

nb::object BoundRanks::give(const std::vector<double>& values, const std::vector<std::int64_t>& shape) const {
    Array on_host;
    on_host.read(make_array(Library::numpy, {}, shape, Element::f64), "out", true);
    std::ranges::copy(values, on_host.as<double>());
    return helper("placed")(on_host.object(), library_name(library_), place_.ordinal);
}

template <class Body>
void BoundRanks::lend(bool checked, Body body) {
    if (was_forked()) throw DeviceError("this process was forked from a rank, and only the rank can go on; start processes by 'spawn'");
    const auto stream = this->stream();
    const GilRelease unlocked;
    body(*solver_, stream);
    if (checked) solver_->check();
}

void BoundRanks::run(Operation operation, const Inputs& in, std::initializer_list<AnyArray> arrays, const Options& options) {
    if (in.b && operation != Operation::backward) columns_ = in.has_columns;
    lend(checks(options.check), [&](RankSolver& solver, Stream stream) { solver.run(operation, arrays, options_of(in, options, stream)); });
}

nb::object BoundRanks::refine(nb::handle d, nb::handle e, nb::handle b, nb::handle x, const Options& options) {
    if (x.is_none()) throw SpecError("x is None; give the solution that is to be corrected");
    Inputs in(members_);
    in.d.read(d, "D");
    const WithElement wide(element_, in.d.element() == Element::f64 ? Element::f64 : element_);
    read_system(in, d, e, options);
    read_right_side(in, b);
    read_or_make(in.x, x, "x", in.b.shape(), element_, library_);
    std::vector<Refinement> all;
    lend(false, [&](RankSolver& solver, Stream stream) {
        all = solver.refine(any(in.d), any(in.e), any(in.b), any(in.x), options_of(in, options, stream));
    });
    return refinement_of(all, in.members.batched);
}

nb::object BoundRanks::log_determinant() {
    std::vector<double> found;
    lend(false, [&](RankSolver& solver, Stream) { found = solver.log_determinant(); });
    return give(found, members_.shape({}));
}

nb::object BoundRanks::quadratic() {
    std::vector<double> found;
    lend(false, [&](RankSolver& solver, Stream) { found = solver.quadratic(); });
    auto shape = members_.shape({});
    if (columns_) shape.push_back(static_cast<std::int64_t>(found.size()) / members_.count);
    return give(found, shape);
}

nb::object BoundRanks::status() {
    std::vector<Outcome> outcomes;
    lend(false, [&](RankSolver& solver, Stream) { outcomes = solver.status(); });
    return status_of(outcomes, members_.batched);
}

void BoundRanks::check() {
    lend(true, [](RankSolver&, Stream) {});
}

nb::object BoundRanks::next_block(nb::handle b) {
    Inputs in(members_);
    read_right_side(in, b);
    const auto rank = spec().rank;
    const bool last = rank + 1 == spec().ranks();
    auto shape = in.members.shape({1, spec().spec.block});
    if (in.has_columns) shape.push_back(in.columns);
    Array first, next;
    first.read(helper("first_blocks")(in.b.object(), in.members.batched), "b");
    first.make_contiguous();
    const auto result = read_or_make(next, nb::none(), "out", shape, element_, library_);
    const auto bytes = first.size() * (element_ == Element::f32 ? 4 : 8);
    lend(false, [&](RankSolver&, Stream stream) {
        const auto current = device_.backend() == Backend::cpu ? nullptr : std::make_unique<OnDevice>(device_);
        transport_->meet(bytes, "next_block");
        transport_->begin_group();
        // Sending may wait for the receiver, so one of two neighbours sends first.
        if (rank % 2 == 1) transport_->send(rank - 1, first.data(), bytes, stream);
        if (!last) transport_->receive(rank + 1, next.data(), bytes, stream);
        if (rank % 2 == 0 && rank > 0) transport_->send(rank - 1, first.data(), bytes, stream);
        transport_->end_group();
    });
    return last ? nb::none() : finish(in.b, result);
}

void bind_ranks(nb::module_& module) {
    nb::class_<BoundTransport>(module, "Transport", "Messages between the ranks of one chain.")
        .def(
            "__init__", [](BoundTransport* self, nb::handle object, double timeout) { new (self) BoundTransport(object, timeout); },
            "object"_a, "timeout"_a, nb::sig("def __init__(self, object: Any, timeout: float) -> None"), in_call)
        .def("gather", &BoundTransport::gather, "mine"_a, nb::sig("def gather(self, mine: int) -> list[int]"), in_call)
        .def("place", &BoundTransport::place, "device"_a.none(), "nccl"_a.none(),
             nb::sig("def place(self, device: Any, nccl: int | None) -> None"),
             "Sets the device of the arrays, before a solver takes this.", in_call)
        .def_prop_ro("rank", [](const BoundTransport& self) { return self.there().rank(); })
        .def_prop_ro("ranks", [](const BoundTransport& self) { return self.there().ranks(); });
    nb::class_<BoundLocalRanks>(
        module, "LocalRanks",
        R"(Threads of this process as ranks: a thread gives its take(rank) to trifold.ranks. timeout: seconds that a rank waits for another.)")
        .def(
            "__init__", [](BoundLocalRanks* self, int ranks, double timeout) { new (self) BoundLocalRanks(ranks, timeout); }, "ranks"_a,
            "timeout"_a = 30.0, nb::sig("def __init__(self, ranks: int, timeout: float = 30.0) -> None"))
        .def(
            "take", [](BoundLocalRanks& self, int rank) { return BoundTransport(self.take(rank), self.time_limit()); }, "rank"_a,
            nb::sig("def take(self, rank: int) -> Transport"), "The transport of a rank, for the thread that is it. Each rank once.");

    nb::class_<BoundRanks> solver(module, "RankSolver", R"(One rank's calls on a chain that several ranks share. Made by trifold.ranks().

D: (blocks, n, n), this rank's own; E: (couplings, n, n), whose last block leads to the next rank's first one: the last rank has one
less. b, y, x: (blocks, n), or (blocks, n, m). With a batch axis in front of D there is one in front of all. The options are those of
trifold.Solver; shift and active are the same on all ranks.

Every call is one of all ranks, in the same order, with as many members, right-hand sides and checks. So are those that return results,
and these are the whole chain's. Raises RankError on every rank where one does not come within the timeout, and what a Solver's calls
raise. On a GPU calls wait until all ranks have come, and enqueue on the current stream of the arrays' library.)");
    solver.def(
        "__init__",
        [](BoundRanks* self, BoundTransport& transport, std::int64_t block, std::int64_t horizon, std::vector<std::int64_t> shards,
           nb::handle dtype, std::int64_t batch, std::int64_t rhs, const std::string& schedule, const std::string& operations,
           int workers) {
            for (const auto count : shards) horizon += count;
            Spec spec{.block = block, .horizon = horizon, .precision = precision_of(dtype), .rhs = rhs, .batch = batch};
            if (!operations.empty()) spec.operations = parse_operations(operations);
            new (self) BoundRanks(transport, spec, {.schedule = schedule, .workers = workers}, std::move(shards));
        },
        "transport"_a, nb::kw_only(), "block"_a, "horizon"_a, "shards"_a, "dtype"_a, "batch"_a, "rhs"_a, "schedule"_a, "operations"_a,
        "workers"_a,
        nb::sig("def __init__(self, transport: Transport, *, block: int, horizon: int, shards: list[int], dtype: Any, batch: int, rhs: "
                "int, schedule: str, operations: str, workers: int) -> None"),
        in_call);
    bind_calls(solver);
    bind_with_options<OptionsOf::sweep, 0>(
        solver, "selected_inverse", [](BoundRanks& self, const Options& options) { return self.selected_inverse(nb::none(), options); },
        nb::sig("def selected_inverse(self, **options: Unpack[Sweep]) -> tuple[Any, Any]"),
        "Blocks (i, i) of the inverse, (blocks, n, n), and (i + 1, i), (couplings, n, n): those of this rank.", in_call);
    bind_with_options<OptionsOf::system, 4>(
        solver, "refine",
        [](BoundRanks& self, nb::handle d, nb::handle e, nb::handle b, nb::handle x, const Options& options) {
            return self.refine(d, e, b, x, options);
        },
        "D"_a.none(), "E"_a.none(), "b"_a.none(), "x"_a.none(),
        nb::sig("def refine(self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, x: ArrayLike, **options: Unpack[System]) -> Refinement"),
        R"(Corrects x, a solution for b, where it is, with the factors at hand; D, E and the options are what was factored. They may be of
float64 although the chain is of float32: with copies in float32 for factor and solve that is mixed precision. Waits.)",
        in_call);
    solver.def("log_determinant", &BoundRanks::log_determinant, nb::sig("def log_determinant(self) -> Any"),
               "log det A of the whole chain by member, in float64.", in_call);
    solver
        .def("quadratic", &BoundRanks::quadratic, nb::sig("def quadratic(self) -> Any"),
             "b' A^-1 b of the whole chain for each right-hand side of the last forward sweep, in float64.", in_call)
        .def("status", &BoundRanks::status, nb::sig("def status(self) -> Status"),
             "Outcome of each member; blocks are counted from the chain's first one.", in_call)
        .def("check", &BoundRanks::check, nb::sig("def check(self) -> None"),
             "Raises NotPositiveDefinite, NearlySingular or OutOfRange where a member failed.", in_call)
        .def("next_block", &BoundRanks::next_block, "b"_a.none(), nb::sig("def next_block(self, b: ArrayLike) -> Any"),
             "The next rank's first block of b, with an axis of length 1 for it; None on the last rank.", in_call)
        .def_prop_ro(
            "rank", [](const BoundRanks& self) { return self.spec().rank; }, "This rank, from 0.")
        .def_prop_ro(
            "ranks", [](const BoundRanks& self) { return self.spec().ranks(); }, "Number of ranks.")
        .def_prop_ro(
            "first", [](const BoundRanks& self) { return self.spec().first_block(); }, "The first block of this rank.")
        .def_prop_ro(
            "blocks", [](const BoundRanks& self) { return self.spec().blocks(); }, "Number of blocks of D that this rank holds.")
        .def_prop_ro("couplings", &BoundRanks::couplings, "Number of blocks of E that this rank holds.")
        .def_prop_ro(
            "horizon", [](const BoundRanks& self) { return self.spec().spec.horizon; }, "Blocks of the whole chain.")
        .def_prop_ro(
            "block", [](const BoundRanks& self) { return self.spec().spec.block; }, "n.")
        .def_prop_ro("schedule", &BoundRanks::schedule, "The order within a rank's own blocks.")
        .def("__repr__", [](const BoundRanks& self) {
            const auto& spec = self.spec();
            return fmt::format("<trifold.RankSolver: rank {} of {}; block={}, blocks {} to {} of {}>", spec.rank, spec.ranks(),
                               spec.spec.block, spec.first_block(), spec.first_block() + spec.blocks() - 1, spec.spec.horizon);
        });
}

}  // namespace trifold::python
