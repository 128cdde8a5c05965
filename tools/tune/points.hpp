#pragma once
#include <CLI/CLI.hpp>

#include "tools/tune/family.hpp"

namespace trifold::tune {

inline constexpr std::size_t max_points = 10'000;  ///< that options may make, and that one range may name

/// "16", "4:64:4" (first:last:step, both ends included), and several of them with commas between. In the order given, each once. `name` is
/// for the message. Throws SpecError.
std::vector<std::int64_t> parse_range(std::string_view text, std::string_view name);

/// Files of specs and captures, read one after another.
///
/// A line is a JSON object. With a field `trifold_capture` it was written by a captured program. Without it, it is a Spec by the names of
/// the command line, to which `objective` and `workers` may be added: {"block": 12, "horizon": 20, "objective": "factor+3*solve"}.
class PointFiles {
  public:
    /// `text` is what the file `name` holds. Throws InputError with file, line and what is wrong. But where a program captures, lines may
    /// be damaged: they are left out with a warning, and a last line that was cut off is left out without one.
    void read(std::string_view text, const std::string& name);
    /// The points in which programs spent most time come first. Captures of one Spec and number of workers are one point: its objective has
    /// the operations by their share of the calls. Then what was asked for, in the order of the lines, each once.
    std::vector<Point> points() const;
    const std::vector<std::string>& warnings() const { return warnings_; }

  private:
    /// The use that a captured program made of an operation.
    struct Used {
        double calls = 0, seconds = 0;
    };
    struct Captured {
        Point point;
        std::map<std::string, Used> uses;
    };
    static Captured captured(const nlohmann::json& line);
    static Point asked(nlohmann::json line);

    std::map<std::string, Captured> captures_;  // the last line of each id
    std::vector<Point> asked_;
    std::vector<std::string> warnings_;
};

/// The points to tune, as command-line options: files, or sizes and kinds of families, or both.
class PointOptions {
  public:
    void add_to(CLI::App& app);
    /// The files' points, then every combination of the options, of which the last vary fastest; each once. What is odd about a file is
    /// added to `warnings`. `what` is to be done with them, for messages. Throws SpecError, InputError; also where there is nothing.
    std::vector<Point> points(std::vector<std::string>& warnings, std::string_view what = "tune") const;

  private:
    std::vector<Point> of_options() const;
    std::vector<nlohmann::json> specs_of(const TunedFamily& family) const;
    std::vector<nlohmann::json> crossed(const std::vector<nlohmann::json>& specs, const SpecOption& option) const;

    std::vector<std::string> files_;
    std::map<std::string, std::string> given_;  // the values of fields, by option
    std::string operation_, workers_ = "1";
};

}  // namespace trifold::tune
