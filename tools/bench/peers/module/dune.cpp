#include <dune/common/fmatrix.hh>
#include <dune/common/fvector.hh>
#include <dune/istl/bcrsmatrix.hh>
#include <dune/istl/bvector.hh>
#include <dune/istl/operators.hh>
#include <dune/istl/preconditioners.hh>
#include <dune/istl/solvers.hh>
#include <string>

#include "tools/bench/peers/host.hpp"

namespace trifold::bench {
namespace {

template <int Block>
struct Dunes {
    using Matrix = Dune::BCRSMatrix<Dune::FieldMatrix<double, Block, Block>>;
    using Vector = Dune::BlockVector<Dune::FieldVector<double, Block>>;
    using Factors = Dune::SeqILU<Matrix, Vector, Vector>;

    explicit Dunes(const HostProblem& problem)
        : a(static_cast<std::size_t>(problem.a.rows()), static_cast<std::size_t>(problem.a.rows()), problem.a.columns.size(),
            Matrix::row_wise),
          b(a.N()) {
        const auto& rows = problem.a;
        for (auto row = a.createbegin(); row != a.createend(); ++row)
            for (auto k = rows.starts[row.index()]; k < rows.starts[row.index() + 1]; ++k)
                row.insert(static_cast<std::size_t>(rows.columns[static_cast<std::size_t>(k)]));
        const auto* value = rows.values.data();
        for (std::size_t row = 0; row < a.N(); ++row) {
            for (auto& block : a[row])
                for (int i = 0; i < Block; ++i)
                    for (int j = 0; j < Block; ++j) block[i][j] = *value++;
            for (int i = 0; i < Block; ++i) b[row][i] = problem.b[row * Block + static_cast<std::size_t>(i)];
        }
    }
    std::int64_t solve(Factors& factors, double rtol, std::vector<double>& x) {
        constexpr int max_iterations = 10000;
        Dune::MatrixAdapter<Matrix, Vector, Vector> product(a);
        Dune::BiCGSTABSolver<Vector> solver(product, factors, rtol, max_iterations, 0);
        Dune::InverseOperatorResult result;
        Vector right = b, solution(a.N());
        solution = 0;
        solver.apply(solution, right, result);
        x.clear();
        for (const auto& row : solution) x.insert(x.end(), row.begin(), row.end());
        return result.iterations;
    }
    Matrix a;
    Vector b;
};

template <int Block>
HostSolver make_with(const HostProblem& problem) {
    HostSolver solver;
    const auto all = std::make_shared<Dunes<Block>>(problem);
    for (const int fill : {0, 1}) {
        const auto factors = std::make_shared<std::unique_ptr<typename Dunes<Block>::Factors>>();
        solver.add_iteration(
            "ILU", "fill " + std::to_string(fill), [=] { *factors = std::make_unique<typename Dunes<Block>::Factors>(all->a, fill, 1.0); },
            [=, rtol = problem.rtol](std::vector<double>& x) { return all->solve(**factors, rtol, x); });
    }
    return solver;
}

}  // namespace

void add_dune(HostPeers& peers) {
    peers["dune"] = [](const HostProblem& problem) { return problem.a.block == 1 ? make_with<1>(problem) : make_with<3>(problem); };
}

}  // namespace trifold::bench
