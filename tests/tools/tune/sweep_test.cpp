#include "tools/tune/sweep.hpp"

#include <trifold/trifold.hpp>

#include "runtime/compile/cache.hpp"
#include "tests/runtime/cache/unit.hpp"
#include "tests/tools/tune/records.hpp"
#include "tools/formats/file.hpp"

namespace fs = std::filesystem;
using namespace trifold;
using namespace trifold::tune;
using test::Folder;

namespace {

Point tiny(std::int64_t block = 3) { return test::a_point({{"block", block}, {"horizon", 4}, {"operations", {"factor_solve"}}}); }

TuneOptions options_of(Effort effort = Effort::quick) {
    TuneOptions options{.device = "cpu", .effort = effort, .processes = 2, .command = {TRIFOLD_COMMAND, "tune"}};
    options.measuring.hot = true;
    return options;
}

/// With a clock for which candidates with this word are twice as fast.
TuneOptions fast_with(const std::string& word) {
    auto options = options_of();
    options.measuring.clock = [word](const Candidate& candidate, const Timed&) -> Timed {
        return [fast = (candidate.schedule + " " + candidate.variant).find(word) != std::string::npos] { return fast ? 1e-3 : 2e-3; };
    };
    return options;
}

SweepReport run(const Folder& folder, const std::vector<Point>& points, const TuneOptions& options, const SweepListener& listener = {}) {
    return sweep(points, folder.log(), options, listener);
}

/// A cache, and a compiler that does what it is told by the shell.
struct Compiler {
    explicit Compiler(const Folder& folder, const std::string& lines = "") : folder_(folder) {
        ::setenv("TRIFOLD_CACHE_DIR", (folder_.path / "cache").c_str(), 1);
        if (lines.empty()) return;
        const auto script = folder_.path / "compiler";
        std::ofstream(script) << "#!/bin/sh\nif [ \"$1\" = --version ]; then echo a compiler of a test; exit 0; fi\n" << lines << "\n";
        fs::permissions(script, fs::perms::owner_all);
        ::setenv("TRIFOLD_CC", script.c_str(), 1);
    }
    ~Compiler() {
        ::unsetenv("TRIFOLD_CC");
        ::unsetenv("TRIFOLD_CACHE_DIR");
    }
    const Folder& folder_;
};

}  // namespace

TEST_CASE_FIXTURE(test::Folder, "sweep: points are decided, the costly first, and a second run measures nothing") {
    auto costly = tiny(5);
    costly.seconds = 100;
    const std::vector<Point> points{tiny(), costly};
    const auto report = run(*this, points, options_of());
    CHECK(report.complete);
    REQUIRE(report.results.size() == 2);
    CHECK(report.results[0].point.spec == costly.spec);
    for (const auto& result : report.results) {
        INFO(result.why);
        REQUIRE(result.decision);
        CHECK(!result.was_decided);
        CHECK(result.decision->gain() >= 1);
        CHECK(result.decision->machine == machine_of(Device::cpu()));
    }
    CHECK(log().read().trials.size() == report.state.trials);
    CHECK(log().read().trials.front().is_default);
    const auto again = run(*this, points, options_of());
    CHECK(again.complete);
    CHECK(again.results[0].was_decided);
    CHECK(again.state.trials == 0);
}

TEST_CASE_FIXTURE(test::Folder, "sweep: more effort goes on from the trials that are there, and less adds nothing") {
    run(*this, {tiny()}, options_of());
    const auto full = run(*this, {tiny()}, options_of(Effort::full));
    REQUIRE(full.results.at(0).decision);
    CHECK(full.results[0].decision->effort == "full");
    std::set<std::string> first;
    for (const auto& trial : log().read().trials)
        if (trial.round == "first") CHECK(first.insert(trial.candidate.schedule + trial.candidate.variant).second);
    CHECK(run(*this, {tiny()}, options_of()).results.at(0).was_decided);
}

TEST_CASE("sweep: an interruption and the end of a budget keep what was measured, and a run after it goes on from there") {
    const Folder folder;
    std::atomic<bool> stop = false;
    auto options = options_of();
    options.stop = &stop;
    SweepListener listener;
    listener.progress = [&](const SweepState& state) { stop = state.trials > 0; };
    CHECK(!run(folder, {tiny(), tiny(5)}, options, listener).complete);
    // A search that goes on for long ends within its point.
    const Folder other;
    stop = false;
    options.effort = Effort::exhaustive;
    listener.progress = [&](const SweepState&) {
        stop = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    };
    CHECK(!run(other, {tiny()}, options, listener).complete);
    CHECK(other.log().read().decisions.empty());
    const auto before = folder.log().read().trials.size();
    CHECK(before > 0);
    auto late = options_of();
    late.budget_seconds = 1e-9;
    CHECK(run(folder, {tiny()}, late).state.trials == 0);
    CHECK(run(folder, {tiny(), tiny(5)}, options_of()).complete);
    std::size_t defaults = 0;
    for (const auto& trial : folder.log().read().trials)
        defaults += trial.point.spec == tiny().spec && trial.is_default && trial.round == "first" ? 1 : 0;
    CHECK(defaults == 1);  // not measured again
}

