#include "tools/formats/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tools/formats/file.hpp"

namespace trifold::formats {
namespace {

constexpr std::string_view spaces = " \t\r\v\f";

/// Words of a text, line by line. Comment lines and empty lines are passed over.
class Scanner {
  public:
    Scanner(std::string_view text, std::string_view name) : rest_(text), name_(name) {}

    [[noreturn]] void fail(std::string_view what) const {
        throw InputError(fmt::format("'{}' is not a usable Matrix Market file: line {}: {}", name_, line_number_, what));
    }
    /// The next line, whatever it holds; false at the end.
    bool next_line() {
        if (rest_.empty()) return false;
        const auto end = rest_.find('\n');
        line_ = rest_.substr(0, end);
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
        ++line_number_;
        return true;
    }
    /// The next line that holds something; false at the end.
    bool next_data_line() {
        while (next_line()) {
            const auto start = line_.find_first_not_of(spaces);
            if (start != std::string_view::npos && line_[start] != '%') return true;
        }
        line_ = {};
        return false;
    }
    std::string_view word() {
        const auto start = std::min(line_.find_first_not_of(spaces), line_.size());
        const auto end = std::min(line_.find_first_of(spaces, start), line_.size());
        const auto result = line_.substr(start, end - start);
        line_.remove_prefix(end);
        return result;
    }
    std::int64_t whole_number(std::string_view what) {
        const auto text = word();
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (text.empty()) fail(fmt::format("{} is missing", what));
        if (error != std::errc{} || end != text.data() + text.size())
            fail(fmt::format("{} is '{}', which is not a whole number", what, shown(text)));
        return value;
    }
    /// A value of a file that says `integer`.
    double whole_value(std::string_view what) {
        const auto text = word();
        if (text.empty()) fail(fmt::format("{} is missing", what));
        const auto digits = text.substr(text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error == std::errc::invalid_argument || end != digits.data() + digits.size())
            fail(fmt::format("{} is '{}', and the first line says integer; give whole numbers, or say real", what, shown(text)));
        constexpr std::int64_t most = std::int64_t{1} << std::numeric_limits<double>::digits;
        if (error != std::errc{} || value > most || value < -most)
            fail(fmt::format("{} is '{}', beyond the whole numbers that f64 can hold, which end at 2^53; say real to have it rounded", what,
                             shown(text)));
        return static_cast<double>(value);
    }
    double real_value(std::string_view what) {
        auto text = word();
        if (text.empty()) fail(fmt::format("{} is missing", what));
        if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (end != text.data() + text.size() || error == std::errc::invalid_argument)
            fail(fmt::format("{} is '{}', which is not a number", what, shown(text)));
        if (error == std::errc::result_out_of_range)
            value = std::strtod(std::string(text).c_str(), nullptr);  // tiny becomes 0, huge infinite
        if (!std::isfinite(value)) fail(fmt::format("{} is '{}'; every value must be finite", what, shown(text)));
        return value;
    }
    double value(bool whole, std::string_view what) { return whole ? whole_value(what) : real_value(what); }
    void end_of_line() {
        const auto text = word();
        if (!text.empty()) fail(fmt::format("'{}' follows where the line should end", shown(text)));
    }
    std::size_t bytes_left() const { return rest_.size(); }

