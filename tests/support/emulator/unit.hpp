#pragma once
#include <trifold/tridiagonal_args.h>

#include <memory>
#include <string>
#include <trifold/generate.hpp>
#include <vector>

#include "tests/support/emulator/runner.hpp"

namespace trifold::test {

/// Shared object made of a device unit's source. CUDA units get names of their own in place of the platform header's, for
/// waves of `lanes`; HIP units keep theirs, over emulated builtins. Where `watched`, every access goes to Emulator::access.
std::shared_ptr<void> compile_unit(const std::string& source, Backend dialect, int lanes, bool watched);
/// A kernel by its name.
void* find_kernel(void* unit, const std::string& name);
/// Points the unit at the machine that runs it.
void connect(void* unit, Emulator& emulator);

/// A Program for a GPU, its kernels in as few units as can be, as host code under platform.cuh; walks its operations. Unless it is `plain`,
/// it is watched: accesses out of bounds throw, and races are kept as findings. The kernels then work on copies of the caller's arrays and
/// of the workspace's buffers, with room between them.
class EmulatedUnit {
  public:
    enum class Build { plain, watched };
    explicit EmulatedUnit(const Choice& choice, Build build = Build::watched);
    EmulatedUnit(Choice choice, Program program, Build build = Build::watched);
    const Choice& choice() const { return choice_; }
    const Program& program() const { return program_; }
    std::vector<void*> handles() const;  ///< of dlopen, one a unit
    void run(Operation operation, const trifold_args& args, const Running& running = {}) const;
    const std::vector<std::string>& findings() const { return detector_->findings(); }

  private:
    void run_launches(Operation operation, const trifold_args& args, const Running& running, Detector* detector) const;
    Choice choice_;
    Program program_;
    Build build_;
    std::vector<Buffer> spread_;  // the workspace's buffers, apart
    Program spread_sizes_;        // what kernels with open sizes are told of them
    std::vector<std::shared_ptr<void>> libraries_;
    std::vector<std::vector<void*>> entries_;  // by unit and kernel
    std::shared_ptr<Emulator> emulator_ = std::make_shared<Emulator>();
    std::shared_ptr<Detector> detector_ = std::make_shared<Detector>();
};

}  // namespace trifold::test
