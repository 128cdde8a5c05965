#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <trifold/error.hpp>
#include <trifold/sparse.hpp>

#include "generator/sparse/fields.hpp"
#include "tools/formats/block_rows.hpp"
#include "tools/formats/file.hpp"
#include "tools/formats/npy.hpp"
#include "tools/formats/residual.hpp"
#include "tools/trifold/sparse/options.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {
namespace {

using namespace formats;

struct SparseSolveOptions {
    SparseMatrixOptions matrix;
    std::int64_t iterations = 10000;
    double shift = 0;
    std::string plot;
};

/// Results, and the time that they took.
struct IterativeSolution {
    std::vector<double> x;
    std::vector<SparseOutcome> outcomes;
    std::vector<std::vector<double>> history;  ///< |b - A x| over |b| after 0, 1, .. iterations, of the last right-hand sides
    SparseValues values;
    SparseSummary summary;
    std::string complaint, target;
    PlanReport report;
    double update_seconds = 0, solve_seconds = 0, residual = 0;
    std::int64_t workspace_bytes = 0;
};

MatrixSystem read_system(const SolveOptions& options) {
    if (options.files.size() != 2)
        throw InputError(fmt::format("{} files were given; a sparse system is A.mtx b.mtx, or A.mtx b.npy", options.files.size()));
    auto files = options.read();
    check_kind(std::span(files).first(1), false, "A.mtx b.mtx, or A.mtx b.npy");
    auto system = read_matrix_system(files[0], files[1]);
    if (system.b.rows != system.a.rows) throw InputError(fmt::format("A has {} rows and b has {}", system.a.rows, system.b.rows));
    return system;
}

/// The options with a watch that shows how far the iteration has come, once it takes more than a second.
SparseOptions shown(const SparseOptions& options, Progress& progress, const SparseSpec& spec) {
    using Clock = std::chrono::steady_clock;
    auto result = options;
    const auto target = options.rtol.value_or(usual_sparse_tolerance(spec.precision));
    result.watch = [&progress, target, next = Clock::now() + std::chrono::seconds(1)](std::int64_t iterations, double residual) mutable {
        if (Clock::now() < next) return;
        next = Clock::now() + std::chrono::milliseconds(100);
        const auto done = 100 * std::log(residual) / std::log(std::min(target, 0.5));
        progress.show(static_cast<int>(std::clamp(done, 0.0, 100.0)),
                      fmt::format("iteration {}, |b - A x| = {:.1e} |b|", iterations, residual));
    };
    return result;
}

template <class Real>
void solve_as(SparseSolver& solver, const BlockRows& a, const DenseMatrix& b, const SparseOptions& options, IterativeSolution& solution) {
    const std::vector<Real> values(a.values.begin(), a.values.end()), right(b.values.begin(), b.values.end());
    std::vector<Real> x(right.size());
    solution.update_seconds = seconds_of([&] { solver.update(values, {.shift = options.shift}); });
    solution.solve_seconds = seconds_of([&] { solver.solve(right, x, options); });
    solution.x.assign(x.begin(), x.end());
}

/// Solves for what is missing from x, again and again, until its backward error is that of a direct solver, as people expect who asked for
/// no iteration. The complaint says where that cannot be had.
template <class Real>
void refine(SparseSolver& solver, const BlockRows& a, const DenseMatrix& b, const SparseOptions& options, IterativeSolution& solution) {
    constexpr bool is_single = std::numeric_limits<Real>::digits < std::numeric_limits<double>::digits;
    constexpr double most = is_single ? 1e-6 : 1e-13, rounding = std::numeric_limits<Real>::epsilon() / 2;
    constexpr int max_times = 12;
    auto error = backward_error(a, solution.x, b.values, b.columns, rounding);
    for (int times = 0; times < max_times && error.worst > most; ++times) {
        const std::vector<Real> right(error.residual.begin(), error.residual.end());
        std::vector<Real> more(right.size());
        solution.solve_seconds += seconds_of([&] { solver.solve(right, more, options); });
        auto better = solution.x;
        for (std::size_t k = 0; k < better.size(); ++k) better[k] = static_cast<Real>(better[k] + static_cast<double>(more[k]));
        auto left = backward_error(a, better, b.values, b.columns, rounding);
        if (!(left.worst < error.worst / 2)) break;
        solution.x = std::move(better);
        error = std::move(left);
    }
    solution.complaint.clear();
    if (error.worst > most)
        solution.complaint = fmt::format(
            "the iteration leaves a backward error of {:.1e}, above the {:.0e} of a direct solver; ask for one with --iterative "
            "and a --rtol of your own, another --method, or a stronger --preconditioner such as ildu2",
            error.worst, most);
}

/// Relative residuals of the right-hand sides that were solved last: the solver still has their histories.
std::vector<std::vector<double>> histories(SparseSolver& solver, const SparseSpec& spec, const std::vector<SparseOutcome>& outcomes) {
    const auto all = std::ssize(outcomes), first = (all - 1) / spec.rhs * spec.rhs;
    std::vector<std::vector<double>> result;
    for (auto column = first; column < all; ++column) {
        auto& history = result.emplace_back(solver.history(0, column));
        const auto norm = outcomes[static_cast<std::size_t>(column)].norm_b;
        if (norm > 0)
            for (auto& residual : history) residual /= norm;
    }
    return result;
}

/// Solves by a plan. If it has ranks this is a call of all of them, and all have the solution.
IterativeSolution solve_by(const SparsePlan& plan, const BlockRows& a, const DenseMatrix& b, const SparseOptions& options, bool refines) {
    SparseSolver solver(plan);
    IterativeSolution solution;
    solution.report = plan.report();
    solution.summary = plan.summary();
    solution.target = to_string(plan.device().target());
    solution.workspace_bytes = plan.program().workspace_bytes;
    if (plan.spec().precision == Precision::f32)
        solve_as<float>(solver, a, b, options, solution);
    else
        solve_as<double>(solver, a, b, options, solution);
    solution.values = solver.values().front();
    solution.outcomes = solver.outcomes();
    solution.history = histories(solver, plan.spec(), solution.outcomes);
    try {
        solver.check();
    } catch (const Unsolvable& failed) {
        solution.complaint = failed.what();
    }
    if (!refines || !solution.values.ok()) return solution;
    if (plan.spec().precision == Precision::f32)
        refine<float>(solver, a, b, options, solution);
    else
        refine<double>(solver, a, b, options, solution);
    return solution;
}

IterativeSolution solve_system(const BlockRows& a, const DenseMatrix& b, const SparseSpec& spec, const SolveOptions& options,
                               const SparseSolveOptions& own, bool refines) {
    const SparsePattern pattern{std::span(a.starts), std::span(a.columns)};
    const auto partition = own.matrix.parts(false);
    const SparseOptions each{.columns = b.columns, .rtol = options.tolerance, .shift = own.shift};
    IterativeSolution solution;
    const auto solve_on = [&](const std::shared_ptr<Transport>& transport) {
        const int rank = transport == nullptr ? 0 : transport->rank();
        const auto device = options.device_of(rank);
        const SparseTuning tuning{.workers = options.workers_on(device), .variant = own.matrix.variant};
        Progress progress(100);
        const bool is_shown = transport == nullptr && device.backend() == Backend::cpu;
        auto mine = solve_by(transport == nullptr ? SparsePlan(spec, pattern, device, partition, tuning)
                                                  : SparsePlan(spec, pattern, transport, device, partition, tuning),
                             a, b, is_shown ? shown(each, progress, spec) : each, refines);
        if (rank == 0 || options.transport != nullptr) solution = std::move(mine);
    };
    if (options.ranks > 1)
        on_ranks(options.ranks, solve_on);
    else
        solve_on(options.transport);
    for (std::int64_t column = 0; column < b.columns; ++column)
        solution.residual = worse(solution.residual, relative_residual(a, solution.x, b.values, b.columns, column));
    return solution;
}

std::int64_t iterations_of(const IterativeSolution& solution) {
    return std::ranges::max_element(solution.outcomes, {}, &SparseOutcome::iterations)->iterations;
}

Json to_json(const BlockRows& a, const SparseSpec& spec, const IterativeSolution& solution, int ranks, const std::string& output) {
    auto systems = Json::array();
    for (const auto& outcome : solution.outcomes)
        systems.push_back({{"end", to_string(outcome.end)}, {"iterations", outcome.iterations}, {"relative_residual", outcome.relative()}});
    Json json{{"status", solution.complaint.empty() ? "ok" : "failed"}, {"rows", a.rows()}};
    json.update(Json(trifold::to_json(sparse_fields, &spec)));
    json.update({{"device", solution.target},
                 {"ranks", ranks},
                 {"partition", solution.summary.partition},
                 {"subdomains", solution.summary.tiles},
                 {"dropped", solution.summary.dropped},
                 {"zero_pivots", solution.values.zero_pivots},
                 {"systems", systems},
                 {"history", solution.history},
                 {"relative_residual", solution.residual},
                 {"workspace_bytes", solution.workspace_bytes},
                 {"output", output.empty() ? Json(nullptr) : Json(output)},
                 {"cache", kernels_word(solution.report)},
                 {"pattern_seconds", solution.summary.seconds},
                 {"seconds", seconds_json(solution.report, solution.update_seconds, solution.solve_seconds)}});
    return json;
}

std::string to_text(const BlockRows& a, const SparseSpec& spec, const IterativeSolution& solution, int ranks) {
    const auto& summary = solution.summary;
    return fmt::format("{} rows of {}, {} blocks, {}, {}\n", a.rows(), spec.block, a.columns.size(), to_string(spec.precision),
                       plural(static_cast<std::int64_t>(solution.outcomes.size()), "right-hand side")) +
           list({{"device", ranks == 1 ? solution.target : fmt::format("{}, {} ranks", solution.target, ranks)},
                 {"kernels", kernels_text(solution.report)},
                 {"subdomains",
                  fmt::format("{} of at most {} rows: {}; {:.1f} % of the entries dropped", summary.tiles, summary.largest_tile,
                              summary.partition, 100.0 * static_cast<double>(summary.dropped) / static_cast<double>(summary.entries))},
                 {"workspace", bytes_text(solution.workspace_bytes)},
                 {"pattern", seconds_text(summary.seconds)},
                 {"preconditioner", fmt::format("{}, {}", to_string(spec.preconditioner), seconds_text(solution.update_seconds))},
                 {"solve", fmt::format("{}, {} iterations of {}", seconds_text(solution.solve_seconds), iterations_of(solution),
                                       to_string(spec.method))},
                 {"relative residual", fmt::format("{:.2e}", solution.residual)}});
}

void write_solution(const DenseMatrix& b, const IterativeSolution& solution, Precision precision, Kind kind,
                    const std::vector<std::int64_t>& shape, const Output& output) {
    if (output.name.empty()) return;
    output.write(output.kind(kind) == Kind::numpy ? format_npy({shape, precision, solution.x})
                                                  : format_matrix_market(DenseMatrix{b.rows, b.columns, solution.x}));
}

/// Refuses options that the other families alone have.
void refuse_foreign(const SolveOptions& options) {
    for (const auto& [given, name] :
         {std::pair{options.condition, "--condition"}, {options.accept_nearly_singular, "--accept-nearly-singular"}})
        if (given) throw SpecError(fmt::format("{} says nothing about sparse systems; leave it out", name));
}

Report run(const CLI::App& app, const SolveOptions& options, const SparseSolveOptions& own, const std::string& found_block) {
    refuse_foreign(options);
    const bool reports = options.transport == nullptr || options.transport->rank() == 0;
    const auto& output = options.output.name;
    std::vector<std::string> outputs;
    for (const auto& name : {output, own.plot})
        if (!name.empty()) outputs.push_back(name);
    if (reports) check_outputs(options.files, outputs);
    if (own.plot == standard_stream) throw InputError("standard output takes x alone, as -o -; give --plot the name of a file");
    const auto [matrix, b, kind, shape] = read_system(options);
    auto spec = own.matrix.spec();
    spec.block = block_of(app, found_block);
    spec.precision = options.asked_precision().value_or(Precision::f64);
    spec.rhs = std::clamp<std::int64_t>(b.columns, 1, max_sparse_rhs);
    spec.maxiter = own.iterations;
    spec.operations = {SparseOperation::solve};
    validate(spec);
    const auto a = to_block_rows(matrix, spec.block);
    if (const auto mesh = own.matrix.cells(); mesh && mesh->width * mesh->height * mesh->depth != a.rows())
        throw SpecError(fmt::format("--mesh {} has {} cells, and A has {} rows of {}; give A's own mesh, or leave it out", own.matrix.mesh,
                                    mesh->width * mesh->height * mesh->depth, a.rows(), spec.block));
    const auto solution = solve_system(a, b, spec, options, own, !found_block.empty() && !options.tolerance);
    if (reports) {
        write_solution(b, solution, spec.precision == Precision::f32 ? Precision::f32 : Precision::f64, kind, shape, options.output);
        if (!own.plot.empty())
            write_file(own.plot, convergence_svg(solution.history, options.tolerance.value_or(usual_sparse_tolerance(spec.precision))));
        if (!solution.complaint.empty()) say(fmt::format("trifold solve: {}\n", solution.complaint));
    }
    const auto ranks = options.all_ranks();
    return {to_json(a, spec, solution, ranks, output), to_text(a, spec, solution, ranks), solution.complaint.empty()};
}

}  // namespace

std::function<Report()> sparse_solve(CLI::App& app, const SolveOptions& options, const std::string& found_block) {
    const auto own = std::make_shared<SparseSolveOptions>();
    own->matrix.add_to(app);
    own->matrix.add_variant(app);
    app.add_option("--shift", own->shift,
                   "What is added to the diagonals of pivot blocks, over their largest entry, where they are singular")
        ->capture_default_str();
    app.add_option("--maxiter,--iterations", own->iterations, "The most that are made")->capture_default_str();
    app.add_option("--plot", own->plot, "Where a picture of the residual after each iteration goes, as SVG");
    return [own, &app, &options, &found_block] { return run(app, options, *own, found_block); };
}

}  // namespace trifold::command
