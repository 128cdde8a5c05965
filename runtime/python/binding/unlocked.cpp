#include "runtime/python/binding/unlocked.hpp"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>

namespace trifold::python {
namespace {

// Both are read and written with the lock of Python.
int calls = 0;
std::optional<std::thread::id> ending;  // the thread that ends the interpreter, which may call on

}  // namespace

InCall::InCall() {
    if (ending && *ending != std::this_thread::get_id()) {
        PyEval_SaveThread();
        while (true) ::pause();
    }
    ++calls;
}

InCall::~InCall() { --calls; }

void finish_calls() {
    ending = std::this_thread::get_id();
    while (calls > 0) {
        const Unlocked unlocked;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace trifold::python
