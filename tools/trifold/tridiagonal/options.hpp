#pragma once
#include <string>
#include <trifold/generate.hpp>

#include "tools/trifold/family.hpp"
#include "tools/trifold/spec_options.hpp"

namespace trifold::command {

/// Options that say where the caller's arrays lie; the Spec lives as long as they do.
void add_layout(CLI::App& app, Spec& spec);

/// The inputs of the generator that blocks alone have.
class BlockOptions {
  public:
    explicit BlockOptions(const SpecOptions& common) : common_(common) {}
    void add_to(CLI::App& app);
    /// True when any size was given.
    bool has_sizes() const { return spec_.block != 0 || spec_.horizon != 0; }
    Operations operations() const { return parse_operations(operations_); }
    /// Throws SpecError when a size is missing.
    Spec spec() const;
    /// What a Plan would take: by wisdom of the named device; for `native`, of this machine's; else of any of the architecture. Throws
    /// SpecError, DeviceError.
    Choice choice(const Spec& spec) const;

  private:
    const SpecOptions& common_;
    Spec spec_;
    bool any_size_ = false;
    std::string schedule_ = Tuning().schedule, variant_ = Tuning().variant, device_name_, operations_ = to_string(usual_operations());
};

/// Block tridiagonal systems, as `trifold` has them.
FamilyVerbs tridiagonal_verbs();

std::function<Report()> tridiagonal_solve(CLI::App& app, const SolveOptions& options, const std::string&);
std::function<Report()> tridiagonal_explain(CLI::App& app, const SpecOptions& options, const std::string&);
std::function<std::vector<ExportedFile>()> tridiagonal_export(CLI::App& app, const ExportOptions& options, const std::string&);
std::function<int()> tridiagonal_bench(CLI::App& app, const BenchOptions& options, const std::string&);

}  // namespace trifold::command
