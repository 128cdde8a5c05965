#include "tools/trifold/bench.hpp"

#include <fmt/format.h>

#include <array>
#include <map>

#include "generator/tridiagonal/fields.hpp"
#include "tools/bench/peers/peers.hpp"
#include "tools/bench/suites.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tridiagonal/options.hpp"

namespace trifold::command {
namespace {

using namespace bench;

struct ChainBenchOptions {
    explicit ChainBenchOptions(const BenchOptions& common) : all(common) {}
    const BenchOptions& all;
    std::vector<std::string> schedules{"auto"}, variants{"auto"}, compilers{"gcc", "clang-19"};
    std::vector<double> rates{500};
    std::vector<std::int64_t> shards;
    std::string order = "row", target, flags = "-O3 -march=native -ffp-contract=fast -fno-math-errno";
    std::int64_t panel = 0;
    SharedField matrix;
    Spec shape;  ///< of all problems
    bool is_plain() const { return shape == Spec{}; }
};

/// A run of the verb: its suites, one problem after another.
class ChainBench {
  public:
    explicit ChainBench(const ChainBenchOptions& own)
        : own_(own),
          options_(own.all),
          device_(options_.one_device()),
          workers_(options_.workers_on(device_)),
          form_{own.order == "column" ? Order::column_major : Order::row_major, own.panel},
          peers_(options_.chosen_peers(Family::tridiagonal)),
          seed_(options_.seed_or_new()),
          tools_(device_, workers_ == 1 && !options_.has_ranks()) {
        for (const auto rate : own.rates)
            if (!(rate > 0)) throw SpecError(fmt::format("--rate {} is not a number of calls a second; give one above 0", rate));
        for (const auto& schedule : own.schedules)
            for (const auto& variant : own.variants) tunings_.push_back({schedule, variant, workers_});
        for (const auto& compiler : own.compilers)
            if (!own.target.empty()) peers_.push_back(exported(compiler, own.target, own.flags));
    }
    int run() {
        std::vector<const Suite*> chosen;
        for (const auto& name : options_.suites) chosen.push_back(&*std::ranges::find(suites(), name, &Suite::name));  // the verb knows it
        for (const auto* suite : chosen) {
            if (suite->mode == Mode::compile && (own_.shape.lengths || own_.shape.sizes))
                throw SpecError("suite compile starts trifold solve, which takes no lengths and sizes; leave them or the suite out");
            if (suite->mode != Mode::accuracy) check_tunings(sizes_of(*suite));
        }
        report_.emplace(options_, device_, seed_, peers_);
        for (const auto* suite : chosen) {
            if (suite->mode == Mode::accuracy) {
                judge(*suite);
                continue;
            }
            report_->head(fmt::format("{}: {}", suite->name, suite->purpose), suite->mode == Mode::latency);
            is_first_ = true;
            for (const auto& size : sizes_of(*suite))
                for (const auto rhs : options_.rhs)
                    for (const auto precision : options_.precisions()) run(*suite, size, rhs, precision);
        }
        return report_->end();
    }

  private:
    std::vector<Size> sizes_of(const Suite& suite) const { return options_.sizes_or<Size>(suite.sizes, parse_size, quick); }

    Spec spec_of(const Size& size, std::int64_t rhs, Precision precision) const {
        auto spec = own_.shape;
        std::tie(spec.block, spec.horizon, spec.batch) = std::tie(size.block, size.horizon, size.batch);
        spec.rhs = rhs;
        spec.precision = precision;
        return spec;
    }

    std::string refusal_of(const Spec& spec, const Tuning& tuning) const {
        try {
            if (!options_.has_ranks()) choose(spec, device_.target(), tuning);  // ranks have schedules of their own
            return "";
        } catch (const SpecError& error) {
            return error.what();
        }
    }

    /// Not every pair exists, but a schedule or a variant that no pair of any size has is a mistake: its SpecError.
    void check_tunings(const std::vector<Size>& sizes) const {
        std::map<std::string, std::string> whys;  // by schedules and variants; empty: some pair of it exists
        for (const auto& tuning : tunings_) {
            std::string why;
            for (const auto& size : sizes) {
                why = refusal_of(spec_of(size, options_.rhs.front(), Precision::f64), tuning);
                if (why.empty()) break;
            }
            for (const auto& name : {"schedule " + tuning.schedule, "variant " + tuning.variant}) {
                auto& first = whys.try_emplace(name, why).first->second;
                if (why.empty()) first.clear();
            }
        }
        for (const auto& [name, why] : whys)
            if (!why.empty()) throw SpecError(why);
    }

