#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace trifold::command {

std::string bytes_text(std::int64_t bytes);  ///< "1.50 MiB"
std::string seconds_text(double seconds);    ///< "1.50 ms"
std::string flops_text(double flops);        ///< "1.50 Mflop"
std::string count_text(std::int64_t count);  ///< "-" for -1
/// "3 chains", "1 chain".
std::string plural(std::int64_t count, const std::string& word);

/// Rows under a header, columns wide enough for what is in them; the first is left-aligned, the others right-aligned.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// "name  value" on lines of their own, the values below one another.
std::string list(const std::vector<std::pair<std::string, std::string>>& items);

/// A message to standard error. What cannot be written there is lost: a command ends as it would have ended.
void say(const std::string& text) noexcept;

/// How the input was taken, a line for each of the notes.
void say_notes(const std::string& verb, const std::vector<std::string>& notes);

/// A bar on standard error while something long runs; nothing when that is not a terminal.
class Progress {
  public:
    explicit Progress(int steps);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();
    /// The next step begins.
    void step(const std::string& what);
    /// Shows how many steps are done, and what is going on.
    void show(int done, const std::string& what);

  private:
    int steps_, taken_ = 0;
    bool shown_;
};

}  // namespace trifold::command
