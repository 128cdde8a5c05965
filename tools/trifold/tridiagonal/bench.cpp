#include <fmt/format.h>

#include <map>

#include "tools/bench/measure.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tridiagonal/verbs.hpp"

namespace trifold::command {
namespace {

using namespace bench;

struct BlockBenchOptions {
    explicit BlockBenchOptions(const BenchOptions& common) : all(common) {}
    const BenchOptions& all;
    std::vector<std::string> schedules{"auto"}, variants{"auto"};
    std::vector<double> rates{500};
};

std::vector<Size> sizes_of(const Suite& suite, const BenchOptions& options) {
    return options.sizes_or<Size>(suite.sizes, parse_size, quick);
}

SpecError no_peer(const std::string& name, const std::vector<Peer>& found) {
    std::string names;
    for (const auto& known : found) names += known.name + ", ";
    return SpecError(fmt::format("there is no peer '{}'; give some of {}all or none", name, names));
}

Request make_request(const BlockBenchOptions& own) {
    const auto& options = own.all;
    const auto device = Device::parse(options.device);
    const int workers = options.workers_on(device);
    Request request{.device = device,
                    .device_name = options.device,
                    .peers = options.chosen_peers([&] { return find_peers(device, workers); }, no_peer),
                    .calls_per_second = own.rates,
                    .rhs = options.rhs,
                    .seed = options.seed_or_new(),
                    .tolerance = options.tolerance};
    request.precisions =
        options.precision == "both" ? std::vector{Precision::f64, Precision::f32} : std::vector{parse_precision(options.precision)};
    for (const auto& schedule : own.schedules)
        for (const auto& variant : own.variants) request.tunings.push_back({schedule, variant, workers});
    return request;
}

/// Empty where some size has such kernels.
std::string refusal_of_all(const Request& request, const std::vector<Size>& sizes, const Tuning& tuning) {
    std::string why;
    for (const auto& size : sizes) {
        why = refusal_of({.block = size.block, .horizon = size.horizon, .rhs = request.rhs, .batch = size.batch}, request.device, tuning);
        if (why.empty()) break;
    }
    return why;
}

/// Not every pair exists, but a schedule or a variant that no pair of any size has is a mistake: its SpecError.
void check_tunings(const Request& request, const std::vector<Size>& sizes) {
    std::map<std::string, std::string> whys;  // by schedules and variants; empty: some pair of it exists
    for (const auto& tuning : request.tunings) {
        const auto why = refusal_of_all(request, sizes, tuning);
        for (const auto& name : {"schedule " + tuning.schedule, "variant " + tuning.variant}) {
            auto& first = whys.try_emplace(name, why).first->second;
            if (why.empty()) first.clear();
        }
    }
    for (const auto& [name, why] : whys)
        if (!why.empty()) throw SpecError(why);
}

Size size_of(const Result& result) { return {result.spec.horizon, result.spec.block, result.spec.batch}; }

Json to_json(const Result& result) {
    const auto& [spec, seconds] = std::tie(result.spec, result.seconds);
    const auto maybe = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
    return {{"suite", result.suite},
            {"solver", result.solver},
            {"operation", result.operation},
            {"horizon", spec.horizon},
            {"block", spec.block},
            {"batch", spec.batch},
            {"rhs", spec.rhs},
            {"precision", to_string(spec.precision)},
            {"schedule", result.schedule},
            {"variant", result.variant},
            {"rung", result.rung},
            {"row", result.row},
            {"runs", seconds.sorted.size()},
            {"seconds", statistics_json(seconds)},
            {"relative_residual", maybe(result.residual)},
            {"accurate", result.accurate},
            {"gigabytes_per_second", result.work ? Json(result.work->bytes / seconds.median * 1e-9) : Json(nullptr)},
            {"gigaflops_per_second", result.work ? Json(result.work->flops / seconds.median * 1e-9) : Json(nullptr)},
            {"floor_seconds", maybe(result.floor_seconds)},
            {"floor_fraction", result.floor_seconds ? Json(*result.floor_seconds / seconds.median) : Json(nullptr)},
            {"calls_per_second", maybe(result.calls_per_second)}};
}

Json to_json(const Failure& failure) {
    return {{"suite", failure.suite},
            {"horizon", failure.size.horizon},
            {"block", failure.size.block},
            {"batch", failure.size.batch},
            {"precision", to_string(failure.precision)}};
}

std::string head_of(const Suite& suite) {
    const std::string head =
        suite.mode == Mode::latency
            ? fmt::format("{:>9} {:>9} {:>9} {:>9} {:>9} {:>6}", "calls/s", "p50", "p99", "p99.9", "maximum", "runs")
            : fmt::format("{:>9} {:>9} {:>9} {:>8} {:>8} {:>6}", "median", "minimum", "spread", "GB/s", "GFLOP/s", "floor");
    return fmt::format("\n{}: {}\n{:<14} {:<4} {:<18} {:<12} {} {:>8}  {}\n", suite.name, suite.purpose, "N x n", "", "solver", "operation",
                       head, "residual", "schedule, variant");
}

std::string row(const Result& result) {
    const auto& seconds = result.seconds;
    const auto text = [](double value) { return seconds_text(value); };
    const auto numbers =
        result.calls_per_second
            ? fmt::format("{:>9.0f} {:>9} {:>9} {:>9} {:>9} {:>6}", *result.calls_per_second, text(seconds.median), text(seconds.p99),
                          text(seconds.p999), text(seconds.maximum), seconds.sorted.size())
            : fmt::format("{:>9} {:>9} {:>9} {:>8} {:>8} {:>6}", text(seconds.median), text(seconds.minimum), text(seconds.spread),
                          result.work ? fmt::format("{:.1f}", result.work->bytes / seconds.median * 1e-9) : "-",
                          result.work ? fmt::format("{:.0f}", result.work->flops / seconds.median * 1e-9) : "-",
                          result.floor_seconds ? fmt::format("{:.1f}%", 100 * *result.floor_seconds / seconds.median) : "-");
    return fmt::format("{:<14} {:<4} {:<18} {:<12} {} {:>8}  {}{}{}\n", to_string(size_of(result)), to_string(result.spec.precision),
                       result.solver, result.operation, numbers, result.residual ? fmt::format("{:.1e}", *result.residual) : "-",
                       result.schedule, result.variant.empty() ? "" : ", ", result.variant);
}

int run(const BlockBenchOptions& own) {
    const auto& options = own.all;
    std::vector<const Suite*> chosen;
    for (const auto& name : options.suites) chosen.push_back(&find_suite(name));
    for (const auto rate : own.rates)
        if (!(rate > 0)) throw SpecError(fmt::format("--rate {} is not a number of calls a second; give one above 0", rate));
    auto request = make_request(own);
    for (const auto* suite : chosen) check_tunings(request, sizes_of(*suite, options));
    const auto workers = request.tunings.front().workers;
    BenchReport report(options, request, workers);
    report.text(fmt::format("{}, {}\n", request.device.name(), plural(workers, "worker")));
    const auto name = [](const std::string& suite, const Size& size, Precision precision) {
        return fmt::format("{} {} {}", suite, to_string(size), to_string(precision));
    };
    const Listener listener{
        [&](const Result& one) {
            report.result(name(one.suite, size_of(one), one.spec.precision), one.solver, one.residual, one.accurate, one.seconds,
                          to_json(one), row(one));
        },
        [&](const Failure& one) { report.failure(name(one.suite, one.size, one.precision), one.solver, one.message, to_json(one)); },
        [&](const Failure& one) {
            say(fmt::format("trifold bench: {}: left out: {}\n", name(one.suite, one.size, one.precision), one.message));
        }};
    for (const auto* suite : chosen) {
        request.budget.seconds = options.budget(suite->mode == Mode::latency ? 10 : 0.2);
        report.text(head_of(*suite));
        for (const auto& size : sizes_of(*suite, options)) {
            measure(*suite, size, request, listener);
            report.save();
        }
    }
    return report.end();
}

}  // namespace

std::function<int()> tridiagonal_bench(CLI::App& app, const BenchOptions& options, const std::string&) {
    const auto own = std::make_shared<BlockBenchOptions>(options);
    app.add_option("--schedule", own->schedules, "One or more, each is measured")->capture_default_str();
    app.add_option("--variant", own->variants, "Of the kernels, one or more; suite compile takes auto")->capture_default_str();
    app.add_option("--rate", own->rates, "Calls a second in suite latency, one or more")->capture_default_str();
    return [own] { return run(*own); };
}

}  // namespace trifold::command
