#pragma once
#include <string>
#include <trifold/generate.hpp>

#include "tools/trifold/spec_options.hpp"

namespace trifold::command {

/// Placement of the caller's arrays as command-line options.
class LayoutOptions {
  public:
    void add_to(CLI::App& app);
    void apply(Spec& spec) const;

  private:
    std::string order_ = "row-major", coupling_ = "lower", rhs_layout_ = "staged";
    BlockLayout d_, e_;
};

/// The inputs of the generator that blocks alone have.
class BlockOptions {
  public:
    explicit BlockOptions(const SpecOptions& common) : common_(common) {}
    void add_to(CLI::App& app);
    /// True when any size was given.
    bool has_sizes() const { return block_ != 0 || horizon_ != 0; }
    Operations operations() const { return parse_operations(operations_); }
    /// Throws SpecError when a size is missing.
    Spec spec() const;
    /// What a Plan would take: by wisdom of the named device; for `native`, of this machine's; else of any of the architecture. Throws
    /// SpecError, DeviceError.
    Choice choice(const Spec& spec) const;

  private:
    const SpecOptions& common_;
    std::int64_t block_ = 0, horizon_ = 0;
    bool any_size_ = false;
    std::string schedule_ = Tuning().schedule, variant_ = Tuning().variant, device_name_, operations_ = to_string(usual_operations());
    LayoutOptions layout_;
};

}  // namespace trifold::command
