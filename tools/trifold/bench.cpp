#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "tools/bench/measure.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/bench_options.hpp"
#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {
namespace {

using namespace bench;

std::vector<Size> sizes_of(const Suite& suite, const BenchOptions& options) {
    if (options.sizes.empty()) return options.quick ? quick(suite.sizes) : suite.sizes;
    std::vector<Size> sizes;
    for (const auto& size : options.sizes) sizes.push_back(parse_size(size));
    return sizes;
}

std::vector<Peer> peers_of(const BenchOptions& options, const Device& device, int workers) {
    if (options.peers == std::vector<std::string>{"none"}) return {};
    auto found = find_peers(device, workers);
    if (options.peers == std::vector<std::string>{"all"}) return found;
    std::vector<Peer> chosen;
    for (const auto& name : options.peers) {
        const auto peer = std::ranges::find(found, name, &Peer::name);
        std::string names;
        for (const auto& known : found) names += known.name + ", ";
        if (peer == found.end()) throw SpecError(fmt::format("there is no peer '{}'; give some of {}all or none", name, names));
        chosen.push_back(*peer);
    }
    return chosen;
}

Request make_request(const BenchOptions& options) {
    const auto device = Device::parse(options.device);
    int workers = 1;
    if (device.backend() == Backend::cpu) workers = options.workers > 0 ? options.workers : all_workers();
    Request request{.device = device,
                    .device_name = options.device,
                    .peers = peers_of(options, device, workers),
                    .calls_per_second = options.rates,
                    .rhs = options.rhs,
                    .seed = options.seed.value_or(std::random_device{}()),
                    .tolerance = options.tolerance};
    request.precisions =
        options.precision == "both" ? std::vector{Precision::f64, Precision::f32} : std::vector{parse_precision(options.precision)};
    for (const auto& schedule : options.schedules)
        for (const auto& variant : options.variants) request.tunings.push_back({schedule, variant, workers});
    return request;
}

/// A schedule or variant may not fit every size, but one that fits none is a mistake: its SpecError.
void check_tunings(const Request& request, const std::vector<Size>& sizes) {
    for (const auto& tuning : request.tunings) {
        for (const auto& size : sizes) {
            const Spec spec{.block = size.block, .horizon = size.horizon, .rhs = request.rhs, .batch = size.batch};
            try {
                generate(spec, request.device.target(), tuning);
                break;
            } catch (const SpecError&) {
                if (&size == &sizes.back()) throw;
            }
        }
    }
}

Size size_of(const Result& result) { return {result.spec.horizon, result.spec.block, result.spec.batch}; }

Json to_json(const Result& result, bool samples) {
    const auto& [spec, seconds] = std::tie(result.spec, result.seconds);
    const auto maybe = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
    Json json{{"suite", result.suite},
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
              {"seconds", seconds_json(seconds)},
              {"relative_residual", maybe(result.residual)},
              {"accurate", result.accurate},
              {"gigabytes_per_second", result.work ? Json(result.work->bytes / seconds.median * 1e-9) : Json(nullptr)},
              {"gigaflops_per_second", result.work ? Json(result.work->flops / seconds.median * 1e-9) : Json(nullptr)},
              {"floor_seconds", maybe(result.floor_seconds)},
              {"floor_fraction", result.floor_seconds ? Json(*result.floor_seconds / seconds.median) : Json(nullptr)},
              {"calls_per_second", maybe(result.calls_per_second)}};
    if (samples) json["samples"] = seconds.sorted;
    return json;
}

Json to_json(const Failure& failure) {
    return {{"suite", failure.suite},      {"solver", failure.solver},    {"horizon", failure.size.horizon},
            {"block", failure.size.block}, {"batch", failure.size.batch}, {"precision", to_string(failure.precision)},
            {"message", failure.message}};
}

/// Prints as it goes, since some suites take minutes, and keeps everything for the JSON.
class Report {
  public:
    Report(const BenchOptions& options, const Request& request, bool json) : options_(options), json_(json) {
        auto peers = Json::array();
        for (const auto& peer : request.peers) {
            peers.push_back({{"name", peer.name}, {"problem", peer.problem}});
            if (!peer.problem.empty()) say(fmt::format("trifold bench: {} takes no part: {}\n", peer.name, peer.problem));
        }
        all_ = {{"device", request.device.name()},
                {"target", to_string(request.device.target())},
                {"workers", request.tunings.front().workers},
                {"seed", request.seed},
                {"peers", peers},
                {"results", Json::array()},
                {"failures", Json::array()}};
        if (!json) print(fmt::format("{}, {}\n", request.device.name(), plural(request.tunings.front().workers, "worker")));
    }

    void begin(const Suite& suite) const {
        if (json_) return;
        const std::string head =
            suite.mode == Mode::latency
                ? fmt::format("{:>9} {:>9} {:>9} {:>9} {:>9} {:>6}", "calls/s", "p50", "p99", "p99.9", "maximum", "runs")
                : fmt::format("{:>9} {:>9} {:>9} {:>8} {:>8} {:>6}", "median", "minimum", "spread", "GB/s", "GFLOP/s", "floor");
        print(fmt::format("\n{}: {}\n{:<14} {:<4} {:<18} {:<12} {} {:>8}  {}\n", suite.name, suite.purpose, "N x n", "", "solver",
                          "operation", head, "residual", "schedule, variant"));
    }

