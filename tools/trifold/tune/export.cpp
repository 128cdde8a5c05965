#include <fmt/format.h>

#include <map>

#include "runtime/wisdom/wisdom.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tune/verbs.hpp"
#include "tools/tune/family.hpp"
#include "tools/tune/rows.hpp"

namespace trifold::command {
namespace {

struct RecordExport {
    RecordOptions records;
    std::string output, trials;
    bool any_generator = false;
};

/// Rows of the decisions, and how many gave none.
struct ExportedRows {
    std::map<std::string, WisdomRow> by_key;
    std::int64_t of_other_generators = 0, replaced = 0;
    std::vector<std::string> unusable;  ///< point and reason
};

ExportedRows rows_of(const tune::Database& database, const RecordExport& options) {
    ExportedRows result;
    const auto filter = options.records.filter();
    for (const auto& decision : database.all_decisions()) {
        if (!filter(decision.machine, decision.generator, decision.point)) continue;
        if (!options.any_generator && decision.generator != tune::generator_version()) {
            ++result.of_other_generators;
            continue;
        }
        const auto row = tune::row_of(decision);
        const auto problem = tune::refusal_of(row);
        if (!problem.empty()) {
            result.unusable.push_back(fmt::format("{} on {}: {}", to_string(decision.point), decision.machine.device, problem));
            continue;
        }
        if (!result.by_key.insert_or_assign(key_of(row), row).second) ++result.replaced;
    }
    return result;
}

/// Adds what the user's file has about other problems; returns how many rows that is.
std::int64_t keep_rows_of(const std::string& path, std::map<std::string, WisdomRow>& rows) {
    std::int64_t kept = 0;
    if (!std::filesystem::exists(path)) return 0;
    try {
        for (auto& row : read_wisdom(formats::read_file(path), tune::check_key)) kept += rows.emplace(key_of(row), row).second ? 1 : 0;
    } catch (const SpecError& error) {
        throw formats::InputError(
            fmt::format("'{}' is there, and its rows cannot be kept: {}; move it aside, or write to another file "
                        "with -o",
                        path, error.what()));
    }
    return kept;
}

std::string users_file() {
    const auto path = users_wisdom_file();
    if (path.empty())
        throw formats::InputError("none of TRIFOLD_WISDOM, XDG_DATA_HOME and HOME names a place for the wisdom file; give one with -o");
    if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty()) formats::make_directory(folder.string());
    return path;
}

void say_left_out(const ExportedRows& rows) {
    if (rows.of_other_generators > 0)
        say(
            fmt::format("trifold tune export: {} of other generator versions {} left out: other kernels were measured. --any-generator "
                        "takes them\n",
                        plural(rows.of_other_generators, "decision"), rows.of_other_generators == 1 ? "was" : "were"));
    for (const auto& text : rows.unusable) say(fmt::format("trifold tune export: left out: {}\n", text));
}

/// What was written, as it is printed for machines.
Json export_wisdom(const std::filesystem::path& file, const RecordExport& options) {
    const tune::Database database(file, tune::Database::Access::read);
    say_unreadable(database);
    auto rows = rows_of(database, options);
    say_left_out(rows);
    if (rows.by_key.empty())
        throw formats::InputError("there is no decision to export; `trifold tune` makes them, and `trifold tune show` lists them");
    const auto count = rows.by_key.size();
    const auto path = options.output.empty() ? users_file() : options.output;
    const auto kept = options.output.empty() ? keep_rows_of(path, rows.by_key) : 0;
    std::vector<WisdomRow> all;
    for (const auto& [key, row] : rows.by_key) all.push_back(row);
    formats::write_file(path, write_wisdom(all));
    return {{"file", path},
            {"rows", all.size()},
            {"exported", count},
            {"kept", kept},
            {"replaced_by_later", rows.replaced},
            {"of_other_generators", rows.of_other_generators},
            {"unusable", rows.unusable}};
}

int export_wisdom(const RecordExport& options, bool json) {
    const auto written = export_wisdom(options.records.database(), options);
    if (json)
        print(written);
    else
        print(export_text(written));
    return 0;
}

int export_trials(const RecordExport& options, bool json) {
    const tune::Database database(options.records.database(), tune::Database::Access::read);
    say_unreadable(database);
    const auto filter = options.records.filter();
    std::string text;
    std::int64_t count = 0;
    for (const auto& trial : database.all_trials()) {
        if (!filter(trial.machine, trial.generator, trial.point)) continue;
        text += tune::to_json(trial).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
        ++count;
    }
    if (count == 0) throw formats::InputError("there is no trial to export; `trifold tune` makes them");
    formats::write_file(options.trials, text);
    if (json)
        print(Json{{"file", options.trials}, {"trials", count}});
    else
        print(fmt::format("{}: {}\n", options.trials, plural(count, "trial")));
    return 0;
}

}  // namespace

Json export_to_user(const std::filesystem::path& database) { return export_wisdom(database, {}); }

std::string export_text(const Json& written) {
    const auto kept = written.at("kept").get<std::int64_t>();
    return fmt::format("{}: {}{}\n", written.at("file").get<std::string>(), plural(written.at("exported").get<std::int64_t>(), "row"),
                       kept > 0 ? fmt::format(", and {} that it had of other problems", kept) : "");
}

Action add_tune_export(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<RecordExport>();
    options->records.add_database(app);
    options->records.add_filters(app);
    app.add_option("-o,--output", options->output, "Write the wisdom to this file; else to the user's, whose other rows are kept");
    app.add_flag("--any-generator", options->any_generator, "Decisions of other generator versions too");
    app.add_option("--trials", options->trials, "Write all trials to this file instead, a line of JSON each")
        ->excludes("--output")
        ->excludes("--any-generator");
    app.footer(
        "A point gives a row also where the default was the fastest: then the row says that this was measured. The last decision about a "
        "problem counts.");
    return [options, &json] { return options->trials.empty() ? export_wisdom(*options, json) : export_trials(*options, json); };
}

}  // namespace trifold::command
