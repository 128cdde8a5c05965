#pragma once
#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>
#include <trifold/solver.hpp>

namespace trifold::python {

namespace nb = nanobind;

/// Options of a call on a chain of blocks; None where an array is not given. The arrays are the caller's.
struct Options {
    nb::handle shift = Py_None, diagonal = Py_None, active = Py_None;
    std::optional<bool> check;
    CallOptions numbers = {};
};

/// Options by name that calls take, as TypedDicts of trifold/factor.py: "**options: Unpack[Sweep]" is what a signature says of them.
enum class OptionsOf { sweep, system, factorization };

/// Throws TypeError on other names, and SpecError on values of another type.
Options read_options(const char* call, OptionsOf kind, const nb::kwargs& given);

/// "active=None, check=None" of "Sweep".
std::string show_options(std::string_view type);

}  // namespace trifold::python
