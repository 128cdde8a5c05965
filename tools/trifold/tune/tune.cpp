#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <trifold/error.hpp>

#include "tools/formats/file.hpp"
#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"
#include "tools/tune/log.hpp"
#include "tools/tune/points.hpp"
#include "tools/tune/report.hpp"
#include "tools/tune/sweep.hpp"

namespace trifold::command {
namespace {

std::atomic<bool> interrupted = false;

struct SweepArguments {
    tune::PointOptions points;
    tune::TuneOptions tuning{.processes = all_workers()};
    std::string effort = "quick", budget, log;
    bool exports = true;
};

/// "90", "90s", "10m" or "2h" in seconds.
double parse_budget(const std::string& text) {
    if (text.empty()) return 0;
    const auto units = std::string_view("smh");
    const auto unit = units.find(text.back());
    double number = 0;
    const auto digits = unit == std::string_view::npos ? text : text.substr(0, text.size() - 1);
    if (!CLI::detail::lexical_cast(digits, number) || !std::isfinite(number) || number <= 0)
        throw SpecError(fmt::format("--budget {} is no time; give seconds, minutes or hours, such as 90s, 10m or 2h", text));
    return number * (unit == 1 ? 60 : unit == 2 ? 3600 : 1);
}

std::string line_of(const tune::PointResult& result) {
    const auto name = fmt::format("{:<24}", to_string(result.point));
    if (!result.decision) return fmt::format("{} {}\n", name, result.why.substr(0, result.why.find('\n')));
    const auto& one = *result.decision;
    const auto times = fmt::format("{} {:>9} {:6.3f} times as fast", name, seconds_text(one.seconds), one.gain());
    return fmt::format("{}  {}, {}{}\n", times, one.winner.schedule, one.winner.variant, result.was_decided ? " (known)" : "");
}

std::string failures_text(const tune::SweepState& state) {
    std::string text;
    for (const auto& [verdict, count] : state.failures) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, verdict);
    return text;
}

/// "3/8 points, 50x12 f64: 12.3 us by ...; 2 spilled".
std::string progress_text(const tune::SweepState& state) {
    const auto text = fmt::format("{}/{} points, {:.0f} s, {}", state.done, state.points, state.seconds, state.now);
    return state.failures.empty() ? text : text + "; " + failures_text(state);
}

std::vector<tune::Decision> decisions_of(const tune::SweepReport& report) {
    std::vector<tune::Decision> result;
    for (const auto& one : report.results)
        if (one.decision) result.push_back(*one.decision);
    return result;
}

Json report_json(const tune::SweepReport& report, const Json& written) {
    const auto decisions = decisions_of(report);
    Json json{{"complete", report.complete},       {"seconds", report.state.seconds}, {"points", report.state.points},
              {"decided", decisions.size()},       {"trials", report.state.trials},   {"gain", tune::mean_gain(decisions)},
              {"failures", report.state.failures}, {"results", Json::array()},        {"wisdom", written}};
    for (const auto& result : report.results) {
        Json one{{"point", to_string(result.point)}, {"known", result.was_decided}};
        if (result.decision)
            one["decision"] = to_json(*result.decision);
        else
            one["why"] = result.why;
        json["results"].push_back(one);
    }
    return json;
}

std::string report_text(const tune::SweepReport& report, const Json& written) {
    const auto decisions = decisions_of(report);
    auto text = fmt::format("{} of {} points in {:.0f} s, {}: {:.3f} times as fast as the default (geometric mean)\n", decisions.size(),
                            report.state.points, report.state.seconds, plural(static_cast<std::int64_t>(report.state.trials), "trial"),
                            tune::mean_gain(decisions));
    if (!report.state.failures.empty()) text += fmt::format("failed trials: {}\n", failures_text(report.state));
    if (!report.complete) text += "not all points are done; the same command goes on with them\n";
    return text + (written.is_null() ? "" : fmt::format("wisdom for programs in {}", export_text(written)));
}

int run_sweep(SweepArguments& arguments, bool json) {
    std::vector<std::string> warnings;
    const auto points = arguments.points.points(warnings);
    for (const auto& warning : warnings) say(fmt::format("trifold tune: {}\n", warning));
    const tune::Log log(arguments.log);
    auto& options = arguments.tuning;
    options.effort = tune::parse_effort(arguments.effort);
    options.budget_seconds = parse_budget(arguments.budget);
    options.command = {std::filesystem::read_symlink("/proc/self/exe").string(), "tune"};
    options.stop = &interrupted;
    const auto stop = [](int) { interrupted = true; };
    std::signal(SIGINT, stop);
    std::signal(SIGTERM, stop);
    Progress progress(static_cast<int>(points.size()));
    tune::SweepListener listener;
    listener.progress = [&](const tune::SweepState& state) { progress.show(static_cast<int>(state.done), progress_text(state)); };
    listener.done = [&](const tune::PointResult& result) {
        if (!json) print(line_of(result));
    };
    if (!json)
        print(fmt::format("{} on {}, into {}\n", plural(static_cast<std::int64_t>(points.size()), "point"),
                          Device::parse(options.device).name(), log.path().string()));
    const auto report = tune::sweep(points, log, options, listener);
    const auto written = arguments.exports && !decisions_of(report).empty() ? export_to_user(log) : Json();
    json ? print(report_json(report, written)) : print(report_text(report, written));
    return 0;
}

Action add_sweep(CLI::App& app, const bool& json) {
    const auto arguments = std::make_shared<SweepArguments>();
    auto& options = arguments->tuning;
    arguments->points.add_to(app);
    app.add_option("--device", options.device, "auto, cpu, cuda or cuda:1")->capture_default_str();
    app.add_option("--effort", arguments->effort, "quick, full or exhaustive")
        ->check(CLI::IsMember({"quick", "full", "exhaustive"}))
        ->capture_default_str();
    app.add_option("--budget", arguments->budget, "Time after which it ends, with everything kept: 90s, 10m, 2h");
    add_log_option(app, arguments->log);
    app.add_option("--threads", options.processes, "Processes that compile at the same time")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("--timeout", options.trial_seconds, "Seconds on the device after which a candidate has failed")
        ->check(positive_number())
        ->capture_default_str();
    app.add_flag("--hot", options.measuring.hot, "Solve the same arrays again and again, which may then stay in the caches");
    app.add_option("--seed", options.measuring.seed, "Of the data")->capture_default_str();
    app.add_flag("!--no-export", arguments->exports, "Leave the user's wisdom file as it is");
    return [arguments, &json] { return run_sweep(*arguments, json); };
}

/// A verb that the sweep starts as a process, with what it is to do as JSON.
template <auto run>
Action add_task(CLI::App& app, const bool&) {
    const auto task = std::make_shared<std::string>();
    app.add_option("task", *task)->required();
    return [task] {
        run(*task);
        return 0;
    };
}

/// A verb's words may also stand behind it when they are the command's, for --json. Of the others none would be heeded there.
void refuse_options_of_the_sweep(const CLI::App& app, const CLI::App& verb) {
    for (const auto* option : app.get_options())
        if (option->count() > 0 && !option->check_name("--json"))
            throw SpecError(fmt::format("`trifold tune {}` takes no {}", verb.get_name(), option->get_name()));
}

}  // namespace

Action add_tune(CLI::App& app, const bool& json) {
    app.require_subcommand(0, 1);
    std::vector<std::pair<const CLI::App*, Action>> verbs;
    const auto add = [&](const char* name, const char* purpose, Action (*add_verb)(CLI::App&, const bool&)) {
        auto* verb = app.add_subcommand(name, purpose);
        verbs.emplace_back(verb, add_verb(*verb, json));
        verb->fallthrough();                                     // so that --json may stand after it
        if (std::string_view(purpose).empty()) verb->group("");  // it is for programs
    };
    const auto sweep = add_sweep(app, json);
    add("export", "Write what was decided to a wisdom file, which all that make kernels read", add_tune_export);
    add("show", "List what was decided, and what failed", add_tune_show);
    add("report", "Make a page for the browser of what was tried and decided", add_tune_report);
    add("model", "", add_tune_model);
    add("search-point", "", add_task<tune::search_point_aloud>);
    add("compile-candidate", "", add_task<tune::compile_candidate>);
    return [=, &app] {
        for (const auto& [verb, action] : verbs) {
            if (!verb->parsed()) continue;
            refuse_options_of_the_sweep(app, *verb);
            return action();
        }
        return sweep();
    };
}

}  // namespace trifold::command
