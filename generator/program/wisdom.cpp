#include "generator/program/wisdom.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <trifold/error.hpp>
#include <trifold/precision.hpp>
#include <trifold/program.hpp>

#include "generator/program/sha256.hpp"
#include "generator/program/words.hpp"

namespace trifold {
namespace {

constexpr std::string_view begins_with = "trifold wisdom ";
constexpr int format_of_wisdom = 1;
constexpr std::size_t lines_before_rows = 2;

/// The names of all columns, those of the key first.
constexpr std::string_view column_names =
    "target\tprecision\toperations\tlayout\tworkers\tn\tdevice\tN\tm\tbatch\tobjective\tschedule\tvariant\tseconds\tdefault_seconds\t"
    "measured";
constexpr std::size_t number_of_columns = 16, number_of_key_columns = 10;

std::string first_line(std::size_t rows, std::string_view rest) {
    return fmt::format("{}{}, {} rows, sha256 {}\n", begins_with, format_of_wisdom, rows, sha256(rest));
}

/// A column is a text without control characters, such as tabs and ends of lines, and is not empty.
void check_column(std::string_view name, std::string_view text) {
    if (text.empty()) throw SpecError(fmt::format("{} is empty; give a text", name));
    constexpr unsigned char delete_character = 0x7f;
    const bool is_clean = std::ranges::none_of(text, [](unsigned char letter) { return letter < ' ' || letter == delete_character; });
    if (!is_clean) throw SpecError(fmt::format("{} holds a tab, an end of line or another control character; leave it out", name));
}

void check_row(const WisdomRow& row) {
    validate(row.key.target);
    check_range("workers", row.key.workers, 1, max_workers);
    check_column("operations", row.key.operations);
    check_column("layout", row.key.layout);
    check_column("n", row.key.kind);
    check_column("device", row.device);
    check_column("N", row.key.size);
    check_column("objective", row.objective);
    check_column("schedule", row.pins.schedule);
    check_column("variant", row.pins.variant);
    check_column("measured", row.measured);
    if (row.pins.schedule == "auto" || row.pins.variant == "auto") throw SpecError("schedule or variant is auto; give what was taken");
    for (const auto seconds : {row.seconds, row.default_seconds})
        if (!std::isfinite(seconds) || seconds <= 0) throw SpecError(fmt::format("{} is no time; give seconds above 0", seconds));
}

std::string line_of(const WisdomRow& row) {
    check_row(row);
    return fmt::format("{}{}\t{}\t{}\t{}\t{}\t{}\n", key_columns(row.device, row.key), row.objective, row.pins.schedule, row.pins.variant,
                       row.seconds, row.default_seconds, row.measured);
}

std::string_view key_in(std::string_view line) {
    std::size_t end = 0;
    for (std::size_t k = 0; k < number_of_key_columns; ++k) end = line.find('\t', end) + 1;
    return line.substr(0, end);
}

double parse_seconds(std::string_view text) {
    if (const auto value = parse_number<double>(text)) return *value;
    throw SpecError(fmt::format("'{}' is no number of seconds", text));
}

/// The key's columns, the device in between left out.
ProblemKey parse_key(std::span<const std::string_view> columns) {
    ProblemKey key;
    key.target = parse_target(columns[0]);
    key.precision = parse_precision(columns[1]);
    key.operations = columns[2];
    key.layout = columns[3];
    key.workers = static_cast<int>(std::clamp<std::int64_t>(parse_whole("workers", columns[4]), 0, max_workers + 1));
    key.kind = columns[5];
    key.size = columns[7];
    key.rhs = parse_whole("m", columns[8]);
    key.batch = parse_whole("batch", columns[9]);
    return key;
}

/// The device of a line; empty where it has no such column.
std::string_view device_in(std::string_view line) {
    constexpr std::size_t before = 6;
    for (std::size_t k = 0; k < before; ++k) line.remove_prefix(std::min(line.find('\t'), line.size() - 1) + 1);
    return line.substr(0, line.find('\t'));
}

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = text.find('\n');
        if (end == std::string_view::npos)
            throw SpecError(fmt::format("line {}: it has no end; the file was cut off", lines.size() + lines_before_rows));
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    return lines;
}

[[noreturn]] void refuse_first_line(const std::string& why) { throw SpecError("line 1: " + why); }

/// The lines with rows. Checks the text by what the first line says.
std::vector<std::string_view> checked_lines(std::string_view text) {
    if (!text.starts_with(begins_with)) refuse_first_line(fmt::format("this is no wisdom, which begins with '{}'", begins_with));
    const auto after = text.substr(begins_with.size());
    int version = 0;
    const auto [at, error] = std::from_chars(after.data(), after.data() + after.size(), version);
    if (error != std::errc() || at == after.data() + after.size() || *at != ',') refuse_first_line("it gives no version of the format");
    if (version != format_of_wisdom)
        refuse_first_line(
            fmt::format("it is of format {}, and this library reads format {}; tune again, or export it with the same version", version,
                        format_of_wisdom));
    const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
    auto lines = split_lines(text.substr(end));
    if (lines.empty() || lines[0] != column_names) throw SpecError("line 2: the names of the columns are others than of this format");
    lines.erase(lines.begin());
    if (text.substr(0, end) != first_line(lines.size(), text.substr(end)))
        refuse_first_line("its number of rows or its checksum is another one than that of the rest; the file was cut off or edited");
    return lines;
}

}  // namespace

