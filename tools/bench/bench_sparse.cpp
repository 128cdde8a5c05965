/// Times sparse systems on a mesh: each operation, the bytes that it moves, and these as a part of what the device copies in the same run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <trifold/error.hpp>

#include "tools/bench/sparse.hpp"

namespace trifold::bench {
namespace {

struct SparseBenchOptions {
    std::string device = "auto", precision = "f64", preconditioner = "ildu0", method = "bicgstab";
    std::vector<std::int64_t> mesh{128, 128, 128}, box;
    std::int64_t block = 3;
    int points = 7, workers = 2;
    double seconds = 0.5, tolerance = 1e-8;
    bool by_pattern = false, forward = false;
};

int run(const SparseBenchOptions& options) {
    const auto device = Device::parse(options.device);
    SparseCase one;
    one.mesh = {options.mesh.at(0), options.mesh.at(1), options.mesh.at(2), options.points};
    if (!options.box.empty()) one.box = {options.box.at(0), options.box.at(1), options.box.at(2)};
    one.by_pattern = options.by_pattern;
    one.spec.block = options.block;
    one.spec.precision = parse_precision(options.precision);
    one.spec.preconditioner = parse_sparse_preconditioner(options.preconditioner);
    one.spec.method = parse_sparse_method(options.method);
    if (options.forward) one.spec.operations = {SparseOperation::apply, SparseOperation::multiply, SparseOperation::solve};
    const Budget budget{.seconds = options.seconds, .least_runs = 3};
    DeviceTools tools(device);
    constexpr std::int64_t copied = 1 << 30;
    const double rate = copy_rate(tools, copied, budget);
    fmt::print("{}: {}; copies {:.0f} GB/s\n", device.name(), to_string(one), rate * 1e-9);
    measure_sparse(
        one, device, options.workers, budget, options.tolerance,
        [&](const SparseResult& result) {
            fmt::print("{:20} {:>10.4f} ms", result.operation, result.seconds.median * 1e3);
            if (result.bytes > 0)
                fmt::print("  {:8.1f} MB  {:7.0f} GB/s  {:.3f} of copies", result.bytes * 1e-6, result.bytes / result.seconds.median * 1e-9,
                           result.bytes / result.seconds.median / rate);
            if (result.iterations > 0) fmt::print("  {} iterations, residual {:.2e}", result.iterations, result.residual);
            fmt::print("\n");
        },
        [](const SparseSummary& s) {
            fmt::print("{}: {} subdomains of at most {} rows, {} shapes, {} levels, {:.1f} % of the entries dropped; made in {:.2f} s\n",
                       s.partition, s.tiles, s.largest_tile, s.shapes, s.levels,
                       100.0 * static_cast<double>(s.dropped) / static_cast<double>(s.entries), s.seconds);
        });
    return 0;
}

}  // namespace
}  // namespace trifold::bench

int main(int argc, char** argv) {
    trifold::bench::SparseBenchOptions options;
    CLI::App app("Times sparse systems on a mesh");
    app.add_option("--device", options.device, "auto, cpu, cuda, cuda:1, hip")->capture_default_str();
    app.add_option("--mesh", options.mesh, "Cells in x, y and z")->expected(3)->delimiter('x');
    app.add_option("--box", options.box, "Cells of a subdomain")->expected(3)->delimiter('x');
    app.add_option("--points", options.points, "7, 19 or 27; 5 or 9 where z is 1")->capture_default_str();
    app.add_option("--block", options.block, "Rows of a block")->capture_default_str();
    app.add_option("--precision", options.precision, "f64, f32 or mixed: factors in f32")->capture_default_str();
    app.add_option("--preconditioner", options.preconditioner, "none, jacobi, dilu, ic0, ildu0, ildu1, ildu2")->capture_default_str();
    app.add_option("--method", options.method, "bicgstab, cg or gmres")->capture_default_str();
    app.add_option("--workers", options.workers, "Threads of a processor")->capture_default_str();
    app.add_option("--seconds", options.seconds, "For each operation")->capture_default_str();
    app.add_option("--tolerance", options.tolerance, "Of a solution")->capture_default_str();
    app.add_flag("--by-rows", options.by_pattern, "The pattern in compressed form, not as a mesh");
    app.add_flag("--forward", options.forward, "Without the transposed operations");
    CLI11_PARSE(app, argc, argv);
    try {
        return trifold::bench::run(options);
    } catch (const trifold::Error& error) {
        fmt::print(stderr, "bench_sparse: {}\n", error.what());
        return 2;
    }
}
