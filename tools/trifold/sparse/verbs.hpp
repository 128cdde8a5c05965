#pragma once
#include "tools/trifold/family.hpp"

namespace trifold::command {

/// The part of sparse systems in each verb.
std::function<Report()> sparse_solve(CLI::App& app, const SolveOptions& options, const std::string& size);
std::function<Report()> sparse_explain(CLI::App& app, const SpecOptions& options, const std::string& size);
std::function<int()> sparse_bench(CLI::App& app, const BenchOptions& options, const std::string& size);
FamilyVerbs sparse_verbs();

}  // namespace trifold::command
