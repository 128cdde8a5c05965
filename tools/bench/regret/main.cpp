// How far `auto` is from the best of its own alternatives: collects records on a device, and evaluates the chooser against them anywhere.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <random>
#include <trifold/error.hpp>

#include "runtime/base/processors.hpp"
#include "tools/bench/regret/collect.hpp"
#include "tools/bench/regret/compile_ahead.hpp"
#include "tools/bench/regret/constants.hpp"
#include "tools/bench/regret/summary.hpp"
#include "tools/formats/file.hpp"

using namespace trifold;
using namespace trifold::regret;

namespace {

constexpr double gigabyte = 1e9;

struct PointOptions {
    std::vector<std::string> sizes;
    int thin = 3, workers = 1;
    double most_gigabytes = 4;
    std::size_t candidates = 9;

    void add_to(CLI::App& app) {
        app.add_option("--size", sizes, "In place of the grid: Nxn or Nxnxbatch, in both precisions");
        app.add_option("--thin", thin, "Take each so manieth point of the grid")->check(CLI::PositiveNumber)->capture_default_str();
        app.add_option("--most-gigabytes", most_gigabytes, "Of D and E; larger points are left out")->capture_default_str();
        app.add_option("--candidates", candidates, "Of a point, at most")->check(CLI::PositiveNumber)->capture_default_str();
        app.add_option("--workers", workers, "CPU threads of a call")->check(CLI::Range(1, max_workers))->capture_default_str();
    }

