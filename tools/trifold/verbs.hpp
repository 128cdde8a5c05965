#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <trifold/transport.hpp>

namespace trifold::tune {
class Log;
}

namespace trifold::command {

/// What a verb does once the command line is parsed; returns the exit status: 0 done, 1 the problem could not be solved.
/// Bad usage and input (2) and the environment (3) are exceptions; main tells them apart.
using Action = std::function<int()>;

struct FamilyVerbs;
using Families = std::span<const FamilyVerbs>;

/// The command `trifold` with these families. Returns its exit status.
int run_command(int argc, char** argv, Families families);

/// Each adds its verb to the command line; `json` is the verb's --json flag, set by the time the action runs.
Action add_solve(CLI::App& app, const bool& json, Families families);
Action add_generate(CLI::App& app, const bool& json, Families families);
Action add_export(CLI::App& app, const bool& json, Families families);
Action add_explain(CLI::App& app, const bool& json, Families families);
Action add_problem(CLI::App& app, const bool& json, Families families);
Action add_bench(CLI::App& app, const bool& json, Families families);
/// `bench` for one of several ranks, whose transport is there by the time the action runs.
Action add_bench_of_rank(CLI::App& app, const bool& json, Families families, const std::shared_ptr<Transport>& transport);
/// These know no family.
Action add_cache(CLI::App& app, const bool& json);
Action add_doctor(CLI::App& app, const bool& json);
Action add_tune(CLI::App& app, const bool& json);
Action add_pack(CLI::App& app, const bool& json);

using Json = nlohmann::ordered_json;

/// Results go to standard output, as a whole; throws OutputError when it cannot take them.
void print(const std::string& text);
/// From here on results go to standard error, where they may be lost: standard output takes a file.
void report_to_standard_error();
void print(const Json& json);

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
