#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <trifold/device.hpp>
#include <trifold/precision.hpp>

#include "generator/program/fields.hpp"

namespace trifold::command {

/// For --workers.
CLI::Validator number_of_workers();
/// When it is not given: a worker for each processor that this process may use.
int all_workers();
/// For numbers above zero, and from zero on. CLI11's own checks print the largest double in their messages, in 309 digits.
CLI::Validator positive_number();
CLI::Validator non_negative_number();

/// An option that sets a field of an object, or a flag that makes it true, which lives as long as the options: "--rhs-layout", or as named.
CLI::Option* add_field(CLI::App& app, const Field& field, void* object, std::string option = {});
/// An option for each of a family's choices.
void add_choices(CLI::App& app, const Fields& fields, void* object);

/// A field that chains and images have, each with words of its own. Its option is added once, and read by the family that is chosen.
inline constexpr std::string_view shared_field = "matrix";
class SharedField {
  public:
    void add_to(CLI::App& app, const Field& field);
    bool is_given() const { return option_ != nullptr && option_->count() > 0; }
    /// Throws SpecError where the word is none of the field's.
    void set(const Field& field, void* object) const;

  private:
    CLI::Option* option_ = nullptr;
};

/// The target of a text, in which `native` stands for this machine's. Throws SpecError, DeviceError.
Target target_named(const std::string& text);

/// Inputs of the generator that all families have, as command-line options. The names and defaults of the options are also what generated
/// sources state as the command that regenerates them.
class SpecOptions {
  public:
    void add_to(CLI::App& app);
    Precision precision() const { return parse_precision(precision_); }
    /// The device whose target was given as `native`. Throws DeviceError.
    std::optional<Device> native() const;
    /// `native` resolved to this machine. Throws SpecError, DeviceError.
    Target target() const;
    std::int64_t rhs = 1, batch = 1;
    int workers = 1;

  private:
    std::string precision_ = "f64", target_ = "cpu:native";
};

}  // namespace trifold::command
