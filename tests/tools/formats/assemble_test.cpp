#include "tools/formats/assemble.hpp"

#include "tests/tools/formats/dense.hpp"
#include "tests/tools/formats/expect.hpp"
#include "tools/formats/block_rows.hpp"
#include "tools/formats/grid.hpp"
#include "tools/formats/residual.hpp"
#include "tools/problems/problems.hpp"

using namespace trifold;
using namespace trifold::formats;

namespace {

DenseMatrix ones(std::int64_t rows, std::int64_t columns = 1) {
    return {rows, columns, std::vector<double>(static_cast<std::size_t>(rows * columns), 1)};
}

/// Both triangles, in a shuffled order.
SparseMatrix general_form(SparseMatrix a) {
    const auto lower = a.entries;
    for (const auto& entry : lower)
        if (entry.row != entry.column) a.entries.push_back({entry.column, entry.row, entry.value});
    std::mt19937 random(7);
    std::ranges::shuffle(a.entries, random);
    a.symmetric = false;
    return a;
}

Array array(std::vector<std::int64_t> shape, double value = 0) {
    std::int64_t count = 1;
    for (const auto extent : shape) count *= extent;
    return {std::move(shape), Precision::f64, std::vector<double>(static_cast<std::size_t>(count), value)};
}

/// F' F + I, with the upper triangle off by up to `apart` of the size of the rows.
Eigen::MatrixXd nearly_symmetric(Eigen::Index n, double apart) {
    Eigen::MatrixXd f(n, n);
    for (Eigen::Index i = 0; i < n; ++i)
        for (Eigen::Index j = 0; j < n; ++j) f(i, j) = std::sin(static_cast<double>(3 * i + 5 * j + 1));
    Eigen::MatrixXd a = f.transpose() * f + Eigen::MatrixXd::Identity(n, n);
    for (Eigen::Index i = 0; i < n; ++i)
        for (Eigen::Index j = i + 1; j < n; ++j) a(i, j) = a(j, i) + apart * std::sqrt(a(i, i) * a(j, j));
    return a;
}

Array block_array(const Eigen::MatrixXd& a, Precision precision = Precision::f64) {
    Array array{{1, a.rows(), a.cols()}, precision, {}};
    for (Eigen::Index i = 0; i < a.rows(); ++i)
        for (Eigen::Index j = 0; j < a.cols(); ++j) array.values.push_back(a(i, j));
    return array;
}

SparseMatrix general_entries(const Eigen::MatrixXd& a) {
    SparseMatrix sparse{a.rows(), a.cols(), false, {}};
    for (Eigen::Index i = 0; i < a.rows(); ++i)
        for (Eigen::Index j = 0; j < a.cols(); ++j) sparse.entries.push_back({i, j, a(i, j)});
    return sparse;
}

System assemble(const Array& d, const Array& e, const Array& b) { return formats::assemble({d, e, &b}, Precision::f64); }

/// D and then E, b of one system of one block, and the same as a sparse matrix.
std::vector<System> both_ways(const Eigen::MatrixXd& a) {
    const auto n = a.rows();
    return {assemble(block_array(a), array({0, n, n}), array({1, n})), assemble(general_entries(a), ones(n), {.block = n}, Precision::f64)};
}

}  // namespace

TEST_CASE("assemble: sparse matrices of every form give the blocks they came from") {
    for (const auto n : {1, 2, 3, 7, 33}) {
        for (const auto horizon : {1, 2, 5}) {
            INFO("n = ", n, ", N = ", horizon);
            const auto system = problems::socu({n, horizon, 2}, 1);
            const auto a = to_sparse(system);
            const DenseMatrix b{system.rows, 2, system.b};
            CHECK(assemble(a, b, {.block = n}, Precision::f64) == system);
            CHECK(assemble(general_form(a), b, {.block = n}, Precision::f64) == system);
            auto upper = a;
            for (auto& entry : upper.entries) std::swap(entry.row, entry.column);
            CHECK(assemble(upper, b, {.block = n}, Precision::f64) == system);
            if (horizon > 1) CHECK(infer_shape(a).block == n);
        }
    }
}