    void add(const Result& result) {
        all_["results"].push_back(to_json(result, options_.samples));
        if (!result.accurate) {
            const bool ours = result.solver == "trifold";
            sound_ = sound_ && !ours;
            say(fmt::format("trifold bench: {} {} {}: the relative residual {:.2e} of {} is above the tolerance\n", result.suite,
                            to_string(size_of(result)), to_string(result.spec.precision), result.residual.value_or(0), result.solver));
        }
        if (!json_) print(row(result));
    }

    void add(const Failure& failure) {
        all_["failures"].push_back(to_json(failure));
        sound_ = sound_ && failure.solver != "trifold";
        say(fmt::format("trifold bench: {} {} {}: {} failed: {}\n", failure.suite, to_string(failure.size), to_string(failure.precision),
                        failure.solver, failure.message));
    }

    /// What was measured so far, so that a run that is cut off leaves it.
    void save() const {
        if (!options_.output.empty()) formats::write_file(options_.output, all_.dump(1) + "\n");
    }

    int end() const {
        if (json_) print(all_);
        return sound_ ? 0 : 1;
    }

  private:
    static std::string row(const Result& result) {
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

    const BenchOptions& options_;
    bool json_, sound_ = true;
    Json all_;
};

int run(const BenchOptions& options, bool json) {
    if (std::ranges::find(options.suites, "grid") != options.suites.end()) return bench_images(options, json);
    if (!options.matrix.empty()) throw SpecError("--matrix belongs to suite grid; leave it out");
    std::vector<const Suite*> chosen;
    for (const auto& name : options.suites) chosen.push_back(&find_suite(name));
    for (const auto rate : options.rates)
        if (!(rate > 0)) throw SpecError(fmt::format("--rate {} is not a number of calls a second; give one above 0", rate));
    if (!options.output.empty()) formats::check_writable(options.output);
    auto request = make_request(options);
    for (const auto* suite : chosen) check_tunings(request, sizes_of(*suite, options));
    Report report(options, request, json);
    const Listener listener{[&](const Result& result) { report.add(result); }, [&](const Failure& failure) { report.add(failure); }};
    for (const auto* suite : chosen) {
        request.budget.seconds = options.seconds > 0 ? options.seconds : options.quick ? 0.02 : suite->mode == Mode::latency ? 10 : 0.2;
        report.begin(*suite);
        for (const auto& size : sizes_of(*suite, options)) {
            measure(*suite, size, request, listener);
            report.save();
        }
    }
    return report.end();
}

std::string list_of_suites() {
    std::vector<std::pair<std::string, std::string>> items;
    for (const auto& suite : suites()) items.emplace_back(suite.name, suite.purpose);
    items.emplace_back("grid", "images: factor, solve and both; alone on a command line");
    return "Suites:\n" + list(items);
}

}  // namespace

Json seconds_json(const Statistics& seconds) {
    return {{"median", seconds.median}, {"minimum", seconds.minimum}, {"spread", seconds.spread},
            {"p99", seconds.p99},       {"p99.9", seconds.p999},      {"maximum", seconds.maximum}};
}

Action add_bench(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<BenchOptions>();
    app.add_option("suite", options->suites, "One suite or more")->required();
    app.add_option("--device", options->device, "auto, cpu, cuda or cuda:1")->capture_default_str();
    app.add_option("--precision", options->precision, "f32, f64, both, or mixed")->capture_default_str();
    app.add_option(
        "--size", options->sizes,
        "In place of the suite's: Nxn or Nxnxbatch, such as 512x32 or 32x12x1024; of images WIDTHxHEIGHT or WIDTHxHEIGHTxIMAGES");
    app.add_option("--matrix", options->matrix, "In suite grid: general, symmetric or both")
        ->check(CLI::IsMember({"general", "symmetric", "both"}));
    app.add_option("--rhs", options->rhs, "Right-hand sides m solved at once")->capture_default_str();
    app.add_option("--schedule", options->schedules, "One or more, each is measured")->capture_default_str();
    app.add_option("--variant", options->variants, "Of the kernels, one or more; suite compile takes auto")->capture_default_str();
    app.add_option("--workers", options->workers, "CPU threads; one for each processor that may be used when it is not given")
        ->check(number_of_workers());
    app.add_option("--rate", options->rates, "Calls a second in suite latency, one or more")->capture_default_str();
    app.add_option("--peers", options->peers,
                   "Solvers measured beside ours: all, none, or some by name; TRIFOLD_PEERS names their directories")
        ->capture_default_str();
    app.add_option("--seconds", options->seconds, "Spent on one operation, at least 5 runs (0.2; latency: 10 for each rate)")
        ->check(positive_number());
    app.add_option("--tolerance", options->tolerance, "Largest relative residual (1e-14 for f64 and mixed, 1e-6 for f32)")
        ->check(non_negative_number());
    app.add_option("--seed", options->seed, "Of the random data; by default new data each time");
    app.add_flag("--quick", options->quick, "A 64th of the suite's N, or of a batch's systems, and short runs");
    app.add_flag("--samples", options->samples, "Every run's seconds in the JSON");
    app.add_option("-o,--output", options->output, "Write the JSON to this file as well, after every size");
    app.footer(list_of_suites() +
               "Exit status 1: a relative residual of ours is above the tolerance, or a size could not be measured. tools/bench/plot.py "
               "draws the JSON.");
    return [options, &json] { return run(*options, json); };
}

}  // namespace trifold::command
