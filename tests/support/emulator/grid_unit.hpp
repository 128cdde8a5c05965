#pragma once
#include <trifold/grid_args.h>

#include <memory>
#include <string>
#include <trifold/grid_spec.hpp>
#include <vector>

#include "tests/support/emulator/runner.hpp"

namespace trifold::test {

/// The Program of a grid for a GPU, its kernels as host code; walks its operations under the detector. Each buffer of the workspace is a
/// region of its own, though not apart from the next one.
class EmulatedGrid {
  public:
    EmulatedGrid(const GridSpec& spec, const Target& target, const GridTuning& tuning = {});
    const Program& program() const { return program_; }
    Launch& last_launch(const std::string& operation) { return program_.operations.at(operation).back(); }
    /// `args` without a workspace, which this has.
    void run(const std::string& operation, trifold_grid_args args, const Running& running = {});
    trifold_grid_status status(std::int64_t member) const;
    const std::vector<std::string>& findings() const { return detector_.findings(); }

  private:
    using Entry = void (*)(trifold_grid_args, trifold_grid_launch);
    GridSpec spec_;
    Program program_;
    std::vector<char> memory_;
    char* workspace_;
    std::vector<std::shared_ptr<void>> libraries_;
    std::vector<std::vector<Entry>> entries_;
    Emulator emulator_{};
    Detector detector_;
};

}  // namespace trifold::test