TEST_CASE("assemble: general matrices, in a row and in a ring, and symmetric ones as such") {
    for (const bool ring : {false, true})
        for (const auto n : {1, 3, 8}) {
            auto system = problems::socu({n, 5, 2}, 1);
            if (ring) problems::close_ring(system, 2);
            const DenseMatrix b{system.rows, 2, system.b};
            auto symmetric = assemble(to_sparse(system), b, {.block = n, .general = true}, Precision::f64);
            CHECK(symmetric == assemble(general_form(to_sparse(system)), b, {.block = n, .general = true}, Precision::f64));
            CHECK(dense_matrix(symmetric) == dense_matrix(system));
            problems::take_kind(system, MatrixKind::general, 3);
            const auto a = to_sparse(system);
            CHECK_FALSE(a.symmetric);
            Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(a.rows, a.rows);
            for (const auto& entry : a.entries) dense(entry.row, entry.column) += entry.value;
            CHECK(dense == dense_matrix(system));
            auto found = assemble(a, b, {.block = n, .general = true}, Precision::f64);
            CHECK(found.notes.size() == (ring ? 1 : 0));
            found.notes.clear();
            CHECK(found == system);
            CHECK(infer_shape(a, {.general = true}).border == 0);
        }
    CHECK_INPUT_ERROR("a general matrix has no border",
                      assemble(to_sparse(problems::socu({2, 4}, 1)), ones(8), {.block = 2, .border = 1, .general = true}, Precision::f64));
}

TEST_CASE("assemble: the inferred block is the smallest, by brute force") {
    std::mt19937 random(3);
    for (int trial = 0; trial < 200; ++trial) {
        SparseMatrix a{40, 40, true, {}};
        const auto width = 1 + random() % 12;
        for (int k = 0; k < 12; ++k) {
            const auto row = static_cast<std::int64_t>(random() % 40);
            const auto column = std::max<std::int64_t>(0, row - static_cast<std::int64_t>(random() % width));
            a.entries.push_back(k % 2 == 0 ? Entry{row, column, 1} : Entry{column, row, 1});
        }
        const auto holds = [&](std::int64_t n) {
            return std::ranges::all_of(a.entries, [&](const Entry& entry) { return std::abs(entry.row / n - entry.column / n) <= 1; });
        };
        std::int64_t smallest = 1;
        while (!holds(smallest)) ++smallest;
        CHECK(infer_shape(a, {.border = 0}).block == smallest);
    }
    CHECK(infer_shape({5, 5, true, {}}).block == 1);
}

TEST_CASE("assemble: a ring is found, from both triangles or one, and where it is cheaper") {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> number(-1, 1);
    for (const std::int64_t n : {1, 2, 5})
        for (const std::int64_t horizon : {3, 4, 9}) {
            System system{.block = n, .horizon = horizon, .rows = n * horizon, .ring = true};
            system.d.resize(static_cast<std::size_t>(horizon * n * n));
            for (std::int64_t k = 0; k < horizon; ++k)
                for (std::int64_t r = 0; r < n; ++r)
                    for (std::int64_t c = 0; c <= r; ++c)
                        system.d[static_cast<std::size_t>((k * n + r) * n + c)] = system.d[static_cast<std::size_t>((k * n + c) * n + r)] =
                            number(random);
            for (std::int64_t k = 0; k < horizon * n * n; ++k) system.e.push_back(number(random));
            const auto a = to_sparse(system);
            const auto b = ones(system.rows);
            for (const auto& form : {a, general_form(a)}) {
                const auto found = assemble(form, b, {.block = n}, Precision::f64);
                CHECK(found.ring);
                CHECK(found.d == system.d);
                CHECK(found.e == system.e);
                CHECK(found.notes.back() == "the last block is coupled to the first, so A is taken as a ring");
            }
            const auto shape = infer_shape(a);
            CHECK(shape.ring == (horizon > 3));  // three blocks are all coupled to each other
            if (shape.ring) CHECK(shape.block == n);
            auto wrong = general_form(a);
            for (auto& entry : wrong.entries)
                if (entry.row == 0 && entry.column == n * (horizon - 1)) entry.value += 1;
            CHECK_INPUT_ERROR("A is not symmetric", assemble(wrong, b, {.block = n}, Precision::f64));
        }
    CHECK(!infer_shape({9, 9, true, {{8, 0, 0.0}, {1, 0, 1}}}).ring);  // a zero says nothing
    const auto arrays = assemble(array({4, 2, 2}, 1), array({4, 2, 2}, 1), array({4, 2}));
    CHECK(arrays.ring);
    CHECK_INPUT_ERROR("or as many blocks as D has where A is a ring", assemble(array({4, 2, 2}, 1), array({2, 2, 2}, 1), array({4, 2})));
}

