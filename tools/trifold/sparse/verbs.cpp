#include "tools/trifold/sparse/verbs.hpp"

namespace trifold::command {

FamilyVerbs sparse_verbs() {
    FamilyVerbs verbs{.name = "sparse", .problems = "sparse systems", .option = "--iterative"};
    verbs.purpose = "A is sparse, in any pattern: an incomplete factorization by subdomains, and an iteration around it";
    verbs.is_flag = true;
    verbs.shares = {"--block"};
    verbs.files = "With --iterative A.mtx b.mtx";
    verbs.solve = sparse_solve;
    verbs.explain = sparse_explain;
    return verbs;
}

}  // namespace trifold::command
