#pragma once
#include "tools/trifold/family.hpp"

namespace trifold::command {

/// Images, as `trifold` has them. A part's `size` is WIDTHxHEIGHT.
FamilyVerbs grid_verbs();

std::function<Report()> grid_solve(CLI::App& app, const SolveOptions& options, const std::string& size);
std::function<Report()> grid_explain(CLI::App& app, const SpecOptions& options, const std::string& size);
std::function<int()> grid_bench(CLI::App& app, const BenchOptions& options, const std::string& size);

}  // namespace trifold::command