TEST_CASE("assemble: a last block that overshoots is padded with the identity") {
    const SparseMatrix a{5, 5, true, {{0, 0, 2}, {1, 1, 3}, {2, 2, 4}, {3, 3, 5}, {4, 4, 6}, {4, 2, 1}, {1, 0, -1}}};
    const auto system = assemble(a, ones(5), {.block = 3}, Precision::f64);
    CHECK(system.rows == 5);
    CHECK(system.horizon == 2);
    Eigen::MatrixXd expected = Eigen::MatrixXd::Identity(6, 6);
    for (const auto& entry : a.entries) expected(entry.row, entry.column) = expected(entry.column, entry.row) = entry.value;
    CHECK(dense_matrix(system) == expected);
    CHECK(system.b == std::vector<double>{1, 1, 1, 1, 1, 0});
}

TEST_CASE("assemble: bad sparse input is refused by name") {
    const auto refuse = [](const SparseMatrix& a, const DenseMatrix& b, std::optional<std::int64_t> block = {}) {
        return [=] { assemble(a, b, {.block = block}, Precision::f64); };
    };
    const SparseMatrix good{4, 4, true, {{0, 0, 1}, {1, 1, 1}, {2, 2, 1}, {3, 3, 1}, {3, 1, 0.5}}};
    CHECK(input_error(refuse(good, ones(4))).empty());
    CHECK_INPUT_ERROR("A is 2 by 3", assemble({2, 3, false, {}}, ones(2), {}, Precision::f64));
    CHECK_INPUT_ERROR("b has 5 rows, A has 4", refuse(good, ones(5))());
    CHECK_INPUT_ERROR("n = 0 is out of range", refuse(good, ones(4), 0)());
    CHECK_INPUT_ERROR("n = -3 is out of range", refuse(good, ones(4), -3)());
    CHECK_INPUT_ERROR("n = 4611686018427387904 is out of range", refuse(good, ones(4), std::int64_t{1} << 62)());
    CHECK_INPUT_ERROR("entry 5 of A, at row 4 and column 2 (from 1), is outside the block-tridiagonal band of block size 1",
                      refuse(good, ones(4), 1)());
    auto repeated = good;
    repeated.entries.push_back({1, 3, 0.5});
    CHECK_INPUT_ERROR("entry 6 of A, at row 2 and column 4 (from 1), was given before (a symmetric file", refuse(repeated, ones(4))());
    SparseMatrix far{20000, 20000, true, {{15000, 4000, 1}}};
    CHECK_INPUT_ERROR("entries 11000 off the diagonal", refuse(far, ones(20000))());
    const SparseMatrix huge{std::int64_t{1} << 60, std::int64_t{1} << 60, true, {{0, 0, 1}}};
    CHECK_INPUT_ERROR("some rows are empty", refuse(huge, {std::int64_t{1} << 60, 1, {}})());
    CHECK_INPUT_ERROR("more than", to_dense({std::int64_t{1} << 40, std::int64_t{1} << 40, false, {}}, "b"));
    CHECK_INPUT_ERROR("twice", to_dense({2, 1, false, {{0, 0, 1}, {0, 0, 2}}}, "b"));
}

