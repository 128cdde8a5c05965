#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <trifold/error.hpp>

#include "runtime/wisdom/wisdom.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"
#include "tools/tune/log.hpp"
#include "tools/tune/report.hpp"

namespace trifold::command {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// Which log, and which lines of it.
struct LogOptions {
    std::string log, device, generator, precision, family;
    std::map<std::string, std::int64_t> numbers;  // wanted, by a field of Specs: sizes of all families, and the batch

    void add_to(CLI::App& app) {
        add_log_option(app, log);
        app.add_option("--device", device, "Only of devices whose name or target has this part, such as H200 or cpu:");
        app.add_option("--generator", generator, "Only of this generator version");
        std::set<std::string> fields{"batch"};
        std::vector<std::string> names;
        for (const auto* one : tune::families()) {
            names.emplace_back(one->name);
            fields.insert(one->sizes.begin(), one->sizes.end());
        }
        for (const auto& field : fields)
            app.add_option_function<std::int64_t>(
                "--" + field, [this, field](const std::int64_t& value) { numbers[field] = value; }, "Only of this " + field);
        app.add_option("--family", family, "Only of this family")->check(CLI::IsMember(names));
        app.add_option("--precision", precision, "Only of f32, f64 or mixed");
    }

    /// Capital letters or not.
    bool is_of_device(const std::string& text) const {
        const auto same = [](unsigned char left, unsigned char right) { return std::tolower(left) == std::tolower(right); };
        return device.empty() || !std::ranges::search(text, device, same).empty();
    }

    bool takes(const auto& record) const {
        const auto& spec = record.point.spec;
        return (is_of_device(record.machine.device) || is_of_device(record.machine.target)) &&
               (generator.empty() || record.generator == generator) && (family.empty() || family_of(record.point).name == family) &&
               (precision.empty() || precision_of(record.point) == parse_precision(precision)) &&
               std::ranges::all_of(numbers,
                                   [&](const auto& wanted) { return spec.contains(wanted.first) && spec[wanted.first] == wanted.second; });
    }

    tune::Records read() const {
        if (!precision.empty()) parse_precision(precision);
        const tune::Log file(log);
        if (!std::filesystem::exists(file.path()))
            throw formats::InputError(
                fmt::format("there is no log '{}'; `trifold tune` makes one, or give another with --log", file.path().string()));
        auto records = file.read();
        if (records.unreadable > 0)
            say(fmt::format("trifold tune: {} could not be read and {} left out: damaged, or of a later Trifold\n",
                            plural(static_cast<std::int64_t>(records.unreadable), "line"), records.unreadable == 1 ? "is" : "are"));
        std::erase_if(records.trials, [&](const auto& one) { return !takes(one); });
        std::erase_if(records.decisions, [&](const auto& one) { return !takes(one); });
        return records;
    }
};

/// Adds what the user's file has about other problems; returns how many rows that is.
std::int64_t keep_rows_of(const std::string& path, std::map<std::string, WisdomRow>& rows) {
    if (!std::filesystem::exists(path)) return 0;
    const auto before = rows.size();
    try {
        for (auto& row : read_wisdom(formats::read_file(path), tune::check_key)) rows.emplace(key_of(row), row);
    } catch (const SpecError& error) {
        throw formats::InputError(fmt::format(
            "'{}' is there, and its rows cannot be kept: {}; move it aside, or write to another file with -o", path, error.what()));
    }
    return static_cast<std::int64_t>(rows.size() - before);
}

std::string users_file() {
    const auto path = users_wisdom_file();
    if (path.empty())
        throw formats::InputError("none of TRIFOLD_WISDOM, XDG_DATA_HOME and HOME names a place for the wisdom file; give one with -o");
    if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty()) formats::make_directory(folder.string());
    return path;
}

