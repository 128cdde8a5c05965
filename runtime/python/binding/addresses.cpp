#include "runtime/python/binding/addresses.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "runtime/python/binding/gil.hpp"
#include "runtime/python/binding/plan.hpp"

namespace trifold::python {
namespace {

template <class T>
T* at(AddressSolver::Address address) {
    return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr): it comes from Python
}

BlockLayout block_layout(const Layout& layout) {
    const auto [leading, stage, member] = layout;
    return {.leading = leading, .stage = stage, .member = member};
}

/// body(float{}) or body(double{}), as the arrays are.
template <class Body>
void with_real(const Solver& solver, Body body) {
    const GilRelease unlocked;
    if (solver.plan().choice().spec.precision == Precision::f32)
        body(float{});
    else
        body(double{});
}

}  // namespace

AddressSolver::AddressSolver(std::int64_t block, std::int64_t horizon, const std::string& dtype, std::int64_t batch, std::int64_t rhs,
                             const std::string& device, Layout d, Layout e) {
    const Spec spec{.block = block,
                    .horizon = horizon,
                    .precision = precision_of(nb::str(dtype.c_str())),
                    .rhs = rhs,
                    .batch = batch,
                    .d = block_layout(d),
                    .e = block_layout(e)};
    const auto where = device_of(nb::str(device.c_str()));
    const GilRelease unlocked;
    solver_ = std::make_unique<Solver>(Plan(spec, where, {.any_size = true}));
}

AddressSolver::~AddressSolver() {
    if (born_ != forks()) static_cast<void>(solver_.release());
}

void AddressSolver::factor(Address d, Address e, Address stream) {
    with_real(*solver_, [&]<class Real>(Real) { solver_->factor(at<const Real>(d), at<const Real>(e), {at<void>(stream)}); });
}

void AddressSolver::factor_solve(Address d, Address e, Address b, Address x, std::int64_t columns, Address stream) {
    with_real(*solver_, [&]<class Real>(Real) {
        FactorOptions<Real> options;
        options.columns = columns;
        solver_->factor_solve(at<const Real>(d), at<const Real>(e), at<const Real>(b), at<Real>(x), {at<void>(stream)}, options);
    });
}

void AddressSolver::sweep(Operation operation, Address b, Address x, std::int64_t columns, Address stream) {
    with_real(*solver_, [&]<class Real>(Real) {
        using Function = void (Solver::*)(const Real*, Real*, Stream, const SweepOptions&);
        Function function = &Solver::solve<Real>;
        if (operation == Operation::forward) function = &Solver::forward<Real>;
        if (operation == Operation::backward) function = &Solver::backward<Real>;
        ((*solver_).*function)(at<const Real>(b), at<Real>(x), {at<void>(stream)}, {.columns = columns});
    });
}

void AddressSolver::log_determinant(Address to, Address stream) {
    solver_->copy_log_determinant(at<double>(to), solver_->plan().choice().spec.batch, {at<void>(stream)});
}

void bind_addresses(nb::module_& module) {
    using namespace nb::literals;
    const nb::call_guard<InCall> guarded;
    const auto sweep = [](Operation operation) {
        return [operation](AddressSolver& self, AddressSolver::Address b, AddressSolver::Address x, std::int64_t columns,
                           AddressSolver::Address stream) { self.sweep(operation, b, x, columns, stream); };
    };
    nb::class_<AddressSolver>(module, "AddressSolver", "A solver on addresses of memory: what trifold.socu is written with.")
        .def(nb::init<std::int64_t, std::int64_t, const std::string&, std::int64_t, std::int64_t, const std::string&, Layout, Layout>(),
             nb::kw_only(), "block"_a, "horizon"_a, "dtype"_a, "batch"_a, "rhs"_a, "device"_a, "d"_a, "e"_a, guarded)
        .def("prepare", &AddressSolver::prepare, guarded)
        .def("factor", &AddressSolver::factor, "D"_a, "E"_a, "stream"_a, guarded)
        .def("factor_solve", &AddressSolver::factor_solve, "D"_a, "E"_a, "b"_a, "x"_a, "columns"_a, "stream"_a, guarded)
        .def("solve", sweep(Operation::solve), "b"_a, "x"_a, "columns"_a, "stream"_a, guarded)
        .def("forward", sweep(Operation::forward), "b"_a, "y"_a, "columns"_a, "stream"_a, guarded)
        .def("backward", sweep(Operation::backward), "y"_a, "x"_a, "columns"_a, "stream"_a, guarded)
        .def("log_determinant", &AddressSolver::log_determinant, "to"_a, "stream"_a, guarded);
}

}  // namespace trifold::python
