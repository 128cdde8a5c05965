#include "series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace kalman {
namespace {

[[noreturn]] void fail(const std::string& path, std::size_t line, const std::string& what) {
    throw std::runtime_error(fmt::format("{}:{}: {}", path, line, what));
}

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // of files that spreadsheets save

std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
        if (c == ',')
            fields.emplace_back();
        else if (c != '"' && c != '\r')
            fields.back() += c;
    }
    return fields;
}

double number(const std::string& text, const std::string& path, std::size_t line) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
        fail(path, line, fmt::format("'{}' is not a finite number", text));
    return value;
}

/// Rates of change have no value in the first quarter; the file says 0.
bool is_placeholder(const Series& series, std::size_t row) { return row == 0 && (series.column == "infl" || series.column == "realint"); }

}  // namespace

// `cycle` and `loading`: each series' standard deviation around its Hodrick-Prescott trend (lambda = 1600), to two digits, and its
// part in the first principal component of those deviations, to one.
const std::vector<Series>& macro_series() {
    static const std::vector<Series> series{
        {"realgdp", "Real GDP", "billions of 2005 dollars", true, 1.5, 0.9},
        {"realcons", "Consumption", "billions of 2005 dollars", true, 1.2, 0.9},
        {"realinv", "Investment", "billions of 2005 dollars", true, 7.2, 0.9},
        {"realgovt", "Government spending", "billions of 2005 dollars", true, 2.6, -0.2},
        {"realdpi", "Disposable income", "billions of 2005 dollars", true, 1.1, 0.8},
        {"cpi", "Consumer prices", "1982-84 = 100", true, 1.3, -0.3},
        {"m1", "Money stock M1", "billions of dollars", true, 2.6, 0.0},
        {"pop", "Population", "millions", true, 0.07, -0.2},
        {"unemp", "Unemployment", "percent", false, 0.73, -0.9},
        {"infl", "Inflation", "percent a year", false, 2.2, 0.5},
        {"tbilrate", "Treasury-bill rate", "percent a year", false, 1.3, 0.5},
        {"realint", "Real interest rate", "percent a year", false, 1.9, -0.2},
    };
    return series;
}

double to_state(const Series& series, double value) { return series.grows ? 100 * std::log(value) : value; }

double from_state(const Series& series, double state) { return series.grows ? std::exp(state / 100) : state; }

Table read_table(const std::string& path, const std::vector<Series>& series) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(fmt::format("cannot read '{}'; give the path of the data with --data", path));
    std::string line;
    std::getline(file, line);
    if (line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
    const auto header = split(line);
    const auto column = [&](const std::string& name) {
        const auto found = std::ranges::find(header, name);
        if (found == header.end()) fail(path, 1, fmt::format("the header has no column '{}'", name));
        return static_cast<std::size_t>(found - header.begin());
    };
    const auto year = column("year"), quarter = column("quarter");

    Table table;
    std::vector<std::vector<double>> rows;
    for (std::size_t number_of_line = 2; std::getline(file, line); ++number_of_line) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        const auto fields = split(line);
        if (fields.size() != header.size())
            fail(path, number_of_line, fmt::format("{} fields; the header has {}", fields.size(), header.size()));
        table.year.push_back(static_cast<int>(number(fields[year], path, number_of_line)));
        table.quarter.push_back(static_cast<int>(number(fields[quarter], path, number_of_line)));
        const auto quarters = 4 * table.year.back() + table.quarter.back();
        if (!rows.empty() && quarters != 4 * table.year.end()[-2] + table.quarter.end()[-2] + 1)
            fail(path, number_of_line, "quarters do not follow one another");
        auto& row = rows.emplace_back();
        for (const auto& one : series) {
            const auto value = number(fields[column(one.column)], path, number_of_line);
            if (one.grows && value <= 0)
                fail(path, number_of_line, fmt::format("{} is {}; its logarithm needs a positive value", one.column, value));
            row.push_back(is_placeholder(one, rows.size() - 1) ? std::numeric_limits<double>::quiet_NaN() : to_state(one, value));
        }
    }
    if (rows.size() < 2) throw std::runtime_error(fmt::format("'{}' has {} quarters; a trend needs at least 2", path, rows.size()));
    table.values.resize(static_cast<Eigen::Index>(series.size()), static_cast<Eigen::Index>(rows.size()));
    for (std::size_t t = 0; t < rows.size(); ++t) {
        for (std::size_t i = 0; i < series.size(); ++i)
            table.values(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(t)) = rows[t][i];
    }
    return table;
}

}  // namespace kalman
