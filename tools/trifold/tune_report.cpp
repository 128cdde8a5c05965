#include "tools/trifold/tune_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tools/formats/file.hpp"
#include "tools/trifold/text.hpp"
#include "tools/tune/database.hpp"
#include "tools/tune/report.hpp"

namespace trifold::command {
namespace {

struct ReportOptions {
    std::vector<std::string> files;
    std::string database;
    std::string output = "report.html";
};

void append(tune::Records& all, tune::Records more) {
    std::ranges::move(more.trials, std::back_inserter(all.trials));
    std::ranges::move(more.decisions, std::back_inserter(all.decisions));
}

/// Of the files and the database that were given; without any of the user's own database.
tune::Records read_records(const ReportOptions& options) {
    tune::Records all;
    if (!options.database.empty() || options.files.empty()) {
        const tune::Database database(options.database.empty() ? tune::default_database() : std::filesystem::path(options.database),
                                      tune::Database::Access::read);
        all = {database.all_trials(), database.all_decisions()};
        if (const auto lost = database.unreadable())
            say(fmt::format("trifold tune report: {} of the database cannot be read, and are left out\n", plural(lost, "record")));
    }
    for (const auto& file : options.files) {
        const auto lines = formats::read_file(file);
        try {
            append(all, tune::parse_records(lines));
        } catch (const formats::InputError& error) {
            throw formats::InputError(fmt::format("{}: {}", file, error.what()));
        }
    }
    return all;
}

int write_report(const ReportOptions& options, bool json) {
    formats::check_writable(options.output);
    const auto [trials, decisions] = read_records(options);
    formats::write_file(options.output, tune::report_html(trials, decisions));
    if (json)
        print(Json{{"output", options.output}, {"trials", trials.size()}, {"decisions", decisions.size()}});
    else
        print(fmt::format("{}: {}, {}\n", options.output, plural(static_cast<std::int64_t>(decisions.size()), "decision"),
                          plural(static_cast<std::int64_t>(trials.size()), "trial")));
    return 0;
}

}  // namespace

Action add_tune_report(CLI::App& tune, const bool& json) {
    const auto options = std::make_shared<ReportOptions>();
    auto* app = tune.add_subcommand("report", "Write one HTML page about a sweep: maps, knobs, failures, decisions");
    app->fallthrough();  // so that --json may stand after it
    app->add_option("--trials", options->files, "Files of records, a line of JSON each, such as the page offers for download");
    app->add_option("--database", options->database, "Of trials; your own when neither this nor --trials is given");
    app->add_option("-o,--output", options->output, "The page")->capture_default_str();
    return [=, &json] { return write_report(*options, json); };
}

}  // namespace trifold::command
