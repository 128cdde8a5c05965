#include "runtime/python/binding/sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <trifold/error.hpp>

#include "generator/sparse/fields.hpp"
#include "runtime/device/gpu_driver.hpp"
#include "runtime/python/binding/bound.hpp"
#include "runtime/python/binding/gil.hpp"
#include "runtime/python/binding/plan.hpp"

namespace trifold::python {
namespace {

std::vector<std::int32_t> numbers_of(nb::handle given, const char* name) {
    if (given.is_none()) return {};
    Array array(given, name);
    if (array.element() != Element::i32) throw SpecError(std::string(name) + " is " + array.describe() + "; give int32");
    array.make_contiguous();
    const auto all = array.all<const std::int32_t>();
    return {all.begin(), all.end()};
}

bool on_host(const Array& array) { return array.place() == Place{}; }

/// On the host with its size.
AnyArray any(const Array& array) {
    AnyArray result(array.data(), on_host(array), array.element() == Element::f32 ? Precision::f32 : Precision::f64);
    if (on_host(array)) result.size = array.size();
    return result;
}

nb::tuple outcome_of(const SparseOutcome& outcome, const std::vector<double>& history) {
    nb::list residuals;
    for (const auto residual : history) residuals.append(residual);
    return nb::make_tuple(std::string(trifold::to_string(outcome.end)), outcome.iterations, outcome.residual, outcome.norm_b, residuals);
}

/// A GPU as Python names it.
std::string name_of(Backend backend, int ordinal) { return fmt::format("{}:{}", backend == Backend::hip ? "hip" : "cuda", ordinal); }

/// Solvers by number, for as long as somebody has them.
class Numbered {
  public:
    std::int64_t add(const std::shared_ptr<SharedSparse>& solver) {
        const std::scoped_lock lock(*mutex_);
        std::erase_if(all_, [](const auto& one) { return one.second.expired(); });
        all_.emplace(++last_, solver);
        return last_;
    }
    std::shared_ptr<SharedSparse> find(std::int64_t number) {
        const std::scoped_lock lock(*mutex_);
        const auto found = all_.find(number);
        return found == all_.end() ? nullptr : found->second.lock();
    }

