#include "tools/trifold/tune/sweep.hpp"

#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <thread>
#include <trifold/error.hpp>

#include "tools/formats/file.hpp"
#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tune/verbs.hpp"
#include "tools/tune/compile.hpp"
#include "tools/tune/model.hpp"
#include "tools/tune/points.hpp"
#include "tools/tune/replay.hpp"
#include "tools/tune/sweep.hpp"

namespace trifold::command {
namespace {

constexpr int compile_seconds = 60;

std::atomic<bool> interrupted = false;

struct SweepArguments {
    tune::PointOptions points;
    std::string device = "auto", effort = "quick", budget;
    std::filesystem::path database;
    int threads = all_workers();
    std::uint64_t seed = 0;
    bool hot = false, exports = true;
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
    for (const auto& [verdict, count] : state.failures) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(verdict));
    return text;
}

/// "best 12.3 us by ...; 3 min left; 2 spilled".
std::string progress_text(const tune::SweepState& state, double budget) {
    std::string text = fmt::format("{}/{} points, {}: {}", state.done, state.points, state.now, state.best);
    if (state.done > 0 || budget > 0) {
        const auto rest =
            static_cast<double>(state.points - state.done) * state.seconds / static_cast<double>(std::max<std::size_t>(1, state.done));
        const auto left = budget > 0 ? std::min(state.done > 0 ? rest : budget, budget - state.seconds) : rest;
        text += fmt::format("; {:.0f} s left", std::max(0.0, left));
    }
    return state.failures.empty() ? text : text + "; " + failures_text(state);
}

/// Geometric mean of what was gained over the default.
double mean_gain(const tune::SweepReport& report, std::size_t& decided) {
    double logarithms = 0;
    decided = 0;
    for (const auto& result : report.results) {
        if (!result.decision) continue;
        logarithms += std::log(result.decision->gain());
        ++decided;
    }
    return decided == 0 ? 1 : std::exp(logarithms / static_cast<double>(decided));
}

Json report_json(const tune::SweepReport& report) {
    std::size_t decided = 0;
    const auto gain = mean_gain(report, decided);
    Json json{{"complete", report.complete}, {"seconds", report.state.seconds}, {"points", report.state.points},
              {"decided", decided},          {"trials", report.state.trials},   {"gain", gain},
              {"failures", Json::object()},  {"results", Json::array()}};
    for (const auto& [verdict, count] : report.state.failures) json["failures"][std::string(to_string(verdict))] = count;
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

std::string report_text(const tune::SweepReport& report) {
    std::size_t decided = 0;
    const auto gain = mean_gain(report, decided);
    auto text =
        fmt::format("{} of {} points in {:.0f} s, {}: {:.3f} times as fast as the default (geometric mean)\n", decided, report.state.points,
                    report.state.seconds, plural(static_cast<std::int64_t>(report.state.trials), "trial"), gain);
    if (!report.state.failures.empty()) text += fmt::format("failed trials: {}\n", failures_text(report.state));
    if (!report.complete) text += "not all points are done; the same command goes on with them\n";
    return text;
}

int run_sweep(const SweepArguments& arguments, bool json) {
    std::vector<std::string> warnings;
    const auto points = arguments.points.points(warnings);
    for (const auto& warning : warnings) say(fmt::format("trifold tune: {}\n", warning));
    const auto device = Device::parse(arguments.device);
    const auto path = arguments.database.empty() ? tune::default_database() : arguments.database;
    tune::Database database(path);
    tune::TuneOptions options{.effort = tune::parse_effort(arguments.effort),
                              .seed = arguments.seed,
                              .budget_seconds = parse_budget(arguments.budget),
                              .processes = arguments.threads,
                              .worker = {std::filesystem::read_symlink("/proc/self/exe").string(), "tune", compile_unit_name},
                              .compile_seconds = compile_seconds,
                              .measuring = {.hot = arguments.hot},
                              .stop = &interrupted};
    const auto stop = [](int) { interrupted = true; };
    std::signal(SIGINT, stop);
    std::signal(SIGTERM, stop);
    Progress progress(static_cast<int>(points.size()));
    tune::SweepListener listener;
    listener.progress = [&](const tune::SweepState& state) {
        progress.show(static_cast<int>(state.done), progress_text(state, options.budget_seconds));
    };
    listener.done = [&](const tune::PointResult& result) {
        if (!json) print(line_of(result));
    };
    if (!json)
        print(fmt::format("{} on {}, into {}\n", plural(static_cast<std::int64_t>(points.size()), "point"), device.name(), path.string()));
    const auto report = tune::sweep(points, device, database, options, listener);
    const bool has_decisions = std::ranges::any_of(report.results, [](const tune::PointResult& one) { return one.decision.has_value(); });
    const auto written = arguments.exports && has_decisions ? export_to_user(path) : Json();
    if (json) {
        auto all = report_json(report);
        all["wisdom"] = written;
        print(all);
    } else {
        print(report_text(report) + (written.is_null() ? "" : fmt::format("wisdom for programs in {}", export_text(written))));
    }
    return 0;
}

int run_replay(const std::string& file, std::uint64_t seed, bool json) {
    const auto all = tune::replay(tune::read_trials(file), seed);
    if (all.front().points == 0) throw formats::InputError(fmt::format("'{}' has no point whose default was measured", file));
    Json list = Json::array();
    std::vector<std::vector<std::string>> rows{{"strategy", "points", "candidates a point", "gain", "regret, mean", "regret, largest"}};
    for (const auto& one : all) {
        list.push_back({{"strategy", one.strategy},
                        {"points", one.points},
                        {"trials", one.trials},
                        {"gain", one.gain},
                        {"geometric_mean", one.geometric_mean},
                        {"largest", one.largest}});
        rows.push_back({one.strategy, std::to_string(one.points),
                        fmt::format("{:.1f}", static_cast<double>(one.trials) / static_cast<double>(std::max<std::size_t>(1, one.points))),
                        fmt::format("{:.3f}", one.gain), fmt::format("{:.3f}", one.geometric_mean), fmt::format("{:.3f}", one.largest)});
    }
    if (json)
        print(list);
    else
        print(table(rows));
    return 0;
}

/// Prints the numbers of a model, then for each line of numbers on standard input the modelled seconds of the variant's sound trials.
void run_model(std::vector<tune::Trial> trials, const std::string& variant) {
    std::erase_if(trials,
                  [&](const tune::Trial& trial) { return trial.verdict != tune::Verdict::sound || trial.candidate.variant != variant; });
    if (trials.empty()) throw formats::InputError(fmt::format("there is no sound trial of variant '{}'", variant));
    const auto show = [](const Json& json) { print(json.dump() + "\n"), std::fflush(stdout); };
    show(tune::model_numbers(parse_target(trials.front().machine.target), variant));
    for (std::string line; std::getline(std::cin, line);) show(tune::modelled(trials, nlohmann::json::parse(line).get<tune::Numbers>()));
}

}  // namespace

Action add_sweep(CLI::App& app, const bool& json) {
    const auto arguments = std::make_shared<SweepArguments>();
    arguments->points.add_to(app);
    app.add_option("--device", arguments->device, "auto, cpu, cuda or cuda:1")->capture_default_str();
    app.add_option("--effort", arguments->effort, "quick, full or exhaustive")
        ->check(CLI::IsMember({"quick", "full", "exhaustive"}))
        ->capture_default_str();
    app.add_option("--budget", arguments->budget, "Time after which it ends, with everything kept: 90s, 10m, 2h");
    app.add_option("--database", arguments->database,
                   "Where trials are kept; default $XDG_DATA_HOME/trifold/tuning.db, then "
                   "$HOME/.local/share/trifold/tuning.db");
    app.add_option("--threads", arguments->threads, "Processes that compile at the same time")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_flag("--hot", arguments->hot, "Solve the same arrays again and again, which may then stay in the caches");
    app.add_option("--seed", arguments->seed, "Of the data and of draws")->capture_default_str();
    app.add_flag("!--no-export", arguments->exports, "Leave the user's wisdom file as it is");
    return [arguments, &json] { return run_sweep(*arguments, json); };
}

Action add_replay(CLI::App& app, const bool& json) {
    const auto file = std::make_shared<std::string>();
    const auto seed = std::make_shared<std::uint64_t>(0);
    app.add_option("file", *file, "Trials of a sweep, one as JSON a line")->required();
    app.add_option("--seed", *seed, "Of the strategy that draws at random")->capture_default_str();
    return [file, seed, &json] { return run_replay(*file, *seed, json); };
}

Action add_model(CLI::App& app, const bool&) {
    const auto file = std::make_shared<std::string>(), variant = std::make_shared<std::string>();
    app.group("");  // for tools/tune/fit.py
    app.add_option("file", *file, "Trials of a sweep, one as JSON a line")->required();
    app.add_option("--variant", *variant, "Whose time model, of whose trials")->required();
    return [file, variant] {
        run_model(tune::read_trials(*file), *variant);
        return 0;
    };
}

Action add_compile_unit(CLI::App& app, const bool&) {
    const auto unit = std::make_shared<std::string>();
    app.group("");  // no person needs it
    app.add_option("unit", *unit)->required();
    return [unit] {
        tune::compile_unit(*unit, 2 * compile_seconds);
        return 0;
    };
}

}  // namespace trifold::command
