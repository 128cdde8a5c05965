#include <fmt/format.h>

#include <trifold/error.hpp>
#include <trifold/sparse_spec.hpp>

#include "tools/problems/sparse.hpp"
#include "tools/trifold/sparse/options.hpp"
#include "tools/trifold/sparse/verbs.hpp"

namespace trifold::command {
namespace {

std::int64_t checked_block(const CLI::App& app) {
    const auto block = block_of(app, "3");
    validate(SparseSpec{.block = block});
    return block;
}

std::vector<File> make_files(const CLI::App& app, const ProblemOptions& options, const std::string& mesh) {
    if (mesh.empty()) throw SpecError("a sparse problem needs the cells of its mesh; give --mesh, such as 60x220x85");
    if (options.batch != 1)
        throw SpecError(fmt::format("--batch {}: the files of a sparse problem hold one system; leave it out", options.batch));
    if (app.get_option("--format")->count() > 0 && options.format != "mtx")
        throw SpecError("sparse problems are written as A.mtx b.mtx; leave --format out");
    if (options.rhs < 1) throw SpecError(fmt::format("m = {} right-hand sides; give at least 1", options.rhs));
    const auto [width, height, depth] = parse_cells(mesh);
    auto problem = problems::make_sparse(options.name, {width, height, depth}, checked_block(app), options.rhs, options.seed);
    options.round({&problem.a.values, &problem.b});
    const auto rows = problem.a.rows() * problem.a.block;
    return {{"A.mtx", format_matrix_market(to_sparse(problem.a))},
            {"b.mtx", format_matrix_market(formats::DenseMatrix{rows, options.rhs, problem.b})}};
}

}  // namespace

std::function<std::vector<File>()> sparse_problem(CLI::App& app, const ProblemOptions& options, const std::string&) {
    const auto mesh = std::make_shared<std::string>();
    app.add_option("--mesh", *mesh, "Cells of the problem, such as 60x220x85; points of sparse-convection, 700x700");
    return [mesh, &app, &options] { return make_files(app, options, *mesh); };
}

}  // namespace trifold::command
