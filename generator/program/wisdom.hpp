#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <trifold/precision.hpp>
#include <trifold/target.hpp>
#include <vector>

/// Wisdom: choices that a tuner measured, for all that make kernels. A row holds for one problem on one device.
namespace trifold {

/// Choices that decide about the kernels of a problem of any family: its order of elimination, and a variant of its kernels, which may have
/// pinned knobs (see knob.hpp). They are texts, as in a Tuning, in records and in files of wisdom.
struct Pins {
    std::string schedule, variant;
    bool operator==(const Pins&) const = default;
};

/// Which problem a row is about, as a file has it. Only its family knows what the texts say, and writes the same for the same problem.
struct ProblemKey {
    Target target;
    Precision precision = Precision::f64;
    std::string operations, layout;
    int workers = 1;   ///< 1 on a GPU, where they mean nothing
    std::string kind;  ///< n, the size of a block; of a family without blocks its name
    std::string size;  ///< numbers with x between: N, or "513x257"
    std::int64_t rhs = 1, batch = 1;
};
/// Whether the problem has blocks, and N of them; else `kind` is a family's name.
bool has_blocks(const ProblemKey& key);
/// The number of a column. Throws SpecError, with the column's name, where it is none.
std::int64_t parse_whole(std::string_view name, std::string_view text);

/// The fastest choice for a problem.
struct WisdomRow {
    std::string device;  ///< "NVIDIA H200"; of a processor what processor_name says
    ProblemKey key;
    std::string objective;       ///< the operations that were to be fast: "factor_solve", "factor+3*solve"
    Pins pins;                   ///< never auto
    double seconds = 0;          ///< measured, of the objective
    double default_seconds = 0;  ///< the time of what is taken without this row, measured by turns with it
    std::string measured;        ///< which record made the row, for people
};

/// Throws SpecError where the texts of a row's key say no problem of its family. A file's own rules are looked at before.
using RowCheck = std::function<void(const WisdomRow&)>;

/// The text of a wisdom file. A first line with the format's version, the number of rows and the SHA-256 of the rest; a line of column
/// names; a line for each row, its columns separated by tabs, in the order of their bytes. Throws SpecError where two rows are of one
/// problem and device, or where a row cannot be written.
std::string write_wisdom(const std::vector<WisdomRow>& rows);
/// All rows. Throws SpecError with the line and what is wrong. Whether kernels can be made as a row says is not looked at.
std::vector<WisdomRow> read_wisdom(std::string_view text, const RowCheck& check = {});
/// The key of a row, as a file writes it: target, device and problem. Rows of the same key replace one another.
std::string key_of(const WisdomRow& row);

/// The columns that a near row must have too, each with a tab behind it. They stand first, so that near rows are together.
std::string common_columns(const ProblemKey& key);
/// All columns of the key and the device, each with a tab behind it.
std::string key_columns(std::string_view device, const ProblemKey& key);
/// All columns of a line. Throws SpecError with what is wrong, without the line's number.
WisdomRow parse_wisdom_line(std::string_view line);

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

}  // namespace trifold
