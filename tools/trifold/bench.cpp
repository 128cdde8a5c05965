#include "tools/trifold/bench.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>

#include "tools/formats/file.hpp"
#include "tools/trifold/family.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {

int BenchOptions::workers_on(const Device& on) const {
    if (on.backend() != Backend::cpu) return 1;
    return workers > 0 ? workers : all_workers();
}

std::uint64_t BenchOptions::seed_or_new() const { return seed.value_or(std::random_device{}()); }

Json statistics_json(const bench::Statistics& seconds) {
    return {{"median", seconds.median}, {"minimum", seconds.minimum}, {"spread", seconds.spread},
            {"p99", seconds.p99},       {"p99.9", seconds.p999},      {"maximum", seconds.maximum}};
}

BenchReport::BenchReport(const BenchOptions& options, const Device& device, int workers)
    : options_(options),
      all_{{"device", device.name()}, {"target", to_string(device.target())}, {"workers", workers}, {"peers", Json::array()}} {}

void BenchReport::add_peer(const std::string& name, const std::string& problem) {
    all_["peers"].push_back({{"name", name}, {"problem", problem}});
    if (!problem.empty()) say(fmt::format("trifold bench: {} takes no part: {}\n", name, problem));
}

void BenchReport::text(const std::string& line) const {
    if (!options_.json) print(line);
}

void BenchReport::result(const std::string& what, const std::string& solver, const std::optional<double>& residual, bool accurate,
                         const bench::Statistics& seconds, Json item, const std::string& row) {
    if (options_.samples) item["samples"] = seconds.sorted;
    all_["results"].push_back(std::move(item));
    if (!accurate) {
        sound_ = sound_ && solver != "trifold";
        say(fmt::format("trifold bench: {}: the relative residual {:.2e} of {} is above the tolerance\n", what, residual.value_or(0),
                        solver));
    }
    text(row);
}

void BenchReport::failure(const std::string& what, const std::string& solver, const std::string& message, Json item) {
    item["solver"] = solver;
    item["message"] = message;
    all_["failures"].push_back(std::move(item));
    sound_ = sound_ && solver != "trifold";
    say(fmt::format("trifold bench: {}: {} failed: {}\n", what, solver, message));
}

void BenchReport::save() const {
    if (!options_.output.empty()) formats::write_file(options_.output, all_.dump(1) + "\n");
}

int BenchReport::end() const {
    if (options_.json) print(all_);
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
    const auto options = std::make_shared<BenchOptions>();
    app.add_option("suite", options->suites, "One suite or more")->required();
    app.add_option("--device", options->device, "auto, cpu, cuda or cuda:1")->capture_default_str();
    app.add_option("--precision", options->precision, "f32, f64, both, or mixed")->capture_default_str();
    app.add_option(
        "--size", options->sizes,
        "In place of the suite's: Nxn or Nxnxbatch, such as 512x32 or 32x12x1024; of images WIDTHxHEIGHT or WIDTHxHEIGHTxIMAGES");
    app.add_option("--rhs", options->rhs, "Right-hand sides m solved at once")->capture_default_str();
    app.add_option("--workers", options->workers, "CPU threads; one for each processor that may be used when it is not given")
        ->check(number_of_workers());
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
    const auto benches = std::make_shared<Benches>(app, families, *options);
    app.footer(list_of_suites(families) +
               "Exit status 1: a relative residual of ours is above the tolerance, or a size could not be measured. tools/bench/plot.py "
               "draws the JSON.");
    return [options, benches, &json] {
        options->json = json;
        return benches->run();
    };
}

}  // namespace trifold::command
