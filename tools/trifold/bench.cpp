#include "tools/trifold/bench.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <ctime>
#include <random>

#include "tools/bench/peers/peers.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/family.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {
namespace {

bool is_ours(const std::string& solver) { return solver.starts_with("trifold"); }

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json to_json(const BenchCase& one, const bench::Result& result) {
    Json item{{"suite", one.suite}, {"solver", result.solver}, {"operation", result.operation}};
    item.update(one.json);
    if (!result.more.is_null()) item.update(result.more);
    const auto& [sorted, median, minimum, maximum, spread, p99, p999] = result.seconds;
    const auto rate = [&](double amount) { return amount > 0 ? Json(amount / result.seconds.median * 1e-9) : Json(nullptr); };
    item["runs"] = sorted.size();
    item["seconds"] = {{"median", median}, {"minimum", minimum}, {"spread", spread}, {"p99", p99}, {"p99.9", p999}, {"maximum", maximum}};
    item["relative_residual"] = or_null(result.residual);
    item["apart"] = or_null(result.apart);
    item["accurate"] = result.accurate;
    item["gigabytes_per_second"] = rate(result.work.bytes);
    item["gigaflops_per_second"] = rate(result.work.flops);
    item["floor_seconds"] = or_null(result.floor_seconds);
    item["floor_fraction"] = result.floor_seconds ? Json(*result.floor_seconds / median) : Json(nullptr);
    item["calls_per_second"] = or_null(result.calls_per_second);
    return item;
}

std::string row(const std::string& name, const bench::Result& result, const std::string& beside_ours) {
    const auto& seconds = result.seconds;
    const auto text = [](double value) { return seconds_text(value); };
    const auto number = [](bool is_known, const char* format, double value) {
        return is_known ? fmt::format(fmt::runtime(format), value) : "-";
    };
    const auto numbers =
        result.calls_per_second
            ? fmt::format("{:>9.0f} {:>9} {:>9} {:>9} {:>9} {:>6}", *result.calls_per_second, text(seconds.median), text(seconds.p99),
                          text(seconds.p999), text(seconds.maximum), seconds.sorted.size())
            : fmt::format("{:>9} {:>9} {:>9} {:>8} {:>8} {:>6}", text(seconds.median), text(seconds.minimum), text(seconds.spread),
                          number(result.work.bytes > 0, "{:.1f}", result.work.bytes / seconds.median * 1e-9),
                          number(result.work.flops > 0, "{:.0f}", result.work.flops / seconds.median * 1e-9),
                          number(result.floor_seconds.has_value(), "{:.1f}%", 100 * result.floor_seconds.value_or(0) / seconds.median));
    return fmt::format("{:<24} {:<18} {:<20} {} {:>8}  {}{}\n", name, result.solver, result.operation, numbers,
                       number(result.residual || result.apart, "{:.1e}", result.residual.value_or(result.apart.value_or(0))), beside_ours,
                       result.remark);
}

}  // namespace

Device BenchOptions::device_of(int rank) const {
    if (!has_ranks()) return Device::parse(device);
    if (device == "auto" || device == "cpu") return Device::cpu();
    if (device.find(':') != std::string::npos)
        throw SpecError(fmt::format("ranks need a GPU each; give --device cuda or hip in place of {}", device));
    return Device::parse(fmt::format("{}:{}", device, rank));
}

int BenchOptions::workers_on(const Device& on) const {
    if (on.backend() != Backend::cpu) return 1;
    return workers > 0 ? workers : all_workers();
}

std::vector<bench::Ranks> BenchOptions::all_ranks() const {
    const auto of_rank = [this](int rank) { return device_of(rank); };
    if (transport != nullptr) return {{transport->ranks(), [this](const auto& work) { work(transport); }, of_rank}};
    std::vector<bench::Ranks> all;
    for (const auto count : ranks) all.push_back({count, [count](const auto& work) { on_ranks(count, work); }, of_rank});
    return all;
}