/// Without an output the user's file is written, whose other rows are kept. Returns what was written, as it is printed for machines.
Json export_wisdom(const std::vector<tune::Decision>& decisions, const std::string& output, bool any_generator) {
    std::map<std::string, WisdomRow> rows;
    std::int64_t of_others = 0, replaced = 0;
    std::vector<std::string> unusable;  // point and reason
    for (const auto& decision : decisions) {
        if (!any_generator && decision.generator != tune::generator_version()) {
            ++of_others;
            continue;
        }
        const auto row = tune::row_of(decision);
        if (const auto problem = tune::refusal_of(row); !problem.empty())
            unusable.push_back(fmt::format("{} on {}: {}", to_string(decision.point), decision.machine.device, problem));
        else
            replaced += rows.insert_or_assign(key_of(row), row).second ? 0 : 1;
    }
    if (of_others > 0)
        say(
            fmt::format("trifold tune export: {} of other generator versions {} left out: other kernels were measured. --any-generator "
                        "takes them\n",
                        plural(of_others, "decision"), of_others == 1 ? "was" : "were"));
    for (const auto& text : unusable) say(fmt::format("trifold tune export: left out: {}\n", text));
    if (rows.empty())
        throw formats::InputError("there is no decision to export; `trifold tune` makes them, and `trifold tune show` lists them");
    const auto count = rows.size();
    const auto path = output.empty() ? users_file() : output;
    const auto kept = output.empty() ? keep_rows_of(path, rows) : 0;
    std::vector<WisdomRow> all;
    for (const auto& [key, row] : rows) all.push_back(row);
    formats::write_file(path, write_wisdom(all));
    return {{"file", path},
            {"rows", all.size()},
            {"exported", count},
            {"kept", kept},
            {"replaced_by_later", replaced},
            {"of_other_generators", of_others},
            {"unusable", unusable}};
}

void show_failures(const std::vector<tune::Trial>& trials, bool json) {
    auto list = Json::array();
    Rows rows{{"point", "device", "schedule", "variant", "verdict", "why"}};
    for (const auto& trial : trials) {
        if (trial.verdict == tune::Verdict::sound) continue;
        list.push_back(tune::to_json(trial));
        rows.push_back({to_string(trial.point), trial.machine.device, trial.candidate.schedule, trial.candidate.variant,
                        std::string(to_string(trial.verdict)), trial.why.substr(0, trial.why.find('\n'))});
    }
    if (json) return print(Json{{"failures", list}});
    print(list.empty() ? "no failures\n" : table(rows));
}

void show(const tune::Records& records, bool json) {
    const auto decisions = tune::last_decisions(records.decisions);
    const auto failed = std::ranges::count_if(records.trials, [](const auto& trial) { return trial.verdict != tune::Verdict::sound; });
    Json all{{"decisions", Json::array()}, {"trials", records.trials.size()}, {"failures", failed}};
    Rows rows{{"point", "device", "target", "winner", "time", "gain", "trials"}};
    for (const auto& decision : decisions) {
        all["decisions"].push_back(to_json(decision));
        all["decisions"].back()["gain"] = decision.gain();
        const auto winner = decision.winner.schedule + " " + decision.winner.variant;
        rows.push_back({to_string(decision.point), decision.machine.device, decision.machine.target,
                        winner + (decision.winner == decision.standard ? " (default)" : ""), seconds_text(decision.seconds),
                        fmt::format("{:.2f}", decision.gain()), std::to_string(decision.trials)});
    }
    if (json) return print(all);
    print((decisions.empty() ? "" : table(rows)) +
          fmt::format("{} decided{}; {}, of which {} failed\n", plural(static_cast<std::int64_t>(decisions.size()), "point"),
                      decisions.empty() ? "" : fmt::format(", gain {:.3f} in the geometric mean", tune::mean_gain(decisions)),
                      plural(static_cast<std::int64_t>(records.trials.size()), "trial"), failed));
}

