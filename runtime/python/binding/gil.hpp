#pragma once
#include <nanobind/nanobind.h>

namespace trifold::python {

/// Other threads of Python run while this lives.
using GilRelease = nanobind::gil_scoped_release;

/// Around every call from Python. When the interpreter ends, Python before 3.14 ends a thread that asks for its lock where it stands, and
/// C++ does not survive that. So the end waits for calls that have begun, and a thread that begins one after that sleeps for good, as later
/// versions of Python have it.
class InCall {
  public:
    InCall();
    ~InCall();
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;
};

/// From now on a long call on the CPU ends with KeyboardInterrupt, or what else a signal's handler raises.
void handle_signals_in_calls();

/// For atexit.
void finish_calls();

}  // namespace trifold::python
