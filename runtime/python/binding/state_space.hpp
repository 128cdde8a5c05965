#pragma once
#include <nanobind/nanobind.h>

namespace trifold::python {

/// trifold._core.StateSpace: the system of a linear Gaussian model of NumPy's arrays, which trifold/state_space.py has read.
void bind_state_space(nanobind::module_& module);

}  // namespace trifold::python