bool has_blocks(const ProblemKey& key) { return !key.kind.empty() && key.kind.front() >= '0' && key.kind.front() <= '9'; }

std::int64_t parse_whole(std::string_view name, std::string_view text) {
    if (const auto value = parse_number<std::int64_t>(text)) return *value;
    throw SpecError(fmt::format("{} is '{}', which is no whole number", name, text));
}

std::string common_columns(const ProblemKey& key) {
    return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t", to_string(key.target), to_string(key.precision), key.operations, key.layout,
                       key.target.backend == Backend::cpu ? key.workers : 1, key.kind);
}

std::string key_columns(std::string_view device, const ProblemKey& key) {
    return fmt::format("{}{}\t{}\t{}\t{}\t", common_columns(key), device, key.size, key.rhs, key.batch);
}

WisdomRow parse_wisdom_line(std::string_view line) {
    const auto columns = split(line, '\t');
    if (columns.size() != number_of_columns) throw SpecError(fmt::format("it has not {} columns", number_of_columns));
    WisdomRow row;
    row.key = parse_key(columns);
    row.device = columns[6];
    const auto values = std::span(columns).subspan(number_of_key_columns);
    row.objective = values[0];
    row.pins = {std::string(values[1]), std::string(values[2])};
    row.seconds = parse_seconds(values[3]);
    row.default_seconds = parse_seconds(values[4]);
    row.measured = values[5];
    check_row(row);
    if (key_columns(row.device, row.key) != key_in(line))
        throw SpecError("its first columns are not written as a file has them, so nothing would find it");
    return row;
}

std::string key_of(const WisdomRow& row) {
    auto key = key_columns(row.device, row.key);
    key.pop_back();
    return key;
}

std::string write_wisdom(const std::vector<WisdomRow>& rows) {
    std::vector<std::string> lines;
    for (const auto& row : rows) lines.push_back(line_of(row));
    std::ranges::sort(lines);
    const auto twice = std::ranges::adjacent_find(lines, {}, key_in);
    if (twice != lines.end()) throw SpecError(fmt::format("two rows are of '{}'; give the better of them", key_in(*twice)));
    const auto rest = fmt::format("{}\n{}", column_names, fmt::join(lines, ""));
    return first_line(lines.size(), rest) + rest;
}

std::vector<WisdomRow> read_wisdom(std::string_view text, const RowCheck& check) {
    const auto lines = checked_lines(text);
    std::vector<WisdomRow> rows;
    for (std::size_t k = 0; k < lines.size(); ++k) try {
            rows.push_back(parse_wisdom_line(lines[k]));
            if (check) check(rows.back());
            if (k > 0 && key_in(lines[k - 1]) >= key_in(lines[k]))
                throw SpecError("it is not in order, or of the same problem as the line before");
        } catch (const SpecError& error) {
            throw SpecError(fmt::format("line {}: {}", k + 1 + lines_before_rows, error.what()));
        }
    return rows;
}

Wisdom::Wisdom(std::string name, std::string_view text) : name_(std::move(name)), lines_(checked_lines(text)) {}

std::size_t Wisdom::rows_for(const Target& target, std::string_view device) const {
    const auto texts = lines_with(to_string(target) + "\t").texts;
    if (device.empty()) return texts.size();
    return static_cast<std::size_t>(std::ranges::count_if(texts, [&](std::string_view line) { return device_in(line) == device; }));
}

Wisdom::Lines Wisdom::lines_with(std::string_view columns) const {
    const auto begin = std::ranges::lower_bound(lines_, columns);
    const auto end = std::find_if_not(begin, lines_.end(), [&](std::string_view line) { return line.starts_with(columns); });
    return {{begin, end}, static_cast<std::size_t>(begin - lines_.begin()) + 1 + lines_before_rows};
}

}  // namespace trifold
