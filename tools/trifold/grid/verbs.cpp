#include <fmt/format.h>
#include <fmt/ranges.h>

#include "generator/grid/fields.hpp"
#include "generator/grid/levels.hpp"
#include "tools/formats/grid.hpp"
#include "tools/formats/matrix_market.hpp"
#include "tools/problems/problems.hpp"
#include "tools/trifold/grid/options.hpp"

namespace trifold::command {
namespace {

Fit grid_fit(const formats::SparseMatrix& a, const SolveOptions& options) {
    if (options.asked_precision() == Precision::mixed) return {.why = "images have no mixed precision"};
    const auto width = formats::infer_width(a);
    if (!width) return {.why = "there is no image of whose pixels it couples neighbours alone"};
    const GridSpec spec{.width = *width, .height = a.rows / *width};
    double flops = 0;
    for (const auto& level : grid::levels_of(spec, grid::leaf_cells_of(GridTuning(), Device::parse(options.device).target())))
        flops += level.flops;
    const auto size = fmt::format("{}x{}", spec.width, spec.height);
    return {.fits = true, .flops = flops, .size = size, .why = fmt::format("each row couples a pixel of {} with its neighbours", size)};
}

std::function<Generated()> grid_generate(CLI::App& app, const SpecOptions& options, const std::string& size) {
    const auto own = std::make_shared<GridMatrixOptions>();
    own->add_to(app);
    own->add_variant(app);
    return [own, &options, &size] {
        const auto spec = own->spec(size, options);
        const auto choice = own->choice(spec, options);
        Json about = trifold::to_json(spec);
        about.update({{"variant", choice.tuning.variant}, {"rung", to_string(choice.rung)}, {"row", choice.row}});
        return Generated{generate(choice), std::move(about)};
    };
}

std::vector<File> make_files(const ProblemOptions& options, const std::string& size) {
    const auto [width, height] = parse_image_size(size);
    auto system = problems::make_grid(options.name, width, height, options.rhs, options.batch, options.seed);
    options.round({&system.stencil, &system.b});
    if (options.format == "mtx")
        return {{"A.mtx", formats::format_matrix_market(to_sparse(system))},
                {"b.mtx", formats::format_matrix_market(formats::DenseMatrix{width * height, options.rhs, system.b})}};
    std::vector<std::int64_t> rhs_shape{height, width};
    if (options.rhs > 1) rhs_shape.push_back(options.rhs);
    return {options.array("A.npy", {height, width, 9}, system.stencil), options.array("b.npy", rhs_shape, system.b)};
}

std::function<std::vector<File>()> grid_problem(CLI::App& app, const ProblemOptions& options, const std::string& size) {
    const auto* matrix = app.get_option_no_throw("--matrix");  // of blocks
    return [&, matrix] {
        if (matrix != nullptr && matrix->count() > 0) throw SpecError("a problem on images has a matrix of one kind; leave --matrix out");
        return make_files(options, size);
    };
}

}  // namespace

FamilyVerbs grid_verbs() {
    FamilyVerbs verbs{.name = "grid", .problems = "images", .matrices = "3 by 3 stencils on the pixels of an image", .option = "--grid"};
    verbs.purpose = "A couples the pixels of an image of that size with their neighbours: WIDTHxHEIGHT";
    verbs.shares = {"--matrix"};
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