TEST_CASE("assemble: symmetry is checked to rounding, and the first pair is named") {
    auto a = general_form(to_sparse(problems::socu({4, 3}, 5)));
    const auto b = ones(12);
    const auto find = [&](std::int64_t row, std::int64_t column) -> Entry& {
        return *std::ranges::find_if(a.entries, [&](const Entry& entry) { return entry.row == row && entry.column == column; });
    };
    auto& entry = find(2, 5);
    const auto value = entry.value;
    entry.value = std::nextafter(value, 1e9);
    CHECK(input_error([&] { assemble(a, b, {.block = 4}, Precision::f64); }).empty());
    entry.value = value * (1 + 1e-5);
    CHECK_INPUT_ERROR("A is not symmetric: A(6, 3) = ", assemble(a, b, {.block = 4}, Precision::f64));
    entry.value = value * (1 + 1e-7);
    CHECK(input_error([&] { assemble(a, b, {.block = 4}, Precision::f32); }).empty());
    entry.value = value;
    find(1, 0).value = 0;
    CHECK_INPUT_ERROR("A is not symmetric: A(2, 1) = 0 but A(1, 2) = ", assemble(a, b, {.block = 4}, Precision::f64));
}

TEST_CASE("assemble: triangles may differ by rounding of the size of their rows, in any units, and the lower one is taken") {
    for (const Eigen::Index n : {5, 6, 8, 10, 12}) {
        for (const double unit : {1.0, 0x1p40, 0x1p-300}) {  // of every second row and column
            Eigen::VectorXd scale = Eigen::VectorXd::Ones(n);
            for (Eigen::Index i = 0; i < n; i += 2) scale(i) = unit;
            INFO("n = ", n, ", unit ", unit);
            const Eigen::MatrixXd a = scale.asDiagonal() * nearly_symmetric(n, 0x1p-45) * scale.asDiagonal();
            for (const auto& system : both_ways(a)) {
                CHECK(dense_matrix(system) == Eigen::MatrixXd(a.selfadjointView<Eigen::Lower>()));
                REQUIRE(system.notes.size() == 1);
                CHECK(says(system.notes[0], "of the size of their rows; the lower triangle is taken"));
            }
            const Eigen::MatrixXd wrong = scale.asDiagonal() * nearly_symmetric(n, 0x1p-43) * scale.asDiagonal();
            CHECK_INPUT_ERROR("A is not symmetric: A(2, 1) = ", assemble(general_entries(wrong), ones(n), {.block = n}, Precision::f64));
            CHECK_INPUT_ERROR("D(1, 0) = ", assemble(block_array(wrong), array({0, n, n}), array({1, n})));
            CHECK_INPUT_ERROR("they may differ by 5.7e-14 of the size of their rows; give",
                              assemble(block_array(wrong), array({0, n, n}), array({1, n})));
        }
    }
}

TEST_CASE("assemble: of single precision the rounding is larger, and equal triangles are not worth a word") {
    Eigen::MatrixXd a(2, 2);
    a << 2, 1, 1 + 4e-6, 2;
    CHECK_INPUT_ERROR("D is not symmetric", assemble(block_array(a), array({0, 2, 2}), array({1, 2})));
    CHECK(assemble(block_array(a, Precision::f32), array({0, 2, 2}), array({1, 2})).notes.size() == 1);
    CHECK(assemble(general_entries(a), ones(2), {.block = 2}, Precision::f32).notes.size() == 1);
    a(1, 0) = 1 + 1e-4;
    CHECK_INPUT_ERROR("D is not symmetric", assemble(block_array(a, Precision::f32), array({0, 2, 2}), array({1, 2})));
    a(1, 0) = 1;
    for (const auto& system : both_ways(a)) CHECK(system.notes.empty());
    a(0, 1) = 0;  // the lower triangle alone
    CHECK(assemble(block_array(a), array({0, 2, 2}), array({1, 2})).notes.empty());
    a << 0, 0, 1e-300, 0;
    CHECK_INPUT_ERROR("A is not symmetric: A(2, 1) = 1e-300 but A(1, 2) = 0",
                      assemble(general_entries(a), ones(2), {.block = 2}, Precision::f64));
}