TEST_CASE("sweep: a compiler that crashes or hangs is a verdict with its last words, and never tried again") {
    for (const auto& [lines, seconds, verdict, why] :
         {std::tuple{"echo before the end >&2; kill -SEGV $$", 60.0, "does_not_compile", "before the end"},
          {"sleep 1000", 1.0, "times_out", "had not compiled after 1 s"}}) {
        const Folder folder;
        const Compiler compiler(folder, lines);
        auto options = options_of();
        options.compile_seconds = seconds;
        const auto report = run(folder, {tiny()}, options);
        CHECK(report.complete);
        CHECK(!report.results.at(0).decision);
        CHECK_MESSAGE(report.results[0].why.find(why) != std::string::npos, report.results[0].why);
        CHECK(report.state.failures.at(verdict) == report.state.trials);
        ::unsetenv("TRIFOLD_CC");
        CHECK(run(folder, {tiny()}, options_of()).state.trials == 0);
    }
    const Folder folder;
    const Compiler none(folder);
    ::setenv("TRIFOLD_CACHE_DIR", "/proc/no/such/place", 1);
    CHECK_THROWS_WITH_AS(run(folder, {tiny()}, options_of()), doctest::Contains("TRIFOLD_CACHE_DIR"), CacheError);
}

TEST_CASE_FIXTURE(test::Folder, "sweep: the process of a point that cannot begin") {
    auto options = options_of();
    for (const auto& [command, why] :
         {std::pair{std::vector<std::string>{"/bin/sh", "-c", "echo no luck; exit 7"}, "exited with status 7: no luck"},
          {{"/no/such/program"}, "could not be started"}}) {
        options.command = command;
        const auto report = run(*this, {tiny()}, options);
        CHECK_MESSAGE(report.results.at(0).why.find(why) != std::string::npos, report.results[0].why);
    }
}

TEST_CASE("search of a point: a fast candidate wins unless it disagrees") {
    auto point = tiny(19);
    point.workers = 2;
    const Folder folder, other;
    const auto sound = search_point(point, folder.log(), fast_with("twisted:2"));
    REQUIRE(sound.decision);
    CHECK(sound.decision->winner.schedule == "twisted:2");
    CHECK(sound.decision->gain() == doctest::Approx(2));
    auto options = fast_with("twisted:2");
    options.measuring.poison = [](const Candidate& candidate, Outputs& outputs) {
        if (candidate.schedule == "twisted:2") outputs.values.at("factor_solve").front() += 1;
    };
    const auto wrong = search_point(point, other.log(), options);
    REQUIRE(wrong.decision);
    CHECK(wrong.decision->winner == wrong.decision->standard);
    const auto trials = other.log().read().trials;
    CHECK(std::ranges::any_of(trials, [](const Trial& trial) { return trial.verdict == Verdict::disagrees; }));
}

TEST_CASE("search of a point: time decides about what a variant spills by itself, knobs may not spill more") {
    constexpr auto any = std::numeric_limits<std::int64_t>::max();
    const auto of = [](const std::string& variant, std::int64_t bytes, bool is_default = false) {
        auto trial = test::made_up(tiny(), {"sequential", variant}, 1, "first", is_default);
        trial.spill_bytes = bytes;
        return trial;
    };
    const auto most = [](const std::string& variant, const std::vector<Trial>& trials) {
        return max_spills({"twisted:2", variant}, trials);
    };
    std::vector<Trial> trials{of("dataflow", 0, true), of("chains", 24), of("chains:chain_bands=1", 400), of("team", 0), of("team", 96)};
    trials.back().verdict = Verdict::inaccurate;
    for (const auto& [variant, bytes] :
         {std::pair{"chains", any}, {"chains:chain_registers=128", 24}, {"team:team_warps=4", 0}, {"tiled:row_vectors=2", 0}})
        CHECK_MESSAGE(most(variant, trials) == bytes, variant);
    CHECK(most("team:team_warps=4", {of("dataflow", 8, true), of("team", 0)}) == any);
    CHECK(most("team:team_warps=4", {}) == any);  // before the default was tried
}

TEST_CASE("knobs of an image and of a sparse system are searched, and Plans take the decision from wisdom") {
    const Folder folder;
    const auto path = (folder.path / "wisdom").string();
    const test::WithEnvironment environment{{"TRIFOLD_WISDOM", path.c_str()}};
    const GridSpec image{.width = 33, .height = 17, .batch = 2};
    const SparseMesh cells{24, 20, 16};
    const auto grid = search_point(test::a_point({{"family", "grid"}, {"width", 33}, {"height", 17}, {"batch", 2}}), folder.log(),
                                   fast_with("leaf_cells=8"));
    const auto sparse = search_point(test::a_point({{"family", "sparse"}, {"mesh", "24x20x16"}, {"block", 3}}), folder.log(),
                                     fast_with("tile_scalars=4096"));
    REQUIRE((grid.decision && sparse.decision));
    CHECK(grid.decision->winner == Candidate{"dissection", "fronts:leaf_cells=8"});
    CHECK(grid.decision->trials == 3);
    CHECK(says(sparse.decision->winner.variant, "tile_scalars=4096"));
    formats::write_file(path, write_wisdom({row_of(*grid.decision), row_of(*sparse.decision)}));

    const GridPlan plan(image, Device::cpu());
    CHECK(plan.choice().rung == DecisionSource::exact);
    CHECK(says(plan.choice().row, "33x17, m = 1, 2 systems"));
    CHECK(plan.tuning().variant == "fronts:leaf_cells=8");
    for (const auto& [width, rung] : {std::pair{40, DecisionSource::nearest}, {128, DecisionSource::model}}) {
        auto other = image;
        other.width = width;
        CHECK(GridPlan(other, Device::cpu()).choice().rung == rung);
    }
    CHECK(GridPlan(image, Device::cpu(), {.variant = "fronts"}).choice().rung == DecisionSource::pinned);

    const auto rung = [](const SparseMesh& mesh, const SparseTuning& tuning = {}) {
        return SparsePlan({.block = 3}, SparsePattern(mesh), Device::cpu(), {}, tuning).choice().rung;
    };
    CHECK(rung(cells) == DecisionSource::exact);
    CHECK(rung({24, 20, 20}) == DecisionSource::nearest);
    CHECK(rung({64, 64, 64}) == DecisionSource::model);
}
