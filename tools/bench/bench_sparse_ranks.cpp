// Times of a sparse system over several GPUs of one host beside one of them: a thread a GPU, messages by NCCL.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <random>
#include <trifold/trifold.hpp>

#include "tools/bench/ranks.hpp"
#include "tools/bench/sparse.hpp"

using namespace trifold;
using namespace trifold::bench;

namespace {

struct Options {
    std::vector<std::string> sizes{"256x128x128"};
    std::vector<int> ranks{1, 2};
    std::int64_t block = 3;
    std::vector<std::string> boxes{"own"};
    std::string method = "bicgstab", preconditioner = "ildu0", backend = "cuda", library;
    double tolerance = 1e-10;
    int runs = 5;
    bool symmetric = false, messages = false;
};

std::array<std::int64_t, 3> cells_of(const std::string& text) {
    std::array<std::int64_t, 3> cells{};
    if (std::sscanf(text.c_str(), "%ldx%ldx%ld", &cells[0], &cells[1], &cells[2]) != 3)
        throw SpecError(fmt::format("'{}' is no size; give WIDTHxHEIGHTxDEPTH", text));
    return cells;
}

/// A becomes (A + A') / 2, which the pattern of a mesh allows, with something more on the diagonal so that it is positive definite.
void make_symmetric(const SparsePattern& pattern, std::int64_t block, std::vector<double>& values) {
    constexpr double more = 0.3;
    const auto starts = pattern.starts();
    const auto columns = pattern.columns(), sources = pattern.sources();
    const auto place = [&](std::int64_t row, std::int64_t column) {
        const auto first = columns.begin() + starts[static_cast<std::size_t>(row)],
                   last = columns.begin() + starts[static_cast<std::size_t>(row) + 1];
        const auto found = std::lower_bound(first, last, column) - columns.begin();
        return sources.empty() ? found : static_cast<std::int64_t>(sources[static_cast<std::size_t>(found)]);
    };
    const auto at = [&](std::int64_t entry, std::int64_t i, std::int64_t j) -> double& {
        return values[static_cast<std::size_t>((entry * block + i) * block + j)];
    };
    for (std::int64_t row = 0; row < pattern.rows(); ++row)
        for (auto k = starts[static_cast<std::size_t>(row)]; k < starts[static_cast<std::size_t>(row) + 1]; ++k) {
            const std::int64_t column = columns[static_cast<std::size_t>(k)];
            if (column > row) continue;
            const auto one = place(row, column), other = place(column, row);
            for (std::int64_t i = 0; i < block; ++i)
                for (std::int64_t j = 0; j < block; ++j)
                    if (column < row || j <= i) at(one, i, j) = at(other, j, i) = (at(one, i, j) + at(other, j, i)) / 2;
            for (std::int64_t i = 0; i < block && column == row; ++i) at(one, i, i) += more;
        }
}

struct Problem {
    Problem(const SparseMesh& mesh, std::int64_t block, bool symmetric)
        : pattern(mesh), values(sparse_values(pattern, block, 1)), b(static_cast<std::size_t>(pattern.rows() * block)) {
        if (symmetric) make_symmetric(pattern, block, values);
        std::mt19937_64 random(2);
        std::uniform_real_distribution<double> number(-1, 1);
        std::ranges::generate(b, [&] { return number(random); });
    }
    SparsePattern pattern;
    std::vector<double> values, b;
};

/// The result of one number of ranks.
struct Found {
    double seconds = 0, update = 0, plan = 0;
    SparseOutcome outcome;
    std::vector<double> x, history;
    bool repeats = true;  // all runs had the same bits
    std::string against(const Found& one) const {
        if (one.x.empty()) return "";
        const auto* same = x == one.x && history == one.history ? "bits of one GPU" : "OTHER BITS than one GPU";
        const auto first = std::ranges::mismatch(history, one.history).in1 - history.begin();
        return fmt::format("{} (histories agree for {} of {}){}", same, first, history.size(), repeats ? "" : ", OTHER BITS in every run");
    }
};

/// One GPU where there are no transports.
Found solve(const Options& options, const SparseSpec& spec, const Problem& problem, const SparsePartition& partition,
            const Transports& transports) {
    const int ranks = std::max(1, static_cast<int>(transports.size()));
    std::barrier barrier(ranks);
    Found found;
    on_devices(ranks, [&](int rank) {
        const auto device = device_of(options.backend, rank);
        const DeviceTools tools(device);
        const auto start = now();
        SparseSolver solver(transports.empty()
                                ? SparsePlan(spec, problem.pattern, device, partition)
                                : SparsePlan(spec, problem.pattern, transports[static_cast<std::size_t>(rank)], device, partition));
        if (rank == 0) found.plan = now() - start;
        const auto values = upload(tools, problem.values), b = upload(tools, problem.b), x = upload(tools, problem.b);
        const Stream stream{tools.stream()};
        const SparseOptions wanted{.relative = options.tolerance};
        const auto keep = [&] {
            if (rank != 0) return;
            const auto before = std::exchange(found.x, std::vector<double>(problem.b.size()));
            tools.download(found.x.data(), x.get(), static_cast<std::int64_t>(found.x.size() * sizeof(double)));
            found.repeats = found.repeats && (before.empty() || before == found.x);
        };
        const auto update = least_seconds(barrier, tools, {options.runs}, [&] { solver.update(values.get(), stream); });
        const auto seconds = least_seconds(barrier, tools, {options.runs}, [&] { solver.solve(b.get(), x.get(), stream, wanted); }, keep);
        if (rank != 0) return;
        found.update = update;
        found.seconds = seconds;
        found.outcome = solver.outcomes().front();
        found.history = solver.history();
    });
    return found;
}

void print(const Options& options, const std::string& what, int ranks, const Found& found, const Found& one) {
    const auto each = found.seconds / static_cast<double>(found.outcome.iterations);
    const auto ratio = one.x.empty() ? 0 : one.seconds / static_cast<double>(one.outcome.iterations) / each;
    fmt::print(
        "{}, blocks of {}, {}: {} GPU  update {:8.3f} ms  solve {:9.3f} ms, {:3} iterations of {:8.1f} us ({:5.3f})  "
        "residual {:.1e}  plan {:.1f} s  {}\n",
        what, options.block, options.method, ranks, 1e3 * found.update, 1e3 * found.seconds, found.outcome.iterations, 1e6 * each, ratio,
        found.outcome.relative(), found.plan, found.against(one));
    std::fflush(stdout);
}

void run_size(const Options& options, const std::string& size, const std::vector<Transports>& transports) {
    const auto [width, height, depth] = cells_of(size);
    const SparseMesh mesh{width, height, depth, 7};
    const Problem problem(mesh, options.block, options.symmetric);
    const SparseSpec spec{.block = options.block,
                          .preconditioner = parse_sparse_preconditioner(options.preconditioner),
                          .method = parse_sparse_method(options.method),
                          .most_iterations = 2000,
                          .operations = {SparseOperation::solve}};
    for (const auto& box : options.boxes) {
        SparsePartition partition;
        if (box != "own") partition = {.by = SparsePartitioning::box, .box = cells_of(box)};
        Found one;
        for (std::size_t k = 0; k < options.ranks.size(); ++k) {
            const auto found = solve(options, spec, problem, partition, transports[k]);
            if (options.ranks[k] == 1) one = found;
            print(options, fmt::format("{}, boxes {}", size, box), options.ranks[k], found, one);
        }
    }
}

/// Two messages at once, there and back.
void run_messages(const Transports& transports, const Options& options) {
    std::barrier barrier(2);
    for (const std::int64_t bytes : {64LL, 65'536LL, 131'072LL, 327'680LL, 786'432LL, 3'145'728LL})
        on_devices(2, [&](int rank) {
            const DeviceTools tools(device_of(options.backend, rank));
            const auto out = tools.allocate(bytes), in = tools.allocate(bytes);
            auto& transport = *transports[static_cast<std::size_t>(rank)];
            const Stream stream{tools.stream()};
            const auto least = least_seconds(barrier, tools, {options.runs, 50}, [&] {
                transport.begin_group();
                transport.send(1 - rank, out.get(), bytes, stream);
                transport.receive(1 - rank, in.get(), bytes, stream);
                transport.end_group();
            });
            if (rank == 0) fmt::print("exchange of {:8} bytes each way: {:7.2f} us\n", bytes, least * 1e6);
        });
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"Times of a sparse system over several GPUs, and in parentheses how many times the iteration rate of one GPU"};
    app.add_option("sizes", options.sizes, "WIDTHxHEIGHTxDEPTH of a mesh of seven points")->delimiter(',');
    app.add_option("--ranks", options.ranks, "numbers of GPUs, 1 first")->delimiter(',');
    app.add_option("--block", options.block, "rows of a block");
    app.add_option("--method", options.method, "bicgstab or cg");
    app.add_option("--preconditioner", options.preconditioner, "such as ildu0, jacobi or none");
    app.add_option("--box", options.boxes, "cells of a subdomain, such as 16x16x8, or own: the device's; several, separated by commas")
        ->delimiter(',');
    app.add_flag("--symmetric", options.symmetric, "a symmetric and positive definite matrix, as cg needs it");
    app.add_option("--tolerance", options.tolerance, "of |b - A x| / |b|");
    app.add_option("--backend", options.backend, "cuda, hip or cpu");
    app.add_option("--library", options.library, "NCCL's file");
    app.add_option("--runs", options.runs, "of which the least time counts");
    app.add_flag("--messages", options.messages, "time messages between two GPUs");
    CLI11_PARSE(app, argc, argv);
    std::vector<Transports> transports;
    for (const auto ranks : options.ranks)
        transports.push_back(ranks > 1 ? connect(options.backend, options.library, ranks) : Transports{});
    for (const auto& each : transports)
        if (options.messages && each.size() == 2) run_messages(each, options);
    for (const auto& size : options.sizes) run_size(options, size, transports);
}