TEST_CASE("assemble: zeros that a file holds far from the diagonal do not count, which is said") {
    for (const bool symmetric : {true, false}) {
        SparseMatrix a{1100, 1100, symmetric, {}};
        for (std::int64_t k = 0; k < 1100; ++k) a.entries.push_back({k, k, 4});
        a.entries.push_back({1, 0, -1});
        if (!symmetric) a.entries.push_back({0, 1, -1});
        a.entries.push_back({1099, 3, 0});
        a.entries.push_back({3, 1098, -0.0});
        CHECK(infer_shape(a).block == 1);
        for (const auto block : {std::optional<std::int64_t>{}, std::optional<std::int64_t>{1}, std::optional<std::int64_t>{10}}) {
            const auto system = assemble(a, ones(1100), {.block = block}, Precision::f64);
            CHECK(system.block == block.value_or(1));
            REQUIRE(system.notes.size() == 1);
            CHECK(system.notes[0] == fmt::format("zeros that A's file holds outside the blocks of {0} by {0} do not count: 2, the first at "
                                                 "row 1100 and column 4 (from 1)",
                                                 system.block));
        }
        CHECK(assemble(a, ones(1100), {.block = 1024}, Precision::f64).notes.empty());
        a.entries.push_back({900, 2, 1e-300});
        CHECK_INPUT_ERROR("is outside the block-tridiagonal band", assemble(a, ones(1100), {.block = 1}, Precision::f64));
    }
}

TEST_CASE("assemble: of an image's matrix, zeros between pixels that are no neighbours do not count") {
    SparseMatrix a{12, 12, true, {{11, 0, 0}, {5, 0, 0}}};
    for (std::int64_t k = 0; k < 12; ++k) a.entries.push_back({k, k, 2});
    const auto system = assemble(a, ones(12), 4, 3);
    CHECK(to_sparse(system).entries.size() == 12);
    CHECK(system.notes == std::vector<std::string>{"zeros of A between pixels that are no neighbours do not count: 1"});
    a.entries[0].value = 1e-300;
    CHECK_INPUT_ERROR("which are no neighbours", assemble(a, ones(12), 4, 3));
}

TEST_CASE("an image's entries that are not read may hold anything") {
    for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric})
        for (const auto boundary : {GridBoundary::natural, GridBoundary::fixed})
            for (std::int64_t pixel = 0; pixel < 12; ++pixel)
                for (std::int64_t k = 0; k < 9; ++k) {
                    GridSystem system{4, 3, 1, 1, std::vector<double>(108, 1), std::vector<double>(12, 1)};
                    system.stencil[static_cast<std::size_t>(pixel * 9 + k)] = std::nan("");
                    GridSpec spec{.width = 4, .height = 3};
                    spec.matrix = matrix;
                    spec.boundary = boundary;
                    const auto x = pixel % 4, y = pixel / 4;
                    const bool inner = y == 1 && (x == 1 || x == 2), fixed = boundary == GridBoundary::fixed;
                    // Pixels 5 and 6 are the inner ones, and entry 5 of pixel 5 is the one later entry that does not go to the ring.
                    const bool mirrored = matrix == GridMatrix::symmetric && k > 4 && (!fixed || (pixel == 5 && k == 5));
                    const bool read = (inner || !fixed) && !mirrored;
                    INFO(pixel, " ", k);
                    CHECK(input_error([&] { check_finite(system, spec); }).empty() == !read);
                }
}

