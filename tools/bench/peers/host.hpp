#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/formats/block_rows.hpp"

/// The border to the module of peers that are compiled against their own headers. The command links none of them: UMFPACK and CHOLMOD are
/// under the GPL, so nothing that is installed may.
namespace trifold::bench {

struct HostProblem {
    const formats::BlockRows& a;
    const std::vector<double>& b;
    double rtol;  ///< what an iteration is asked for
    int workers;
};

struct HostSolver {
    struct Step {
        std::string operation;
        std::function<void()> call;
        bool solves = false, once = false;
    };
    std::vector<Step> steps;
    std::shared_ptr<std::vector<double>> x = std::make_shared<std::vector<double>>();
    std::shared_ptr<std::map<std::string, std::int64_t>> iterations = std::make_shared<std::map<std::string, std::int64_t>>();

    /// Factors, and BiCGSTAB with them, which returns how many iterations it took.
    void add_iteration(const std::string& factors, const std::string& strength, std::function<void()> factor,
                       std::function<std::int64_t(std::vector<double>&)> solve) {
        const auto name = "BiCGSTAB, " + strength;
        steps.push_back({factors + ", " + strength, std::move(factor), false, true});
        steps.push_back({name, [name, solve = std::move(solve), x = x, all = iterations] { (*all)[name] = solve(*x); }, true, true});
    }
};

using MakeHostSolver = std::function<HostSolver(const HostProblem&)>;
using HostPeers = std::map<std::string, MakeHostSolver>;
/// The module's function "trifold_bench_peers".
using AddHostPeers = void(HostPeers&);

/// BiCGSTAB of Eigen with incomplete factorizations of three strengths; products take all workers.
void add_eigen(HostPeers& peers);
/// BiCGSTAB of dune-istl with incomplete factorizations, on one thread: it has no others.
void add_dune(HostPeers& peers);
/// UMFPACK, and CHOLMOD of the lower triangle, each with the orderings AMD and METIS. Their BLAS takes its threads from
/// OPENBLAS_NUM_THREADS.
void add_suitesparse(HostPeers& peers);

}  // namespace trifold::bench
