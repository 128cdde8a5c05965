// Times of a chain over several GPUs of one host beside one of them: a thread a GPU, messages by NCCL.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <trifold/trifold.hpp>

#include "tools/bench/ranks.hpp"

using namespace trifold;
using namespace trifold::bench;

namespace {

struct Options {
    std::vector<std::string> sizes{"1024x1024", "4096x256", "65536x64", "16384x64", "512x512"};
    std::vector<int> ranks{1, 2};
    std::vector<std::string> schedules{"auto"}, variants{"auto"};
    std::string backend = "cuda", library, shards;
    Runs runs{.calls = 4};
    bool trace = false, weak = false, messages = false, batch = false, compiles = false;
    std::int64_t rhs = 1;
};

/// Blocks of a chain that repeat after a while, so that long ones need no long uploads.
class Pool {
  public:
    Pool(std::int64_t n, std::int64_t period, double diagonal, unsigned seed)
        : n_(n), period_(period), values_(static_cast<std::size_t>(period * n * n)) {
        std::mt19937 engine(seed);
        std::uniform_real_distribution<double> uniform(-1, 1);
        std::ranges::generate(values_, [&] { return uniform(engine); });
        for (std::int64_t k = 0; k < period; ++k)
            for (std::int64_t r = 0; r < n; ++r) {
                for (std::int64_t c = 0; c < r && diagonal > 0; ++c) at(k, c, r) = at(k, r, c);
                at(k, r, r) += diagonal;
            }
    }
    double& at(std::int64_t block, std::int64_t r, std::int64_t c) {
        return values_[static_cast<std::size_t>(((block % period_) * n_ + r) * n_ + c)];
    }
    /// Blocks from `first` on, in the memory of a device.
    std::shared_ptr<void> upload(const DeviceTools& tools, std::int64_t first, std::int64_t count) const {
        const auto bytes = n_ * n_ * static_cast<std::int64_t>(sizeof(double)), all = count * bytes;
        auto memory = tools.allocate(std::max<std::int64_t>(all, 1));
        auto* const to = static_cast<char*>(memory.get());
        auto rotated = values_;
        std::ranges::rotate(rotated, rotated.begin() + static_cast<std::ptrdiff_t>(first % period_ * n_ * n_));
        auto done = std::min(all, period_ * bytes);
        tools.upload(to, rotated.data(), done);
        for (; done < all; done *= 2) tools.copy(to + done, to, std::min(done, all - done));
        tools.synchronize();
        return memory;
    }

