#include <Eigen/LU>

#include "tests/runtime/sparse/shared.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

std::vector<std::int32_t> every(std::int64_t rows, std::int64_t each) {
    std::vector<std::int32_t> parts(static_cast<std::size_t>(rows));
    for (std::size_t k = 0; k < parts.size(); ++k) parts[k] = static_cast<std::int32_t>(static_cast<std::int64_t>(k) / each);
    return parts;
}

SparsePartition given(std::vector<std::int32_t> parts) { return {.by = SparsePartitioning::given, .parts = std::move(parts)}; }

struct Applied {
    Eigen::VectorXd x, x_transposed, product, transposed_product;
};

Applied apply_all(const BlockMatrix& a, const SparseSpec& spec, const SparsePartition& partition, const std::vector<double>& b) {
    auto solver = updated(spec, a, partition);
    REQUIRE(solver.values().front().ok());
    std::vector<double> x(b.size());
    Applied all;
    solver.apply(b, x);
    all.x = as_vector(x);
    solver.apply_transposed(b, x);
    all.x_transposed = as_vector(x);
    solver.multiply(b, x);
    all.product = as_vector(x);
    solver.multiply_transposed(b, x);
    all.transposed_product = as_vector(x);
    return all;
}

void check_close(const Eigen::VectorXd& a, const Eigen::VectorXd& b, double tolerance) {
    CHECK((a - b).norm() <= tolerance * (a.norm() + b.norm()));
}

/// Against L, D and U from their definition.
void check_ildu(const BlockMatrix& a, SparsePreconditioner preconditioner, int fill, bool diagonal_alone,
                const std::vector<std::int32_t>& parts) {
    INFO(a.block, " ", a.rows(), " ", to_string(preconditioner));
    const DenseIldu ildu(a, parts, fill, diagonal_alone);
    const auto b = random_vector(a.size(), 5);
    const auto applied = apply_all(a, {.block = a.block, .preconditioner = preconditioner}, given(parts), b);
    const Eigen::MatrixXd m = ildu.matrix();
    check_close(applied.x, m.partialPivLu().solve(as_vector(b)), 1e-12);
    check_close(applied.x_transposed, m.transpose().partialPivLu().solve(as_vector(b)), 1e-12);
    const auto sparse = a.eigen();
    check_close(applied.product, sparse * as_vector(b), 1e-14);
    check_close(applied.transposed_product, sparse.transpose() * as_vector(b), 1e-14);
}

}  // namespace

TEST_CASE("sparse: factors and products agree with their definitions, for blocks of 1 to 8 and patterns with triangles") {
    for (std::int64_t block = 1; block <= 8; ++block) {
        const auto a = scattered(41, 4, block, static_cast<unsigned>(block));
        for (const std::int64_t each : {41, 17, 1}) {
            const auto parts = every(a.rows(), each);
            check_ildu(a, SparsePreconditioner::ildu0, 0, false, parts);
            if (block % 3 != 1) continue;
            check_ildu(a, SparsePreconditioner::ildu1, 1, false, parts);
            check_ildu(a, SparsePreconditioner::ildu2, 2, false, parts);
            check_ildu(a, SparsePreconditioner::dilu, 0, true, parts);
        }
    }
}