void report(const tune::Records& records, const std::string& output, bool json) {
    formats::write_file(output, tune::report_html(records));
    if (json) return print(Json{{"output", output}, {"trials", records.trials.size()}, {"decisions", records.decisions.size()}});
    print(fmt::format("{}: {}, {}\n", output, plural(static_cast<std::int64_t>(records.decisions.size()), "decision"),
                      plural(static_cast<std::int64_t>(records.trials.size()), "trial")));
}

/// Prints the numbers of a model, then for each line of numbers on standard input the modelled seconds of the variant's sound trials.
void run_model(const std::string& file, const std::string& variant) {
    auto [trials, decisions, unreadable] = tune::parse_records(formats::read_file(file));
    if (unreadable > 0) throw formats::InputError(fmt::format("'{}' has {} lines that are no trials", file, unreadable));
    std::erase_if(trials, [&](const auto& trial) { return trial.verdict != tune::Verdict::sound || trial.candidate.variant != variant; });
    if (trials.empty()) throw formats::InputError(fmt::format("there is no sound trial of variant '{}'", variant));
    const auto show = [](const Json& json) { print(json.dump() + "\n"), std::fflush(stdout); };
    show(tune::model_numbers(parse_target(trials.front().machine.target), variant));
    for (std::string line; std::getline(std::cin, line);) show(tune::modelled(trials, nlohmann::json::parse(line).get<tune::Numbers>()));
}

}  // namespace

void add_log_option(CLI::App& app, std::string& log) {
    app.add_option("--log,--database", log,
                   "The file of all trials ($XDG_DATA_HOME/trifold/tuning.jsonl, or ~/.local/share/trifold/tuning.jsonl)");
}

Json export_to_user(const tune::Log& log) { return export_wisdom(log.read().decisions, "", false); }

std::string export_text(const Json& written) {
    const auto kept = written.at("kept").get<std::int64_t>();
    return fmt::format("{}: {}{}\n", written.at("file").get<std::string>(), plural(written.at("exported").get<std::int64_t>(), "row"),
                       kept > 0 ? fmt::format(", and {} that it had of other problems", kept) : "");
}

Action add_tune_export(CLI::App& app, const bool& json) {
    struct Options : LogOptions {
        std::string output;
        bool any_generator = false;
    };
    const auto options = std::make_shared<Options>();
    options->add_to(app);
    app.add_option("-o,--output", options->output, "Write the wisdom to this file; else to the user's, whose other rows are kept");
    app.add_flag("--any-generator", options->any_generator, "Decisions of other generator versions too");
    app.footer(
        "A point gives a row also where the default was the fastest: then the row says that this was measured. The last decision about a "
        "problem counts.");
    return [options, &json] {
        const auto written = export_wisdom(options->read().decisions, options->output, options->any_generator);
        json ? print(written) : print(export_text(written));
        return 0;
    };
}

Action add_tune_show(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<LogOptions>();
    const auto failures = std::make_shared<bool>(false);
    options->add_to(app);
    app.add_flag("--failures", *failures, "The trials that failed, and why");
    return [=, &json] {
        *failures ? show_failures(options->read().trials, json) : show(options->read(), json);
        return 0;
    };
}

Action add_tune_report(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<LogOptions>();
    const auto output = std::make_shared<std::string>("report.html");
    options->add_to(app);
    app.add_option("-o,--output", *output, "The page")->capture_default_str();
    return [=, &json] {
        formats::check_writable(*output);
        report(options->read(), *output, json);
        return 0;
    };
}

Action add_tune_model(CLI::App& app, const bool&) {
    const auto file = std::make_shared<std::string>(), variant = std::make_shared<std::string>();
    app.add_option("file", *file, "Trials of a sweep, one as JSON a line")->required();
    app.add_option("--variant", *variant, "Whose time model, of whose trials")->required();
    return [file, variant] {
        run_model(*file, *variant);
        return 0;
    };
}

}  // namespace trifold::command