TEST_CASE("assemble: arrays, one system and batches") {
    const auto system = problems::blockdss({3, 4, 2, 5}, 9);
    const Array d{{5, 4, 3, 3}, Precision::f64, system.d}, e{{5, 3, 3, 3}, Precision::f64, system.e},
        b{{5, 4, 3, 2}, Precision::f64, system.b};
    CHECK(assemble(d, e, b) == system);
    const auto single = problems::blockdss({3, 4}, 9);
    const Array d1{{4, 3, 3}, Precision::f64, single.d}, e1{{3, 3, 3}, Precision::f64, single.e}, b1{{4, 3}, Precision::f64, single.b};
    CHECK(assemble(d1, e1, b1) == single);
    const auto shared = assemble(d, e1, Array{{5, 4, 3}, Precision::f64, std::vector<double>(60, 1)});
    CHECK(shared.rhs == 1);
    for (std::int64_t member = 0; member < 5; ++member) CHECK(std::equal(single.e.begin(), single.e.end(), shared.e.begin() + member * 27));
    const auto last = problems::socu({6, 1}, 2);
    CHECK(assemble(Array{{1, 6, 6}, Precision::f64, last.d}, array({0, 6, 6}), Array{{1, 6}, Precision::f64, last.b}) == last);
}

TEST_CASE("assemble: wrong shapes and values are refused by name") {
    const auto d = array({4, 3, 3}, 1), e = array({3, 3, 3}), b = array({4, 3});
    CHECK(input_error([&] { assemble(d, e, b); }).empty());
    CHECK_INPUT_ERROR("D has shape (4, 3), E (3, 3, 3), b (4, 3): D must be (N, n, n)", assemble(array({4, 3}), e, b));
    CHECK_INPUT_ERROR("must be square", assemble(array({4, 3, 2}), e, b));
    CHECK_INPUT_ERROR("E must be (3, 3, 3)", assemble(d, array({5, 3, 3}), b));
    CHECK_INPUT_ERROR("E must be (2, 3, 3, 3)", assemble(array({2, 4, 3, 3}), array({1, 3, 3, 3}), array({2, 4, 3})));
    CHECK_INPUT_ERROR("b must be (4, 3), or", assemble(d, e, array({12})));
    CHECK_INPUT_ERROR("b must be (4, 3), or", assemble(d, e, array({4, 3, 0})));
    CHECK_INPUT_ERROR("b must be (2, 4, 3), or", assemble(array({2, 4, 3, 3}), e, array({4, 3})));
    CHECK_INPUT_ERROR("at least one block", assemble(array({0, 3, 3}), array({0, 3, 3}), array({0, 3})));
    CHECK_INPUT_ERROR("at least one block", assemble(array({4, 0, 0}), array({3, 0, 0}), array({4, 0})));
    CHECK_INPUT_ERROR("at least one block", assemble(array({1, 4097, 4097}), array({0, 4097, 4097}), array({1, 4097})));
    auto bad = d;
    bad.values[2 * 9 + 3 * 1 + 2] = std::nan("");
    CHECK_INPUT_ERROR("D(0, 2, 1, 2) is nan, which is not a finite f64 number", assemble(bad, e, b));
    bad = e;
    bad.values[0] = INFINITY;
    CHECK_INPUT_ERROR("E(0, 0, 0, 0) is inf", assemble(d, bad, b));
    bad = d;
    bad.values[9 + 2 * 3 + 1] = 5;
    CHECK_INPUT_ERROR("D is not symmetric: member 0, block 1: D(2, 1) = 5 but D(1, 2) = 1", assemble(bad, e, b));
    for (std::size_t r = 0; r < 3; ++r)
        for (std::size_t c = r + 1; c < 3; ++c) bad.values[9 + r * 3 + c] = 0;
    CHECK(input_error([&] { assemble(bad, e, b); }).empty());  // the lower triangle alone
    auto large = b;
    large.values[7] = 1e39;
    CHECK_INPUT_ERROR("b(0, 2, 1, 0) is 1e+39, which is not a finite f32 number", assemble({d, e, &large}, Precision::f32));
    CHECK(input_error([&] { assemble(d, e, large); }).empty());
    const SparseMatrix sparse{2, 2, true, {{0, 0, 1}, {1, 1, 1e39}}};
    CHECK_INPUT_ERROR("A(2, 2) = 1e+39 is not a finite f32 number", assemble(sparse, ones(2), {}, Precision::f32));
    CHECK_INPUT_ERROR("b(2, 1) = 1e+39 is not a finite f32 number",
                      assemble({2, 2, true, {{0, 0, 1}}}, {2, 1, {1, 1e39}}, {}, Precision::f32));
}