TEST_CASE("sparse: (L D U)_ij = A_ij on the pattern within subdomains") {
    const auto a = scattered(60, 4, 2, 9);
    const auto parts = every(a.rows(), 23);
    DenseIldu ildu(a, parts);
    // Columns of M are found by solving with it; M^-1 is applied to all unit vectors.
    auto solver = updated({.block = 2}, a, given(parts));
    Eigen::MatrixXd inverse(a.size(), a.size());
    std::vector<double> unit(static_cast<std::size_t>(a.size())), x(unit.size());
    for (Eigen::Index k = 0; k < inverse.cols(); ++k) {
        std::ranges::fill(unit, 0);
        unit[static_cast<std::size_t>(k)] = 1;
        solver.apply(unit, x);
        inverse.col(k) = as_vector(x);
    }
    const Eigen::MatrixXd m = inverse.inverse(), dense = a.eigen();
    std::int64_t inside = 0;
    for (std::int64_t row = 0; row < a.rows(); ++row)
        for (std::int64_t column = 0; column < a.rows(); ++column)
            if (ildu.has(row, column)) {
                ++inside;
                CHECK((m.block(2 * row, 2 * column, 2, 2) - dense.block(2 * row, 2 * column, 2, 2)).norm() < 1e-11 * dense.norm());
            }
    CHECK(inside == SparsePlan({.block = 2}, a.pattern(), Device::cpu(), given(parts)).summary().entries -
                        SparsePlan({.block = 2}, a.pattern(), Device::cpu(), given(parts)).summary().dropped);
}

TEST_CASE("sparse: the transposed preconditioner is the adjoint") {
    const auto a = scattered(300, 5, 3, 2);
    for (const auto preconditioner : {SparsePreconditioner::none, SparsePreconditioner::jacobi, SparsePreconditioner::dilu,
                                      SparsePreconditioner::ildu0, SparsePreconditioner::ildu1}) {
        CAPTURE(to_string(preconditioner));
        const auto b = random_vector(a.size(), 3), c = random_vector(a.size(), 4);
        const SparseSpec spec{.block = 3, .preconditioner = preconditioner};
        const auto forward = apply_all(a, spec, given(every(a.rows(), 70)), b), back = apply_all(a, spec, given(every(a.rows(), 70)), c);
        const double left = as_vector(c).dot(forward.x), right = back.x_transposed.dot(as_vector(b));
        CHECK(std::abs(left - right) <= 1e-14 * as_vector(c).norm() * forward.x.norm() + 1e-14 * std::abs(left));
    }
}

TEST_CASE("sparse: rows in random order within subdomains, and subdomains of scattered rows") {
    const auto a = scattered(50, 4, 3, 12);
    auto parts = every(a.rows(), 10);
    std::mt19937 random(1);
    std::ranges::shuffle(parts, random);
    check_ildu(a, SparsePreconditioner::ildu0, 0, false, parts);
    check_ildu(a, SparsePreconditioner::ildu1, 1, false, parts);
}

TEST_CASE("sparse: a mesh and its rows in compressed form give the same bits") {
    for (const auto& mesh : {SparseMesh{7, 1, 13, 7}, SparseMesh{5, 7, 3, 7}, SparseMesh{4, 5, 3, 19}, SparseMesh{3, 4, 5, 27},
                             SparseMesh{11, 13, 1, 5}, SparseMesh{11, 13, 1, 9}, SparseMesh{1, 1, 1, 5}}) {
        CAPTURE(mesh.points);
        const SparsePattern structured(mesh);
        const auto a = random_on(structured, 2, 7);
        // Values of a mesh have all points; those beyond the box are not read.
        std::vector<double> all(static_cast<std::size_t>(structured.values() * 4), std::nan(""));
        for (std::size_t k = 0; k < structured.sources().size(); ++k)
            std::copy_n(a.values.begin() + static_cast<std::ptrdiff_t>(4 * k), 4,
                        all.begin() + static_cast<std::ptrdiff_t>(4 * static_cast<std::size_t>(structured.sources()[k])));
        const SparsePlan by_mesh({.block = 2}, structured, Device::cpu(), {.by = SparsePartitioning::box, .box = {3, 2, 2}});
        std::vector<std::int32_t> parts;
        const auto across = (mesh.width + 2) / 3, down = (mesh.height + 1) / 2;
        for (std::int64_t z = 0; z < mesh.depth; ++z)
            for (std::int64_t y = 0; y < mesh.height; ++y)
                for (std::int64_t x = 0; x < mesh.width; ++x)
                    parts.push_back(static_cast<std::int32_t>(x / 3 + across * (y / 2 + down * (z / 2))));
        const SparsePlan by_rows({.block = 2}, a.pattern(), Device::cpu(), given(parts));
        CHECK(by_mesh.summary().dropped == by_rows.summary().dropped);
        SparseSolver one(by_mesh), other(by_rows);
        one.update(all);
        other.update(a.values);
        CHECK(one.values().front().ok());
        const auto b = random_vector(a.size(), 1);
        std::vector<double> x(b.size()), y(b.size());
        one.solve(b, x);
        other.solve(b, y);
        CHECK(x == y);
        one.apply_transposed(b, x);
        other.apply_transposed(b, y);
        CHECK(x == y);
    }
}

