#include "runtime/python/binding/gil.hpp"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>

#include "runtime/device/host_graph.hpp"

namespace trifold::python {
namespace {

// Both are read and written with the lock of Python.
int calls = 0;
std::optional<std::thread::id> ending;  // the thread that ends the interpreter, which may call on
thread_local int own_calls = 0;

/// Python notes a signal, and handles it in the main thread once that has the lock.
void look_for_signals() {
    using namespace std::chrono_literals;
    thread_local auto looked = std::chrono::steady_clock::now();
    const auto now = std::chrono::steady_clock::now();
    if (own_calls == 0 || now - looked < 50ms) return;
    looked = now;
    const nanobind::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) nanobind::raise_python_error();
}

}  // namespace

InCall::InCall() {
    if (ending && *ending != std::this_thread::get_id()) {
        PyEval_SaveThread();
        while (true) ::pause();
    }
    ++calls;
    ++own_calls;
}

InCall::~InCall() {
    --own_calls;
    --calls;
}

void handle_signals_in_calls() { interruption = look_for_signals; }

void finish_calls() {
    ending = std::this_thread::get_id();
    while (calls > 0) {
        const GilRelease unlocked;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace trifold::python