  private:
    std::int64_t n_, period_;
    std::vector<double> values_;
};

struct Chain {
    Chain(std::int64_t horizon, std::int64_t n)
        : horizon(horizon),
          n(n),
          d(n, n > 256 ? 3 : 7, 4 * std::sqrt(static_cast<double>(n)) + 4, 1),
          e(n, n > 256 ? 2 : 5, 0, 2),
          b(static_cast<std::size_t>(horizon * n)),
          x(b.size()) {
        std::mt19937 engine(3);
        std::uniform_real_distribution<double> uniform(-1, 1);
        std::ranges::generate(b, [&] { return uniform(engine); });
    }
    /// The largest |b - A x| over the largest |b|, of some blocks.
    double residual() {
        double worst = 0;
        const auto step = std::max<std::int64_t>(horizon * n * n / 100'000'000, 1);
        for (std::int64_t i = 0; i < horizon; i += step)
            for (std::int64_t r = 0; r < n; ++r) {
                double sum = b[static_cast<std::size_t>(i * n + r)];
                const auto entry = [&](std::int64_t block, std::int64_t c) { return x[static_cast<std::size_t>(block * n + c)]; };
                for (std::int64_t c = 0; c < n; ++c) {
                    sum -= d.at(i, std::max(r, c), std::min(r, c)) * entry(i, c);
                    if (i > 0) sum -= e.at(i - 1, r, c) * entry(i - 1, c);
                    if (i + 1 < horizon) sum -= e.at(i, c, r) * entry(i + 1, c);
                }
                worst = std::isnan(sum) ? 1e300 : std::max(worst, std::abs(sum));
            }
        return worst;
    }
    std::int64_t horizon, n;
    Pool d, e;
    std::vector<double> b, x;
};

/// Times of the three operations, in milliseconds.
struct Times {
    double factor = 0, solve = 0, factor_solve = 0;
};

Times times_of(std::barrier<>& barrier, const DeviceTools& tools, const Options& options, const std::function<void()>& factor,
               const std::function<void()>& solve, const std::function<void()>& both) {
    Times times;
    times.factor = 1e3 * least_seconds(barrier, tools, options.runs, factor);
    times.solve = 1e3 * least_seconds(barrier, tools, options.runs, solve);
    times.factor_solve = 1e3 * least_seconds(barrier, tools, options.runs, both);
    return times;
}

void print(const std::string& size, int devices, const Times& times, const Times& one, double residual, const std::string& how) {
    const auto ratio = [](double a, double b) { return b > 0 ? a / b : 0; };
    fmt::print("{:>12} {:2} GPU  factor {:9.3f} ({:5.2f})  solve {:8.3f} ({:5.2f})  factor_solve {:9.3f} ({:5.2f})  residual {:.1e}  {}\n",
               size, devices, times.factor, ratio(one.factor, times.factor), times.solve, ratio(one.solve, times.solve), times.factor_solve,
               ratio(one.factor_solve, times.factor_solve), residual, how);
    std::fflush(stdout);
}

Times on_one(const Options& options, Chain& chain, const std::string& size) {
    Times times;
    std::string how;
    std::barrier barrier(1);
    on_devices(1, [&](int) {
        const auto device = device_of(options.backend, 0);
        const DeviceTools tools(device);
        Solver solver(Plan({.block = chain.n, .horizon = chain.horizon}, device));
        solver.prepare();
        how =
            solver.plan().choice().schedule.name + " " + solver.plan().choice().variant.substr(0, solver.plan().choice().variant.find(':'));
        const auto d = chain.d.upload(tools, 0, chain.horizon), e = chain.e.upload(tools, 0, chain.horizon - 1);
        const auto b = upload(tools, chain.b), x = upload(tools, chain.b);
        const auto* D = static_cast<const double*>(d.get());
        const auto* E = static_cast<const double*>(e.get());
        const Stream stream{tools.stream()};
        times = times_of(
            barrier, tools, options, [&] { solver.factor(D, E, stream); }, [&] { solver.solve(b.get(), x.get(), stream); },
            [&] { solver.factor_solve(D, E, b.get(), x.get(), stream); });
        solver.check();
        tools.download(chain.x.data(), x.get(), chain.horizon * chain.n * static_cast<std::int64_t>(sizeof(double)));
    });
    print(size, 1, times, times, chain.residual(), how);
    return times;
}

void on_ranks(const Options& options, Chain& chain, const std::string& size, const Transports& transports, const Times& one,
              const Tuning& tuning) {
    const int ranks = static_cast<int>(transports.size());
    std::vector<Times> times(static_cast<std::size_t>(ranks));
    std::barrier barrier(ranks);
    std::string how;
    std::vector<std::int64_t> shards;
    for (std::size_t at = 0; at < options.shards.size();) {
        const auto comma = std::min(options.shards.find(',', at), options.shards.size());
        shards.push_back(std::stoll(options.shards.substr(at, comma - at)));
        at = comma + 1;
    }
    on_devices(ranks, [&](int rank) {
        const auto device = device_of(options.backend, rank);
        const DeviceTools tools(device);
        const auto start = now();
        const auto trace = [&](const char* what) {
            if (options.trace) fmt::print(stderr, "rank {}: {} after {:.2f} s\n", rank, what, now() - start);
        };
        RankSolver solver(
            RankPlan({.block = chain.n, .horizon = chain.horizon}, transports[static_cast<std::size_t>(rank)], device, tuning, shards));
        trace("plan");
        solver.prepare();
        trace("prepared");
        const auto& spec = solver.plan().spec();
        const auto first = spec.first_block(), blocks = spec.blocks();
        if (rank == 0)
            how = fmt::format("{} {} plan {:.1f} s", solver.plan().choice().tuning.schedule, fmt::join(spec.shards, ","), now() - start);
        const auto d = chain.d.upload(tools, first, blocks), e = chain.e.upload(tools, first, std::min(blocks, chain.horizon - 1 - first));
        const auto own = std::span(chain.b).subspan(static_cast<std::size_t>(first * chain.n), static_cast<std::size_t>(blocks * chain.n));
        const auto b = upload(tools, own), x = upload(tools, own);
        const auto* D = static_cast<const double*>(d.get());
        trace("arrays");
        const auto* E = static_cast<const double*>(e.get());
        const RankOptions with{.stream = {tools.stream()}};
        times[static_cast<std::size_t>(rank)] = times_of(
            barrier, tools, options,
            [&] {
                solver.factor(D, E, with);
                trace("factor");
            },
            [&] { solver.solve(b.get(), x.get(), with); }, [&] { solver.factor_solve(D, E, b.get(), x.get(), with); });
        trace("timed");
        solver.check();
        tools.download(chain.x.data() + first * chain.n, x.get(), blocks * chain.n * static_cast<std::int64_t>(sizeof(double)));
    });
    Times most;
    for (const auto& each : times) {
        most.factor = std::max(most.factor, each.factor);
        most.solve = std::max(most.solve, each.solve);
        most.factor_solve = std::max(most.factor_solve, each.factor_solve);
    }
    print(size, ranks, most, one, chain.residual(), how);
}

void run_size(const Options& options, std::int64_t horizon, std::int64_t n, const std::map<int, Transports>& transports) {
    Times one;
    for (const auto ranks : options.ranks) {
        const auto blocks = options.weak ? horizon * ranks : horizon;
        Chain chain(blocks, n);
        const auto size = fmt::format("{}x{}", blocks, n);
        if (ranks == 1)
            one = on_one(options, chain, size);
        else
            for (const auto& schedule : options.schedules)
                for (const auto& variant : options.variants)
                    on_ranks(options, chain, size, transports.at(ranks), one, {.schedule = schedule, .variant = variant});
    }
}

/// Puts the kernels into the cache, which takes no memory of the devices: several sizes can do so beside each other.
void compile(const Options& options, std::int64_t horizon, std::int64_t n, const std::map<int, Transports>& transports) {
    for (const auto ranks : options.ranks) {
        const Spec spec{.block = n, .horizon = options.weak ? horizon * ranks : horizon};
        if (ranks == 1) {
            Plan(spec, device_of(options.backend, 0)).report();
            continue;
        }
        for (const auto& schedule : options.schedules)
            for (const auto& variant : options.variants)
                on_devices(ranks, [&](int rank) {
                    RankPlan(spec, transports.at(ranks)[static_cast<std::size_t>(rank)], device_of(options.backend, rank),
                             {.schedule = schedule, .variant = variant})
                        .report();
                });
    }
}

/// A message there and back again.
void run_messages(const Transports& transports, const Options& options) {
    std::barrier barrier(2);
    for (const std::int64_t bytes : {64LL, 12'288LL, 98'304LL, 1'572'864LL, 6'291'456LL, 25'165'824LL, 100'663'296LL})
        on_devices(2, [&](int rank) {
            const DeviceTools tools(device_of(options.backend, rank));
            const auto memory = tools.allocate(bytes);
            auto& transport = *transports[static_cast<std::size_t>(rank)];
            const Stream stream{tools.stream()};
            const auto call = [&] {
                for (int k = 0; k < 10; ++k) {
                    if (rank == 0) transport.send(1, memory.get(), bytes, stream);
                    if (rank == 0) transport.receive(1, memory.get(), bytes, stream);
                    if (rank == 1) transport.receive(0, memory.get(), bytes, stream);
                    if (rank == 1) transport.send(0, memory.get(), bytes, stream);
                }
            };
            constexpr double hops = 20;
            const auto seconds = least_seconds(barrier, tools, options.runs, call) / hops;
            if (rank == 0)
                fmt::print("message of {:9} bytes: {:8.2f} us, {:7.2f} GB/s\n", bytes, seconds * 1e6,
                           static_cast<double>(bytes) / seconds / 1e9);
        });
    std::fflush(stdout);
}

/// Members are independent: each device has its share, and no messages.
void run_batch(const Options& options) {
    constexpr std::int64_t members = 65536, horizon = 32, n = 12;
    Times one;
    for (const auto devices : options.ranks) {
        std::vector<Times> times(static_cast<std::size_t>(devices));
        std::barrier barrier(devices);
        on_devices(devices, [&](int k) {
            const auto device = device_of(options.backend, k);
            const DeviceTools tools(device);
            const auto mine = members / devices;
            Solver solver(Plan({.block = n, .horizon = horizon, .batch = mine}, device));
            solver.prepare();
            Chain chain(mine * horizon, n);
            const auto d = chain.d.upload(tools, 0, mine * horizon), e = chain.e.upload(tools, 0, mine * horizon);
            const auto b = upload(tools, chain.b), x = upload(tools, chain.b);
            const auto* D = static_cast<const double*>(d.get());
            const auto* E = static_cast<const double*>(e.get());
            const Stream stream{tools.stream()};
            times[static_cast<std::size_t>(k)] = times_of(
                barrier, tools, options, [&] { solver.factor(D, E, stream); }, [&] { solver.solve(b.get(), x.get(), stream); },
                [&] { solver.factor_solve(D, E, b.get(), x.get(), stream); });
            solver.check();
        });
        Times most;
        for (const auto& each : times) {
            most.factor = std::max(most.factor, each.factor);
            most.solve = std::max(most.solve, each.solve);
            most.factor_solve = std::max(most.factor_solve, each.factor_solve);
        }
        if (devices == 1) one = most;
        print(fmt::format("{}*{}x{}", members, horizon, n), devices, most, one, 0, "batch");
    }
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"Times of a chain over several GPUs, in milliseconds, and in parentheses how many times faster than one"};
    app.add_option("sizes", options.sizes, "NxBLOCK")->delimiter(',');
    app.add_option("--ranks", options.ranks, "numbers of GPUs, 1 first")->delimiter(',');
    app.add_option("--schedules", options.schedules, "of a rank's own blocks, separated by semicolons")->delimiter(';');
    app.add_option("--variants", options.variants, "with knobs, separated by semicolons")->delimiter(';');
    app.add_option("--shards", options.shards, "blocks of each rank, separated by commas");
    app.add_option("--backend", options.backend, "cuda, hip or cpu");
    app.add_option("--library", options.library, "NCCL's file");
    app.add_option("--runs", options.runs.runs, "of which the least time counts");
    app.add_option("--calls", options.runs.calls, "that follow one another in a run");
    app.add_flag("--trace", options.trace, "say where ranks are");
    app.add_flag("--weak", options.weak, "N blocks a GPU");
    app.add_flag("--messages", options.messages, "time messages between two GPUs");
    app.add_flag("--compile", options.compiles, "only put the kernels into the cache");
    app.add_flag("--batch", options.batch, "a batch of 65536 x 32 x 12 over the GPUs");
    CLI11_PARSE(app, argc, argv);
    std::map<int, Transports> transports;
    for (const auto ranks : options.ranks)
        if (ranks > 1 && !options.batch) transports.emplace(ranks, connect(options.backend, options.library, ranks));
    if (options.messages && transports.contains(2)) run_messages(transports.at(2), options);
    if (options.batch) return run_batch(options), 0;
    for (const auto& size : options.sizes) {
        const auto times = size.find('x');
        if (times == std::string::npos) continue;
        const auto horizon = std::stoll(size.substr(0, times)), n = std::stoll(size.substr(times + 1));
        (options.compiles ? compile : run_size)(options, horizon, n, transports);
    }
}
