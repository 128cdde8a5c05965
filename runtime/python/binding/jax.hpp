#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

namespace trifold::python {

/// Handlers of XLA's typed FFI, as capsules by name; empty in a build without its headers. trifold/jax/__init__.py registers them.
nanobind::dict jax_handlers();
/// Bytes of a factor's value for a problem as the handlers take it, on the device. Compiles nothing.
std::int64_t jax_value_bytes(const std::vector<std::int64_t>& problem, nanobind::handle device);
/// Makes the Plan of a problem, which is what a handler's first call does otherwise. Errors are left to that call.
void jax_compile(const std::vector<std::int64_t>& problem, nanobind::handle device);

}  // namespace trifold::python
