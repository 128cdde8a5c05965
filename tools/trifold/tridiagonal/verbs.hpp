#pragma once
#include "tools/trifold/family.hpp"

namespace trifold::command {

/// Block tridiagonal systems, as `trifold` has them.
FamilyVerbs tridiagonal_verbs();

std::function<Report()> tridiagonal_solve(CLI::App& app, const SolveOptions& options, const std::string&);
std::function<Report()> tridiagonal_explain(CLI::App& app, const SpecOptions& options, const std::string&);
std::function<std::vector<ExportedFile>()> tridiagonal_export(CLI::App& app, const ExportOptions& options, const std::string&);
std::function<int()> tridiagonal_bench(CLI::App& app, const BenchOptions& options, const std::string&);

}  // namespace trifold::command
