#pragma once

namespace trifold::python {

/// Errors of the library arrive in Python as those of trifold.errors that have their names.
void translate_errors();

}  // namespace trifold::python
