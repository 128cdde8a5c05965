#include "tools/trifold/grid/verbs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/problems/grid.hpp"

namespace trifold::command {

FamilyVerbs grid_verbs() {
    FamilyVerbs verbs{.name = "grid", .problems = "images", .option = "--grid"};
    verbs.purpose = "A couples the pixels of an image of that size with their neighbours: WIDTHxHEIGHT";
    verbs.files = "With --grid A.mtx b.mtx, or A.npy b.npy: A (H,W,9), b (H,W) or (H,W,m)";
    verbs.examples = fmt::format("with --grid {}", fmt::join(problems::grid_names, ", "));
    verbs.suites = {{"grid", "images: factor, solve and both; alone on a command line"}};
    verbs.solve = grid_solve;
    verbs.fit = grid_fit;
    verbs.explain = grid_explain;
    verbs.generate = grid_generate;
    verbs.problem = grid_problem;
    verbs.bench = grid_bench;
    return verbs;
}

}  // namespace trifold::command