std::uint64_t BenchOptions::seed_or_new() const {
    const auto mine = seed.value_or(std::random_device{}());
    if (transport == nullptr) return mine;
    return static_cast<std::uint64_t>(bench::largest(transport->hosts(), static_cast<double>(mine)));  // the same on all ranks
}

bench::Budget BenchOptions::budget(double standard) const { return {.seconds = seconds > 0 ? seconds : quick ? 0.02 : standard}; }

std::vector<Precision> BenchOptions::precisions() const {
    if (precision == "both") return {Precision::f64, Precision::f32};
    return {parse_precision(precision)};
}

std::vector<bench::Peer> BenchOptions::chosen_peers(bench::Family family) const {
    if (peers == std::vector<std::string>{"none"} || transport != nullptr) return {};
    const auto device = one_device();
    auto found = bench::find_peers(family, device, workers_on(device));
    if (peers == std::vector<std::string>{"all"}) {
        std::erase_if(found, [](const bench::Peer& peer) { return peer.by_name; });
        return found;
    }
    std::vector<bench::Peer> chosen;
    for (const auto& name : peers) {
        const auto peer = std::ranges::find(found, name, &bench::Peer::name);
        if (peer == found.end()) {
            std::string names;
            for (const auto& one : found) names += one.name + ", ";
            throw SpecError(fmt::format("there is no peer '{}' here; give some of {}all or none", name, names));
        }
        chosen.push_back(*peer);
    }
    return chosen;
}

BenchReport::BenchReport(const BenchOptions& options, const Device& device, std::uint64_t seed, const std::vector<bench::Peer>& peers)
    : options_(options),
      is_shown_(options.transport == nullptr || options.transport->rank() == 0),
      all_{{"device", device.name()},
           {"date", fmt::format("{:%F}", fmt::gmtime(std::time(nullptr)))},
           {"target", to_string(device.target())},
           {"workers", options.workers_on(device)},
           {"peers", Json::array()},
           {"seed", seed},
           {"results", Json::array()},
           {"failures", Json::array()}} {
    for (const auto& [name, problem, families, by_name, fits, make] : peers) {
        all_["peers"].push_back({{"name", name}, {"problem", problem}});
        if (!problem.empty()) say(fmt::format("trifold bench: {} takes no part: {}\n", name, problem));
    }
    text(fmt::format("{}, {}\n", device.name(), plural(options.workers_on(device), "worker")));
}

void BenchReport::text(const std::string& line) const {
    if (!options_.json && is_shown_) print(line);
}

void BenchReport::head(const std::string& title, bool rates) const {
    const auto numbers =
        rates ? fmt::format("{:>9} {:>9} {:>9} {:>9} {:>9} {:>6}", "calls/s", "p50", "p99", "p99.9", "maximum", "runs")
              : fmt::format("{:>9} {:>9} {:>9} {:>8} {:>8} {:>6}", "median", "minimum", "spread", "GB/s", "GFLOP/s", "floor");
    text(fmt::format("\n{}\n{:<24} {:<18} {:<20} {} {:>8}\n", title, "", "solver", "operation", numbers, "residual"));
}

void BenchReport::measure(const BenchCase& one, const bench::Contest& contest, DeviceTools& tools) {
    bench::measure(contest, tools,
                   {[&](const bench::Result& result) { add(one, result, contest.tolerance); },
                    [&](const std::string& solver, const std::string& message) { fail(one, solver, message); }});
    if (!options_.output.empty() && is_shown_) formats::write_file(options_.output, all_.dump(1) + "\n");
}

void BenchReport::add(const BenchCase& one, const bench::Result& result, double tolerance) {
    if (!is_shown_) return;
    auto item = to_json(one, result);
    if (options_.samples) item["samples"] = result.seconds.sorted;
    all_["results"].push_back(std::move(item));
    tell(one, result, tolerance);
    const auto [first, is_first] = ours_.try_emplace({one.suite + one.name, result.operation}, result.seconds.median);
    text(row(one.name, result, is_first ? "" : fmt::format("{:.2f} of ours  ", result.seconds.median / first->second)));
}

