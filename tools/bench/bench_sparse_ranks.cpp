// Times of a sparse system over several GPUs of one host beside one of them: a thread a GPU, messages by NCCL.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <thread>
#include <trifold/trifold.hpp>

#include "tools/bench/device_tools.hpp"
#include "tools/bench/sparse.hpp"

using namespace trifold;

namespace {

struct Options {
    std::vector<std::string> sizes{"256x128x128"};
    std::vector<int> ranks{1, 2};
    std::int64_t block = 3;
    std::string method = "bicgstab", preconditioner = "ildu0", box, backend = "cuda", library;
    double tolerance = 1e-10;
    int runs = 5;
    bool messages = false;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::array<std::int64_t, 3> cells_of(const std::string& text) {
    std::array<std::int64_t, 3> cells{};
    if (std::sscanf(text.c_str(), "%ldx%ldx%ld", &cells[0], &cells[1], &cells[2]) != 3)
        throw SpecError(fmt::format("'{}' is no size; give WIDTHxHEIGHTxDEPTH", text));
    return cells;
}

/// Runs on each device, a thread each. What one throws ends the program, since others may wait for it.
void on_devices(int count, const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    for (int k = 0; k < count; ++k)
        threads.emplace_back([&, k] {
            try {
                work(k);
            } catch (const std::exception& error) {
                fmt::print("device {}: {}\n", k, error.what());
                std::fflush(stdout);
                std::_Exit(1);
            }
        });
    for (auto& thread : threads) thread.join();
}

struct Problem {
    Problem(const SparseMesh& mesh, std::int64_t block)
        : pattern(mesh), values(bench::sparse_values(pattern, block, 1)), b(static_cast<std::size_t>(pattern.rows() * block)) {
        std::mt19937_64 random(2);
        std::uniform_real_distribution<double> number(-1, 1);
        std::ranges::generate(b, [&] { return number(random); });
    }
    SparsePattern pattern;
    std::vector<double> values, b;
};

/// The result of one number of ranks.
struct Found {
    double seconds = 1e9, update = 1e9, plan = 0;
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

std::shared_ptr<double> upload(const DeviceTools& tools, const std::vector<double>& host) {
    const auto bytes = static_cast<std::int64_t>(host.size() * sizeof host[0]);
    auto memory = tools.allocate(bytes);
    tools.upload(memory.get(), host.data(), bytes);
    return {memory, static_cast<double*>(memory.get())};
}

using Transports = std::vector<std::shared_ptr<Transport>>;

Transports connect(const Options& options, int ranks) {
    Transports result(static_cast<std::size_t>(ranks));
    LocalRanks local(ranks);
    const auto begin = now();
    on_devices(ranks, [&](int rank) {
        const auto device = Device::parse(fmt::format("{}:{}", options.backend, rank));
        auto made = std::make_shared<NcclTransport>(local.take(rank), device, NcclOptions{.library = options.library});
        if (rank == 0) fmt::print("{} ranks by NCCL {}, in {:.2f} s\n", ranks, made->library(), now() - begin);
        result[static_cast<std::size_t>(rank)] = std::move(made);
    });
    std::fflush(stdout);
    return result;
}

/// One GPU where there are no transports.
Found solve(const Options& options, const SparseSpec& spec, const Problem& problem, const SparsePartition& partition,
            const Transports& transports) {
    const int ranks = std::max(1, static_cast<int>(transports.size()));
    std::barrier barrier(ranks);
    Found found;
    on_devices(ranks, [&](int rank) {
        const auto device = Device::parse(fmt::format("{}:{}", options.backend, rank));
        const DeviceTools tools(device);
        const auto start = now();
        SparseSolver solver(transports.empty()
                                ? SparsePlan(spec, problem.pattern, device, partition)
                                : SparsePlan(spec, problem.pattern, transports[static_cast<std::size_t>(rank)], device, partition));
        if (rank == 0) found.plan = now() - start;
        const auto values = upload(tools, problem.values), b = upload(tools, problem.b), x = upload(tools, problem.b);
        const Stream stream{tools.stream()};
        const SparseOptions wanted{.relative = options.tolerance};
        const auto least = [&](double& seconds, const std::function<void()>& call, const std::function<void()>& after) {
            for (int run = 0; run <= options.runs; ++run) {
                tools.synchronize();
                barrier.arrive_and_wait();
                const auto begin = now();
                call();
                tools.synchronize();
                barrier.arrive_and_wait();
                if (rank == 0 && run > 0) seconds = std::min(seconds, now() - begin);
                after();
            }
        };
        const auto keep = [&] {
            if (rank != 0) return;
            const auto before = std::exchange(found.x, std::vector<double>(problem.b.size()));
            tools.download(found.x.data(), x.get(), static_cast<std::int64_t>(found.x.size() * sizeof(double)));
            found.repeats = found.repeats && (before.empty() || before == found.x);
        };
        least(found.update, [&] { solver.update(values.get(), stream); }, [] {});
        least(found.seconds, [&] { solver.solve(b.get(), x.get(), stream, wanted); }, keep);
        if (rank != 0) return;
        found.outcome = solver.outcomes().front();
        found.history = solver.history();
    });
    return found;
}

void run_size(const Options& options, const std::string& size, const std::vector<Transports>& transports) {
    const auto [width, height, depth] = cells_of(size);
    const SparseMesh mesh{width, height, depth, 7};
    const Problem problem(mesh, options.block);
    const SparseSpec spec{.block = options.block,
                          .preconditioner = parse_sparse_preconditioner(options.preconditioner),
                          .method = parse_sparse_method(options.method),
                          .most_iterations = 2000,
                          .operations = {SparseOperation::solve}};
    SparsePartition partition;
    if (!options.box.empty()) partition = {.by = SparsePartitioning::box, .box = cells_of(options.box)};
    Found one;
    for (std::size_t k = 0; k < options.ranks.size(); ++k) {
        const auto found = solve(options, spec, problem, partition, transports[k]);
        if (options.ranks[k] == 1) one = found;
        const auto each = found.seconds / static_cast<double>(found.outcome.iterations);
        const auto ratio = one.x.empty() ? 0 : one.seconds / static_cast<double>(one.outcome.iterations) / each;
        fmt::print(
            "{:>12}, blocks of {}, {}: {} GPU  update {:8.3f} ms  solve {:9.3f} ms, {:3} iterations of {:8.1f} us ({:5.3f})  "
            "residual {:.1e}  plan {:.1f} s  {}\n",
            size, options.block, options.method, options.ranks[k], 1e3 * found.update, 1e3 * found.seconds, found.outcome.iterations,
            1e6 * each, ratio, found.outcome.relative(), found.plan, found.against(one));
        std::fflush(stdout);
    }
}

/// Two messages at once, there and back.
void run_messages(const Transports& transports, const Options& options) {
    std::barrier barrier(2);
    for (const std::int64_t bytes : {64LL, 65'536LL, 131'072LL, 327'680LL, 786'432LL, 3'145'728LL})
        on_devices(2, [&](int rank) {
            const DeviceTools tools(Device::parse(fmt::format("{}:{}", options.backend, rank)));
            const auto out = tools.allocate(bytes), in = tools.allocate(bytes);
            auto& transport = *transports[static_cast<std::size_t>(rank)];
            const Stream stream{tools.stream()};
            constexpr int calls = 50;
            double least = 1e9;
            for (int run = 0; run < options.runs; ++run) {
                barrier.arrive_and_wait();
                const auto begin = now();
                for (int k = 0; k < calls; ++k) {
                    transport.begin_group();
                    transport.send(1 - rank, out.get(), bytes, stream);
                    transport.receive(1 - rank, in.get(), bytes, stream);
                    transport.end_group();
                }
                tools.synchronize();
                least = std::min(least, (now() - begin) / calls);
            }
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
    app.add_option("--box", options.box, "cells of a subdomain, such as 16x16x8");
    app.add_option("--tolerance", options.tolerance, "of |b - A x| / |b|");
    app.add_option("--backend", options.backend, "cuda or hip");
    app.add_option("--library", options.library, "NCCL's file");
    app.add_option("--runs", options.runs, "of which the least time counts");
    app.add_flag("--messages", options.messages, "time messages between two GPUs");
    CLI11_PARSE(app, argc, argv);
    std::vector<Transports> transports;
    for (const auto ranks : options.ranks) transports.push_back(ranks > 1 ? connect(options, ranks) : Transports{});
    for (const auto& each : transports)
        if (options.messages && each.size() == 2) run_messages(each, options);
    for (const auto& size : options.sizes) run_size(options, size, transports);
}
