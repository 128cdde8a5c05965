#include "runtime/python/binding/addresses.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <vector>

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

void AddressSolver::run(Operation operation, std::initializer_list<Address> arrays, std::int64_t columns, Address stream) {
    const auto precision = solver_->plan().choice().spec.precision == Precision::f32 ? Precision::f32 : Precision::f64;
    std::vector<AnyArray> all;
    for (const auto address : arrays) all.emplace_back(at<const void>(address), false, precision);
    const GilRelease unlocked;
    solver_->run(operation, all, {.columns = columns, .stream = {at<void>(stream)}});
}

void AddressSolver::log_determinant(Address to, Address stream) {
    solver_->copy_log_determinant(at<double>(to), solver_->plan().choice().spec.batch, {at<void>(stream)});
}

void bind_addresses(nb::module_& module) {
    using namespace nb::literals;
    const nb::call_guard<InCall> guarded;
    using Address = AddressSolver::Address;
    const auto sweep = [](Operation operation) {
        return [operation](AddressSolver& self, Address b, Address x, std::int64_t columns, Address stream) {
            self.run(operation, {b, x}, columns, stream);
        };
    };
    nb::class_<AddressSolver>(module, "AddressSolver", "A solver on addresses of memory: what trifold.socu is written with.")
        .def(nb::init<std::int64_t, std::int64_t, const std::string&, std::int64_t, std::int64_t, const std::string&, Layout, Layout>(),
             nb::kw_only(), "block"_a, "horizon"_a, "dtype"_a, "batch"_a, "rhs"_a, "device"_a, "d"_a, "e"_a, guarded)
        .def("prepare", &AddressSolver::prepare, guarded)
        .def(
            "factor", [](AddressSolver& self, Address d, Address e, Address stream) { self.run(Operation::factor, {d, e}, 0, stream); },
            "D"_a, "E"_a, "stream"_a, guarded)
        .def(
            "factor_solve",
            [](AddressSolver& self, Address d, Address e, Address b, Address x, std::int64_t columns, Address stream) {
                self.run(Operation::factor_solve, {d, e, b, x}, columns, stream);
            },
            "D"_a, "E"_a, "b"_a, "x"_a, "columns"_a, "stream"_a, guarded)
        .def("solve", sweep(Operation::solve), "b"_a, "x"_a, "columns"_a, "stream"_a, guarded)
        .def("forward", sweep(Operation::forward), "b"_a, "y"_a, "columns"_a, "stream"_a, guarded)
        .def("backward", sweep(Operation::backward), "y"_a, "x"_a, "columns"_a, "stream"_a, guarded)
        .def("log_determinant", &AddressSolver::log_determinant, "to"_a, "stream"_a, guarded);
}

}  // namespace trifold::python
