#include "tools/formats/matrix_market.hpp"

#include <cmath>

#include "tests/tools/formats/expect.hpp"
#include "tools/formats/npy.hpp"

using namespace trifold::formats;

namespace {

const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
const std::string general = "%%MatrixMarket matrix coordinate real general\n";
const std::string array = "%%MatrixMarket matrix array real general\n";

SparseMatrix sparse(const std::string& text) { return std::get<SparseMatrix>(parse_matrix_market(text, "a.mtx")); }
DenseMatrix dense(const std::string& text) { return std::get<DenseMatrix>(parse_matrix_market(text, "b.mtx")); }

}  // namespace

TEST_CASE("Matrix Market: coordinate files") {
    const auto a = sparse(symmetric + "% a comment\n\n3 3 4\n1 1 2.5\n  2 1\t-1e-3  \r\n%another\n3 3 +4\n2 2 1E2\n\n");
    CHECK(a.symmetric);
    CHECK(a.rows == 3);
    CHECK(a.entries == std::vector<Entry>{{0, 0, 2.5}, {1, 0, -1e-3}, {2, 2, 4}, {1, 1, 100}});
    const auto g = sparse("%%matrixmarket MATRIX Coordinate Integer General\n2 5 1\n2 5 -7");
    CHECK_FALSE(g.symmetric);
    CHECK(g.columns == 5);
    CHECK(g.entries == std::vector<Entry>{{1, 4, -7}});
    CHECK(sparse(general + "2 2 0\n").entries.empty());
}

TEST_CASE("Matrix Market: array files are column by column") {
    const auto b = dense(array + "2 3\n1\n2\n3\n4\n5\n6\n");
    CHECK(b.values == std::vector<double>{1, 3, 5, 2, 4, 6});
    CHECK(dense(array + "1 1\n5").values == std::vector<double>{5});
    // Right-hand sides that are symmetric, such as the identity, as scipy.io.mmwrite writes them: the lower triangle.
    const std::string kind = "%%MatrixMarket matrix array real ";
    CHECK(dense(kind + "symmetric\n1 1\n5\n").values == std::vector<double>{5});
    CHECK(dense(kind + "symmetric\n3 3\n1\n2\n3\n4\n5\n6\n").values == std::vector<double>{1, 2, 3, 2, 4, 5, 3, 5, 6});
    CHECK(dense(kind + "skew-symmetric\n3 3\n1\n2\n3\n").values == std::vector<double>{0, -1, -2, 1, 0, -3, 2, 3, 0});
    CHECK_INPUT_ERROR("cannot be 2 by 1", dense(kind + "symmetric\n2 1\n1\n2\n"));
    CHECK_INPUT_ERROR("3 values are announced, but the file ends after 2", dense(kind + "symmetric\n2 2\n1.000\n2.000\n"));
    CHECK_INPUT_ERROR("more data than announced", dense(kind + "symmetric\n2 2\n1\n2\n3\n4\n"));
}

TEST_CASE("Matrix Market: tiny numbers become zero or denormal, huge ones are errors") {
    CHECK(dense(array + "3 1\n1e-400\n4.9e-324\n-1e-310\n").values == std::vector<double>{0, 4.9e-324, -1e-310});
    CHECK_INPUT_ERROR("line 3: a value is '1e400'; every value must be finite", dense(array + "1 1\n1e400\n"));
}

TEST_CASE("Matrix Market: files that say integer hold whole numbers that f64 can hold") {
    const std::string integer = "%%MatrixMarket matrix array integer general\n";
    CHECK(dense(integer + "4 1\n-7\n+5\n9007199254740992\n-9007199254740992\n").values ==
          std::vector<double>{-7, 5, 9007199254740992, -9007199254740992});
    for (const std::string value : {"4.5", "4.0", "1e3", "nan", "+-1", "x"}) {
        CHECK_INPUT_ERROR("line 3: a value is '" + value + "', and the first line says integer; give whole numbers, or say real",
                          dense(integer + "1 1\n" + value + "\n"));
        CHECK_INPUT_ERROR("line 3: the value at (1, 1) is '" + value + "', and",
                          sparse("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 " + value + "\n"));
    }
    for (const std::string value : {"9007199254740993", "-9007199254740993", "99999999999999999999", "-99999999999999999999"})
        CHECK_INPUT_ERROR("line 3: a value is '" + value + "', beyond the whole numbers that f64 can hold, which end at 2^53",
                          dense(integer + "1 1\n" + value + "\n"));
    CHECK(dense(array + "1 1\n9007199254740993\n").values == std::vector<double>{9007199254740992});
}

TEST_CASE("Matrix Market: files of other kinds are named, with what to do") {
    CHECK_INPUT_ERROR("line 1: it begins with a byte order mark; save it as UTF-8 without one", dense("\xEF\xBB\xBF" + array + "1 1\n1\n"));
    CHECK_INPUT_ERROR("it is text in UTF-16", dense("\xFF\xFE%"));
    CHECK_INPUT_ERROR("it is compressed by gzip; unpack it first (gunzip)", sparse("\x1F\x8B\x08"));
    CHECK_INPUT_ERROR("it is a zip archive, as .npz files are; give the files in it (unzip)", parse_npy("PK\x03\x04", "D.npz"));
    CHECK_INPUT_ERROR("'D.npy.gz' is not a usable .npy file: it is compressed by gzip", parse_npy("\x1F\x8B\x08", "D.npy.gz"));
}

