#include "tests/support/test.hpp"
#include "tests/tools/cli/command.hpp"
#include "tools/formats/file.hpp"
#include "tools/formats/matrix_market.hpp"
#include "tools/formats/npy.hpp"

using namespace trifold;
using namespace trifold::formats;
using Eigen::MatrixXd;

namespace {

struct Cut {
    std::int64_t n, horizon, border;
    bool ring = false;
    std::int64_t bandwidth = 1, columns = 1;
    std::int64_t missing = 0;  ///< rows that the last block lacks
    std::int64_t chain() const { return n * horizon - missing; }
    std::int64_t rows() const { return chain() + border; }
};

/// Positive definite by its diagonal, with all entries that the shape allows.
MatrixXd matrix_of(const Cut& cut, double seed = 1) {
    const auto rows = cut.rows(), chain = cut.chain();
    MatrixXd a = MatrixXd::Zero(rows, rows);
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < row; ++column) {
            const auto apart = row / cut.n - column / cut.n;
            if (row >= chain || apart <= cut.bandwidth || (cut.ring && cut.horizon - apart <= cut.bandwidth))
                a(row, column) = a(column, row) = std::cos(seed + static_cast<double>(3 * row + 7 * column));
        }
    a.diagonal() = a.cwiseAbs().rowwise().sum() + 0.5 * Eigen::VectorXd::Ones(rows);
    return a;
}

MatrixXd rhs_of(std::int64_t rows, std::int64_t columns) {
    MatrixXd b(rows, columns);
    for (Eigen::Index k = 0; k < b.size(); ++k) b.data()[k] = std::sin(static_cast<double>(k + 1));
    return b;
}

SparseMatrix sparse(const MatrixXd& a, bool symmetric) {
    SparseMatrix result{a.rows(), a.rows(), symmetric, {}};
    for (Eigen::Index row = 0; row < a.rows(); ++row)
        for (Eigen::Index column = 0; column < a.cols(); ++column)
            if (a(row, column) != 0 && (!symmetric || column <= row)) result.entries.push_back({row, column, a(row, column)});
    return result;
}

std::vector<double> by_rows(const MatrixXd& a) {
    std::vector<double> values;
    for (Eigen::Index row = 0; row < a.rows(); ++row)
        for (Eigen::Index column = 0; column < a.cols(); ++column) values.push_back(a(row, column));
    return values;
}

void write_sparse(const Scratch& scratch, const MatrixXd& a, const MatrixXd& b, bool symmetric = true) {
    scratch.write("A.mtx", format_matrix_market(sparse(a, symmetric)));
    scratch.write("b.mtx", format_matrix_market(DenseMatrix{b.rows(), b.cols(), by_rows(b)}));
}

/// D, E, b, F and C of matrices of one shape; one matrix has no batch.
void write_arrays(const Scratch& scratch, const Cut& cut, const std::vector<MatrixXd>& all, const MatrixXd& b) {
    const auto n = cut.n, horizon = cut.horizon, a = cut.border, w = cut.bandwidth;
    std::vector<double> d, e, f, c, rhs;
    const auto add = [](std::vector<double>& to, const MatrixXd& block) {
        const auto values = by_rows(block);
        to.insert(to.end(), values.begin(), values.end());
    };
    for (const auto& one : all) {
        for (std::int64_t i = 0; i < horizon; ++i) {
            add(d, one.block(i * n, i * n, n, n));
            for (std::int64_t k = 1; k <= w && (w > 1 || i + 1 < horizon); ++k)
                add(e, cut.ring || i + k < horizon ? MatrixXd(one.block((i + k) % horizon * n, i * n, n, n))
                                                   : MatrixXd::Constant(n, n, 7));  // 7: not used
            add(f, one.block(horizon * n, i * n, a, n));
        }
        if (cut.ring && w == 1) add(e, one.block(0, (horizon - 1) * n, n, n));
        add(c, one.block(horizon * n, horizon * n, a, a));
        add(rhs, b);
    }
    const auto write = [&](const char* name, std::vector<std::int64_t> shape, const std::vector<double>& values) {
        if (all.size() > 1) shape.insert(shape.begin(), static_cast<std::int64_t>(all.size()));
        scratch.write(name, format_npy({shape, Precision::f64, values}));
    };
    write("D.npy", {horizon, n, n}, d);
    write("E.npy", w > 1 ? std::vector{horizon, w, n, n} : std::vector{cut.ring ? horizon : horizon - 1, n, n}, e);
    auto shape = a > 0 ? std::vector{cut.rows()} : std::vector{horizon, n};
    if (cut.columns > 1) shape.push_back(cut.columns);
    write("b.npy", shape, rhs);
    write("F.npy", {horizon, a, n}, f);
    write("C.npy", {a, a}, c);
}

