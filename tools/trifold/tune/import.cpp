#include <fmt/format.h>

#include <set>

#include "tools/formats/file.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tune/verbs.hpp"
#include "tools/tune/family.hpp"
#include "tools/tune/rows.hpp"

namespace trifold::command {
namespace {

/// Decisions of the rows about problems of which nothing was decided here.
std::vector<tune::Decision> new_decisions(const tune::Database& database, const std::vector<WisdomRow>& rows) {
    std::set<std::string> decided;
    for (const auto& decision : database.all_decisions()) decided.insert(decision.generator + "\n" + key_of(tune::row_of(decision)));
    std::vector<tune::Decision> result;
    for (const auto& row : rows) {
        auto decision = tune::decision_of(row);
        if (!decided.contains(decision.generator + "\n" + key_of(row))) result.push_back(std::move(decision));
    }
    return result;
}

int import_file(const RecordOptions& records, const std::string& name, bool json) {
    const auto text = formats::read_file(name);
    std::vector<tune::Trial> trials;
    std::vector<WisdomRow> rows;
    try {
        if (text.starts_with("trifold wisdom "))
            rows = read_wisdom(text, tune::check_key);
        else
            trials = tune::parse_trials(text);
    } catch (const Error& error) {
        throw formats::InputError(
            fmt::format("'{}' is neither wisdom nor trials of `trifold tune export`; nothing was imported. {}", name, error.what()));
    }
    tune::Database database(records.database());
    const auto added = database.add(trials, new_decisions(database, rows));
    const auto known = static_cast<std::int64_t>(trials.size() + rows.size()) - added.trials - added.decisions;
    if (json)
        print(Json{{"trials", added.trials}, {"decisions", added.decisions}, {"known", known}});
    else
        print(fmt::format("{} imported{}\n", records_text(added), known > 0 ? fmt::format("; {} known already", known) : ""));
    return 0;
}

}  // namespace

Action add_tune_import(CLI::App& app, const bool& json) {
    struct Options {
        RecordOptions records;
        std::string file;
    };
    const auto options = std::make_shared<Options>();
    options->records.add_database(app);
    app.add_option("file", options->file, "A wisdom file, or trials as `export --trials` writes them")->required();
    app.footer("All of the file or nothing. What was measured here stays as it is, and what is there already is not added again.");
    return [options, &json] { return import_file(options->records, options->file, json); };
}

}  // namespace trifold::command
