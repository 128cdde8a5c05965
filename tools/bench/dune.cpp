#include "tools/bench/dune.hpp"

#ifdef TRIFOLD_HAS_DUNE
#include <chrono>
#include <dune/common/fmatrix.hh>
#include <dune/common/fvector.hh>
#include <dune/istl/bcrsmatrix.hh>
#include <dune/istl/bvector.hh>
#include <dune/istl/operators.hh>
#include <dune/istl/preconditioners.hh>
#include <dune/istl/solvers.hh>
#endif

namespace trifold::bench {

#ifndef TRIFOLD_HAS_DUNE
bool has_dune(std::int64_t) { return false; }
DuneTimes solve_by_dune(const BlockSystem&, int, double, std::span<double>) { return {}; }
#else
namespace {

using DuneClock = std::chrono::steady_clock;
double dune_seconds(DuneClock::time_point begin) { return std::chrono::duration<double>(DuneClock::now() - begin).count(); }

template <int Block>
DuneTimes solve_with(const BlockSystem& system, int fill, double tolerance, std::span<double> x) {
    using Matrix = Dune::BCRSMatrix<Dune::FieldMatrix<double, Block, Block> >;
    using Vector = Dune::BlockVector<Dune::FieldVector<double, Block> >;
    constexpr int most_iterations = 10000;
    const auto rows = system.starts.size() - 1;
    Matrix a(rows, rows, system.columns.size(), Matrix::row_wise);
    for (auto row = a.createbegin(); row != a.createend(); ++row)
        for (auto k = system.starts[row.index()]; k < system.starts[row.index() + 1]; ++k)
            row.insert(static_cast<std::size_t>(system.columns[static_cast<std::size_t>(k)]));
    Vector right(rows), solution(rows);
    const auto* value = system.values.data();
    for (std::size_t row = 0; row < rows; ++row) {
        for (auto& block : a[row])
            for (int i = 0; i < Block; ++i)
                for (int j = 0; j < Block; ++j) block[i][j] = *value++;
        for (int i = 0; i < Block; ++i) right[row][i] = system.b[row * Block + static_cast<std::size_t>(i)];
    }
    solution = 0;
    Dune::MatrixAdapter<Matrix, Vector, Vector> product(a);
    auto begin = DuneClock::now();
    Dune::SeqILU<Matrix, Vector, Vector> factors(a, fill, 1.0);
    DuneTimes times{.prepare = dune_seconds(begin)};
    Dune::BiCGSTABSolver<Vector> solver(product, factors, tolerance, most_iterations, 0);
    Dune::InverseOperatorResult result;
    begin = DuneClock::now();
    solver.apply(solution, right, result);
    times.solve = dune_seconds(begin);
    times.iterations = result.iterations;
    for (std::size_t row = 0; row < rows; ++row)
        for (int i = 0; i < Block; ++i) x[row * Block + static_cast<std::size_t>(i)] = solution[row][i];
    return times;
}

}  // namespace

bool has_dune(std::int64_t block) { return block == 1 || block == 3; }
DuneTimes solve_by_dune(const BlockSystem& system, int fill, double tolerance, std::span<double> x) {
    return system.block == 1 ? solve_with<1>(system, fill, tolerance, x) : solve_with<3>(system, fill, tolerance, x);
}
#endif

}  // namespace trifold::bench
