#pragma once
#include "tools/trifold/verbs.hpp"

namespace trifold::command {

/// Options of the sweep itself, which is `tune` without a subcommand.
Action add_sweep(CLI::App& app, const bool& json);
/// tune replay FILE
Action add_replay(CLI::App& app, const bool& json);
/// tune model FILE --variant V: what fit.py asks.
Action add_model(CLI::App& app, const bool& json);
inline constexpr const char* compile_unit_name = "compile-unit";
/// The hidden subcommand that the sweep starts to compile a unit.
Action add_compile_unit(CLI::App& app, const bool& json);

}  // namespace trifold::command
