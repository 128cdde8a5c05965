#include "tools/trifold/sparse/verbs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/problems/sparse.hpp"

namespace trifold::command {

FamilyVerbs sparse_verbs() {
    FamilyVerbs verbs{.name = "sparse", .problems = "sparse systems", .option = "--iterative"};
    verbs.purpose = "A is sparse, in any pattern: an incomplete factorization by subdomains, and an iteration around it";
    verbs.is_flag = true;
    verbs.shares = {"--block"};
    verbs.files = "With --iterative A.mtx b.mtx";
    verbs.examples = fmt::format("with --iterative {}", fmt::join(problems::sparse_names, ", "));
    verbs.suites = {{"sparse", "sparse systems: update, apply, product, solve and an iteration beside copies; alone on a command line"}};
    verbs.solve = sparse_solve;
    verbs.fit = sparse_fit;
    verbs.explain = sparse_explain;
    verbs.generate = sparse_generate;
    verbs.problem = sparse_problem;
    verbs.bench = sparse_bench;
    return verbs;
}

}  // namespace trifold::command
