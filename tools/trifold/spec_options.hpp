#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <trifold/device.hpp>
#include <trifold/generate.hpp>
#include <trifold/grid_spec.hpp>

namespace trifold::command {

/// For --workers.
CLI::Validator number_of_workers();
/// When it is not given: a worker for each processor that this process may use.
int all_workers();
/// For numbers above zero, and from zero on. CLI11's own checks print the largest double in their messages, in 309 digits.
CLI::Validator positive_number();
CLI::Validator non_negative_number();

/// Placement of the caller's arrays as command-line options.
class LayoutOptions {
  public:
    void add_to(CLI::App& app);
    void apply(Spec& spec) const;

  private:
    std::string order_ = "row-major", coupling_ = "lower", rhs_layout_ = "staged";
    BlockLayout d_, e_;
};

/// The inputs of the generator as command-line options. The options' names and defaults are also what generated sources
/// state as the command that regenerates them.
class SpecOptions {
  public:
    void add_to(CLI::App& app);
    /// True when any size was given.
    bool has_sizes() const { return spec_.block != 0 || spec_.horizon != 0; }
    Operations operations() const { return parse_operations(operations_); }
    /// Throws SpecError when a size is missing.
    Spec spec() const;
    /// `native` resolved to this machine. Throws SpecError, DeviceError.
    Target target() const;
    const Tuning& tuning() const { return tuning_; }
    /// Precision, right-hand sides and batch, of an image.
    void apply(GridSpec& spec) const;
    /// What a Plan would take: by wisdom of the named device; for `native`, of this machine's; else of any of the architecture. Throws
    /// SpecError, DeviceError.
    Choice choice(const Spec& spec) const;

  private:
    std::optional<Device> native() const;
    Spec spec_;
    std::string precision_ = "f64", target_ = "cpu:native", device_name_, operations_ = to_string(usual_operations());
    Tuning tuning_;
    LayoutOptions layout_;
};

}  // namespace trifold::command
