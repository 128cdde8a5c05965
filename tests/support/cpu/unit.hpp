#pragma once
#include <trifold/tridiagonal_args.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>
#include <trifold/generate.hpp>
#include <vector>

namespace trifold::test {

/// The best vector level of this machine.
Target host_target();

/// How a launch is cut: the tasks of a launch run in pieces of this many, in this order.
struct Split {
    std::int64_t tasks_per_call = 1 << 30;
    bool backwards = false;
};

/// What was chosen, generated, compiled with the system's C compiler and loaded; walks its operations on one thread.
class CompiledProgram {
  public:
    /// `level`: how far the compiler optimizes. Most tests are about results, and -Og takes a quarter of the time that -O2 takes.
    explicit CompiledProgram(Choice choice, std::string_view level = "-Og");
    const Choice& choice() const { return choice_; }
    const Program& program() const { return program_; }
    void run(Operation operation, trifold_args args, const Split& split = {}) const;
    /// Of FE_INVALID, FE_DIVBYZERO and FE_OVERFLOW those that kernels have raised since this was made. On sound data there are none.
    int exceptions() const { return exceptions_; }

  private:
    using Entry = void (*)(const trifold_args*, const void* constants, trifold_int, trifold_int, void*);
    Choice choice_;
    Program program_;
    std::vector<std::shared_ptr<void>> libraries_;
    std::vector<std::vector<Entry>> entries_;  // by unit and kernel
    mutable std::vector<char> scratch_;
    mutable int exceptions_ = 0;
};

/// A workspace whose every byte starts as 0xff, which is a NaN in both precisions, but for what must be zero.
class Workspace {
  public:
    explicit Workspace(const Program& program);
    void* data() const { return memory_.get(); }
    template <class T>
    const T* buffer(const Program& program, std::string_view name) const {
        return reinterpret_cast<const T*>(memory_.get() + trifold::buffer(program, name).offset);
    }

  private:
    std::unique_ptr<char, decltype(&std::free)> memory_;
};

}  // namespace trifold::test