    void run(const Suite& suite, const Size& size, std::int64_t rhs, Precision precision) {
        auto spec = spec_of(size, rhs, precision);
        spec.operations = {Operation::factor, Operation::solve, Operation::factor_solve};
        validate(spec);
        if (suite.mode == Mode::messages && precision != options_.precisions().front()) return;
        BenchCase one{std::string(suite.name),
                      fmt::format("{} {}", to_string(size), to_string(precision)),
                      {{"horizon", spec.horizon},
                       {"block", spec.block},
                       {"batch", spec.batch},
                       {"rhs", rhs},
                       {"precision", to_string(precision)},
                       {"schedule", ""},
                       {"variant", ""}}};
        for (const auto& [name, is_so] : {std::pair{"ring", spec.ring}, {"lengths", spec.lengths}, {"sizes", spec.sizes}})
            if (is_so) one.json[name] = true, one.name += fmt::format(" {}", name);
        if (const auto kind = name_of(spec.matrix); spec.matrix != MatrixKind::positive_definite)
            one.json["matrix"] = kind, one.name += fmt::format(" {}", kind);
        if (spec.bandwidth > 1) one.json["bandwidth"] = spec.bandwidth, one.name += fmt::format(" w={}", spec.bandwidth);
        if (spec.border > 0) one.json["border"] = spec.border, one.name += fmt::format(" a={}", spec.border);
        if (options_.rhs.size() > 1) one.name += fmt::format(" m={}", rhs);
        const Problem problem = make_chain(options_.problem.empty() ? suite.problem : options_.problem, spec, seed_);
        const auto& chain = std::get<ChainProblem>(problem);
        Contest contest{.problem = problem,
                        .entries = ours(suite, one, chain),
                        .tolerance = options_.tolerance_of(precision),
                        .budget = options_.budget(suite.mode == Mode::latency ? 10 : 0.2)};
        if (suite.mode == Mode::throughput) {
            if (precision != Precision::mixed && own_.is_plain()) contest.add(peers_);  // peers have no such thing
            contest.by_turns = device_.backend() == Backend::cpu && !options_.has_ranks();
            contest.work = [&](const std::string& operation) {
                for (const auto each : spec.operations)
                    if (precision != Precision::mixed && own_.is_plain() && to_string(each) == operation) return work(spec, each);
                return bench::Work{};
            };
            if (const auto known = rates(device_.name()))
                contest.floor_seconds = [=](const bench::Work& least) { return std::optional(floor_seconds(least, *known, precision)); };
        }
        report_->measure(one, contest, tools_);
        is_first_ = false;
    }

    static bool has(std::string_view problem, std::int64_t block) {
        return problem == "blockdss" ? block >= 8 : problem != "kalman" || block % 2 == 0;  // blockdss is rarely definite for small ones
    }

    /// Every problem that is defined for a size, by every schedule. With --quick every size and schedule, but not every pair of them.
    void judge(const Suite& suite) {
        constexpr std::array schedules{"auto",      "sequential", "single-stage", "multi-stage",   "partitioned:2", "partitioned:5",
                                       "twisted:2", "twisted:5",  "recursive:2",  "recursive:4:3", "segments:3,2",  "segments:7"};
        const auto sizes = options_.sizes_or<Size>(suite.sizes, parse_size, [](const std::vector<Size>& all) { return all; });
        report_->text(fmt::format("{}: {}\n", suite.name, suite.purpose));
        Progress progress(static_cast<int>(sizes.size()));
        for (std::size_t k = 0; k < sizes.size(); ++k) {
            const auto& size = sizes[k];
            progress.step(to_string(size));
            if (options_.quick && k % 7 != 0) continue;
            std::vector<std::string> named;
            for (std::size_t s = 0; s < schedules.size(); ++s)
                if (!options_.quick || (k + s) % 6 == 0) named.emplace_back(schedules[s]);
            if (own_.schedules != std::vector<std::string>{"auto"}) named = own_.schedules;
            for (const auto* name : {"socu", "blockdss", "kalman"})
                for (const auto precision : options_.precisions())
                    if (has(name, size.block)) judge(suite, size, name, precision, named);
        }
    }

