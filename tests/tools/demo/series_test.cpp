#include "series.hpp"

#include "tests/support/test.hpp"

using namespace kalman;

namespace {

/// Reads `text` as a file with one growing series `a`.
Table table_of(const std::string& text) {
    const auto path = std::filesystem::temp_directory_path() / "trifold-series-test.csv";
    std::ofstream(path, std::ios::binary) << text;
    return read_table(path.string(), {{"a", "A", "unit", true, 1, 0}});
}

}  // namespace

TEST_CASE("the data are read as they stand") {
    const auto table = read_table(MACRO_DATA, macro_series());
    REQUIRE(table.values.rows() == 12);
    REQUIRE(table.values.cols() == 203);
    CHECK(table.year.front() == 1959);
    CHECK(table.quarter.back() == 3);
    CHECK(table.values(0, 0) == doctest::Approx(100 * std::log(2710.349)));
    CHECK(table.values(8, 202) == 9.6);
    CHECK(std::isnan(table.values(9, 0)));
    CHECK(std::isnan(table.values(11, 0)));
    CHECK(table.values.array().isNaN().count() == 2);
}

TEST_CASE("values go to the state and back") {
    for (const auto& series : macro_series()) CHECK(from_state(series, to_state(series, 12.5)) == doctest::Approx(12.5));
}

TEST_CASE("bad files are refused with the line") {
    CHECK(table_of("year,quarter,a\n1959,4,2\n1960,1,3\n").values.cols() == 2);
    CHECK(table_of("\xEF\xBB\xBFyear,quarter,a\r\n1959,4,2\r\n1960,1,3\r\n\r\n").values.cols() == 2);
    CHECK(table_of("year,quarter,a\n1959,4,2\n1960,1,3\n  \n\n").values(0, 1) == doctest::Approx(100 * std::log(3)));
    CHECK_THROWS_WITH(table_of(""), doctest::Contains(":1: the header has no column 'year'"));
    CHECK_THROWS_WITH(table_of("year,quarter\n1959,1\n"), doctest::Contains("no column 'a'"));
    CHECK_THROWS_WITH(table_of("year,quarter,a\n1959,1\n"), doctest::Contains(":2: 2 fields; the header has 3"));
    CHECK_THROWS_WITH(table_of("year,quarter,a\n1959,1,x\n"), doctest::Contains(":2: 'x' is not a finite number"));
    CHECK_THROWS_WITH(table_of("year,quarter,a\n1959,1,nan\n"), doctest::Contains(":2: 'nan' is not a finite number"));
    CHECK_THROWS_WITH(table_of("year,quarter,a\n1959,1,1\n1959,2,0\n"),
                      doctest::Contains(":3: a is 0; its logarithm needs a positive value"));
    CHECK_THROWS_WITH(table_of("year,quarter,a\n1959,1,1\n1959,3,1\n"), doctest::Contains(":3: quarters do not follow one another"));
    CHECK_THROWS_WITH(table_of("year,quarter,a\n1959,1,1\n"), doctest::Contains("has 1 quarters"));
    CHECK_THROWS_WITH(read_table("no/such/file.csv", {}), doctest::Contains("cannot read 'no/such/file.csv'"));
}