    std::vector<Point> all() const {
        if (sizes.empty()) return points(thin, static_cast<std::int64_t>(most_gigabytes * gigabyte));
        std::vector<bench::Size> parsed;
        for (const auto& size : sizes) parsed.push_back(bench::parse_size(size));
        return points_of(parsed);
    }
};

void tell(const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
}

/// Compiles for a device that need not be there: what a collection would spend on it.
void compile(const std::vector<Choice>& choices, int threads) {
    const auto begin = std::chrono::steady_clock::now();
    CompileAhead compiling(choices, threads);
    for (std::size_t k = 0; k < choices.size(); ++k) compiling.wait_for(k);
    tell(fmt::format("compiled by {} threads in {:.1f} s", threads,
                     std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()));
}

int list(const PointOptions& options, const std::string& name, const Operations& operations, int threads) {
    const auto target = parse_target(name);
    std::vector<Choice> choices;
    std::size_t count = 0;
    const auto all = options.all();
    for (const auto& point : all) {
        const auto found = candidates(spec_of(point), target, options.workers, options.candidates);
        tell(fmt::format("{}: {} candidates", to_string(point), found.size()));
        for (const auto& one : found) {
            if (threads > 0) choices.push_back(choose(spec_of(point, operations), target, {one.schedule, one.variant, options.workers}));
            tell(fmt::format("  {:<18} {:<14} model {:10.1f} us, {:5.2f} N n^3{}", one.schedule, one.variant, one.modelled_seconds * 1e6,
                             static_cast<double>(one.thirds) / 3 / static_cast<double>(point.size.horizon), one.is_auto ? ", auto" : ""));
        }
        count += found.size();
    }
    tell(fmt::format("{} points, {} candidates", all.size(), count));
    if (threads > 0) compile(choices, threads);
    return 0;
}

void print_regrets(const std::string& title, std::vector<Regret> all, std::size_t worst) {
    const auto totals = totals_of(all);
    tell(fmt::format("{}: {} points, geometric mean {:.3f}, largest {:.2f}{}", title, totals.points, totals.geometric_mean, totals.largest,
                     totals.stand_ins == 0
                         ? ""
                         : fmt::format("; at {} points the choice was not measured, and the model's next of the same variant counts",
                                       totals.stand_ins)));
    std::ranges::sort(all, std::greater<>{}, &Regret::ratio);
    for (std::size_t k = 0; k < std::min(worst, all.size()); ++k)
        tell(fmt::format("  {:6.2f}  {:<18} {:10.1f} us by {}{}; {:.1f} us by {}", all[k].ratio(), to_string(all[k].point),
                         all[k].chosen_seconds * 1e6, all[k].chosen, all[k].stands_in ? " (not measured)" : "", all[k].best_seconds * 1e6,
                         all[k].best));
}

int summarize(const std::vector<std::string>& files, const std::string& operation, std::size_t worst) {
    std::vector<Record> records;
    for (const auto& file : files)
        for (auto& record : read_records(file)) records.push_back(std::move(record));
    std::size_t failed = 0, inaccurate = 0;
    for (const auto& record : records) (record.failure.empty() ? inaccurate : failed) += record.failure.empty() && record.accurate ? 0 : 1;
    tell(fmt::format("{} records, {} without a time, {} inaccurate; {}", records.size(), failed, inaccurate, operation));
    print_regrets("auto when measured", regrets(records, operation, recorded_choice), 0);
    const auto now = regrets(records, operation, [&](const Measured& measured) { return choice_now(measured, operation); });
    print_regrets("auto now", now, worst);
    for (const auto& [variant, fit] : fits(records, operation))
        tell(fmt::format("model of {}: {} records, time over modelled time {:.2f}, scattered by a factor of {:.2f}", variant, fit.records,
                         fit.ratio, fit.scatter));
    return 0;
}

/// For fit.py: the constants of a variant's model; then, for each line of other numbers, the modelled times of its records with these.
int model(const std::vector<std::string>& files, const std::string& variant) {
    std::vector<Record> records;
    for (const auto& file : files)
        for (auto& record : read_records(file))
            if (record.candidate.variant == variant && record.failure.empty() && record.accurate) records.push_back(std::move(record));
    if (records.empty()) throw formats::InputError("no record is of variant " + variant);
    const auto say = [](const nlohmann::ordered_json& json) {
        tell(json.dump());
        std::fflush(stdout);
    };
    say(constants_of(records.front().target, variant));
    for (std::string line; std::getline(std::cin, line);) say(modelled(records, nlohmann::json::parse(line).get<Numbers>()));
    return 0;
}

int run(int argc, char** argv) {
    CLI::App app{"Measures how far the chooser's choice is from the best of its own alternatives."};
    app.require_subcommand(1);
    PointOptions options;
    std::string target, variant, device = "auto", operation = "factor_solve", operations = "factor,factor_solve";
    std::vector<std::string> files;
    std::size_t worst = 10;
    bool compiles = false;
    Collection collection{.threads = std::max(1, usable_processors() - 1)};
    auto* lister = app.add_subcommand("list", "Points and candidates with their modelled times; needs no device");
    lister->add_option("--target", target, "cuda:sm_90, cpu:x86-64-v3, ...")->required();
    lister->add_flag("--compile", compiles, "Compile their kernels into the cache");
    options.add_to(*lister);
    auto* collector = app.add_subcommand("collect", "Measure the candidates, and add a line for each to a file of records");
    collector->add_option("--device", device, "auto, cpu, cuda or cuda:1")->capture_default_str();
    collector->add_option("--records", collection.records, "File; what it has is not measured again")->required();
    collector->add_option("--budget", collection.budget_seconds, "Seconds after which no other measurement begins")
        ->check(CLI::NonNegativeNumber);
    for (auto* verb : {lister, collector}) {
        verb->add_option("--threads", collection.threads, "Threads that compile for a GPU")
            ->check(CLI::PositiveNumber)
            ->capture_default_str();
        verb->add_option("--operations", operations, "What is timed; factor_solve alone leaves a third of the kernels uncompiled")
            ->check(CLI::IsMember({"factor,factor_solve", "factor_solve"}))
            ->capture_default_str();
    }
    options.add_to(*collector);
    auto* summary = app.add_subcommand("summary", "Regret of auto, then and now, and how well its models fit; needs no device");
    summary->add_option("records", files, "Files of records")->required();
    summary->add_option("--operation", operation, "factor or factor_solve")
        ->check(CLI::IsMember({"factor", "factor_solve"}))
        ->capture_default_str();
    summary->add_option("--worst", worst, "Points that are listed")->capture_default_str();
    auto* modeller = app.add_subcommand("model", "Modelled times of records, with constants that are read from standard input (fit.py)");
    modeller->add_option("records", files, "Files of records")->required();
    modeller->add_option("--variant", variant, "Whose model, of whose records")->required();
    CLI11_PARSE(app, argc, argv);
    if (lister->parsed()) return list(options, target, parse_operations(operations), compiles ? collection.threads : 0);
    if (modeller->parsed()) return model(files, variant);
    if (summary->parsed()) return summarize(files, operation, worst);
    collection.points = options.all();
    collection.operations = parse_operations(operations);
    collection.most_candidates = options.candidates;
    collection.workers = options.workers;
    collection.seed = std::random_device{}();
    collect(collection, Device::parse(device), tell);
    return 0;
}

}  // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_regret: %s\n", error.what());
    return 1;
}
