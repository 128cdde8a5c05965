#pragma once
#include <nanobind/nanobind.h>

namespace trifold::python {

/// The operators of trifold/torch/__init__.py, on tensors that are whole and do not ask for gradients: the same functions, without Python
/// between them. `module` gets them.
void bind_torch(nanobind::module_& module);

}  // namespace trifold::python
