#pragma once
#include <CLI/CLI.hpp>
#include <array>
#include <optional>
#include <string>
#include <trifold/sparse_spec.hpp>
#include <vector>

#include "generator/sparse/arrangement.hpp"
#include "tools/trifold/family.hpp"
#include "tools/trifold/spec_options.hpp"

namespace trifold::command {

/// Options that describe a sparse system, without its files.
struct SparseMatrixOptions {
    std::string partition = "automatic", mesh, variant = "auto";
    std::int64_t rows = 0;
    int points = 7;
    void add_to(CLI::App& app);
    void add_variant(CLI::App& app);
    /// For verbs to which a mesh is all that they know of A.
    void add_points(CLI::App& app);
    /// Without block, precision and sizes.
    SparseSpec spec() const { return spec_; }
    /// With them. Throws SpecError.
    SparseSpec spec(const CLI::App& app, const SpecOptions& common) const;
    /// The mesh that was named. Throws SpecError where its text is none.
    std::optional<SparseMesh> cells() const;
    /// Boxes ("16x16x8") need --mesh; other words are names, and what is none of these a file with the subdomain of each row. Throws
    /// SpecError, InputError.
    SparsePartition parts(bool is_mesh) const;

  private:
    SparseSpec spec_;
};

/// --block, which blocks have too; where it was not given what a look at A found, or 1.
std::int64_t block_of(const CLI::App& app, const std::string& otherwise = "");
/// "128x128x64" or "512x512". Throws SpecError.
std::array<std::int64_t, 3> parse_cells(const std::string& text);

/// The part of sparse systems in each verb.
std::function<Report()> sparse_solve(CLI::App& app, const SolveOptions& options, const std::string& size);
std::function<Report()> sparse_explain(CLI::App& app, const SpecOptions& options, const std::string& size);
std::function<int()> sparse_bench(CLI::App& app, const BenchOptions& options, const std::string& size);
FamilyVerbs sparse_verbs();

/// The cells of a command line in their subdomains, and the Program for them.
struct MeshProgram {
    SparseChoice choice;
    std::vector<KnobDecision> decided;  ///< about knobs
    sparse::Arrangement arrangement;
    Program program;
};
/// Throws SpecError where there are no cells, DeviceError.
MeshProgram make_mesh(const SparseSpec& spec, const SparseMatrixOptions& options, const SpecOptions& common);

/// How an iteration converged: relative residuals after 0, 1, .. iterations on a logarithmic axis, a line for each right-hand side, and the
/// tolerance. Residuals that are no number end a line.
std::string convergence_svg(const std::vector<std::vector<double>>& histories, double tolerance);

}  // namespace trifold::command
