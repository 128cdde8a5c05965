#pragma once
#include <nanobind/nanobind.h>

#include <vector>

#include "runtime/python/binding/texts.hpp"

namespace trifold::python {

/// Makes methods of a class built-in ones, which carry the signature that inspect.signature() reads, and pass calls on to nanobind's.
void make_built_in(nanobind::handle type, const std::vector<Text>& methods);

}  // namespace trifold::python
