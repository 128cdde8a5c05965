#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tools/tune/trial.hpp"

namespace trifold::tune {

/// $XDG_DATA_HOME/trifold/tuning.jsonl, else ~/.local/share/trifold/tuning.jsonl. Throws InputError where neither variable is set.
std::filesystem::path default_log();

/// Trials and decisions of a log.
struct Records {
    std::vector<Trial> trials;
    std::vector<Decision> decisions;
    std::size_t unreadable = 0;  ///< lines that are neither, such as those of a program that knows more
};

/// The file of all trials and decisions, in the order in which they were made: a line of JSON each. Several tuners may append to it. Lines
/// that cannot be read count as never made.
///
/// Errors: InputError (no file, no log, may not be opened), OutputError (full disk).
class Log {
  public:
    /// The directory of the default place is made, others must exist.
    explicit Log(std::filesystem::path path);
    /// Whole or not at all. A process that is killed loses at most what had not returned.
    void append(const Trial& trial) const { append_line(to_json(trial)); }
    void append(const Decision& decision) const { append_line(to_json(decision)); }
    /// Nothing where there is no file yet.
    Records read() const;
    const std::filesystem::path& path() const { return path_; }

  private:
    void append_line(const nlohmann::ordered_json& line) const;
    std::filesystem::path path_;
};

/// The lines of a log.
Records parse_records(std::string_view text);

/// The last decision about each problem, in the order of the problems' first ones.
std::vector<Decision> last_decisions(const std::vector<Decision>& decisions);
/// A text that is equal for the same problem on the same machine, by the same generator.
std::string key_of(const Machine& machine, const std::string& generator, const Point& point);

}  // namespace trifold::tune
