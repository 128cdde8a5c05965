#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <tuple>

#include "tools/bench/peers/host.hpp"

namespace trifold::bench {
namespace {

using Rows = Eigen::SparseMatrix<double, Eigen::RowMajor>;
using Solver = Eigen::BiCGSTAB<Rows, Eigen::IncompleteLUT<double>>;

std::shared_ptr<Rows> rows_of(const formats::BlockRows& a) {
    const auto size = static_cast<int>(a.rows() * a.block);
    auto rows = std::make_shared<Rows>(size, size);
    std::vector<Eigen::Triplet<double>> all;
    for_each_entry(a, [&](std::int64_t row, std::int64_t column, double value) {
        all.emplace_back(static_cast<int>(row), static_cast<int>(column), value);
    });
    rows->setFromTriplets(all.begin(), all.end());
    return rows;
}

HostSolver make(const HostProblem& problem) {
    Eigen::setNbThreads(problem.workers);
    HostSolver solver;
    const auto a = rows_of(problem.a);
    for (const auto& [strength, drop, fill] :
         {std::tuple{"drop 1e-2, fill 2", 1e-2, 2}, {"drop 1e-3, fill 4", 1e-3, 4}, {"drop 1e-4, fill 8", 1e-4, 8}}) {
        const auto one = std::make_shared<Solver>();
        one->preconditioner().setDroptol(drop);
        one->preconditioner().setFillfactor(fill);
        one->setTolerance(problem.rtol);
        solver.add_iteration(
            "ILUT", strength, [a, one] { one->compute(*a); },
            [one, &b = problem.b](std::vector<double>& x) {
                const Eigen::VectorXd found = one->solve(Eigen::Map<const Eigen::VectorXd>(b.data(), static_cast<Eigen::Index>(b.size())));
                x.assign(found.begin(), found.end());
                return one->iterations();
            });
    }
    return solver;
}

}  // namespace

void add_eigen(HostPeers& peers) { peers["eigen"] = make; }

}  // namespace trifold::bench
