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
};

using HostPeers = std::map<std::string, std::function<HostSolver(const HostProblem&)>>;
/// The module's function "trifold_bench_peers".
using AddHostPeers = void(HostPeers&);

}  // namespace trifold::bench
