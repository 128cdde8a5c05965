#include "tools/trifold/bench.hpp"

#include <fmt/format.h>

#include "tools/formats/file.hpp"
#include "tools/problems/sparse.hpp"
#include "tools/trifold/input.hpp"
#include "tools/trifold/sparse/options.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {
namespace {

using namespace bench;

struct SparseBenchOptions {
    std::string preconditioner = "ildu0", method = "bicgstab", partition = "automatic", file;
    std::int64_t block = 3;
    int points = 0;  // 0: 7, or 5 in a plane
    bool by_rows = false, random_rows = false, forward = false;
};

/// The largest |b - A x| / |b| that an iteration is asked for.
double tolerance_of(const BenchOptions& options, Precision precision) {
    return options.tolerance.value_or(precision == Precision::f32 ? 1e-5 : 1e-8);
}

std::vector<std::string> sizes_of(const BenchOptions& options, const SparseBenchOptions& own) {
    if (!own.file.empty()) {
        if (!options.sizes.empty() || !options.problem.empty()) throw SpecError("--file is the matrix; leave --size and --problem out");
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
SparseProblem problem_of(const std::string& size, Precision precision, const BenchOptions& options, const SparseBenchOptions& own,
                         std::uint64_t seed) {
    auto spec = spec_of(precision, own);
    SparseMatrixOptions matrix;
    matrix.partition = own.partition;
    matrix.mesh = size;
    if (size.empty()) return make_rows(own.file, read_rows(own.file, spec.block), spec, matrix.parts(false), seed);
    const auto [x, y, z] = parse_cells(size);
    if (options.problem.empty()) {
        const SparseMesh mesh{x, y, z, own.points > 0 ? own.points : z == 1 ? 5 : 7};
        matrix.points = mesh.points;
        const auto form = own.random_rows ? MeshForm::random_rows : own.by_rows ? MeshForm::rows : MeshForm::mesh;
        return make_mesh(mesh, spec, matrix.parts(form == MeshForm::mesh), form, seed);
    }
    auto a = problems::make_sparse(options.problem, {x, y, z}, spec.block, 1, seed).a;
    spec.block = a.block;
    return make_rows(options.problem + " " + size, std::move(a), spec, matrix.parts(false), seed);
}

BenchCase case_of(const SparseProblem& one, const std::string& size, const std::string& file) {
    BenchCase result{"sparse",
                     fmt::format("{} {}", size.empty() ? file : size, to_string(one.spec.precision)),
                     {{"case", one.name},
                      {"rows", one.pattern.rows()},
                      {"by_rows", one.pattern.mesh() == nullptr},
                      {"block", one.spec.block},
                      {"precision", to_string(one.spec.precision)},
                      {"preconditioner", to_string(one.spec.preconditioner)},
                      {"method", to_string(one.spec.method)},
                      {"iterations", nullptr},
                      {"end", nullptr}}};
    if (one.mesh)
        result.json.update(
            {{"width", one.mesh->width}, {"height", one.mesh->height}, {"depth", one.mesh->depth}, {"points", one.mesh->points}});
    return result;
}

std::string summary_text(const SparseSummary& s) {
    return fmt::format("{}: {} of at most {} rows, {} levels, {:.1f} % of the entries dropped; made in {}\n", s.partition,
                       plural(s.tiles, "subdomain"), s.largest_tile, s.levels,
                       100.0 * static_cast<double>(s.dropped) / static_cast<double>(s.entries), seconds_text(s.seconds));
}

/// Bytes a second, read and written, of copies in the device's memory.
double copy_rate(DeviceTools& tools, bool quick, const Budget& budget) {
    const std::int64_t bytes = quick ? 1 << 24 : 1 << 30;
    const auto from = tools.allocate(bytes), to = tools.allocate(bytes);
    const Step copy{.operation = "copy", .call = [&] { tools.copy(to.get(), from.get(), bytes); }};
    return 2 * static_cast<double>(bytes) / summarize(time_step(tools, copy, budget)).median;
}

int run(const BenchOptions& options, const SparseBenchOptions& own) {
    if (options.rhs != std::vector<std::int64_t>{1}) throw SpecError("suite sparse solves one right-hand side; leave --rhs out");
    const auto device = options.one_device();
    const SparseTuning tuning{.workers = options.workers_on(device)};
    const auto peers = options.chosen_peers(Family::sparse);
    const auto seed = options.seed_or_new();
    const auto sizes = sizes_of(options, own);
    for (const auto& size : sizes)
        if (!size.empty()) parse_cells(size);
    for (const auto precision : options.precisions()) spec_of(precision, own);
    auto budget = options.budget(0.2);
    budget.min_runs = options.quick ? 1 : 3;
    BenchReport report(options, device, seed, peers);
    DeviceTools tools(device);
    const double rate = copy_rate(tools, options.quick, budget);
    report.head(fmt::format("sparse: operations beside the bytes they move; the floor is that of copies, {:.1f} GB/s", rate * 1e-9), false);
    for (const auto& size : sizes)
        for (const auto precision : options.precisions()) {
            const Problem problem = [&] {
                auto one = problem_of(size, precision, options, own, seed);
                one.rtol = tolerance_of(options, precision);
                return one;
            }();
            const auto& one = std::get<SparseProblem>(problem);
            report.text(fmt::format("{}, {} rows of blocks of {}, {}, {}, {}\n", one.name, one.pattern.rows(), one.spec.block,
                                    to_string(precision), to_string(one.spec.preconditioner), to_string(one.spec.method)));
            Contest contest{.problem = problem, .entries = {}, .tolerance = 2 * one.rtol, .budget = budget};
            for (const auto& ranks : options.all_ranks())
                if (ranks.count == 1)
                    contest.entries.push_back(
                        {"trifold", [&](DeviceTools& on) {
                             return our_sparse(one, device, tuning, [&](const SparseSummary& s) { report.text(summary_text(s)); }, on);
                         }});
                else
                    contest.entries.push_back({fmt::format("trifold, {} ranks", ranks.count),
                                               [&, ranks](DeviceTools&) { return our_sparse(one, ranks, tuning, budget); }});
            contest.add(peers);
            contest.floor_seconds = [rate](const bench::Work& work) { return std::optional(work.bytes / rate); };
            report.measure(case_of(one, size, own.file), contest, tools);
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
    app.add_option("--file", own->file, "In suite sparse: a matrix, A.mtx, in rows of --block");
    app.add_option("--points", own->points, "In suite sparse: 7, 19 or 27, or 5 or 9 in a plane; 7 or 5 when it is not given");
    app.add_option("--preconditioner", own->preconditioner, "In suite sparse: ildu0, ildu1, ildu2, dilu, ic0, jacobi or none")
        ->capture_default_str();
    app.add_option("--method", own->method, "In suite sparse: bicgstab, cg or gmres; cg has a symmetric matrix")->capture_default_str();
    app.add_flag("--by-rows", own->by_rows, "In suite sparse: the pattern in compressed form, not as a mesh");
    app.add_flag("--random-rows", own->random_rows, "In suite sparse: that, with rows in a random order");
    app.add_flag("--forward", own->forward, "In suite sparse: without the transposed operations");
    return [own, &options] { return run(options, *own); };
}

}  // namespace trifold::command
