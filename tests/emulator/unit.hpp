#pragma once
#include <memory>
#include <vector>

#include "generator/program.hpp"
#include "tests/emulator/runner.hpp"

namespace trifold::test {

/// A CUDA Program compiled as host C++ under platform.cuh; walks its operations with every GPU thread a fiber.
class EmulatedUnit {
  public:
    explicit EmulatedUnit(Program program);
    const Program& program() const { return program_; }
    void* handle() const { return library_.get(); }  ///< of dlopen
    void run(Operation operation, trifold_args args, Order order = Order::forward) const;

  private:
    using Entry = void (*)(trifold_args, trifold_level);
    Program program_;
    std::shared_ptr<void> library_;
    std::vector<Entry> entries_;
    std::shared_ptr<Emulator> emulator_ = std::make_shared<Emulator>();
};

}  // namespace trifold::test