void check_near(const std::vector<double>& found, const MatrixXd& expected) {
    REQUIRE(static_cast<Eigen::Index>(found.size()) == expected.size());
    const auto wanted = by_rows(expected);
    for (std::size_t k = 0; k < wanted.size(); ++k) CHECK(found[k] == doctest::Approx(wanted[k]).epsilon(1e-10).scale(1));
}

}  // namespace

TEST_CASE_FIXTURE(Scratch, "solve: the border of a sparse A is found, and x has its tip behind the chain") {
    for (const auto& cut : {Cut{1, 9, 1}, Cut{3, 9, 3}, Cut{8, 20, 64}, Cut{3, 9, 1, true}, Cut{8, 9, 3, false, 1, 17, 3},
                            Cut{1, 40, 3, true, 1, 2}, Cut{4, 12, 2, false, 2, 1, 3}}) {
        const auto a = matrix_of(cut), b = rhs_of(cut.rows(), cut.columns);
        const Eigen::LLT<MatrixXd> oracle(a);
        const MatrixXd l = oracle.matrixL();
        for (const bool symmetric : {true, false}) {
            INFO(cut.n, " ", cut.horizon, " ", cut.border, " ", symmetric);
            write_sparse(*this, a, b, symmetric);
            const auto ran = well("solve A.mtx b.mtx -o x.mtx --device cpu --json --condition");
            CHECK(says(ran.err, fmt::format("A is taken with a border of {}: its last rows couple to rows far before them", cut.border)));
            const auto json = ran.json();
            CHECK(json["block"] == cut.n * cut.bandwidth);
            CHECK(json["bandwidth"] == cut.bandwidth);
            CHECK(json["border"] == cut.border);
            CHECK(json["ring"] == cut.ring);
            CHECK(json["relative_residual"].get<double>() < 1e-14);
            CHECK(json["reciprocal_condition"][0].get<double>() > 1e-3);
            CHECK(json["log_determinant"][0].get<double>() == doctest::Approx(2 * l.diagonal().array().log().sum()).epsilon(1e-12));
            const MatrixXd x = oracle.solve(b);
            for (Eigen::Index k = 0; k < b.cols(); ++k)
                CHECK(json["quadratic"][0][static_cast<std::size_t>(k)].get<double>() ==
                      doctest::Approx(b.col(k).dot(x.col(k))).epsilon(1e-11));
            check_near(std::get<DenseMatrix>(parse_matrix_market(read("x.mtx"), "x")).values, x);
        }
        for (const auto& options : {fmt::format("--block {} --bandwidth {} --border {}", cut.n, cut.bandwidth, cut.border),
                                    std::string("--border 0"), std::string("--precision f32")}) {
            const auto other = well("solve A.mtx b.mtx --device cpu --json " + options).json();
            CHECK(other["border"] == (options == "--border 0" ? 0 : cut.border));
            CHECK(other["relative_residual"].get<double>() < (options == "--precision f32" ? 1e-6 : 1e-14));
        }
    }
}

TEST_CASE_FIXTURE(Scratch, "solve: a dense matrix and a chain with an odd end have no border, and a band says so") {
    write_sparse(*this, matrix_of({9, 1, 0}), rhs_of(9, 1));
    CHECK(well("solve A.mtx b.mtx --device cpu --json").json()["border"] == 0);
    write_sparse(*this, matrix_of({4, 6, 0, false, 1, 1, 3}), rhs_of(21, 1));
    check_json(well("solve A.mtx b.mtx --device cpu --json").json(), {{"border", 0}, {"block", 4}, {"horizon", 6}, {"bandwidth", 1}});
    write_sparse(*this, matrix_of({4, 13, 0, false, 2}), rhs_of(52, 1));
    const auto ran = well("solve A.mtx b.mtx --device cpu");
    CHECK(says(ran.out, "blocks of 8 in a row (a band of 2 blocks of 4) hold it", "7 blocks of 8 by 8, a band of 2 blocks of 4, f64"));
    CHECK(says(ran.err, "A is a band of 2 blocks of 4, which is solved as a chain of blocks of 8"));
    CHECK(says(run("explain A.mtx b.mtx --target cpu:x86-64-v3").err, "A is a band of 2 blocks of 4"));
}