TEST_CASE("Matrix Market: what is written reads back to the bit") {
    const DenseMatrix b{2, 2, {0.1, 1.0 / 3, 6.02214076e23, -5e-324}};
    CHECK(dense(format_matrix_market(b)).values == b.values);
    const SparseMatrix a{3, 3, true, {{0, 0, 0.1}, {2, 1, 1.0 / 3}}};
    const auto again = sparse(format_matrix_market(a));
    CHECK(again.entries == a.entries);
    CHECK(again.symmetric);
    CHECK(says(format_matrix_market(DenseMatrix{1, 1, {std::nan("")}}), "nan"));
}

TEST_CASE("Matrix Market: every kind of garbage is refused with the line") {
    CHECK_INPUT_ERROR("'a.mtx' is not a usable Matrix Market file: line 1: it does not start with %%MatrixMarket", sparse("hello\n"));
    CHECK_INPUT_ERROR("does not start", sparse(""));
    CHECK_INPUT_ERROR("type 'complex' has no real values", sparse("%%MatrixMarket matrix coordinate complex symmetric\n1 1 1\n1 1 1 0\n"));
    CHECK_INPUT_ERROR("type 'pattern' has no real values", sparse("%%MatrixMarket matrix coordinate pattern symmetric\n1 1 1\n1 1\n"));
    CHECK_INPUT_ERROR("skew-symmetric", sparse("%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 0\n"));
    CHECK_INPUT_ERROR("hermitian", sparse("%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n"));
    CHECK_INPUT_ERROR("neither 'symmetric' nor 'general'", sparse("%%MatrixMarket matrix coordinate real\n1 1 0\n"));
    CHECK_INPUT_ERROR("neither 'coordinate' nor 'array'", sparse("%%MatrixMarket matrix list real general\n1 1 0\n"));
    CHECK_INPUT_ERROR("neither 'real' nor 'integer'", sparse("%%MatrixMarket matrix array text general\n1 1\n"));
    CHECK_INPUT_ERROR("object", sparse("%%MatrixMarket vector array real general\n1 1\n"));
    CHECK_INPUT_ERROR("line of sizes is missing", sparse(symmetric + "% nothing\n"));
    CHECK_INPUT_ERROR("line 2: number of entries is missing", sparse(symmetric + "3 3\n"));
    CHECK_INPUT_ERROR("line 2: number of rows is 'x'", sparse(symmetric + "x 3 1\n"));
    CHECK_INPUT_ERROR("line 2: number of rows is '99999999999999999999'", sparse(symmetric + "99999999999999999999 3 1\n"));
    CHECK_INPUT_ERROR("0 by 0", sparse(symmetric + "0 0 0\n"));
    CHECK_INPUT_ERROR("-1 by 2", sparse(general + "-1 2 0\n"));
    CHECK_INPUT_ERROR("symmetric matrix cannot be 3 by 4", sparse(symmetric + "3 4 0\n"));
    CHECK_INPUT_ERROR("negative", sparse(general + "1 1 -1\n"));
    CHECK_INPUT_ERROR("1000000000000 entries are announced, but the 6 bytes that follow hold at most 1",
                      sparse(symmetric + "3 3 1000000000000\n1 1 1\n"));
    CHECK_INPUT_ERROR("are announced", sparse(symmetric + "3 3 9223372036854775807\n1 1 1\n"));
    CHECK_INPUT_ERROR("3 entries are announced, but the file ends after 2", sparse(symmetric + "3 3 3\n1 1 1.00\n2 2 1.00000\n"));
    CHECK_INPUT_ERROR("line 3: entry (4, 1) is outside the 3 by 3 matrix", sparse(symmetric + "3 3 1\n4 1 1\n"));
    CHECK_INPUT_ERROR("line 3: entry (0, 1) is outside", sparse(symmetric + "3 3 1\n0 1 1\n"));
    CHECK_INPUT_ERROR("line 3: the value at (1, 1) is missing", sparse(symmetric + "3 3 1\n1 1   \n"));
    CHECK_INPUT_ERROR("line 3: the value at (1, 1) is 'nan'; every value must be finite", sparse(symmetric + "3 3 1\n1 1 nan\n"));
    CHECK_INPUT_ERROR("is '-inf'; every value must be finite", sparse(symmetric + "3 3 1\n1 1 -inf\n"));
    CHECK_INPUT_ERROR("is '1.5x', which is not a number", sparse(symmetric + "3 3 1\n1 1 1.5x\n"));
    CHECK_INPUT_ERROR("which is not a number", sparse(symmetric + "3 3 1\n1 1 +-1\n"));
    CHECK_INPUT_ERROR("row is '1.5', which is not a whole number", sparse(symmetric + "3 3 1\n1.5 1 1\n"));
    CHECK_INPUT_ERROR("'2' follows where the line should end", sparse(symmetric + "3 3 1\n1 1 1 2\n"));
    CHECK_INPUT_ERROR("more data than announced", sparse(symmetric + "3 3 1\n1 1 1\n2 2 1\n"));
    CHECK_INPUT_ERROR("6 values are announced", dense(array + "2 3\n1\n2\n"));
    CHECK_INPUT_ERROR("4 values are announced, but the file ends after 3", dense(array + "2 2\n1\n2\n3.0000\n"));
    CHECK_INPUT_ERROR("too many for a 64-bit size", dense(array + "4294967296 4294967296\n1\n"));
    CHECK_INPUT_ERROR("is '????", dense(array + "1 1\n\x01\x02\x03\xff\n"));
}
