#pragma once
#include <span>
#include <string>
#include <string_view>

#include "generator/export/c99/export.hpp"
#include "generator/tridiagonal/design.hpp"

namespace trifold {

/// How an export for one architecture is compiled and run, and what its compiler was seen to need.
struct Machine {
    std::string_view arch;
    std::string_view compiler = "cc", flags, link = {}, run = {}, size = "size";  ///< for the Makefile
    std::string_view contract = "fast";  ///< value of -ffp-contract; off gives the same bits on every machine
    std::int64_t stack_bytes[2];         ///< at most, f32 and f64, GCC 12 from -Os to -O3
    std::int64_t code_bytes[2];          ///< at most, f32 and f64, GCC 12 -Os and -O2; 5/6 where code is optimized for size
    std::string_view kernels = {};       ///< CPU architecture whose kernels do the work; empty: plain C99 does
    /// How `make report` counts instructions, a section of templates/export/c99/report.c and of its Makefile; empty: it cannot.
    std::string_view report = "host";
    bool is_cortex_m() const { return arch.starts_with("cortex-m"); }
    bool has_report() const { return !report.empty(); }
    bool has_kernels() const { return !kernels.empty(); }
};
const Machine& machine_of(const Target& target);
/// The machine's flags, which say the C that the source is.
std::string flags_of(const ExportRequest& request);

/// Blocks first, first + step, ... that one task eliminates. Chain c stands between separators c - 1 and c, where there are such; only the
/// last chain may run backwards.
struct ExportedChain {
    std::int64_t first, length, step;
};
/// Chains of the request's schedule, by position; none for the sequential one. Throws SpecError.
std::vector<ExportedChain> exported_chains(const ExportRequest& request);

/// Numbers that the header, the README and the manifest all state.
struct ExportFacts {
    ArrayBytes arrays;
    std::int64_t workspace_bytes_32, workspace_bytes_64;  ///< with pointers of 32 and of 64 bits
    std::int64_t border_bytes, corner_bytes;              ///< bytes of F and C
    std::int64_t table_bytes;                             ///< bytes of the factors, where these are constants
    std::int64_t stack_bytes, code_bytes;
    std::int64_t factor_flops, solve_flops;  ///< for plain C99 those that the code performs, for kernels the nominal ones
    std::string command;                     ///< makes the project again
};
ExportFacts export_facts(const ExportRequest& request);

/// Whether A is a ring, or has a border or sizes. Then the chain is all of it but block 0 of a ring of several blocks. That block and the
/// border are the tip, which every block of the chain may be coupled to.
bool has_shape(const Spec& spec);
std::int64_t chain_blocks(const Spec& spec);
std::int64_t tip_rows(const Spec& spec);
std::int64_t x_elements(const Spec& spec);
/// A ring, a border and sizes in words, behind "a chain".
std::string shape_text(const Spec& spec);
/// Values for templates; all but the sizes are empty for a chain.
Values shape_words(const ExportRequest& request);
std::string shape_macros(const Spec& spec);

/// Whether D and E are row-major without gaps, E the lower coupling.
bool has_dense_blocks(const Spec& spec);
/// Whether moreover A is a chain: only then is there a factorization in place.
bool is_dense(const Spec& spec);
bool has_square_roots(const ExportRequest& request);
/// Values for templates: the kind of A, what a factor holds, and which pivots pass.
Values factor_words(const ExportRequest& request);

/// The kernels of the CPU target that does the work where there is one, for one chain of all blocks.
Design kernel_design(const ExportRequest& request);

/// The C texts, with the templates' prefix btd.
std::string c99_header(const ExportRequest& request);
std::string c99_source(const ExportRequest& request);
std::string c99_refine(const ExportRequest& request);
std::string c99_data_declarations(const ExportRequest& request);
/// The constants that the request's prefactored matrix becomes. Throws IndefiniteMatrix, NearlySingular.
std::string c99_factors(const ExportRequest& request);
double largest_finite(Precision precision);
/// A pivot below this part of the diagonal entry that it began with is nearly zero.
double nearly_zero(Precision precision);
/// {...}: the shortest texts that read back as the same numbers of that precision; 0 for what is not finite in it.
std::string c99_values(std::span<const double> values, Precision precision);
std::string c99_data(const ExportRequest& request);
std::string c99_example(const ExportRequest& request);
std::string c99_report(const ExportRequest& request);

/// Values for the templates of a project.
Values project_values(const ExportRequest& request);
/// README, Makefile, CMakeLists.txt, and what the example needs to run.
std::vector<ExportedFile> build_files(const ExportRequest& request);

/// How many sums the plain C keeps in registers.
struct Tiling {
    std::int64_t rows, columns;  ///< size of a tile of the factorization. It takes `columns` pivots at a time, a multiple of `rows`
    std::int64_t sweep_rows;     ///< rows that a sweep sums at once, with as many products of each in one turn of its loop
};
Tiling tiling_of(const ExportRequest& request);

/// The C of a factorization: tiles, pivots, a block, a panel.
std::string c99_factorization(const ExportRequest& request);
/// The C of both sweeps over a block.
std::string c99_sweeps(const ExportRequest& request);
/// The C of a solution by both sweeps over all blocks, one after another.
std::string c99_solution(const ExportRequest& request);
/// The C of a block times a block, and of it times right-hand sides, as chains need them.
std::string c99_products(const ExportRequest& request);

/// The C that reduces the rows of a border, and subtracts its products from the tip.
std::string c99_border(const ExportRequest& request);
/// The C of a factorization and a solution where A has a shape.
std::string c99_shaped_system(const ExportRequest& request);

std::string export_manifest(const ExportRequest& request, const std::vector<ExportedFile>& files);

}  // namespace trifold
