#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <trifold/error.hpp>
#include <trifold/sparse_spec.hpp>

#include "generator/sparse/fields.hpp"
#include "tools/formats/block_rows.hpp"
#include "tools/problems/sparse.hpp"
#include "tools/trifold/sparse/options.hpp"

namespace trifold::command {
namespace {

Fit sparse_fit(const formats::SparseMatrix& a, const SolveOptions&) {
    const auto block = formats::infer_dense_block(a, max_sparse_block);
    return {.fits = true,
            .flops = std::numeric_limits<double>::infinity(),  // it is taken where no other is
            .size = fmt::format("{}", block),
            .why = fmt::format("any pattern, with dense blocks of {}", block)};
}

std::function<Generated()> sparse_generate(CLI::App& app, const SpecOptions& options, const std::string&) {
    const auto own = std::make_shared<SparseMatrixOptions>();
    own->add_to(app);
    own->add_points(app);
    own->add_variant(app);
    return [own, &app, &options] {
        const auto spec = own->spec(app, options);
        auto [choice, decided, a, program] = make_mesh(spec, *own, options);
        Json about = trifold::to_json(sparse_fields, &spec);
        about.update({{"rows", a.rows()}, {"partition", a.how}, {"subdomains", a.tiles()}, {"variant", choice.tuning.variant}});
        return Generated{std::move(program), std::move(about)};
    };
}

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

std::function<std::vector<File>()> sparse_problem(CLI::App& app, const ProblemOptions& options, const std::string&) {
    const auto mesh = std::make_shared<std::string>();
    app.add_option("--mesh", *mesh, "Cells of the problem, such as 60x220x85; points of sparse-convection, 700x700");
    return [mesh, &app, &options] { return make_files(app, options, *mesh); };
}

}  // namespace

FamilyVerbs sparse_verbs() {
    FamilyVerbs verbs{
        .name = "sparse", .problems = "sparse systems", .matrices = "any other sparse matrix, by an iteration", .option = "--iterative"};
    verbs.purpose = "A is sparse, in any pattern: an incomplete factorization by subdomains, and an iteration around it";
    verbs.is_flag = true;
    verbs.shares = {"--block"};
    verbs.files = "With --iterative A.mtx and b.mtx or b.npy";
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