    void judge(const Suite& suite, const Size& size, const std::string& name, Precision precision,
               const std::vector<std::string>& schedules) {
        const auto spec = spec_of(size, options_.rhs.front(), precision);
        const Problem problem = make_chain(name, spec, seed_);
        std::vector<std::vector<Level>> done;  // short horizons turn different names into the same schedule
        for (const auto& schedule : schedules) {
            if (!own_.is_plain() && !refusal_of(spec, {schedule, own_.variants.front(), workers_}).empty()) continue;  // such as end chains
            if (schedule != "auto") {
                auto levels = parse_schedule(schedule, solved_blocks(spec), spec.ring).levels;
                if (std::ranges::find(done, levels) != done.end()) continue;
                done.push_back(std::move(levels));
            }
            const Tuning tuning{schedule, own_.variants.front(), workers_};
            const Contest contest{.problem = problem,
                                  .entries = {{"trifold",
                                               [&](DeviceTools& tools) {
                                                   return our_chain(std::get<ChainProblem>(problem), device_, tuning, form_, tools);
                                               }}},
                                  .tolerance = options_.tolerance_of(precision),
                                  .budget = {.seconds = 0, .min_runs = 1}};
            report_->judge({std::string(suite.name),
                            fmt::format("{} {}", name, to_string(precision)),
                            {{"problem", name}, {"precision", to_string(precision)}}},
                           fmt::format("{} {}", to_string(size), schedule), contest, tools_);
        }
    }

    std::vector<bench::Entry> ours(const Suite& suite, const BenchCase& one, const ChainProblem& chain) {
        std::vector<bench::Entry> entries;
        const bool has_others = std::ranges::any_of(tunings_, [&](const Tuning& t) { return refusal_of(chain.spec, t).empty(); });
        for (const auto& tuning : tunings_) {
            if (const auto why = refusal_of(chain.spec, tuning); has_others && !why.empty())
                say(fmt::format("trifold bench: {} {}: left out: {}\n", one.suite, one.name, why));
            else
                add(entries, suite, chain, tuning);
        }
        if (suite.mode == Mode::latency && is_first_)
            entries.push_back({"no solver", [this](DeviceTools& tools) { return copy_at_rates(own_.rates, tools); }});
        return entries;
    }

    void add(std::vector<bench::Entry>& entries, const Suite& suite, const ChainProblem& chain, const Tuning& tuning) {
        const auto alone = [this, &chain, tuning](DeviceTools& tools) { return our_chain(chain, device_, tuning, form_, tools); };
        if (suite.mode == Mode::compile) {
            entries.push_back({"trifold", [this, &chain, tuning](DeviceTools&) { return starts(chain, options_.device, tuning); }});
        } else if (suite.mode == Mode::latency) {
            entries.push_back({"trifold", [this, alone](DeviceTools& tools) { return at_rates(alone(tools), own_.rates, tools); }});
        } else {
            for (const auto& ranks : options_.all_ranks()) {
                const auto name = ranks.count == 1 ? "trifold" : fmt::format("trifold, {} ranks", ranks.count);
                const auto budget = options_.budget(0.2);
                if (suite.mode == Mode::messages)
                    entries.push_back({name, [ranks, budget](DeviceTools&) { return messages(ranks, budget); }});
                else if (ranks.count == 1)
                    entries.push_back({name, alone});
                else
                    entries.push_back({name, [this, &chain, tuning, ranks, budget](DeviceTools&) {
                                           return our_chain(chain, ranks, tuning, own_.shards, budget);
                                       }});
            }
        }
    }

    const ChainBenchOptions& own_;
    const BenchOptions& options_;
    Device device_;
    int workers_;
    ChainForm form_;
    std::vector<Tuning> tunings_;
    std::vector<Peer> peers_;
    std::uint64_t seed_;
    DeviceTools tools_;
    std::optional<BenchReport> report_;
    bool is_first_ = true;
};

}  // namespace

std::function<int()> tridiagonal_bench(CLI::App& app, const BenchOptions& options, const std::string&) {
    const auto own = std::make_shared<ChainBenchOptions>(options);
    app.add_option("--schedule", own->schedules, "One or more, each is measured")->capture_default_str();
    app.add_option("--variant", own->variants, "Of the kernels, one or more; suite compile takes auto")->capture_default_str();
    app.add_option("--rate", own->rates, "Calls a second in suite latency, one or more")->capture_default_str();
    app.add_option("--order", own->order, "How the blocks of D and E are stored")
        ->check(CLI::IsMember({"row", "column"}))
        ->capture_default_str();
    app.add_option("--panel", own->panel, "Right-hand sides that kernels take at once; all of a call when it is not given");
    for (const auto* name : {"ring", "border", "bandwidth", "lengths", "sizes"}) add_field(app, spec_fields[name], &own->shape);
    own->matrix.add_to(app, spec_fields[shared_field]);
    app.add_option("--shards", own->shards, "Blocks of each rank; by the model when they are not given");
    app.add_option("--export", own->target, "Measures exported C beside it, for this target, such as c99:avx2");
    app.add_option("--compilers", own->compilers, "Of exported C")->capture_default_str();
    app.add_option("--flags", own->flags, "For these compilers")->capture_default_str();
    return [own] {
        own->shape.matrix = kind_of(own->matrix).value_or(MatrixKind::positive_definite);
        return ChainBench(*own).run();
    };
}

}  // namespace trifold::command
