#pragma once
#include <filesystem>

#include "tools/tune/family.hpp"

namespace trifold::tune {

/// The machine that trials are made on. Times of one machine say nothing of another.
struct Machine {
    std::string device;  ///< "NVIDIA H200"; of a processor its family and model
    std::string target;  ///< "cuda:sm_90"
    std::string driver;  ///< "580.65 (CUDA 13.0)"; empty for a processor
    bool operator==(const Machine&) const = default;
};

/// How a trial ended. Only a sound one counts; none of the others is tried again.
enum class Verdict {
    sound,
    refused,           ///< the generator does not take it
    does_not_compile,  ///< or its compiler crashed
    spilled,           ///< registers, because of its knobs
    too_large,         ///< for the device's memory
    fails,             ///< a launch
    times_out,         ///< in the compiler or on the device
    inaccurate,        ///< its residual is too large
    disagrees          ///< with the default, in some operation of the Spec
};
std::string_view to_string(Verdict verdict);

/// One candidate of one point, measured once.
struct Trial {
    Machine machine;
    std::string generator;  ///< generator_version() of the program that measured
    Point point;
    Candidate candidate;
    bool is_default = false;  ///< what is taken without any wisdom of the user
    std::string round;        ///< of the search: "first", "again", "final"
    Verdict verdict = Verdict::sound;
    std::string why;                             ///< what went wrong, for people
    std::map<std::string, double> seconds = {};  ///< medians, by operation
    double spread = 0;                           ///< of the objective, relative: between the quartiles, over the median
    int runs = 0;                                ///< behind the medians
    double residual = 0;                         ///< relative, the worst of the systems that were looked at
    std::int64_t spill_bytes = 0;                ///< of all kernels together
};
/// Seconds of the objective. Of a trial that is sound.
double objective_seconds(const Trial& trial);

/// The decision of a search about a point. The winner is the default where nothing was faster than it by enough.
struct Decision {
    Machine machine;
    std::string generator;
    Point point;
    Candidate winner, standard;   ///< the latter is the default
    double seconds = 0;           ///< objective of the winner, measured by turns with the default
    double standard_seconds = 0;  ///< of the default
    double spread = 0;            ///< of two equal runs of the default, relative
    int trials = 0;               ///< candidates that were measured
    std::string effort;           ///< "quick", "full", "exhaustive"
    double gain() const { return standard_seconds / seconds; }
};

/// The JSON of a line of a log; the same for the same trial or decision. A number that is not finite comes back as NaN.
nlohmann::ordered_json to_json(const Trial& trial);
nlohmann::ordered_json to_json(const Decision& decision);
/// Throw nlohmann::json::exception, SpecError, InputError: a sound trial has times, and a decision.
Trial trial_of(const nlohmann::json& line);
Decision decision_of(const nlohmann::json& line);

/// A decision as a row of a wisdom file, which names generator, driver, effort and trials in `measured`. Throws SpecError.
WisdomRow row_of(const Decision& decision);

/// Names what kernels and models a program has: its version and a digest of the templates and devices that are built into it. Trials of
/// another version are of other kernels.
std::string generator_version();
/// A text that is equal for the same problem on the same machine, by the same generator.
std::string key_of(const Machine& machine, const std::string& generator, const Point& point);

/// Trials and decisions of a log.
struct Records {
    std::vector<Trial> trials;
    std::vector<Decision> decisions;
    std::size_t unreadable = 0;  ///< lines that are neither, such as those of a program that knows more
};
Records parse_records(std::string_view text);
/// The last decision about each problem, in the order of the problems' first ones.
std::vector<Decision> last_decisions(const std::vector<Decision>& decisions);

/// The file of all trials and decisions, in the order in which they were made: a line of JSON each. Several tuners may append to it. Lines
/// that cannot be read count as never made.
///
/// Errors: InputError (no file, no log, may not be opened), OutputError (full disk).
class Log {
  public:
    /// Without a path $XDG_DATA_HOME/trifold/tuning.jsonl, else ~/.local/share/trifold/tuning.jsonl, whose directory is made; others must
    /// exist. Throws InputError where neither variable is set.
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

}  // namespace trifold::tune
