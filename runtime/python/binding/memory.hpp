#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>

namespace trifold::python {

/// A NumPy array of bytes for a value on the CPU, aligned, and from memory that was a value before where there is some: fresh memory of
/// megabytes costs more to touch than a small factorization.
nanobind::object allocate_bytes(std::int64_t bytes);

}  // namespace trifold::python