TEST_CASE_FIXTURE(Scratch, "solve: arrays of a border, a band and both, alone and in a batch") {
    for (const auto& cut : {Cut{3, 5, 2}, Cut{1, 4, 1, true}, Cut{2, 7, 3, false, 3, 2}, Cut{3, 7, 0, false, 2}, Cut{2, 5, 2, false, 8},
                            Cut{2, 9, 3, true, 3, 2}, Cut{3, 8, 0, true, 2}})
        for (const bool batch : {false, true}) {
            INFO(cut.n, " ", cut.horizon, " ", cut.border, " ", batch);
            std::vector<MatrixXd> all{matrix_of(cut)};
            if (batch) all.push_back(matrix_of(cut, 5));
            const auto b = rhs_of(cut.rows(), cut.columns);
            write_arrays(*this, cut, all, b);
            const std::string border = cut.border > 0 ? " F.npy C.npy --inverse-border f.npy c.npy" : "";
            const auto ran = well("solve D.npy E.npy b.npy -o x.npy --inverse d.npy e.npy --device cpu --json --condition" + border +
                                  (cut.ring ? " --ring" : ""));
            CHECK(ran.json()["ring"] == cut.ring);
            check_json(ran.json(), {{"border", cut.border}, {"bandwidth", cut.bandwidth}, {"block", cut.n * cut.bandwidth}});
            CHECK(ran.json()["relative_residual"].get<double>() < 1e-14);
            const auto x = parse_npy(read("x.npy"), "x"), given = parse_npy(read("b.npy"), "b");
            CHECK(x.shape == given.shape);
            const auto size = static_cast<std::ptrdiff_t>(x.values.size() / all.size());
            for (std::size_t k = 0; k < all.size(); ++k) {
                const auto from = x.values.begin() + static_cast<std::ptrdiff_t>(k) * size;
                check_near({from, from + size}, all[k].llt().solve(b));
            }
            const MatrixXd inverse = all.back().inverse();
            const auto last = cut.n * (cut.horizon - 1);
            if (const auto found = parse_npy(read("e.npy"), "e").values;
                cut.ring)  // its last element is of the last block and of one ahead
                CHECK(found.back() == doctest::Approx(inverse(cut.n * cut.bandwidth - 1, last + cut.n - 1)));
            if (cut.border == 0) continue;
            const auto corner = parse_npy(read("c.npy"), "c").values, arrow = parse_npy(read("f.npy"), "f").values;
            const auto a = cut.border;
            check_near({corner.end() - a * a, corner.end()}, inverse.bottomRightCorner(a, a));
            const auto wide = cut.n * cut.bandwidth, blocks = (cut.horizon + cut.bandwidth - 1) / cut.bandwidth;
            const auto first = arrow.end() - blocks * a * wide;
            check_near({first, first + cut.n}, inverse.block(cut.n * cut.horizon, 0, 1, cut.n));
        }
}

TEST_CASE_FIXTURE(Scratch, "solve: a band in a ring is found in a sparse A, and what is none is refused") {
    const Cut cut{2, 12, 0, true, 3};
    const auto a = matrix_of(cut), b = rhs_of(24, 1);
    write_sparse(*this, a, b);
    for (const std::string options : {"--block 2 --bandwidth 3", "--bandwidth 3 --ring"}) {
        const auto ran = well("solve A.mtx b.mtx -o x.mtx --device cpu --json " + options);
        check_json(ran.json(), {{"ring", true}, {"bandwidth", 3}, {"block", 6}, {"horizon", 4}});
        check_near(std::get<DenseMatrix>(parse_matrix_market(read("x.mtx"), "x")).values, a.llt().solve(b));
    }
    CHECK(
        says(well("solve A.mtx b.mtx --device cpu --block 2 --bandwidth 3").out, "4 blocks of 6 by 6 in a ring, a band of 3 blocks of 2"));
    auto wide = a;
    wide(22, 9) = wide(9, 22) = wide(3, 16) = wide(16, 3) = 0.1;
    write_sparse(*this, wide, b);
    check("solve A.mtx b.mtx --device cpu --block 2 --bandwidth 3", 2, "is outside the band of 3 blocks of 2");
    write_sparse(*this, matrix_of({2, 12, 0, false, 3}), b);
    check("solve A.mtx b.mtx --device cpu --ring", 2, "--ring was given, but A is none");
    const Cut seam{2, 8, 0, true, 3};
    write_arrays(*this, seam, {matrix_of(seam)}, rhs_of(16, 1));
    check("solve D.npy E.npy b.npy --device cpu --ring", 2, "a ring of 8 blocks is solved by 3 at a time, and 2 are left at its seam");
}

