#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <trifold/grid.hpp>

#include "generator/grid/fields.hpp"
#include "tools/formats/file.hpp"
#include "tools/formats/grid.hpp"
#include "tools/formats/residual.hpp"
#include "tools/trifold/grid/options.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {
namespace {

using namespace formats;

/// What the files hold.
struct Images {
    Kind kind = Kind::numpy;
    GridSystem system;
    Precision precision = Precision::f64;
    std::vector<std::int64_t> shape;  ///< of b as given; x has it too
};

/// What came of it.
struct Solved {
    std::vector<double> x;
    std::vector<GridOutcome> outcomes;
    std::vector<GridDeterminant> determinants;
    std::vector<double> reciprocal_condition;  ///< by image, when asked for
    std::string complaint, target;             ///< complaint: of the images that failed
    bool out_of_range = false;                 ///< the complaint is of X alone
    PlanReport report;
    double factor_seconds = 0, solve_seconds = 0, residual = 0;
    std::int64_t workspace_bytes = 0;
};

struct GridSolveOptions {
    GridMatrixOptions matrix;
    int refine = 0;  ///< steps
};

Images read_images(const SolveOptions& options, const std::string& size) {
    if (options.files.size() != 2)
        throw InputError(fmt::format("{} files were given; with --grid give A.mtx b.mtx, or A.npy b.npy", options.files.size()));
    const auto [width, height] = parse_image_size(size);
    auto files = options.read();
    if (files[0].is_numpy()) check_kind(files, true, "A.npy b.npy, or A.mtx b.mtx");
    Images images;
    if (files[0].is_numpy()) {
        const auto a = parse_npy(files[0].bytes, files[0].name), b = parse_npy(files[1].bytes, files[1].name);
        images = {Kind::numpy, assemble_grid(a, b), a.precision, b.shape};
        if (images.system.width != width || images.system.height != height)
            throw InputError(fmt::format("--grid {} was given, but '{}' has shape {}: an image of {}x{}", size, files[0].name,
                                         shape_text(a.shape), images.system.width, images.system.height));
    } else {
        const auto [a, b, kind, shape] = read_matrix_system(files[0], files[1]);
        images = {kind, assemble(a, b, width, height), Precision::f64, shape};
    }
    images.precision = options.asked_precision().value_or(images.precision);
    return images;
}

/// The least reciprocal condition of an image that is not nearly singular.
double min_condition(Precision precision) {
    return precision == Precision::f32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
}

/// Images whose least pivots and condition numbers disagree are what the latter say. Whether some that were refused are to be taken.
bool decide_by_condition(Precision precision, Solved& solved) {
    bool takes = false;
    for (std::size_t k = 0; k < solved.outcomes.size(); ++k) {
        auto& problem = solved.outcomes[k].problem;
        const bool singular = solved.reciprocal_condition[k] < min_condition(precision);
        if (problem == GridProblem::none && singular) problem = GridProblem::nearly_singular;
        if (problem != GridProblem::nearly_singular || singular) continue;
        problem = GridProblem::none;
        takes = true;
    }
    return takes;
}

template <class Real>
void solve_as(GridSolver& solver, const GridSystem& system, const SolveOptions& options, int refine, Solved& solved) {
    const std::vector<Real> stencil(system.stencil.begin(), system.stencil.end()), b(system.b.begin(), system.b.end());
    std::vector<Real> x(b.size());
    GridOptions grid{.accept_nearly_singular = options.accept_nearly_singular};
    solved.factor_seconds = seconds_of([&] { solver.factor(stencil, grid); });
    solved.outcomes = solver.status();
    solved.determinants = solver.log_determinant();
    if (options.condition) solved.reciprocal_condition = solver.reciprocal_condition(stencil);
    if (options.condition && !options.accept_nearly_singular && decide_by_condition(solver.plan().spec().precision, solved)) {
        grid.accept_nearly_singular = true;
        solver.factor(stencil, grid);
        solved.determinants = solver.log_determinant();
    }
    solved.solve_seconds = seconds_of([&] {
        solver.solve(b, x, grid);
        for (int step = 0; step < refine; ++step) solver.refine(stencil, b, x, false, grid);
    });
    solved.x.assign(x.begin(), x.end());
    const auto after = solver.status();
    for (std::size_t k = 0; k < after.size(); ++k) {
        auto& problem = solved.outcomes[k].problem;
        if (problem == GridProblem::none && after[k].problem == GridProblem::unstable)
            problem = after[k].problem;  // its solution was given up
        solved.outcomes[k].solution = problem != GridProblem::none || after[k].solution;
    }
}

/// An image that failed is NaN as a whole.
void blank_failed(const GridSystem& system, Solved& solved) {
    const auto each = static_cast<std::ptrdiff_t>(solved.x.size()) / system.batch;
    for (std::size_t k = 0; k < solved.outcomes.size(); ++k) {
        if (solved.outcomes[k].problem == GridProblem::none) continue;
        std::fill_n(solved.x.begin() + static_cast<std::ptrdiff_t>(k) * each, each, std::numeric_limits<double>::quiet_NaN());
        solved.determinants[k].log = std::numeric_limits<double>::quiet_NaN();
    }
}

/// The worst of the images that did not fail; NaN where there is none.
double worst_residual(const GridSystem& system, const GridSpec& spec, const Solved& solved) {
    const auto residuals = relative_residuals(system, spec, solved.x);
    std::optional<double> worst;
    for (std::size_t k = 0; k < residuals.size(); ++k)
        if (solved.outcomes[k].ok()) worst = formats::worse(worst.value_or(0), residuals[k]);
    return worst.value_or(std::numeric_limits<double>::quiet_NaN());
}

Solved solve_images(const Images& images, const GridSpec& spec, const SolveOptions& options, int refine) {
    const auto device = Device::parse(options.device);
    const GridPlan plan(spec, device, {.workers = options.workers_on(device)});
    GridSolver solver(plan);
    Solved solved;
    solved.report = plan.report();
    solved.target = to_string(device.target());
    solved.workspace_bytes = GridSolver::workspace_bytes(plan);
    if (spec.precision == Precision::f32)
        solve_as<float>(solver, images.system, options, refine, solved);
    else
        solve_as<double>(solver, images.system, options, refine, solved);
    blank_failed(images.system, solved);
    try {
        check(solved.outcomes, spec);
    } catch (const Unsolvable& failed) {
        solved.complaint = failed.what();
        solved.out_of_range = dynamic_cast<const OutOfRange*>(&failed) != nullptr;
    }
    solved.residual = worst_residual(images.system, spec, solved);
    return solved;
}

Json to_json(const GridSpec& spec, const Solved& solved, const std::string& status, const std::string& output) {
    auto failed = Json::array(), logs = Json::array(), signs = Json::array();
    for (std::size_t k = 0; k < solved.outcomes.size(); ++k) {
        logs.push_back(solved.determinants[k].log);  // NaN is written as null
        signs.push_back(solved.determinants[k].sign);
        if (solved.outcomes[k].ok()) continue;
        const auto& outcome = solved.outcomes[k];
        Json one{{"member", k}, {"problem", outcome.solution ? to_string(outcome.problem) : "range"}, {"least_pivot", outcome.least_pivot}};
        if (outcome.pixel_x >= 0) one["pixel"] = {outcome.pixel_x, outcome.pixel_y};
        failed.push_back(std::move(one));
    }
    Json json{{"status", status}};
    json.update(Json(trifold::to_json(spec)));
    json.update({{"device", solved.target},
                 {"relative_residual", solved.residual},
                 {"log_determinant", logs},
                 {"sign", signs},
                 {"failed", failed},
                 {"workspace_bytes", solved.workspace_bytes},
                 {"output", output.empty() ? Json(nullptr) : Json(output)},
                 {"cache", kernels_word(solved.report)},
                 {"seconds", seconds_json(solved.report, solved.factor_seconds, solved.solve_seconds)}});
    if (!solved.reciprocal_condition.empty()) json["reciprocal_condition"] = solved.reciprocal_condition;
    return json;
}

std::string to_text(const GridSpec& spec, const Solved& solved) {
    const auto determinant = [&] {
        const auto& first = solved.determinants[0];
        return spec.batch > 1 ? std::string("by image in the JSON") : fmt::format("{:.10g}, sign {}", first.log, first.sign);
    };
    return to_text(grid_fields, &spec) + "\n" +
           list({{"device", solved.target},
                 {"kernels", kernels_text(solved.report)},
                 {"workspace", bytes_text(solved.workspace_bytes)},
                 {"factor", seconds_text(solved.factor_seconds)},
                 {"solve", seconds_text(solved.solve_seconds)},
                 {"relative residual", fmt::format("{:.2e}", solved.residual)},
                 {"log determinant", determinant()}}) +
           (solved.reciprocal_condition.empty()
                ? ""
                : list({{"reciprocal condition",
                         fmt::format("{:.2e}{}", std::ranges::min(solved.reciprocal_condition), spec.batch > 1 ? ", the least" : "")}}));
}

void write_solution(const Images& images, const Solved& solved, const Output& output) {
    if (output.name.empty()) return;
    const auto& system = images.system;
    output.write(output.kind(images.kind) == Kind::numpy
                     ? format_npy({images.shape, images.precision, solved.x})
                     : format_matrix_market(DenseMatrix{system.width * system.height, system.rhs, solved.x}));
}

GridSpec spec_of(const Images& images, const SolveOptions& options, const GridSolveOptions& own, const std::string& size) {
    auto spec = own.matrix.spec(size);
    spec.precision = images.precision;
    spec.rhs = images.system.rhs;
    spec.batch = images.system.batch;
    spec.operations = {GridOperation::factor, GridOperation::solve};
    if (own.refine > 0) spec.operations.insert(GridOperation::refine);
    if (options.condition) spec.operations.insert(GridOperation::solve_transposed);
    check_finite(images.system, spec);
    return spec;
}

Report run(const SolveOptions& options, const GridSolveOptions& own, const std::string& size) {
    if (options.ranks > 1) throw SpecError("ranks share blocks or sparse systems, and this is solved as images; leave --ranks out");
    const auto& output = options.output.name;
    if (!output.empty()) check_outputs(options.files, {output});
    const auto images = read_images(options, size);
    check_format(options.output, images.kind, images.system.batch, "image");
    const auto spec = spec_of(images, options, own, size);
    const auto solved = solve_images(images, spec, options, own.refine);
    write_solution(images, solved, options.output);
    const auto tolerance = options.tolerance_of(images.precision);
    const bool accurate = std::isnan(solved.residual) ? !solved.complaint.empty() : solved.residual <= tolerance;
    const std::string status = solved.out_of_range ? "range" : !solved.complaint.empty() ? "failed" : accurate ? "ok" : "inaccurate";
    say_notes("solve", images.system.notes);
    if (!solved.complaint.empty()) say(fmt::format("trifold solve: {}\n", solved.complaint));
    if (!accurate) say_inaccurate(solved.residual, tolerance);
    return {to_json(spec, solved, status, output), to_text(spec, solved), status == "ok"};
}

}  // namespace

std::function<Report()> grid_solve(CLI::App& app, const SolveOptions& options, const std::string& size) {
    const auto own = std::make_shared<GridSolveOptions>();
    own->matrix.add_to(app);
    app.add_option("--refine", own->refine, "Steps of iterative refinement, which make up for growth and for f32")
        ->check(CLI::Range(0, 10))
        ->capture_default_str();
    return [own, &options, &size] { return run(options, *own, size); };
}

}  // namespace trifold::command
