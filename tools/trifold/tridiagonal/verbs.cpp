#include "tools/trifold/tridiagonal/verbs.hpp"

#include "tools/bench/suites.hpp"

namespace trifold::command {

FamilyVerbs tridiagonal_verbs() {
    FamilyVerbs verbs{.name = "tridiagonal", .problems = "blocks"};
    verbs.files = "A.mtx b.mtx (Matrix Market), or D.npy E.npy b.npy: D (N,n,n), E (N-1,n,n), b (N,n) or (N,n,m), or with a leading batch";
    verbs.examples = "socu, blockdss (positive definite for n of about 8 and more), dominant or kalman (n even)";
    for (const auto& suite : bench::suites()) verbs.suites.emplace_back(suite.name, suite.purpose);
    verbs.solve = tridiagonal_solve;
    verbs.fit = tridiagonal_fit;
    verbs.explain = tridiagonal_explain;
    verbs.generate = tridiagonal_generate;
    verbs.problem = tridiagonal_problem;
    verbs.export_project = tridiagonal_export;
    verbs.bench = tridiagonal_bench;
    return verbs;
}

}  // namespace trifold::command
