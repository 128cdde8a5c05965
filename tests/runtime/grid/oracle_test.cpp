#include <doctest/doctest.h>

#include <Eigen/SparseLU>
#include <trifold/trifold.hpp>

#include "tests/runtime/grid/problems.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// Row i of pixels is block row i: D[i] couples its pixels, E[i] = A(i+1, i) those of the next row with them.
struct Blocks {
    std::vector<double> d, e;
    explicit Blocks(const Sparse& a, std::int64_t width) : d(static_cast<std::size_t>(a.rows() * width)), e(d.size()) {
        const int n = static_cast<int>(width);
        for (int row = 0; row < a.rows(); ++row)
            for (Sparse::InnerIterator entry(a, row); entry; ++entry) {
                const int column = static_cast<int>(entry.col()), from = column / n, to = row / n;
                const auto place = [&](int block) { return static_cast<std::size_t>((block * n + row % n) * n + column % n); };
                if (to == from) d[place(to)] = entry.value();
                if (to == from + 1) e[place(from)] = entry.value();
            }
        e.resize(d.size() - static_cast<std::size_t>(width * width));
    }
};

/// Pixels by nested dissection: halves before the line between them. Eigen's own orderings fill such a matrix ten times as much.
void dissect(int x0, int x1, int y0, int y1, int width, std::vector<int>& order) {
    constexpr int whole = 3;
    const int w = x1 - x0 + 1, h = y1 - y0 + 1;
    if (w < 1 || h < 1) return;
    if (w > whole || h > whole) {
        const bool across = w >= h;
        const int middle = across ? x0 + w / 2 : y0 + h / 2;
        dissect(x0, across ? middle - 1 : x1, y0, across ? y1 : middle - 1, width, order);
        dissect(across ? middle + 1 : x0, x1, across ? y0 : middle + 1, y1, width, order);
        (across ? x0 : y0) = (across ? x1 : y1) = middle;
    }
    for (int y = y0; y <= y1; ++y)
        for (int x = x0; x <= x1; ++x) order.push_back(y * width + x);
}

/// Eigen's LU of an image's matrix, rows and columns in the order of a dissection. It exchanges rows where pivots are small.
class SparseLu {
  public:
    SparseLu(const Sparse& a, int side) : order_(static_cast<int>(a.rows())) {
        std::vector<int> order;
        dissect(0, side - 1, 0, side - 1, side, order);
        for (int k = 0; k < a.rows(); ++k) order_.indices()[order[static_cast<std::size_t>(k)]] = k;
        const Eigen::SparseMatrix<double> by_columns = a;
        const Eigen::SparseMatrix<double> ordered = order_ * by_columns * order_.transpose();
        lu_.isSymmetric(true);  // the pattern is
        lu_.setPivotThreshold(least_pivot);
        lu_.compute(ordered);
        REQUIRE(lu_.info() == Eigen::Success);
    }
    Eigen::VectorXd solve(const Eigen::VectorXd& b) const {
        const Eigen::VectorXd ordered = order_ * b, solution = lu_.solve(ordered);
        return order_.transpose() * solution;
    }
    double log_determinant() const { return lu_.logAbsDeterminant(); }
    int sign() { return static_cast<int>(lu_.signDeterminant()); }

  private:
    static constexpr double least_pivot = 0.01;  // of the largest in its column
    Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> order_;
    Eigen::SparseLU<Eigen::SparseMatrix<double>, Eigen::NaturalOrdering<int>> lu_;
};

/// An image of 513 by 513 pixels against Eigen's LU, and both against A.
void check_beside_sparse_lu(const char* name, double bound, double agreement) {
    constexpr std::int64_t side = 513, pixels = side * side;
    const auto image = problem(name, side, side, 17);
    const auto spec = spec_of(side, side);
    const auto a = matrix_of(image, spec);
    const auto b = noise(pixels, 18);
    std::vector<double> x(b.size());
    const GridPlan plan(spec, Device::cpu());
    GridSolver solver(plan);
    solver.factor_solve(image.stencil, b, x);
    solver.check();
    const auto ours = column(x, 0, pixels, 1, 0), right = column(b, 0, pixels, 1, 0);
    CHECK(backward_error(a, ours, right) <= bound);
    SparseLu lu(a, side);
    Eigen::VectorXd theirs = lu.solve(right);
    theirs +=
        lu.solve(right - a * theirs); /* its pivots are at least a hundredth of the largest, which costs it digits on some processors */
    CHECK(backward_error(a, theirs, right) <= bound);
    CHECK((ours - theirs).norm() <= agreement * theirs.norm());
    CHECK(solver.log_determinant()[0].log == doctest::Approx(lu.log_determinant()).epsilon(1e-12));
    CHECK(solver.log_determinant()[0].sign == lu.sign());
}

}  // namespace

TEST_CASE("an image is a block-tridiagonal matrix of its rows: the other family finds the same solution and determinant") {
    struct Case {
        std::int64_t width, height;
        const char* name;
    };
    for (const auto& [width, height, name] : {Case{2, 2, "poisson"},
                                              {7, 13, "poisson"},
                                              {31, 17, "anisotropic"},
                                              {21, 34, "anisotropic"},
                                              {12, 41, "jumps"},
                                              {65, 64, "anisotropic"}})
        for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric}) {
            CAPTURE(width);
            CAPTURE(height);
            CAPTURE(name);
            auto spec = spec_of(width, height);
            spec.matrix = matrix;
            const auto image = problem(name, width, height, 21);
            const auto a = matrix_of(image, spec);
            const auto b = noise(width * height, 22);
            std::vector<double> x(b.size()), by_blocks(b.size());
            GridSolver solver(GridPlan(spec, Device::cpu()));
            solver.factor_solve(image.stencil, b, x);
            solver.check();
            const Blocks blocks(a, width);
            Solver other(Plan({.block = width, .horizon = height}, Device::cpu()));
            other.factor_solve(blocks.d, blocks.e, b, by_blocks);
            other.check();
            const auto pixels = width * height;
            const auto one = column(x, 0, pixels, 1, 0), two = column(by_blocks, 0, pixels, 1, 0);
            const double condition = std::string(name) == "jumps" ? 1e7 : 1e4;  // at most
            CHECK((one - two).norm() <= 1e-15 * condition * two.norm());
            CHECK(solver.log_determinant()[0].log == doctest::Approx(other.log_determinant()[0]).epsilon(1e-12));
            CHECK(solver.log_determinant()[0].sign == 1);
        }
}

TEST_CASE("513 by 513 beside a sparse LU: convection") { check_beside_sparse_lu("convection", 1e-14, 1e-11); }
TEST_CASE("513 by 513 beside a sparse LU: waves, indefinite") { check_beside_sparse_lu("helmholtz", 1e-12, 1e-8); }
TEST_CASE("513 by 513 beside a sparse LU: dominant random stencils") { check_beside_sparse_lu("dominant", 1e-14, 1e-12); }