void BenchReport::tell(const BenchCase& one, const bench::Result& result, double tolerance) {
    if (result.accurate) return;
    sound_ = sound_ && !is_ours(result.solver);
    say(fmt::format("trifold bench: {} {}: the relative residual {:.2e} of {} is above the tolerance, {:.0e}\n", one.suite, one.name,
                    result.residual.value_or(result.apart.value_or(0)), result.solver, tolerance));
}

void BenchReport::judge(const BenchCase& one, const std::string& where, const bench::Contest& contest, DeviceTools& tools) {
    auto& worst = worst_.try_emplace(one.name, Worst{one, where}).first->second;
    const BenchCase here{one.suite, fmt::format("{}, {}", one.name, where), one.json};
    bench::measure(contest, tools,
                   {[&](const bench::Result& result) {
                        if (result.operation != "factor_solve") return;  // its residual is the worst of all operations
                        tell(here, result, contest.tolerance);
                        ++worst.solutions;
                        if (!(*result.residual <= worst.residual) && !std::isnan(worst.residual))
                            worst.residual = *result.residual, worst.where = where;
                    },
                    [&](const std::string& solver, const std::string& message) { fail(here, solver, message); }});
}

void BenchReport::fail(const BenchCase& one, const std::string& solver, const std::string& message) {
    Json item{{"suite", one.suite}};
    item.update(one.json);
    item["solver"] = solver;
    item["message"] = message;
    all_["failures"].push_back(std::move(item));
    sound_ = sound_ && !is_ours(solver);
    say(fmt::format("trifold bench: {} {}: {} failed: {}\n", one.suite, one.name, solver, message));
}

int BenchReport::end() {
    for (const auto& [name, worst] : worst_) {
        Json item{{"suite", worst.of.suite}, {"solver", "trifold"}};
        item.update(worst.of.json);
        item.update({{"solutions", worst.solutions}, {"relative_residual", worst.residual}, {"where", worst.where}});
        all_["results"].push_back(std::move(item));
        text(fmt::format("{:<24} {:>6} solved, the worst residual {:.2e}: {}\n", name, worst.solutions, worst.residual, worst.where));
    }
    if (!options_.output.empty() && is_shown_) formats::write_file(options_.output, all_.dump(1) + "\n");
    if (options_.json && is_shown_) print(all_);
    return sound_ ? 0 : 1;
}

namespace {

std::vector<std::string> suites_of(const FamilyVerbs& family) {
    std::vector<std::string> names;
    for (const auto& [name, _] : family.suites) names.push_back(name);
    return names;
}

std::string list_of_suites(Families families) {
    std::vector<std::pair<std::string, std::string>> items;
    for (const auto& family : families) items.insert(items.end(), family.suites.begin(), family.suites.end());
    return "Suites:\n" + list(items);
}

/// The families that have suites. A suite's name says which family a command line is about.
class Benches {
  public:
    Benches(CLI::App& app, Families families, const BenchOptions& options)
        : app_(app), families_(families), options_(options), choice_(app, families) {
        static const std::string no_size;
        for (const auto& family : families) {
            if (family.bench == nullptr) continue;
            all_.emplace_back(&family, family.bench(app, options, no_size));
            choice_.own(family);
        }
    }
    int run() const {
        const auto& [family, bench] = of_suite(options_.suites.front());
        for (const auto& suite : options_.suites)
            if (of_suite(suite).first != family)
                throw SpecError(fmt::format("suite {} has sizes and options of its own; run it alone", suite));
        const FamilyVerbs* owner = nullptr;
        if (const auto option = choice_.foreign(*family, owner); !option.empty())
            throw SpecError(fmt::format("{} says nothing about {}, and belongs to suite {}; leave it out", option, family->problems,
                                        fmt::join(suites_of(*owner), ", ")));
        if (!options_.output.empty()) formats::check_writable(options_.output);
        return bench();
    }

