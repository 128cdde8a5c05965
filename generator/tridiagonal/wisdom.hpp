#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <trifold/generate.hpp>
#include <vector>

/// Wisdom: choices that a tuner measured, for all that make kernels. A row holds for one problem on one device.
namespace trifold {

/// What was fastest for a problem. Of `spec.operations` a file keeps only whether anything solves, and whether the selected inverse is
/// asked for; of `workers` nothing for a GPU, where they mean nothing.
struct WisdomRow {
    std::string device;  ///< "NVIDIA H200"; of a processor what processor_name says
    Target target;
    Spec spec;
    int workers = 1;
    std::string objective;          ///< what was to be fast: "factor_solve", "factor+3*solve"
    std::string schedule, variant;  ///< what Tuning takes; never auto
    double seconds = 0;             ///< of the objective, measured
    double default_seconds = 0;     ///< of what is taken without this row, measured by turns with it
    std::string measured;           ///< which record made the row, for people
};

/// The text of a wisdom file. A first line with the format's version, the number of rows and the SHA-256 of the rest; a line of column
/// names; a line for each row, its columns separated by tabs, in the order of their bytes. Throws SpecError where two rows are of one
/// problem and device, or where a row cannot be written.
std::string write_wisdom(const std::vector<WisdomRow>& rows);
/// All rows. Throws SpecError with the line and what is wrong. Whether kernels can be made as a row says is not looked at: see problem_of.
std::vector<WisdomRow> read_wisdom(std::string_view text);
/// Why no kernels can be made as a row says, such as an unknown knob; empty: they can.
std::string problem_of(const WisdomRow& row);
/// What a row is about, as a file writes it: target, device and problem. Rows of the same key replace one another.
std::string key_of(const WisdomRow& row);

/// A wisdom file in memory, of which only the rows that are asked for are parsed.
class Wisdom {
  public:
    /// `name` is for messages. The text must live as long. Throws SpecError where the text is no wisdom, is of another format, or does not
    /// have the checksum that it gives.
    Wisdom(std::string name, std::string_view text);
    const std::string& name() const { return name_; }
    std::size_t rows() const { return lines_.size(); }
    /// Rows of a target, of any device; with a device, only its own.
    std::size_t rows_for(const Target& target, std::string_view device = {}) const;
    /// Lines that begin with these columns, and the number in the file of the first.
    struct Lines {
        std::span<const std::string_view> texts;
        std::size_t first_number;
    };
    Lines lines_with(std::string_view columns) const;

  private:
    std::string name_;
    std::vector<std::string_view> lines_;
};

/// The files of generator/devices, which are built in.
std::span<const Wisdom* const> shipped_wisdom();

/// How schedule and variant came about, and what to give to `choose`.
struct Resolved {
    Tuning tuning;  ///< with what the row says, where a row was taken
    Rung rung = Rung::model;
    std::string row;                   ///< for people: file, line, device, times; empty: no row was taken
    std::vector<std::string> ignored;  ///< rows that would have been taken, and why they were not, for a log
};

/// A row that is not of the very problem counts up to this distance: the square root of the sum of squares of log2 of the ratios of N, m
/// and the batch. Tuners go through sizes in powers of two, so a row's neighbours in one direction are this far away.
inline constexpr double nearest_radius = 1;
/// Such a row is not taken where the model holds it for this many times slower than its own choice. The order of two pairs that the model
/// has closer together is uncertain, and there the measured neighbour decides. What another device of the architecture measured of this
/// very problem is taken in any case: models were wrong by 1.45 there.
inline constexpr double nearest_slowdown = 1.1;
/// Nor where it won by less than this over the default: then it says no more than that the default was right where it was measured.
inline constexpr double nearest_gain = 1.02;

/// Looks for a row in files, the first of which goes before the others. The ladder: what the caller pinned; the row of this very problem
/// and device; a near one of the architecture with the same n, precision, layout, workers and kind of operations; the model. An empty
/// device is one that is not known: then any of the architecture is as good. Throws SpecError where the Spec or the target is wrong.
Resolved resolve(const Spec& spec, const Target& target, const Tuning& tuning, std::string_view device,
                 std::span<const Wisdom* const> files);

/// As choose(spec, target, tuning) with what `resolve` found. The Program is the one of the same schedule and variant pinned by hand.
Choice choose(const Spec& spec, const Target& target, const Resolved& resolved);

}  // namespace trifold
