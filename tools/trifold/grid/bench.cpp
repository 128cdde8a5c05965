#include <fmt/format.h>

#include "tools/bench/grid.hpp"
#include "tools/trifold/grid/verbs.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {
namespace {

using namespace bench;

SpecError no_grid_peer(const std::string& name, const Device& device) {
    return SpecError(
        fmt::format("there is no peer '{}' for images on {}; give all or none, or cudss on CUDA. UMFPACK and CHOLMOD "
                    "are in the program bench_grid",
                    name, device.name()));
}

GridRequest make_request(const BenchOptions& options, const std::string& matrix) {
    if (options.precision == "mixed") throw SpecError("images have no mixed precision; give f32, f64 or both, and see GridSolver::refine");
    GridRequest request{.device = Device::parse(options.device)};
    const auto& device = request.device;
    if (options.precision != "both") request.precisions = {parse_precision(options.precision)};
    if (matrix == "general") request.matrices = {GridMatrix::general};
    if (matrix == "symmetric") request.matrices = {GridMatrix::symmetric};
    request.tuning.workers = options.workers_on(device);
    request.peers = options.chosen_peers([&] { return find_grid_peers(device); },
                                         [&](const std::string& name, const auto&) { return no_grid_peer(name, device); });
    request.budget.seconds = options.budget(request.budget.seconds);
    request.rhs = options.rhs;
    request.seed = options.seed_or_new();
    request.tolerance = options.tolerance;
    return request;
}

Json spec_json(const GridSpec& spec) {
    return {{"width", spec.width},
            {"height", spec.height},
            {"batch", spec.batch},
            {"rhs", spec.rhs},
            {"precision", to_string(spec.precision)},
            {"matrix", to_string(spec.matrix)}};
}

std::string case_text(const GridSpec& spec) {
    return fmt::format("{} {} {}", to_string(ImageSize{spec.width, spec.height, spec.batch}), to_string(spec.precision),
                       to_string(spec.matrix));
}

Json to_json(const GridResult& result) {
    Json item{{"suite", "grid"}, {"solver", result.solver}, {"operation", result.operation}, {"problem", result.problem}};
    item.update(spec_json(result.spec));
    item["runs"] = result.seconds.sorted.size();
    item["seconds"] = statistics_json(result.seconds);
    item["relative_residual"] = result.residual ? Json(*result.residual) : Json(nullptr);
    item["accurate"] = result.accurate;
    item["gigaflops_per_second"] = result.flops ? Json(*result.flops / result.seconds.median * 1e-9) : Json(nullptr);
    return item;
}

std::string row(const GridResult& result) {
    const auto& [spec, seconds] = std::tie(result.spec, result.seconds);
    return fmt::format("{:<14} {:<4} {:<9} {:<8} {:<12} {:>9} {:>9} {:>9} {:>8} {:>8.1e}\n",
                       to_string(ImageSize{spec.width, spec.height, spec.batch}), to_string(spec.precision), to_string(spec.matrix),
                       result.solver, result.operation, seconds_text(seconds.median), seconds_text(seconds.minimum),
                       seconds_text(seconds.spread), result.flops ? fmt::format("{:.1f}", *result.flops / seconds.median * 1e-9) : "-",
                       result.residual.value_or(0));
}

int run(const BenchOptions& options, const std::string& matrix) {
    const auto request = make_request(options, matrix);
    const auto sizes = options.sizes_or<ImageSize>(image_sizes(), parse_image, quick);
    for (const auto& size : sizes) grid_specs(size, request);  // before minutes are spent on others
    BenchReport report(options, request, request.tuning.workers);
    report.text(fmt::format("{}, {}\n\n{:<14} {:<4} {:<9} {:<8} {:<12} {:>9} {:>9} {:>9} {:>8} {:>8}\n", request.device.name(),
                            plural(request.tuning.workers, "worker"), "pixels", "", "matrix", "solver", "operation", "median", "minimum",
                            "spread", "GFLOP/s", "residual"));
    const GridListener listener{
        [&](const GridResult& one) {
            report.result(case_text(one.spec), one.solver, one.residual, one.accurate, one.seconds, to_json(one), row(one));
        },
        [&](const GridFailure& one) { report.failure(case_text(one.spec), one.solver, one.message, spec_json(one.spec)); }};
    for (const auto& size : sizes) {
        measure_grid(size, request, listener);
        report.save();
    }
    return report.end();
}

}  // namespace

std::function<int()> grid_bench(CLI::App& app, const BenchOptions& options, const std::string&) {
    const auto matrix = std::make_shared<std::string>();
    app.add_option("--matrix", *matrix, "In suite grid: general, symmetric or both")
        ->check(CLI::IsMember({"general", "symmetric", "both"}));
    return [matrix, &options] { return run(options, *matrix); };
}

}  // namespace trifold::command
