#include "tools/trifold/tune/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tools/formats/file.hpp"
#include "tools/trifold/text.hpp"
#include "tools/tune/database.hpp"

namespace trifold::command {
namespace {

void append(tune::Records& all, tune::Records more) {
    std::ranges::move(more.trials, std::back_inserter(all.trials));
    std::ranges::move(more.decisions, std::back_inserter(all.decisions));
}

tune::Records read_file_of_records(const std::string& file) {
    const auto lines = formats::read_file(file);
    try {
        return tune::parse_records(lines);
    } catch (const formats::InputError& error) {
        throw formats::InputError(fmt::format("{}: {}", file, error.what()));
    }
}

}  // namespace

void RecordSource::add_to(CLI::App& app) {
    app.add_option("--trials", files_, "Files of records, a line of JSON each, as `export --trials` and the report's page give them");
    app.add_option("--database", database_, "Of trials; your own when neither this nor --trials is given");
}

tune::Records RecordSource::read() const {
    tune::Records all;
    if (!database_.empty() || files_.empty()) {
        const tune::Database database(database_.empty() ? tune::default_database() : std::filesystem::path(database_),
                                      tune::Database::Access::read);
        all = {database.all_trials(), database.all_decisions()};
        if (const auto lost = database.unreadable())
            say(fmt::format("trifold tune: {} of the database cannot be read, and are left out\n", plural(lost, "record")));
    }
    for (const auto& file : files_) append(all, read_file_of_records(file));
    return all;
}

}  // namespace trifold::command
