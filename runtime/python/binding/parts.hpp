#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

/// Parts of the module, each in the file of its name.
namespace trifold::python {

/// Errors of the library arrive in Python as those of trifold.errors that have their names.
void translate_errors();

/// A NumPy array of bytes for a value on the CPU, aligned, and from memory that was a value before where there is some: fresh memory of
/// megabytes costs more to touch than a small factorization.
nanobind::object allocate_bytes(std::int64_t bytes);

/// Makes public methods of a class built-in ones, which carry the signature that inspect.signature() reads, and pass calls on to
/// nanobind's.
void make_built_in(nanobind::handle type);

/// trifold._core.StateSpace: the system of a linear Gaussian model of NumPy's arrays, which trifold/state_space.py has read.
void bind_state_space(nanobind::module_& module);

/// The operators of trifold/torch/__init__.py, on tensors that are whole and do not ask for gradients: the same functions, without Python
/// between them. `module` gets them.
void bind_torch(nanobind::module_& module);

/// trifold._core.AnySolver, and families().
void bind_families(nanobind::module_& module);

/// Handlers of XLA's typed FFI, as capsules by name; empty in a build without its headers. trifold/jax/__init__.py registers them.
nanobind::dict jax_handlers();
/// Bytes of a factor's value for a problem of blocks as the handlers take it, on the device. Compiles nothing.
std::int64_t jax_value_bytes(const std::string& problem, nanobind::handle device);
/// Makes the Plan of a problem, which is what a handler's first call does otherwise. Errors are left to that call.
void jax_compile(const std::string& problem, nanobind::handle device);

}  // namespace trifold::python
