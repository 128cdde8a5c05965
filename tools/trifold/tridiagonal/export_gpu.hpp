#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "generator/export/gpu/export.hpp"

namespace trifold::command {

/// What `export` takes for a GPU alone.
class GpuExportOptions {
  public:
    void add_to(CLI::App& app);
    /// Throws SpecError when one of them was given; they mean nothing to `target`.
    void expect_none(const std::string& target) const;
    /// The project for block, horizon, precision and rhs of `spec`, with the kernels compiled or taken from the cache unless that is not
    /// wanted. An empty schedule is that of Tuning. Throws SpecError, CompileError, DeviceError.
    std::vector<ExportedFile> project(Spec spec, const std::string& targets, const std::string& prefix, const std::string& schedule) const;

  private:
    std::vector<const CLI::Option*> options_;
    std::int64_t batch_ = 1;
    std::string operations_ = to_string(export_operations());
    Tuning tuning_;
    bool no_binaries_ = false;
};

}  // namespace trifold::command
