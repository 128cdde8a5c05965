#include "runtime/python/binding/unlocked.hpp"

#include <chrono>
#include <thread>

namespace trifold::python {
namespace {

// Both are read and written with the lock.
int calls = 0;
bool ending = false;

}  // namespace

Unlocked::Unlocked() {
    if (ending) return;
    ++calls;
    thread_ = PyEval_SaveThread();
}

Unlocked::~Unlocked() {
    if (thread_ == nullptr) return;
    PyEval_RestoreThread(thread_);
    --calls;
}

void finish_calls() {
    ending = true;
    while (calls > 0) {
        auto* thread = PyEval_SaveThread();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        PyEval_RestoreThread(thread);
    }
}

}  // namespace trifold::python
