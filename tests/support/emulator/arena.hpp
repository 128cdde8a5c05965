#pragma once
#include <trifold/tridiagonal_args.h>

#include <memory>
#include <string>
#include <trifold/generate.hpp>
#include <vector>

#include "tests/support/emulator/detector.hpp"

namespace trifold::test {

/// Stands in for the arrays of a call: copies with room between them, so that an access beyond one meets no other.
class Arena {
  public:
    /// `spread`: the workspace's buffers where the unit expects them.
    Arena(const Choice& choice, const Program& program, const std::vector<Buffer>& spread, const trifold_args& args, Detector& detector);
    const trifold_args& args() const { return args_; }
    void copy_back() const;

  private:
    struct Copy {
        std::string name;
        char* original;
        std::int64_t bytes;
        bool writable;
        char* place = nullptr;
    };
    template <class Pointer>
    void add(const char* name, Pointer*& pointer, std::int64_t bytes, bool writable);
    char* room(std::int64_t bytes);

    std::int64_t gap_;
    trifold_args args_;
    std::vector<Copy> copies_;
    std::vector<std::unique_ptr<char[]>> memory_;
};

/// The workspace's buffers, and the scratch behind them, with `gap` bytes before each.
std::vector<Buffer> spread_buffers(const Choice& choice, const Program& program);
/// Bytes that are more than two blocks of the Program.
std::int64_t gap_of(const Choice& choice);

}  // namespace trifold::test