TEST_CASE("residual: agrees with a dense computation, by member and column") {
    const auto system = problems::socu({7, 5, 3, 2}, 4);
    std::vector<double> x(system.b.size());
    std::mt19937 random(11);
    for (auto& value : x) value = std::uniform_real_distribution<>(-1, 1)(random);
    const auto residuals = relative_residuals(system, x);
    REQUIRE(residuals.size() == 2);
    for (std::int64_t member = 0; member < 2; ++member) {
        const auto a = dense_matrix(system, member);
        using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        const Eigen::MatrixXd b = Eigen::Map<const Rows>(system.b.data() + member * 105, 35, 3),
                              solution = Eigen::Map<const Rows>(x.data() + member * 105, 35, 3);
        double worst = 0;
        for (int j = 0; j < 3; ++j) {
            const auto r = (a * solution.col(j) - b.col(j)).lpNorm<Eigen::Infinity>();
            worst = std::max(worst, r / (a.cwiseAbs().rowwise().sum().maxCoeff() * solution.col(j).lpNorm<Eigen::Infinity>() +
                                         b.col(j).lpNorm<Eigen::Infinity>()));
        }
        CHECK(residuals[static_cast<std::size_t>(member)] == doctest::Approx(worst).epsilon(1e-12));
    }
    x[3] = std::nan("");
    CHECK(std::isnan(relative_residuals(system, x)[0]));
    CHECK_FALSE(std::isnan(relative_residuals(system, x)[1]));
    CHECK(relative_residuals({1, 1, 1, 1, 1, {1}, {}, {0}}, std::vector<double>{0})[0] == 0);
}

TEST_CASE("residual: of any scale, in all formats") {
    // A = diag(4, 4) s, x = (1, 2) s, b = A x but for a thousandth of its first entry.
    for (const double scale : {1e-150, 1e-100, 1.0, 1e100, 1e150}) {
        CAPTURE(scale);
        const double a = 4 * scale;
        const std::vector<double> x{scale, 2 * scale}, b{1.001 * a * scale, 2 * a * scale};
        CHECK(relative_residuals({1, 2, 1, 1, 2, {a, a}, {0}, b}, x)[0] == doctest::Approx(0.001 / 4).epsilon(1e-10));
        CHECK(relative_residual({1, {0, 1, 2}, {0, 1}, {a, a}}, x, b, 1, 0) ==
              doctest::Approx(0.001 / std::sqrt(1.001 * 1.001 + 4)).epsilon(1e-10));
    }
    const double large = 1e200, small = 1e-200;
    CHECK(relative_residual({1, {0, 1}, {0}, {large}}, {2}, {large}, 1, 0) == 1);
    CHECK(relative_residual({1, {0, 1}, {0}, {small}}, {2}, {small}, 1, 0) == 1);
    CHECK(relative_residual({1, {0, 1}, {0}, {small}}, {2 * large}, {small}, 1, 0) == doctest::Approx(2e200));
    CHECK(relative_residuals({1, 1, 1, 1, 1, {large}, {}, {large}}, std::vector<double>{2 * large})[0] == 1);
    CHECK(std::isnan(relative_residual({1, {0, 1}, {0}, {1}}, {std::nan("")}, {1}, 1, 0)));
    CHECK(std::isnan(worse(std::nan(""), 1.0)));
    CHECK(std::isnan(worse(1.0, std::nan(""))));

    GridSystem image{1, 1, 1, 1, std::vector<double>(9), {large}};
    image.stencil[4] = large;
    CHECK(relative_residuals(image, {.width = 1, .height = 1}, std::vector<double>{2 * large})[0] == 1);
    CHECK(std::isnan(relative_residuals(image, {.width = 1, .height = 1}, std::vector<double>{std::nan("")})[0]));
}