  private:
    /// Garbage may be long and unprintable.
    static std::string shown(std::string_view text) {
        std::string result;
        for (const char c : text.substr(0, 40)) result += c >= ' ' && c <= '~' ? c : '?';
        return text.size() > 40 ? result + "..." : result;
    }
    std::string_view rest_, line_, name_;
    std::int64_t line_number_ = 0;
};

enum class Triangles { general, symmetric, skew };

struct Banner {
    bool coordinate;
    Triangles symmetry;
    bool whole;
};

std::string lower(std::string_view text) {
    std::string result(text.substr(0, 40));
    std::ranges::transform(result, result.begin(),
                           [](unsigned char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c); });
    return result;
}

Banner read_banner(Scanner& scanner, std::string_view foreign) {
    if (!scanner.next_line() || lower(scanner.word()) != "%%matrixmarket")
        scanner.fail(foreign.empty() ? "it does not start with %%MatrixMarket" : foreign);
    if (lower(scanner.word()) != "matrix") scanner.fail("the object is not 'matrix'");
    const auto format = lower(scanner.word());
    const auto field = lower(scanner.word());
    const auto symmetry = lower(scanner.word());
    scanner.end_of_line();
    if (format != "coordinate" && format != "array") scanner.fail("the format is neither 'coordinate' nor 'array'");
    if (field == "complex" || field == "pattern")
        scanner.fail(fmt::format("a matrix of type '{}' has no real values; give real or integer", field));
    if (field != "real" && field != "integer" && field != "double") scanner.fail("the type of the values is neither 'real' nor 'integer'");
    const bool skew = symmetry == "skew-symmetric", coordinate = format == "coordinate";
    if (symmetry == "hermitian" || (skew && coordinate))
        scanner.fail(fmt::format("a {} matrix cannot be solved; give a symmetric or general one", symmetry));
    if (symmetry != "symmetric" && symmetry != "general" && !skew) scanner.fail("the symmetry is neither 'symmetric' nor 'general'");
    return {coordinate, skew ? Triangles::skew : symmetry == "symmetric" ? Triangles::symmetric : Triangles::general, field == "integer"};
}

void check_announced(const Scanner& scanner, std::int64_t count, std::int64_t bytes_each, std::string_view what) {
    const auto most = (static_cast<std::int64_t>(scanner.bytes_left()) + 1) / bytes_each;  // the last line may lack its end
    if (count > most)
        scanner.fail(fmt::format("{} {} are announced, but the {} bytes that follow hold at most {}; is the file truncated?", count, what,
                                 scanner.bytes_left(), most));
}

SparseMatrix read_coordinate(Scanner& scanner, const Banner& banner) {
    const bool symmetric = banner.symmetry == Triangles::symmetric;
    SparseMatrix matrix{scanner.whole_number("number of rows"), scanner.whole_number("number of columns"), symmetric, {}};
    const auto count = scanner.whole_number("number of entries");
    scanner.end_of_line();
    if (matrix.rows < 1 || matrix.columns < 1)
        scanner.fail(fmt::format("the matrix is {} by {}; give at least 1 by 1", matrix.rows, matrix.columns));
    if (symmetric && matrix.rows != matrix.columns)
        scanner.fail(fmt::format("a symmetric matrix cannot be {} by {}", matrix.rows, matrix.columns));
    if (count < 0) scanner.fail("the number of entries is negative");
    check_announced(scanner, count, 6, "entries");  // "1 1 1" and the end of the line
    matrix.entries.reserve(static_cast<std::size_t>(count));
    for (std::int64_t k = 0; k < count; ++k) {
        if (!scanner.next_data_line()) scanner.fail(fmt::format("{} entries are announced, but the file ends after {}", count, k));
        const auto row = scanner.whole_number("row"), column = scanner.whole_number("column");
        if (row < 1 || row > matrix.rows || column < 1 || column > matrix.columns)
            scanner.fail(fmt::format("entry ({}, {}) is outside the {} by {} matrix", row, column, matrix.rows, matrix.columns));
        const auto value = scanner.value(banner.whole, fmt::format("the value at ({}, {})", row, column));
        scanner.end_of_line();
        matrix.entries.push_back({row - 1, column - 1, value});
    }
    return matrix;
}

/// Right-hand sides column by column. Where they are symmetric the file has the lower triangle, without its diagonal if that is zero.
DenseMatrix read_array(Scanner& scanner, const Banner& banner) {
    const bool general = banner.symmetry == Triangles::general, skew = banner.symmetry == Triangles::skew;
    DenseMatrix matrix{scanner.whole_number("number of rows"), scanner.whole_number("number of columns"), {}};
    scanner.end_of_line();
    if (matrix.rows < 1 || matrix.columns < 1)
        scanner.fail(fmt::format("the matrix is {} by {}; give at least 1 by 1", matrix.rows, matrix.columns));
    if (!general && matrix.rows != matrix.columns)
        scanner.fail(fmt::format("symmetric right-hand sides cannot be {} by {}", matrix.rows, matrix.columns));
    std::int64_t all = 0, read = 0;
    if (__builtin_mul_overflow(matrix.rows, matrix.columns, &all))
        scanner.fail(fmt::format("{} by {} values are too many for a 64-bit size", matrix.rows, matrix.columns));
    const auto count = general ? all : skew ? (all - matrix.rows) / 2 : (all - matrix.rows) / 2 + matrix.rows;
    check_announced(scanner, count, 2, "values");
    matrix.values.resize(static_cast<std::size_t>(all));
    const auto at = [&](std::int64_t row, std::int64_t column) -> double& {
        return matrix.values[static_cast<std::size_t>(row * matrix.columns + column)];
    };
    for (std::int64_t column = 0; column < matrix.columns; ++column) {
        for (auto row = general ? 0 : skew ? column + 1 : column; row < matrix.rows; ++row, ++read) {
            if (!scanner.next_data_line()) scanner.fail(fmt::format("{} values are announced, but the file ends after {}", count, read));
            const auto value = at(row, column) = scanner.value(banner.whole, "a value");
            if (!general && row != column) at(column, row) = skew ? -value : value;
            scanner.end_of_line();
        }
    }
    return matrix;
}

}  // namespace

std::variant<SparseMatrix, DenseMatrix> parse_matrix_market(std::string_view text, std::string_view name) {
    Scanner scanner(text, name);
    const auto banner = read_banner(scanner, foreign_kind(text));
    if (!scanner.next_data_line()) scanner.fail("the line of sizes is missing");
    std::variant<SparseMatrix, DenseMatrix> result;
    if (banner.coordinate)
        result = read_coordinate(scanner, banner);
    else
        result = read_array(scanner, banner);
    if (scanner.next_data_line()) scanner.fail("there is more data than announced");
    return result;
}

std::string format_matrix_market(const DenseMatrix& matrix) {
    fmt::memory_buffer text;
    fmt::format_to(std::back_inserter(text), "%%MatrixMarket matrix array real general\n{} {}\n", matrix.rows, matrix.columns);
    for (std::int64_t column = 0; column < matrix.columns; ++column) {
        for (std::int64_t row = 0; row < matrix.rows; ++row)
            fmt::format_to(std::back_inserter(text), "{}\n", matrix.values[static_cast<std::size_t>(row * matrix.columns + column)]);
    }
    return fmt::to_string(text);
}

std::string format_matrix_market(const SparseMatrix& matrix) {
    fmt::memory_buffer text;
    fmt::format_to(std::back_inserter(text), "%%MatrixMarket matrix coordinate real {}\n{} {} {}\n",
                   matrix.symmetric ? "symmetric" : "general", matrix.rows, matrix.columns, matrix.entries.size());
    for (const auto& entry : matrix.entries)
        fmt::format_to(std::back_inserter(text), "{} {} {}\n", entry.row + 1, entry.column + 1, entry.value);
    return fmt::to_string(text);
}

}  // namespace trifold::formats
