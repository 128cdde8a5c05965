#pragma once
#include <nanobind/nanobind.h>

namespace trifold::python {

/// Other threads of Python run while this lives. While the interpreter ends it keeps the lock instead: threads that ask for it then are
/// ended where they stand, in the middle of C++.
class Unlocked {
  public:
    Unlocked();
    ~Unlocked();
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

  private:
    PyThreadState* thread_ = nullptr;
};

/// For atexit: waits for the calls of other threads, and lets no more of them go on without the lock.
void finish_calls();

}  // namespace trifold::python