  private:
    using Bench = std::pair<const FamilyVerbs*, std::function<int()>>;
    const Bench& of_suite(const std::string& name) const {
        std::vector<std::string> names;
        for (const auto& bench : all_)
            for (const auto& suite : suites_of(*bench.first)) {
                if (suite == name) return bench;
                names.push_back(suite);
            }
        for (const auto& family : families_)
            if (family.bench == nullptr && family.name == name) refuse_verb(app_, family, able());
        throw SpecError(fmt::format("there is no suite '{}'; give some of {}", name, fmt::join(names, ", ")));
    }
    std::vector<const FamilyVerbs*> able() const {
        std::vector<const FamilyVerbs*> families;
        for (const auto& bench : all_) families.push_back(bench.first);
        return families;
    }
    const CLI::App& app_;
    Families families_;
    const BenchOptions& options_;
    FamilyChoice choice_;
    std::vector<Bench> all_;
};

}  // namespace

Action add_bench(CLI::App& app, const bool& json, Families families) {
    static const std::shared_ptr<Transport> alone;
    return add_bench_of_rank(app, json, families, alone);
}

Action add_bench_of_rank(CLI::App& app, const bool& json, Families families, const std::shared_ptr<Transport>& transport) {
    const auto options = std::make_shared<BenchOptions>();
    app.add_option("suite", options->suites, "One suite or more")->required();
    app.add_option("--device", options->device, "auto, cpu, cuda or cuda:1")->capture_default_str();
    app.add_option("--precision", options->precision, "f32, f64, both, or mixed")->capture_default_str();
    app.add_option(
        "--size", options->sizes,
        "In place of the suite's: Nxn or Nxnxbatch, such as 512x32 or 32x12x1024; of images WIDTHxHEIGHT or WIDTHxHEIGHTxIMAGES");
    app.add_option("--problem", options->problem, "In place of the suite's: one of `trifold problem` for what the suite solves");
    app.add_option("--rhs", options->rhs, "Right-hand sides m solved in a call, one number or more")->capture_default_str();
    app.add_option("--ranks", options->ranks,
                   "Numbers of ranks that share a chain, a batch or a sparse system: GPUs of this host, or threads; 1 is one device alone")
        ->check(positive_number())
        ->capture_default_str();
    app.add_option("--workers", options->workers, "CPU threads; one for each processor that may be used when it is not given")
        ->check(number_of_workers());
    app.add_option("--peers", options->peers,
                   "Solvers measured beside ours: all that are quick, none, or some by name; TRIFOLD_PEERS names their directories")
        ->capture_default_str();
    app.add_option("--seconds", options->seconds, "Spent on one operation, at least 5 runs (0.2; latency: 10 for each rate)")
        ->check(positive_number());
    app.add_option("--rtol,--tolerance", options->tolerance, "Largest relative residual (1e-14 for f64 and mixed, 1e-6 for f32)")
        ->check(non_negative_number());
    app.add_option("--seed", options->seed, "Of the random data; by default new data each time");
    app.add_flag("--quick", options->quick, "A 64th of the suite's N, or of a batch's systems, and short runs");
    app.add_flag("--samples", options->samples, "Every run's seconds in the JSON");
    app.add_option("-o,--output", options->output, "Write the JSON to this file as well, after every size");
    const auto benches = std::make_shared<Benches>(app, families, *options);
    app.footer(list_of_suites(families) +
               "Exit status 1: a relative residual of ours is above the tolerance, or a size could not be measured. tools/bench/plot.py "
               "draws the JSON.");
    return [options, benches, &json, &transport] {
        options->json = json;
        options->transport = transport;
        return benches->run();
    };
}

}  // namespace trifold::command
