#include <fmt/format.h>

#include "tools/bench/sparse.hpp"
#include "tools/formats/file.hpp"
#include "tools/problems/sparse.hpp"
#include "tools/trifold/input.hpp"
#include "tools/trifold/sparse/options.hpp"
#include "tools/trifold/sparse/verbs.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {
namespace {

using namespace bench;

struct SparseBenchOptions {
    std::string preconditioner = "ildu0", method = "bicgstab", partition = "automatic", problem, file;
    std::int64_t block = 3;
    int points = 0;  // 0: 7, or 5 in a plane
    bool by_rows = false, random_rows = false, forward = false;
};

constexpr std::int64_t copied = 1 << 30, copied_quick = 1 << 24;  // bytes

SparseRequest make_request(const BenchOptions& options, const Device& device) {
    SparseRequest request{.device = device, .workers = options.workers_on(device), .peers = {}};
    request.peers =
        options.chosen_peers([&] { return find_sparse_peers(device); },
                             [&](const std::string& name, const auto&) {
                                 return SpecError(fmt::format("there is no peer '{}' for sparse systems on {}; leave --peers out", name,
                                                              to_string(device.backend())));
                             });
    request.budget = {.seconds = options.budget(request.budget.seconds), .least_runs = options.quick ? 1U : 3U};
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

std::vector<std::string> sizes_of(const BenchOptions& options, const SparseBenchOptions& own) {
    if (!own.file.empty()) {
        if (!options.sizes.empty() || !own.problem.empty()) throw SpecError("--file is the matrix; leave --size and --problem out");
        return {""};
    }
    if (!options.sizes.empty()) return options.sizes;
    return {options.quick ? "16x16x16" : "128x128x128"};
}

SparseSpec spec_of(Precision precision, const SparseBenchOptions& own) {
    SparseSpec spec;
    spec.block = own.block;
    spec.precision = precision;
    spec.preconditioner = parse_sparse_preconditioner(own.preconditioner);
    spec.method = parse_sparse_method(own.method);
    if (own.forward) spec.operations = {SparseOperation::apply, SparseOperation::multiply, SparseOperation::solve};
    validate(spec);
    return spec;
}

formats::BlockRows read_rows(const std::string& name, std::int64_t block) {
    const auto file = read_files({name}).front();
    const auto matrix = formats::parse_matrix_market(file.bytes, name);
    if (const auto* sparse = std::get_if<formats::SparseMatrix>(&matrix)) return to_block_rows(*sparse, block);
    throw formats::InputError(fmt::format("'{}' is an array; give the entries of a sparse matrix", name));
}

/// `size` are the cells of a mesh or of a problem; without one there is a file.
SparseCase case_of(const std::string& size, Precision precision, const SparseBenchOptions& own, std::uint64_t seed) {
    auto spec = spec_of(precision, own);
    SparseMatrixOptions matrix;
    matrix.partition = own.partition;
    matrix.mesh = size;
    if (size.empty()) return case_of_rows(own.file, read_rows(own.file, spec.block), spec, matrix.parts(false), seed);
    const auto [x, y, z] = parse_cells(size);
    if (own.problem.empty()) {
        const SparseMesh mesh{x, y, z, own.points > 0 ? own.points : z == 1 ? 5 : 7};
        matrix.points = mesh.points;
        const auto form = own.random_rows ? MeshForm::random_rows : own.by_rows ? MeshForm::rows : MeshForm::mesh;
        return case_of_mesh(mesh, spec, matrix.parts(form == MeshForm::mesh), form, seed);
    }
    auto a = problems::make_sparse(own.problem, {x, y, z}, spec.block, 1, seed).a;
    spec.block = a.block;
    return case_of_rows(own.problem + " " + size, std::move(a), spec, matrix.parts(false), seed);
}

std::string what_is(const SparseCase& one) {
    return fmt::format("{}, {} rows of blocks of {}, {}, {}, {}", one.name, one.pattern.rows(), one.spec.block,
                       to_string(one.spec.precision), to_string(one.spec.preconditioner), to_string(one.spec.method));
}

Json case_json(const SparseCase& one) {
    Json item{{"case", one.name},
              {"rows", one.pattern.rows()},
              {"by_rows", one.pattern.mesh() == nullptr},
              {"block", one.spec.block},
              {"precision", to_string(one.spec.precision)},
              {"preconditioner", to_string(one.spec.preconditioner)},
              {"method", to_string(one.spec.method)}};
    if (one.mesh)
        item.update({{"width", one.mesh->width}, {"height", one.mesh->height}, {"depth", one.mesh->depth}, {"points", one.mesh->points}});
    return item;
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json to_json(const SparseCase& one, const SparseResult& result, double rate) {
    Json item{{"suite", "sparse"}, {"solver", result.solver}, {"operation", result.operation}};
    item.update(case_json(one));
    item["runs"] = result.seconds.sorted.size();
    item["seconds"] = statistics_json(result.seconds);
    const auto moved = result.bytes / result.seconds.median;
    const bool is_counted = result.bytes > 0;
    item["gigabytes_per_second"] = is_counted ? Json(moved * 1e-9) : Json(nullptr);
    item["copy_fraction"] = is_counted ? Json(moved / rate) : Json(nullptr);
    const bool iterates = !result.end.empty();
    item["iterations"] = iterates ? Json(result.iterations) : Json(nullptr);
    item["end"] = iterates ? Json(result.end) : Json(nullptr);
    item["relative_residual"] = or_null(result.residual);
    item["apart"] = or_null(result.apart);
    return item;
}

std::string remarks(const SparseResult& result) {
    std::string text;
    if (!result.end.empty()) text += fmt::format("  {} after {}", result.end, plural(result.iterations, "iteration"));
    if (result.residual) text += fmt::format("  residual {:.1e}", *result.residual);
    if (result.apart) text += fmt::format("  {:.1e} from ours", *result.apart);
    return text;
}

std::string row(const SparseResult& result, double rate) {
    const auto& seconds = result.seconds;
    const auto moved = result.bytes / seconds.median;
    const auto name = result.solver == "trifold" ? result.operation : result.solver + " " + result.operation;
    return fmt::format("{:<30} {:>9} {:>9} {:>9} {:>8} {:>8}{}\n", name, seconds_text(seconds.median), seconds_text(seconds.minimum),
                       seconds_text(seconds.spread), result.bytes > 0 ? fmt::format("{:.1f}", moved * 1e-9) : "-",
                       result.bytes > 0 ? fmt::format("{:.3f}", moved / rate) : "-", remarks(result));
}

std::string summary_text(const SparseSummary& s) {
    return fmt::format("{}: {} of at most {} rows, {} levels, {:.1f} % of the entries dropped; made in {}\n", s.partition,
                       plural(s.tiles, "subdomain"), s.largest_tile, s.levels,
                       100.0 * static_cast<double>(s.dropped) / static_cast<double>(s.entries), seconds_text(s.seconds));
}

/// The distance from our application that says a peer has another preconditioner.
constexpr double too_far = 1e-6;

void run_case(const SparseCase& one, const SparseRequest& request, double rate, BenchReport& report) {
    const auto what = what_is(one);
    report.text(fmt::format("\n{}\n", what));
    try {
        measure_sparse(one, request,
                       {[&](const SparseSummary& summary) {
                            report.text(summary_text(summary) + fmt::format("{:<30} {:>9} {:>9} {:>9} {:>8} {:>8}\n", "", "median",
                                                                            "minimum", "spread", "GB/s", "of copies"));
                        },
                        [&](const SparseResult& result) {
                            const bool accurate =
                                result.residual.value_or(0) <= 2 * request.tolerance && result.apart.value_or(0) <= too_far;
                            report.result(what, result.solver, result.residual ? result.residual : result.apart, accurate, result.seconds,
                                          to_json(one, result, rate), row(result, rate));
                        },
                        [&](const std::string& peer, const std::string& message) { report.failure(what, peer, message, case_json(one)); }});
    } catch (const Error& error) {
        report.failure(what, "trifold", error.what(), case_json(one));
    }
    report.save();
}

int run(const BenchOptions& options, const SparseBenchOptions& own) {
    if (options.rhs != 1) throw SpecError(fmt::format("suite sparse solves one right-hand side, not {}; leave --rhs out", options.rhs));
    const auto device = Device::parse(options.device);
    auto request = make_request(options, device);
    const auto sizes = sizes_of(options, own);
    const auto precisions = precisions_of(options);
    for (const auto& size : sizes)
        if (!size.empty()) parse_cells(size);
    for (const auto precision : precisions) spec_of(precision, own);
    BenchReport report(options, request, request.workers);
    DeviceTools tools(device);
    const double rate = copy_rate(tools, options.quick ? copied_quick : copied, request.budget);
    report.text(fmt::format("{}, {}; copies {:.1f} GB/s\n", device.name(), plural(request.workers, "worker"), rate * 1e-9));
    for (const auto& size : sizes)
        for (const auto precision : precisions) {
            request.tolerance = tolerance_of(options, precision);
            run_case(case_of(size, precision, own, request.seed), request, rate, report);
        }
    return report.end();
}

}  // namespace

std::function<int()> sparse_bench(CLI::App& app, const BenchOptions& options, const std::string&) {
    const auto own = std::make_shared<SparseBenchOptions>();
    app.add_option("--block", own->block, "In suite sparse: rows of a block")->capture_default_str();
    app.add_option("--partition,--box", own->partition,
                   "In suite sparse: automatic, metis, greedy, whole, boxes of cells such as 16x16x8, or a file with each row's subdomain")
        ->capture_default_str();
    app.add_option("--problem", own->problem,
                   "In suite sparse: a problem of `trifold problem` in place of a diffusion, on cells of --size");
    app.add_option("--file", own->file, "In suite sparse: a matrix, A.mtx, in rows of --block");
    app.add_option("--points", own->points, "In suite sparse: 7, 19 or 27, or 5 or 9 in a plane; 7 or 5 when it is not given");
    app.add_option("--preconditioner", own->preconditioner, "In suite sparse: ildu0, ildu1, ildu2, dilu, ic0, jacobi or none")
        ->capture_default_str();
    app.add_option("--method", own->method, "In suite sparse: bicgstab, cg or gmres")->capture_default_str();
    app.add_flag("--by-rows", own->by_rows, "In suite sparse: the pattern in compressed form, not as a mesh");
    app.add_flag("--random-rows", own->random_rows, "In suite sparse: that, with rows in a random order");
    app.add_flag("--forward", own->forward, "In suite sparse: without the transposed operations");
    return [own, &options] { return run(options, *own); };
}

}  // namespace trifold::command
