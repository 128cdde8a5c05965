#pragma once
#include <filesystem>
#include <string>
#include <trifold/generate.hpp>

#include "runtime/base/files.hpp"
#include "tools/formats/assemble.hpp"

namespace trifold::bench {

/// What it takes until a new process has its kernels: generated, compiled or read from the cache, loaded.
struct Start {
    double seconds, residual;
    std::string schedule;
};

/// Solves one system by `trifold solve` in processes of their own, with a cache of their own that is empty at first. NVRTC keeps nothing.
class Starts {
  public:
    Starts(const formats::System& system, Precision precision, const std::string& device, const Tuning& tuning);
    Starts(const Starts&) = delete;
    Starts& operator=(const Starts&) = delete;
    /// Throws Error with what the process said.
    Start cold() const;
    Start warm() const;  ///< after cold()

  private:
    Start run() const;
    PrivateDirectory directory_;
    std::filesystem::path path_;
    std::string command_;
};

}  // namespace trifold::bench