TEST_CASE_FIXTURE(Scratch, "solve: a border that is not positive definite names the tip, and members without fault are solved") {
    const Cut cut{3, 6, 2};
    auto bad = matrix_of(cut);
    bad(19, 19) = -1;
    write_sparse(*this, bad, rhs_of(20, 1));
    const auto ran = ends(1, "solve A.mtx b.mtx --device cpu --json");
    CHECK(says(ran.err, "not positive definite: member 0, the border's tip, row 1 (from 0)"));
    check_json(ran.json()["failed"][0], {{"member", 0}, {"block", 6}, {"row", 1}});
    write_arrays(*this, cut, {matrix_of(cut), bad}, rhs_of(20, 1));
    ends(1, "solve D.npy E.npy b.npy F.npy C.npy -o x.npy --schedule multi-stage --device cpu");
    const auto x = parse_npy(read("x.npy"), "x").values;
    check_near({x.begin(), x.begin() + 20}, matrix_of(cut).llt().solve(rhs_of(20, 1)));
    for (std::size_t k = 20; k < 40; ++k) CHECK(std::isnan(x[k]));
}

TEST_CASE_FIXTURE(Scratch, "solve: what a border and a band do not go with is refused, and so are wrong numbers of them") {
    const Cut cut{3, 8, 2};
    const auto a = matrix_of(cut);
    write_sparse(*this, a, rhs_of(26, 1));
    write_arrays(*this, cut, {a}, rhs_of(26, 1));
    check_refused("solve A.mtx b.mtx --device cpu ",
                  {{"--precision mixed --border 2",
                    "mixed precision has no border, and A has one of 2; leave --precision mixed out, or give --border 0"},
                   {"--ranks 2 --border 2", "ranks have no border, and A has one of 2; leave --ranks out"},
                   {"--border 26", "border a of A with 26 rows = 26 is out of range; give 0 to 25"},
                   {"--block 3", "is outside the block-tridiagonal band of block size 3; give a larger --block, the number of last rows"},
                   {"--block 3 --border 1", "is outside the block-tridiagonal band of block size 3"},
                   {"--block 1 --bandwidth 4 --border 2", "is outside the band of 4 blocks of 1"},
                   {"--bandwidth 0", "bandwidth w = 0 is out of range"},
                   {"--border 0 --inverse d.npy e.npy --inverse-border f.npy c.npy", "--inverse-border is of a border, and A has none"},
                   {"--iterative --border 2", "--border is for blocks"}});
    check_refused("solve D.npy E.npy b.npy --device cpu ",
                  {{"F.npy", "U must be (7, 3, 3), as many blocks as E has"},
                   {"", "b (26,): b must be (8, 3)"},
                   {"C.npy F.npy", "F must be (8, a, 3), where a is 1 to 512"},
                   {"F.npy D.npy", "C must be (2, 2)"},
                   {"F.npy C.npy --border 3", "--border 3 was given, but that of the arrays is 2"},
                   {"F.npy C.npy --bandwidth 2", "--bandwidth 2 was given, but that of the arrays is 1"},
                   {"F.npy C.npy --precision mixed", "mixed precision has no border"}});
    write("C.npy", format_npy({{2, 2}, Precision::f64, {4, 1, 2, 4}}));
    check("solve D.npy E.npy b.npy F.npy C.npy", 2, "C is not symmetric: member 0, block 0: C(1, 0) = 2 but C(0, 1) = 1");
    write("F.npy", format_npy({{8, 2, 3}, Precision::f64, std::vector<double>(48, NAN)}));
    check("solve D.npy E.npy b.npy F.npy C.npy", 2, "F(0, 0, 0, 0) is nan");
    auto general = sparse(a, false);
    for (auto& entry : general.entries)
        if (entry.row == 4 && entry.column == 25) entry.value += 1;
    write("A.mtx", format_matrix_market(general));
    check("solve A.mtx b.mtx --border 2", 2, "A is not symmetric: A(26, 5) = ");
    check("explain A.mtx b.mtx --border 2", 2, "both files and sizes or shapes");
}

TEST_CASE_FIXTURE(Scratch, "solve: rows in front that couple to all are advised to stand last") {
    constexpr std::int64_t rows = 4000;
    SparseMatrix a{rows, rows, true, {}};
    for (std::int64_t k = 0; k < rows; ++k) {
        a.entries.push_back({k, k, k == 0 ? 8000.0 : 8.0});
        if (k > 0) a.entries.push_back({k, 0, 1});
        if (k > 1) a.entries.push_back({k, k - 1, 1});
    }
    write("A.mtx", format_matrix_market(a));
    write("b.mtx", format_matrix_market(DenseMatrix{rows, 1, std::vector<double>(rows, 1)}));
    const auto ran = run("solve A.mtx b.mtx --device cpu");
    CHECK(says(ran.out + ran.err, "with its first rows last, 1 of them, blocks of 1 in a row and a border of 1 would hold it"));
}