  private:
    PerProcess<std::mutex> mutex_;
    std::map<std::int64_t, std::weak_ptr<SharedSparse>> all_;
    std::int64_t last_ = 0;
};
Numbered& numbered() {
    static auto& all = *new Numbered;  // never destroyed: XLA may call at exit
    return all;
}

template <class Real>
void write_nan(Real* x, std::int64_t rows, std::int64_t columns, const std::vector<std::int64_t>& failed) {
    for (std::int64_t row = 0; row < rows; ++row)
        for (const auto column : failed) x[row * columns + column] = std::numeric_limits<Real>::quiet_NaN();
}

/// Fills columns of X, which is where the solver computes, or on the host.
void poison(const SparsePlan& plan, const AnyArray& x, std::int64_t columns, const std::vector<std::int64_t>& failed, Stream stream) {
    const auto rows = plan.pattern().rows() * plan.spec().block;
    const auto write = [&](void* memory) {
        if (x.precision == Precision::f32)
            write_nan(static_cast<float*>(memory), rows, columns, failed);
        else
            write_nan(static_cast<double*>(memory), rows, columns, failed);
    };
    if (x.on_host) return write(const_cast<void*>(x.data));
    const gpu::Context context(gpu::driver(plan.device().backend()), plan.device().ordinal());
    const gpu::Current current(context);
    std::vector<std::byte> copy(static_cast<std::size_t>(rows * columns * element_bytes(x.precision)));
    context.driver().copy_to_host(copy.data(), x.data, copy.size(), stream.handle);
    context.driver().synchronize_stream(stream.handle);
    write(copy.data());
    context.driver().copy_to_device(const_cast<void*>(x.data), copy.data(), copy.size(), stream.handle);
    context.driver().synchronize_stream(stream.handle);
}

}  // namespace

std::shared_ptr<SharedSparse> shared_sparse(std::int64_t number) {
    auto found = numbered().find(number);
    if (found == nullptr) throw SpecError("the Solver of this compiled function is no more; keep it for as long as the function is called");
    return found;
}

SharedSparse::~SharedSparse() {
    if (born_ != forks()) static_cast<void>(solver_.release());
}

void SharedSparse::take(const AnyArray& values, Stream stream, const SparseOptions& options) {
    const auto& plan = solver_->plan();
    const auto numbers = plan.pattern().values() * plan.spec().block * plan.spec().block;
    const auto bytes = static_cast<std::size_t>(numbers * element_bytes(values.precision));
    if (values.on_host && kept_.size() == bytes && std::memcmp(kept_.data(), values.data, bytes) == 0) return;
    kept_.clear();  // where the update fails
    solver_->update(values, stream, {.shift = options.shift});
    if (!std::ranges::all_of(solver_->values(), &SparseValues::ok)) solver_->check();
    const auto* const first = static_cast<const std::byte*>(values.data);
    if (values.on_host) kept_.assign(first, first + bytes);
}

void SharedSparse::solve(const AnyArray& values, const AnyArray& b, const AnyArray& x, bool transposed, Stream stream,
                         const SparseOptions& options) {
    const std::scoped_lock lock(*in_call_);
    try {
        take(values, stream, options);
        solver_->run(transposed ? SparseOperation::solve_transposed : SparseOperation::solve, {b, x}, stream, options);
        solver_->check();
    } catch (const SparseFailed& error) {
        std::vector<std::int64_t> failed;
        for (const auto& failure : error.failures) failed.push_back(failure.column);
        if (failed.front() < 0) {  // the values themselves
            failed.resize(static_cast<std::size_t>(options.columns));
            std::iota(failed.begin(), failed.end(), 0);
        }
        poison(plan(), x, options.columns, failed, stream);
    }
}

nb::tuple sparse_problem(const SparseFailed::Failure& failure) {
    const auto& v = failure.values;
    if (v.ok()) return nb::make_tuple(std::string(trifold::to_string(failure.outcome.end)), -1, -1);
    if (v.not_finite > 0) return nb::make_tuple("not_finite", v.bad_row, v.bad_column);
    if (v.unequal > 0) return nb::make_tuple("not_symmetric", v.unequal_row, v.unequal_column);
    return nb::make_tuple("singular", v.zero_row, v.zero_row);
}

BoundSparse::BoundSparse(nb::handle starts, nb::handle columns, nb::handle parts, nb::handle device, const nb::dict& settings,
                         std::shared_ptr<Transport> transport) {
    const auto s = numbers_of(starts, "starts"), c = numbers_of(columns, "columns");
    auto given = settings_of(settings);
    const SparseTuning tuning{.workers = taken<int>(given, "workers"), .variant = taken<std::string>(given, "variant")};
    const SparsePartition partition{.by = parse_sparse_partitioning(taken<std::string>(given, "partition")),
                                    .box = {},
                                    .parts = numbers_of(parts, "partition"),
                                    .rows = taken<std::int64_t>(given, "subdomain")};
    SparseSpec spec;
    read_json(sparse_fields, &spec, given);
    if (transport != nullptr) spec.operations = {SparseOperation::solve};
    const auto where = device_of(device);
    const GilRelease unlocked;
    const SparsePattern pattern{std::span(s), std::span(c)};
    solver_ =
        std::make_shared<SharedSparse>(transport == nullptr ? SparsePlan(spec, pattern, where, partition, tuning)
                                                            : SparsePlan(spec, pattern, std::move(transport), where, partition, tuning));
    number_ = numbered().add(solver_);
}

/// Other ranks of this process run on meanwhile, since NCCL may wait for them.
BoundSparse::~BoundSparse() {
    if (solver_->plan().device().backend() == Backend::cpu) return;
    const GilRelease unlocked;
    solver_.reset();
}

double BoundSparse::usual_tolerance() const { return usual_sparse_tolerance(solver_->plan().spec().precision); }

std::string BoundSparse::device() const {
    const auto& device = solver_->plan().device();
    if (device.backend() == Backend::cpu) return "cpu";
    return name_of(device.backend(), device.ordinal());
}

Stream BoundSparse::stream_of(std::initializer_list<const Array*> arrays) const {
    const auto& first = **arrays.begin();
    for (const auto* other : arrays)
        if (other->place() != first.place())
            throw SpecError(fmt::format("{} is {}, and {} {}; give both in one place", other->name(), other->describe(), first.name(),
                                        first.describe()));
    if (on_host(first)) return {};
    const auto& device = solver_->plan().device();
    const auto backend = backend_of(first.library(), first.place());
    if (device.backend() != backend || device.ordinal() != first.place().ordinal)
        throw SpecError(fmt::format("{} is {}, and the plan on {}; make it with device='{}', or copy the array there", first.name(),
                                    first.describe(), this->device(), name_of(backend, first.place().ordinal)));
    return current_stream(first.library(), first.place());
}

template <class Body>
void BoundSparse::locked(Body body) {
    const GilRelease unlocked;
    solver_->locked(body);
}

void BoundSparse::update(nb::handle values, double shift) {
    const Array of_values(values, "the values of A");
    const auto stream = stream_of({&of_values});
    locked([&](SparseSolver& solver) {
        solver.update(any(of_values), stream, {.shift = shift});
        if (!std::ranges::all_of(solver.values(), &SparseValues::ok)) solver.check();
    });
}

void BoundSparse::run(const std::string& operation, nb::handle b, nb::handle x, std::int64_t columns) {
    const auto found = value_named<SparseOperation>(operation, "operation");
    const Array of_b(b, "b"), of_x(x, "x", true);
    const auto stream = stream_of({&of_b, &of_x});
    locked([&](SparseSolver& solver) { solver.run(found, {any(of_b), any(of_x)}, stream, {.columns = columns}); });
}

nb::list BoundSparse::solve(nb::handle b, nb::handle x, std::int64_t columns, bool transposed, bool guess, double rtol, double atol,
                            std::int64_t maxiter, bool check, nb::handle callback) {
    const Array of_b(b, "b"), of_x(x, "x", true);
    const auto stream = stream_of({&of_b, &of_x});
    SparseOptions options{.columns = columns, .rtol = rtol, .atol = atol, .maxiter = maxiter, .guess = guess};
    if (!callback.is_none())
        options.watch = [&](std::int64_t iterations, double relative_residual) {
            const nb::gil_scoped_acquire locked;
            callback(iterations, relative_residual);
        };
    const auto operation = transposed ? SparseOperation::solve_transposed : SparseOperation::solve;
    std::vector<SparseOutcome> outcomes;
    std::vector<std::vector<double>> histories(static_cast<std::size_t>(columns));
    locked([&](SparseSolver& solver) {
        solver.run(operation, {any(of_b), any(of_x)}, stream, options);
        if (check) solver.check();
        outcomes = solver.outcomes();
        const auto rhs = solver.plan().spec().rhs;
        for (auto column = (columns - 1) / rhs * rhs; column < columns; ++column)  // earlier panels' are gone
            histories[static_cast<std::size_t>(column)] = solver.history(0, column);
    });
    nb::list result;
    for (std::size_t k = 0; k < outcomes.size(); ++k) result.append(outcome_of(outcomes[k], histories[k]));
    return result;
}

void BoundSparse::gradient(nb::handle x, nb::handle by_b, nb::handle by_values, std::int64_t columns) {
    const Array of_x(x, "x"), of_by_b(by_b, "by_b"), of_by_values(by_values, "by_values", true);
    const auto stream = stream_of({&of_x, &of_by_b, &of_by_values});
    locked([&](SparseSolver& solver) {
        solver.run(SparseOperation::gradient, {any(of_x), any(of_by_b), any(of_by_values)}, stream, {.columns = columns});
    });
}

void BoundSparse::solve_with(nb::handle values, nb::handle b, nb::handle x, std::int64_t columns, bool transposed, double rtol, double atol,
                             std::int64_t maxiter, double shift) {
    const Array of_values(values, "the values of A"), of_b(b, "b"), of_x(x, "x", true);
    static_cast<void>(stream_of({&of_values, &of_b, &of_x}));
    const SparseOptions options{.columns = columns, .rtol = rtol, .atol = atol, .maxiter = maxiter, .shift = shift};
    const GilRelease unlocked;
    solver_->solve(any(of_values), any(of_b), any(of_x), transposed, {}, options);
}

nb::dict BoundSparse::summary() const {
    const auto& s = solver_->plan().summary();
    nb::dict result;
    result["partition"] = s.partition;
    result["subdomains"] = s.tiles;
    result["largest"] = s.largest_tile;
    result["entries"] = s.entries;
    result["dropped"] = s.dropped;
    result["factored"] = s.factored;
    result["levels"] = s.levels;
    return result;
}

}  // namespace trifold::python
