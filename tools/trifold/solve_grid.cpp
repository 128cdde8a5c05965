#include "tools/trifold/solve_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <trifold/grid.hpp>

#include "tools/formats/file.hpp"
#include "tools/formats/grid.hpp"
#include "tools/trifold/input.hpp"
#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"

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

Images read_images(const GridSolveOptions& options) {
    if (options.files.size() != 2)
        throw InputError(fmt::format("{} files were given; with --grid give A.mtx b.mtx, or A.npy b.npy", options.files.size()));
    const auto [width, height] = parse_image_size(options.image.size);
    const auto files = read_files(options.files);
    const auto& [a_name, a_text] = files[0];
    const auto& [b_name, b_text] = files[1];
    check_same_kind(files, files[0].is_numpy() || files[1].is_numpy(), "A.mtx b.mtx, or A.npy b.npy");
    Images images;
    if (files[0].is_numpy()) {
        const auto a = parse_npy(a_text, a_name), b = parse_npy(b_text, b_name);
        images = {Kind::numpy, assemble_grid(a, b), a.precision, b.shape};
        if (images.system.width != width || images.system.height != height)
            throw InputError(fmt::format("--grid {} was given, but '{}' has shape {}: an image of {}x{}", options.image.size, a_name,
                                         shape_text(a.shape), images.system.width, images.system.height));
    } else {
        const auto a = parse_matrix_market(a_text, a_name);
        auto b = parse_matrix_market(b_text, b_name);
        if (!std::holds_alternative<SparseMatrix>(a))
            throw InputError(fmt::format("'{}' is an array (dense) file; A must be a coordinate file", a_name));
        if (const auto* sparse = std::get_if<SparseMatrix>(&b)) b = to_dense(*sparse, b_name);
        const auto& rhs = std::get<DenseMatrix>(b);
        images = {Kind::matrix_market, assemble(std::get<SparseMatrix>(a), rhs, width, height), Precision::f64, {rhs.rows, rhs.columns}};
    }
    if (!options.precision.empty()) images.precision = parse_precision(options.precision);
    return images;
}

