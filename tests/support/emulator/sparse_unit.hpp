#pragma once
#include <trifold/sparse_args.h>

#include <memory>
#include <string>
#include <vector>

#include "generator/sparse/generate.hpp"
#include "tests/support/emulator/runner.hpp"

namespace trifold::test {

/// The Program of a sparse system for a GPU, its kernels as host code; walks its operations under the detector, with as many turns as they
/// take. Each buffer of the workspace is a region of its own, though not apart from the next one.
class EmulatedSparse {
  public:
    EmulatedSparse(const SparseSpec& spec, const Target& target, const SparsePattern& pattern, const sparse::Parts& parts,
                   const std::string& variant = "auto");
    const Program& program() const { return made_.program; }
    /// `args` without a workspace, which this has.
    void run(const std::string& operation, trifold_sparse_args args, const Running& running = {});
    trifold_sparse_state state(std::int64_t system) const;
    trifold_sparse_record record() const;  ///< of the first member
    const std::vector<std::string>& findings() const { return detector_.findings(); }

  private:
    using Entry = void (*)(trifold_sparse_args, trifold_sparse_launch);
    void launch(const std::string& operation, std::size_t number, const trifold_sparse_args& args, Running running);
    SparseSpec spec_;
    SparsePattern pattern_;
    sparse::Generated made_;
    std::vector<char> memory_;
    char* workspace_;
    std::shared_ptr<void> library_;
    std::vector<Entry> entries_;
    Emulator emulator_{};
    Detector detector_;
};

}  // namespace trifold::test