TEST_CASE("sparse: entries that subdomains drop are those that the paper counts") {
    const SparsePattern mesh(SparseMesh{128, 128, 128, 7});
    // Jacobi: the same entries are dropped, and nothing needs to be factored.
    const SparsePlan plan({.block = 3, .preconditioner = SparsePreconditioner::ildu0, .operations = {SparseOperation::apply}}, mesh,
                          Device::cpu(), {.by = SparsePartitioning::box, .box = {16, 16, 8}});
    const auto& summary = plan.summary();
    CHECK(summary.entries * 9 == 131235840);
    CHECK((summary.entries - summary.dropped) * 9 == 122683392);
    CHECK(summary.shapes == 1);
    CHECK(summary.tiles == 1024);
    CHECK(summary.levels == 76);
}

TEST_CASE("sparse: factors in f32 under vectors in f64") {
    const auto a = scattered(200, 4, 3, 21);
    const auto parts = given(every(a.rows(), 64));
    const auto b = random_vector(a.size(), 6);
    const auto whole = apply_all(a, {.block = 3}, parts, b), narrow = apply_all(a, {.block = 3, .precision = Precision::mixed}, parts, b);
    check_close(whole.x, narrow.x, 1e-6);
    CHECK((whole.x - narrow.x).norm() > 1e-12 * whole.x.norm());
    CHECK(whole.product == narrow.product);
}

TEST_CASE("sparse: singular pivots are counted with their row, and a shift makes them sound") {
    auto a = scattered(40, 3, 2, 5);
    for (std::int64_t row : {33, 7}) {
        const auto k = a.starts[static_cast<std::size_t>(row)];
        for (auto e = k; e < a.starts[static_cast<std::size_t>(row) + 1]; ++e)
            std::fill_n(a.values.begin() + static_cast<std::ptrdiff_t>(4 * e), 2, 0.0);  // its first row is zero
    }
    auto solver = updated({.block = 2}, a, given(every(40, 40)));
    const auto& values = solver.values().front();
    CHECK(values.zero_pivots == 2);
    CHECK(values.zero_row == 7);
    CHECK_THROWS_WITH_AS(solver.check(),
                         "1 of the systems cannot be solved as asked. matrix 0: 2 pivot blocks are singular to the precision, the first in "
                         "row 7; give a shift, or preconditioner jacobi or none.",
                         SparseFailed);
    const auto b = random_vector(a.size(), 1);
    std::vector<double> x(b.size());
    solver.solve(b, x);
    CHECK(solver.outcomes().front().end == SparseEnd::singular);
    solver.update(a.values, {.shift = 0.1});
    CHECK(solver.values().front().zero_pivots == 0);
}

TEST_CASE("sparse: values that are no numbers are found where they are") {
    auto a = scattered(40, 3, 2, 5);
    const auto k = a.starts[11];
    a.values[static_cast<std::size_t>(4 * k + 2)] = std::numeric_limits<double>::infinity();
    auto solver = updated({.block = 2}, a);
    const auto& values = solver.values().front();
    CHECK(values.not_finite == 1);
    CHECK(values.bad_row == 11);
    CHECK(values.bad_column == a.columns[static_cast<std::size_t>(k)]);
    CHECK_FALSE(solver.ok());
}
