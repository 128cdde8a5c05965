#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <array>
#include <string>

#include "tools/bench/peers/module/module.hpp"

namespace trifold::bench {
namespace {

using Rows = Eigen::SparseMatrix<double, Eigen::RowMajor>;
using Solver = Eigen::BiCGSTAB<Rows, Eigen::IncompleteLUT<double>>;
using Vector = Eigen::Map<const Eigen::VectorXd>;

std::shared_ptr<Rows> rows_of(const formats::BlockRows& a) {
    const auto n = a.block;
    auto rows = std::make_shared<Rows>(static_cast<int>(a.rows() * n), static_cast<int>(a.rows() * n));
    std::vector<Eigen::Triplet<double>> all;
    auto value = a.values.begin();
    for (std::int64_t row = 0; row < a.rows(); ++row)
        for (auto k = a.starts[static_cast<std::size_t>(row)]; k < a.starts[static_cast<std::size_t>(row) + 1]; ++k)
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t j = 0; j < n; ++j)
                    all.emplace_back(static_cast<int>(row * n + i), static_cast<int>(a.columns[static_cast<std::size_t>(k)] * n + j),
                                     *value++);
    rows->setFromTriplets(all.begin(), all.end());
    return rows;
}

struct Strength {
    std::string name;
    double drop;
    int fill;
};

HostSolver make(const HostProblem& problem) {
    Eigen::setNbThreads(problem.workers);
    HostSolver solver;
    const auto a = rows_of(problem.a);
    const auto& b = problem.b;
    for (const auto& [name, drop, fill] :
         {Strength{"drop 1e-2, fill 2", 1e-2, 2}, {"drop 1e-3, fill 4", 1e-3, 4}, {"drop 1e-4, fill 8", 1e-4, 8}}) {
        const auto one = std::make_shared<Solver>();
        one->preconditioner().setDroptol(drop);
        one->preconditioner().setFillfactor(fill);
        one->setTolerance(problem.rtol);
        solver.steps.push_back({"ILUT, " + name, [a, one] { one->compute(*a); }, false, true});
        const auto solve = "BiCGSTAB, " + name;
        solver.steps.push_back({solve,
                                [=, &b, x = solver.x, iterations = solver.iterations] {
                                    const Eigen::VectorXd found = one->solve(Vector(b.data(), static_cast<Eigen::Index>(b.size())));
                                    x->assign(found.begin(), found.end());
                                    (*iterations)[solve] = one->iterations();
                                },
                                true, true});
    }
    return solver;
}

}  // namespace

void add_eigen(HostPeers& peers) { peers["eigen"] = make; }

}  // namespace trifold::bench
