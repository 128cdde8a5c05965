#pragma once
#include <map>
#include <string>

#include "tools/trifold/verbs.hpp"
#include "tools/tune/database.hpp"

namespace trifold::command {

/// The verbs of `trifold tune` that look after its records.
Action add_tune_export(CLI::App& app, const bool& json);
Action add_tune_import(CLI::App& app, const bool& json);
Action add_tune_merge(CLI::App& app, const bool& json);
Action add_tune_rows(CLI::App& app, const bool& json);
Action add_tune_show(CLI::App& app, const bool& json);
Action add_tune_forget(CLI::App& app, const bool& json);

/// What `tune export` does without options, with this database: the decisions go to the user's wisdom file. Returns what was written, for
/// machines; the text is for people. Throws as it does.
Json export_to_user(const std::filesystem::path& database);
std::string export_text(const Json& written);

/// Which database, and which records of it.
class RecordOptions {
  public:
    void add_database(CLI::App& app);
    void add_filters(CLI::App& app);

    std::filesystem::path database() const;
    bool has_filters() const;
    /// Of records that all the filters take. Throws SpecError for a precision that there is not.
    tune::RecordFilter filter() const;

  private:
    std::string database_, device_, generator_, precision_, family_;
    std::map<std::string, std::int64_t> numbers_;  // wanted, by a field of Specs: sizes of all families, and the batch
};

/// "1 decision", "3 trials and 2 decisions".
std::string records_text(const tune::RecordCount& count);
/// A line about records that could not be read; none where all could.
void say_unreadable(const tune::Database& database);

}  // namespace trifold::command
