#include <fmt/format.h>

#include "tools/bench/sparse.hpp"
#include "tools/trifold/sparse/options.hpp"
#include "tools/trifold/sparse/verbs.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {
namespace {

using namespace bench;

struct SparseBenchOptions {
    std::string preconditioner = "ildu0", method = "bicgstab", box;
    std::int64_t block = 3;
    int points = 0;  // 0: 7, or 5 in a plane
    bool by_rows = false, forward = false;
};

constexpr std::int64_t copied = 1 << 30, copied_quick = 1 << 24;  // bytes

SparseRequest make_request(const BenchOptions& options, const Device& device) {
    options.chosen_peers([] { return std::vector<SparsePeer>(); },
                         [](const std::string& name, const auto&) {
                             return SpecError(fmt::format("there is no peer '{}' for sparse systems; leave --peers out", name));
                         });
    SparseRequest request{.device = device, .workers = options.workers_on(device), .peers = {}};
    request.budget = {.seconds = options.budget(request.budget.seconds), .least_runs = 3};
    request.seed = options.seed_or_new();
    return request;
}

std::vector<Precision> precisions_of(const BenchOptions& options) {
    if (options.precision == "both") return {Precision::f64, Precision::f32};
    return {parse_precision(options.precision)};
}

/// The largest |b - A x| / |b| that an iteration is asked for.
double tolerance_of(const BenchOptions& options, Precision precision) {
    return options.tolerance.value_or(precision == Precision::f32 ? 1e-5 : 1e-8);
}

std::vector<SparseMesh> meshes_of(const BenchOptions& options, int points) {
    const std::vector<std::string> usual{options.quick ? "16x16x16" : "128x128x128"};
    std::vector<SparseMesh> meshes;
    for (const auto& size : options.sizes.empty() ? usual : options.sizes) {
        const auto [x, y, z] = parse_cells(size);
        meshes.push_back({x, y, z, points > 0 ? points : z == 1 ? 5 : 7});
    }
    return meshes;
}

SparseCase case_of(const SparseMesh& mesh, Precision precision, const SparseBenchOptions& own) {
    SparseCase one;
    one.mesh = mesh;
    if (!own.box.empty()) one.box = parse_cells(own.box);
    one.by_pattern = own.by_rows;
    one.spec.block = own.block;
    one.spec.precision = precision;
    one.spec.preconditioner = parse_sparse_preconditioner(own.preconditioner);
    one.spec.method = parse_sparse_method(own.method);
    if (own.forward) one.spec.operations = {SparseOperation::apply, SparseOperation::multiply, SparseOperation::solve};
    validate(one.spec);
    return one;
}

Json case_json(const SparseCase& one) {
    return {{"width", one.mesh.width},
            {"height", one.mesh.height},
            {"depth", one.mesh.depth},
            {"points", one.mesh.points},
            {"by_rows", one.by_pattern},
            {"block", one.spec.block},
            {"precision", to_string(one.spec.precision)},
            {"preconditioner", to_string(one.spec.preconditioner)},
            {"method", to_string(one.spec.method)}};
}

Json to_json(const SparseCase& one, const SparseResult& result, double rate) {
    Json item{{"suite", "sparse"}, {"solver", "trifold"}, {"operation", result.operation}};
    item.update(case_json(one));
    item["runs"] = result.seconds.sorted.size();
    item["seconds"] = statistics_json(result.seconds);
    const auto moved = result.bytes / result.seconds.median;
    const bool is_counted = result.bytes > 0;
    item["gigabytes_per_second"] = is_counted ? Json(moved * 1e-9) : Json(nullptr);
    item["copy_fraction"] = is_counted ? Json(moved / rate) : Json(nullptr);
    const bool is_solution = !result.end.empty();
    item["iterations"] = is_solution ? Json(result.iterations) : Json(nullptr);
    item["end"] = is_solution ? Json(result.end) : Json(nullptr);
    item["relative_residual"] = is_solution ? Json(result.residual) : Json(nullptr);
    return item;
}

std::string row(const SparseResult& result, double rate) {
    const auto& seconds = result.seconds;
    const auto moved = result.bytes / seconds.median;
    return fmt::format(
        "{:<22} {:>9} {:>9} {:>9} {:>8} {:>8}{}\n", result.operation, seconds_text(seconds.median), seconds_text(seconds.minimum),
        seconds_text(seconds.spread), result.bytes > 0 ? fmt::format("{:.1f}", moved * 1e-9) : "-",
        result.bytes > 0 ? fmt::format("{:.3f}", moved / rate) : "-",
        result.end.empty()
            ? ""
            : fmt::format("  {} after {}, residual {:.1e}", result.end, plural(result.iterations, "iteration"), result.residual));
}

std::string summary_text(const SparseSummary& s) {
    return fmt::format("{}: {} of at most {} rows, {} levels, {:.1f} % of the entries dropped; made in {}\n", s.partition,
                       plural(s.tiles, "subdomain"), s.largest_tile, s.levels,
                       100.0 * static_cast<double>(s.dropped) / static_cast<double>(s.entries), seconds_text(s.seconds));
}

int run(const BenchOptions& options, const SparseBenchOptions& own) {
    if (options.rhs != 1) throw SpecError(fmt::format("suite sparse solves one right-hand side, not {}; leave --rhs out", options.rhs));
    const auto device = Device::parse(options.device);
    auto request = make_request(options, device);
    std::vector<SparseCase> cases;
    for (const auto& mesh : meshes_of(options, own.points))
        for (const auto precision : precisions_of(options)) cases.push_back(case_of(mesh, precision, own));
    BenchReport report(options, request, request.workers);
    DeviceTools tools(device);
    const double rate = copy_rate(tools, options.quick ? copied_quick : copied, request.budget);
    report.text(fmt::format("{}, {}; copies {:.1f} GB/s\n", device.name(), plural(request.workers, "worker"), rate * 1e-9));
    for (const auto& one : cases) {
        request.tolerance = tolerance_of(options, one.spec.precision);
        const auto what = to_string(one);
        report.text(fmt::format("\n{}\n", what));
        try {
            measure_sparse(
                one, request,
                [&](const SparseResult& result) {
                    const bool accurate = result.end.empty() || result.residual <= 2 * request.tolerance;
                    report.result(what, "trifold", result.residual, accurate, result.seconds, to_json(one, result, rate),
                                  row(result, rate));
                },
                [&](const SparseSummary& summary) {
                    report.text(summary_text(summary) + fmt::format("{:<22} {:>9} {:>9} {:>9} {:>8} {:>8}\n", "", "median", "minimum",
                                                                    "spread", "GB/s", "of copies"));
                });
        } catch (const Error& error) {
            report.failure(what, "trifold", error.what(), case_json(one));
        }
        report.save();
    }
    return report.end();
}

}  // namespace

std::function<int()> sparse_bench(CLI::App& app, const BenchOptions& options, const std::string&) {
    const auto own = std::make_shared<SparseBenchOptions>();
    app.add_option("--block", own->block, "In suite sparse: rows of a block")->capture_default_str();
    app.add_option("--box", own->box, "In suite sparse: cells of a subdomain, such as 16x16x8; by the device's model when it is not given");
    app.add_option("--points", own->points, "In suite sparse: 7, 19 or 27, or 5 or 9 in a plane; 7 or 5 when it is not given");
    app.add_option("--preconditioner", own->preconditioner, "In suite sparse: ildu0, ildu1, ildu2, dilu, ic0, jacobi or none")
        ->capture_default_str();
    app.add_option("--method", own->method, "In suite sparse: bicgstab, cg or gmres")->capture_default_str();
    app.add_flag("--by-rows", own->by_rows, "In suite sparse: the pattern in compressed form, not as a mesh");
    app.add_flag("--forward", own->forward, "In suite sparse: without the transposed operations");
    return [own, &options] { return run(options, *own); };
}

}  // namespace trifold::command