double seconds_for(auto&& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The least reciprocal condition of an image that is not nearly singular.
double least_condition(Precision precision) {
    return precision == Precision::f32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
}

/// Images whose least pivots and condition numbers disagree are what the latter say. Whether some that were refused are to be taken.
bool decide_by_condition(Precision precision, Solved& solved) {
    bool takes = false;
    for (std::size_t k = 0; k < solved.outcomes.size(); ++k) {
        auto& problem = solved.outcomes[k].problem;
        const bool singular = solved.reciprocal_condition[k] < least_condition(precision);
        if (problem == GridProblem::none && singular) problem = GridProblem::nearly_singular;
        if (problem != GridProblem::nearly_singular || singular) continue;
        problem = GridProblem::none;
        takes = true;
    }
    return takes;
}

template <class Real>
void solve_as(GridSolver& solver, const GridSystem& system, const GridSolveOptions& options, Solved& solved) {
    const std::vector<Real> stencil(system.stencil.begin(), system.stencil.end()), b(system.b.begin(), system.b.end());
    std::vector<Real> x(b.size());
    GridOptions grid{.accept_nearly_singular = options.accept_nearly_singular};
    solved.factor_seconds = seconds_for([&] { solver.factor(stencil, grid); });
    solved.outcomes = solver.status();
    solved.determinants = solver.log_determinant();
    if (options.condition) solved.reciprocal_condition = solver.reciprocal_condition(stencil);
    if (options.condition && !options.accept_nearly_singular && decide_by_condition(solver.plan().spec().precision, solved)) {
        grid.accept_nearly_singular = true;
        solver.factor(stencil, grid);
        solved.determinants = solver.log_determinant();
    }
    solved.solve_seconds = seconds_for([&] {
        solver.solve(b, x, grid);
        for (int step = 0; step < options.refine; ++step) solver.refine(stencil, b, x, false, grid);
    });
    solved.x.assign(x.begin(), x.end());
    const auto after = solver.status();
    for (std::size_t k = 0; k < after.size(); ++k)
        solved.outcomes[k].solution = solved.outcomes[k].problem != GridProblem::none || after[k].solution;
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
    double worst = std::numeric_limits<double>::quiet_NaN();
    bool found = false;
    for (std::size_t k = 0; k < residuals.size(); ++k) {
        if (!solved.outcomes[k].ok()) continue;
        if (!found || !(residuals[k] <= worst)) worst = residuals[k];
        found = true;
    }
    return worst;
}

Solved solve_images(const Images& images, const GridSpec& spec, const GridSolveOptions& options) {
    const auto device = Device::parse(options.device);
    const GridPlan plan(spec, device, {.workers = options.workers > 0 ? options.workers : all_workers()});
    GridSolver solver(plan);
    Solved solved;
    solved.report = plan.report();
    solved.target = to_string(device.target());
    solved.workspace_bytes = GridSolver::workspace_bytes(plan);
    if (spec.precision == Precision::f32)
        solve_as<float>(solver, images.system, options, solved);
    else
        solve_as<double>(solver, images.system, options, solved);
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

Json to_json(const Images& images, const GridSpec& spec, const Solved& solved, const std::string& status, const std::string& output) {
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
    Json json{{"status", status},
              {"width", spec.width},
              {"height", spec.height},
              {"rhs", spec.rhs},
              {"batch", spec.batch},
              {"precision", to_string(images.precision)},
              {"matrix", to_string(spec.matrix)},
              {"boundary", to_string(spec.boundary)},
              {"device", solved.target},
              {"relative_residual", solved.residual},
              {"log_determinant", logs},
              {"sign", signs},
              {"failed", failed},
              {"workspace_bytes", solved.workspace_bytes},
              {"output", output.empty() ? Json(nullptr) : Json(output)},
              {"cache", solved.report.cache_hit ? "hit" : "miss"},
              {"seconds",
               {{"generate", solved.report.generate_seconds},
                {"compile", solved.report.compile_seconds},
                {"load", solved.report.load_seconds},
                {"factor", solved.factor_seconds},
                {"solve", solved.solve_seconds}}}};
    if (!solved.reciprocal_condition.empty()) json["reciprocal_condition"] = solved.reciprocal_condition;
    return json;
}

std::string to_text(const GridSpec& spec, const Solved& solved) {
    const auto determinant = [&] {
        const auto& first = solved.determinants[0];
        return spec.batch > 1 ? std::string("by image in the JSON") : fmt::format("{:.10g}, sign {}", first.log, first.sign);
    };
    return fmt::format("{} of {}x{} pixels, {}, {}, {}, boundary {}\n", plural(spec.batch, "image"), spec.width, spec.height,
                       to_string(spec.precision), to_string(spec.matrix), plural(spec.rhs, "right-hand side"), to_string(spec.boundary)) +
           list({{"device", solved.target},
                 {"kernels",
                  solved.report.cache_hit ? "from the cache" : fmt::format("compiled in {}", seconds_text(solved.report.compile_seconds))},
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

}  // namespace

int solve_grid(const GridSolveOptions& options, bool json) {
    const auto& output = options.output.name;
    if (!output.empty()) check_outputs(options.files, {output});
    const auto images = read_images(options);
    const auto& system = images.system;
    check_format(options.output, images.kind, system.batch, "image");
    auto spec = options.image.spec();
    spec.precision = images.precision;
    spec.rhs = system.rhs;
    spec.batch = system.batch;
    spec.operations = {GridOperation::factor, GridOperation::solve};
    if (options.refine > 0) spec.operations.insert(GridOperation::refine);
    if (options.condition) spec.operations.insert(GridOperation::solve_transposed);
    check_finite(system, spec);
    const auto solved = solve_images(images, spec, options);
    write_solution(images, solved, options.output);
    const auto tolerance = options.tolerance.value_or(images.precision == Precision::f32 ? 1e-6 : 1e-14);
    const bool accurate = std::isnan(solved.residual) ? !solved.complaint.empty() : solved.residual <= tolerance;
    const std::string status = solved.out_of_range ? "range" : !solved.complaint.empty() ? "failed" : accurate ? "ok" : "inaccurate";
    say_notes("solve", system.notes);
    if (!solved.complaint.empty()) say(fmt::format("trifold solve: {}\n", solved.complaint));
    if (!accurate)
        say(fmt::format("trifold solve: the relative residual {:.2e} is above the tolerance {:.2e}\n", solved.residual, tolerance));
    if (json)
        print(to_json(images, spec, solved, status, output));
    else
        print(to_text(spec, solved));
    if (!json && output.empty()) say("trifold solve: x was not kept; -o FILE writes it\n");
    return status == "ok" ? 0 : 1;
}

}  // namespace trifold::command
