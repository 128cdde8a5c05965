#pragma once
#include "tools/trifold/verbs.hpp"
#include "tools/tune/log.hpp"

namespace trifold::command {

/// The verbs of `trifold tune` that look after its log. The last is what tools/tune/fit.py asks.
Action add_tune_export(CLI::App& app, const bool& json);
Action add_tune_show(CLI::App& app, const bool& json);
Action add_tune_report(CLI::App& app, const bool& json);
Action add_tune_model(CLI::App& app, const bool& json);

void add_log_option(CLI::App& app, std::string& log);

/// Exports as `tune export` does without options: the decisions of this log go to the user's wisdom file. Returns what was written, for
/// machines; the text is for people. Throws as it does.
Json export_to_user(const tune::Log& log);
std::string export_text(const Json& written);

}  // namespace trifold::command
