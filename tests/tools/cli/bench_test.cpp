#include "tests/tools/cli/command.hpp"

namespace {

const std::string one_core = " --device cpu --workers 1 ", brief = one_core + "--seconds 0.002 ";

nlohmann::json bench(const Scratch& scratch, const std::string& arguments, int status = 0) {
    const auto ran = scratch.run("bench " + arguments + (arguments.find("--seconds") == std::string::npos ? brief : one_core) + "--json");
    INFO(arguments, "\n", ran.err);
    REQUIRE(ran.status == status);
    return ran.json();
}

/// The results of one solver, in both precisions unless one is given.
std::vector<nlohmann::json> results_of(const nlohmann::json& all, const std::string& solver) {
    std::vector<nlohmann::json> found;
    for (const auto& result : all["results"])
        if (result["solver"] == solver) found.push_back(result);
    return found;
}

}  // namespace

TEST_CASE_FIXTURE(Scratch, "bench: rings and borders, alone and in a batch, without peers and floors") {
    const auto all = bench(*this, "table1 batch --size 6x4x3 7x3 --ring --border 2 --rhs 1 3 --seed 5 --peers all");
    CHECK(all["failures"].empty());
    CHECK(all["results"].size() == 2 * 2 * 2 * 2 * 3);  // suites, sizes, right-hand sides, precisions, operations
    for (const auto& result : all["results"]) {
        check_json(result, {{"solver", "trifold"}, {"ring", true}, {"border", 2}, {"accurate", true}});
        CHECK(result["gigabytes_per_second"].is_null());
    }
    const auto starts = bench(*this, "compile --size 7x3 --border 2 --precision f64");
    CHECK(starts["failures"].empty());
    for (const auto& result : starts["results"]) CHECK(result["accurate"] == true);
    CHECK(bench(*this, "accuracy --size 9x2 --ring --quick --precision f64")["failures"].empty());
}

TEST_CASE_FIXTURE(Scratch, "bench: symmetric and general matrices, also in rings and with blocks by columns") {
    for (const std::string matrix : {"symmetric", "general"})
        for (const std::string shape : {"", " --ring", " --order column"}) {
            const auto all = bench(*this, "table1 --size 8x4x3 10x3 --rhs 2 --seed 5 --peers all --matrix " + matrix + shape);
            CHECK(all["failures"].empty());
            CHECK(all["results"].size() == 2 * 2 * 3);  // sizes, precisions, operations
            for (const auto& result : all["results"]) check_json(result, {{"solver", "trifold"}, {"accurate", true}, {"matrix", matrix}});
        }
    CHECK(bench(*this, "compile --size 8x3 --precision f64 --matrix general")["failures"].empty());
}

TEST_CASE_FIXTURE(Scratch, "bench: bands, also in rings and with a border, lengths and sizes") {
    for (const auto& [options, fields] : std::vector<std::pair<std::string, nlohmann::json>>{
             {"--bandwidth 3", {{"bandwidth", 3}}},
             {"--bandwidth 2 --ring --border 3", {{"bandwidth", 2}, {"ring", true}, {"border", 3}}},
             {"--lengths --border 2", {{"lengths", true}, {"border", 2}}},
             {"--sizes --lengths", {{"lengths", true}, {"sizes", true}}},
             {"--sizes", {{"sizes", true}}}}) {
        const auto all = bench(*this, "table1 --size 8x4x3 10x3 --rhs 2 --seed 5 --peers all " + options);
        CHECK(all["failures"].empty());
        CHECK(all["results"].size() == 2 * 2 * 3);  // sizes, precisions, operations
        for (const auto& result : all["results"]) {
            check_json(result, fields);
            check_json(result, {{"solver", "trifold"}, {"accurate", true}});
            if (result["operation"] != "factor") CHECK(result["relative_residual"].get<double>() > 0);
        }
        CHECK(bench(*this, "accuracy --size 12x2 --quick --precision f64 " + options)["failures"].empty());
    }
    CHECK(bench(*this, "compile --size 8x3 --bandwidth 2 --ring --precision f64")["failures"].empty());
    const auto refused = [&](const std::string& arguments) { return run("bench " + arguments + one_core).err; };
    CHECK(says(refused("compile --size 8x3 --lengths"), "suite compile starts trifold solve, which takes no lengths and sizes"));
    CHECK(says(refused("table1 --size 8x3 --lengths --ring"), "a ring has no end"));
    CHECK(says(refused("table1 --size 8x3 --bandwidth 3 --ring"), "a ring of 8 blocks is solved by 3 at a time"));
}

TEST_CASE_FIXTURE(Scratch, "bench: every suite of throughput, with what each result says") {
    const auto all = bench(*this, "table1 long horizon block batch kalman --size 6x4 --samples --seed 5");
    check_json(all, {{"seed", 5}, {"workers", 1}});
    CHECK(all["target"].get<std::string>().starts_with("cpu:"));
    CHECK(all["failures"].empty());
    const auto ours = results_of(all, "trifold");
    CHECK(ours.size() == 6 * 2 * 3);  // suites, precisions, operations
    std::set<std::string> seen;
    for (const auto& result : ours) {
        seen.insert(result["suite"].get<std::string>() + result["operation"].get<std::string>() + result["precision"].get<std::string>());
        check_json(result, {{"horizon", 6}, {"block", 4}, {"batch", 1}, {"rhs", 1}, {"schedule", "sequential"}});
        CHECK(result["variant"].get<std::string>().size() > 2);
        CHECK(result["accurate"] == true);
        CHECK(result["relative_residual"].get<double>() <= (result["precision"] == "f64" ? 1e-14 : 1e-6));
        CHECK(result["relative_residual"].get<double>() > 0);
        CHECK(result["floor_seconds"].is_null());  // known of devices only
        auto samples = result["samples"].get<std::vector<double>>();
        REQUIRE(samples.size() == result["runs"]);
        CHECK(samples.size() >= 5);
        // Medians and the rest, counted instead of interpolated.
        const auto& seconds = result["seconds"];
        const auto median = seconds["median"].get<double>(), p99 = seconds["p99"].get<double>();
        const auto below = [&](double bound) { return std::ranges::count_if(samples, [&](double s) { return s < bound; }); };
        const auto above = [&](double bound) { return std::ranges::count_if(samples, [&](double s) { return s > bound; }); };
        CHECK(2 * below(median) <= static_cast<std::ptrdiff_t>(samples.size()));
        CHECK(2 * above(median) <= static_cast<std::ptrdiff_t>(samples.size()));
        CHECK(100 * above(p99) <= static_cast<std::ptrdiff_t>(samples.size()) + 99);
        check_json(seconds, {{"minimum", std::ranges::min(samples)}, {"maximum", std::ranges::max(samples)}});
        CHECK(seconds["minimum"].get<double>() > 0);
        CHECK(seconds["spread"].get<double>() >= 0);
        if (result["operation"] != "factor") continue;
        const double width = result["precision"] == "f64" ? 8 : 4;  // D and E read, L, R and G written, 6 blocks of 16 entries
        CHECK(result["gigabytes_per_second"].get<double>() * median * 1e9 == doctest::Approx(5 * 6 * 16 * width));
        CHECK(result["gigaflops_per_second"].get<double>() * median * 1e9 == doctest::Approx(19.0 / 3 * 6 * 64));
    }
    CHECK(seen.size() == ours.size());
}

TEST_CASE_FIXTURE(Scratch, "bench: peers found here solve the same systems") {
    const auto all = bench(*this, "horizon --size 9x5 5x3x4 --precision f64");
    const auto peers = nlohmann::json::array({{{"name", "lapack"}, {"problem", ""}}, {{"name", "openblas"}, {"problem", ""}}});
    CHECK(all["peers"] == peers);
    CHECK(results_of(all, "lapack").size() == 4);
    CHECK(results_of(all, "openblas").size() == 3);  // one system, as a batch is no sweep
    for (const auto* peer : {"lapack", "openblas"})
        for (const auto& result : results_of(all, peer)) {
            CHECK(result["relative_residual"].get<double>() < 1e-15);
            CHECK(result["gigaflops_per_second"].get<double>() > 0);
            CHECK(result["schedule"] == "");
        }
    CHECK(bench(*this, "horizon --size 9x5 --precision f64 --peers none")["peers"].empty());
    const auto named = bench(*this, "batch --size 6x4x3 --precision f64 --peers one-by-one --order column --rhs 2 1 --panel 1");
    CHECK(results_of(named, "one-by-one").size() == 2 * 2);
    CHECK(results_of(named, "trifold").size() == 2 * 3);
    const auto exported = bench(*this, "block --size 3x5 --precision f32 --peers none --export c99:generic --compilers gcc --flags -O1");
    CHECK(results_of(exported, "exported-gcc").size() == 2);
    for (const auto& result : exported["results"]) CHECK(result["accurate"] == true);
    const auto text = run("bench block --size 9x5 --precision f64 --peers openblas" + brief);
    CHECK(says(text.out, " of ours"));
}

TEST_CASE_FIXTURE(Scratch, "bench: ranks share a chain, a batch and a sparse system, and send messages") {
    const std::string ranks = " --ranks 1 2 --peers none --precision f64 --seed 3";
    for (const auto* what : {"block --size 16x4", "batch --size 5x3x5"}) {
        CAPTURE(what);
        const auto all = bench(*this, what + ranks);
        CHECK(all["failures"].empty());
        CHECK(results_of(all, "trifold").size() == 3);
        const auto shared = results_of(all, "trifold, 2 ranks");
        REQUIRE(shared.size() == 3);
        for (const auto& result : shared) CHECK(result["relative_residual"].get<double>() < 1e-15);
    }
    const auto shards = results_of(bench(*this, "block --size 16x4 --shards 10 6" + ranks), "trifold, 2 ranks");
    CHECK(shards.front()["shards"] == std::vector{10, 6});
    const auto sparse = results_of(bench(*this, "sparse --size 8x7x6 --partition 4x7x6 --forward --quick" + ranks), "trifold, 2 ranks");
    REQUIRE(sparse.size() == 3);
    check_json(sparse[1], {{"operation", "solve"}, {"same_bits", true}});
    const auto messages = results_of(bench(*this, "messages --ranks 2 --peers none"), "trifold, 2 ranks");
    REQUIRE(messages.size() > 3);
    for (const auto& result : messages) CHECK(result["gigabytes_per_second"].get<double>() > 0);
    CHECK(run("bench grid --size 9x9 --ranks 2" + brief).status == 2);
}

TEST_CASE_FIXTURE(Scratch, "bench: several schedules and variants, and one that fits no size") {
    const auto all = bench(*this, "block --size 7x3 --schedule sequential multi-stage --precision f64 --peers none");
    std::set<std::string> schedules;
    for (const auto& result : all["results"]) schedules.insert(result["schedule"].get<std::string>());
    CHECK(schedules == std::set<std::string>{"sequential", "multi-stage"});
    CHECK(run("bench block --size 7x3 --schedule chess" + brief).status == 2);
    CHECK(run("bench block --size 7x3 --variant chess" + brief).status == 2);
}

TEST_CASE_FIXTURE(Scratch, "bench: pairs of schedule and variant that do not exist are left out") {
    const std::string pairs = "bench block --size 7x3 --precision f64 --peers none --schedule sequential multi-stage --variant ";
    const auto ran = well(pairs + "tile intervals --json" + brief);
    CHECK(says(ran.err, "block 7x3 f64: left out: variant 'intervals' is for the schedule segments:J, not for multi-stage"));
    std::set<std::string> measured;
    const auto all = ran.json();
    for (const auto& result : all["results"])
        measured.insert(result["schedule"].get<std::string>() + " " + result["variant"].get<std::string>());
    CHECK(measured == std::set<std::string>{"sequential tile", "multi-stage tile", "sequential intervals"});
    CHECK(all["failures"].empty());
    CHECK(run("bench block --size 7x3 --schedule multi-stage --variant intervals" + brief).status == 2);
    CHECK(run(pairs + "tile chess" + brief).status == 2);
}

TEST_CASE_FIXTURE(Scratch, "bench: accuracy has the worst residual of each problem, over sizes and schedules") {
    const std::string sizes = "accuracy --size 5x8 7x3 --schedule sequential multi-stage --peers none --seed 1";
    const auto all = bench(*this, sizes);
    std::map<std::string, int> solutions;
    for (const auto& result : all["results"]) {
        const auto precision = result["precision"].get<std::string>();
        solutions[result["problem"].get<std::string>() + " " + precision] = result["solutions"].get<int>();
        CHECK(result["relative_residual"].get<double>() > 0);
        CHECK(result["relative_residual"].get<double>() <= (precision == "f64" ? 1e-14 : 1e-6));
        CHECK(result["where"].get<std::string>().find('x') == 1);
    }
    CHECK(solutions ==
          std::map<std::string, int>{
              {"blockdss f32", 2}, {"blockdss f64", 2}, {"kalman f32", 2}, {"kalman f64", 2}, {"socu f32", 4}, {"socu f64", 4}});
    const auto strict = ends(1, "bench " + sizes + " --precision f64 --tolerance 0" + brief);
    CHECK(says(strict.err, "above the tolerance"));
    CHECK(says(strict.out, "solved, the worst residual"));
}

TEST_CASE_FIXTURE(Scratch, "bench: latency at a given rate") {
    const auto all = bench(*this, "latency --size 8x4 --rate 200 1000 --precision f64 --seconds 0.2");
    REQUIRE(all["results"].size() == 4);
    for (const auto& result : all["results"]) {
        const auto& seconds = result["seconds"];
        const bool ours = result["solver"] == "trifold";
        CHECK(result["operation"] == (ours ? "factor_solve" : "8-byte copy"));
        CHECK(result["runs"].get<int>() <= 0.2 * result["calls_per_second"].get<double>() + 1);
        CHECK(result["runs"].get<int>() >= 5);
        for (const auto& [low, high] : {std::pair{"minimum", "median"}, {"median", "p99"}, {"p99", "p99.9"}, {"p99.9", "maximum"}})
            CHECK(seconds[low].get<double>() <= seconds[high].get<double>());
        if (ours)
            CHECK(result["relative_residual"].get<double>() < 1e-15);
        else
            CHECK(result["relative_residual"].is_null());
    }
    for (const auto& [place, rate] : {std::pair{0, 200}, {1, 1000}, {2, 200}, {3, 1000}})
        CHECK(all["results"][place]["calls_per_second"] == rate);
    const auto text = run("bench latency --size 8x4 --precision f64" + brief);
    for (const auto* word : {"p50", "p99.9", "maximum", "8x4"}) CHECK(says(text.out, word));
}

TEST_CASE_FIXTURE(Scratch, "bench: a cold start compiles, a warm one does not") {
    const auto all = bench(*this, "compile --size 5x3 --precision f64");
    REQUIRE(all["results"].size() == 2);
    CHECK(all["results"][0]["operation"] == "cold start");
    CHECK(all["results"][1]["operation"] == "warm start");
    CHECK(all["results"][0]["seconds"]["minimum"].get<double>() > 5 * all["results"][1]["seconds"]["maximum"].get<double>());
    CHECK(all["results"][1]["relative_residual"].get<double>() < 1e-15);
}

TEST_CASE_FIXTURE(Scratch, "bench: a residual above the tolerance is said and is exit status 1") {
    const auto ran = ends(1, "bench horizon --size 6x4 --precision f64 --peers none --tolerance 0 --json" + brief);
    CHECK(says(ran.err, "horizon 6x4 f64: the relative residual"));
    const auto results = ran.json()["results"];
    CHECK(!results.empty());
    for (const auto& result : results) CHECK(result["accurate"] == false);
}

TEST_CASE_FIXTURE(Scratch, "bench: what cannot be measured is said, and the others go on") {
    const auto ran = ends(1, "bench horizon --size 6x4 5x3 --precision f64 --json" + brief, "TRIFOLD_DISABLE=jit TRIFOLD_CACHE_DIR=empty");
    CHECK(says(ran.err, "horizon 6x4 f64: trifold failed: "));
    const auto all = ran.json();
    REQUIRE(all["failures"].size() == 2);
    check_json(all["failures"][1], {{"solver", "trifold"}, {"block", 3}});
    CHECK(all["failures"][1]["message"].get<std::string>().size() > 20);
    CHECK(results_of(all, "trifold").empty());
    CHECK(results_of(all, "lapack").size() == 4);
}

TEST_CASE_FIXTURE(Scratch, "bench: a table for people, and the same JSON in a file") {
    const auto ran = well("bench kalman block --size 6x4 --precision f32 -o out.json" + brief);
    for (const auto* word : {"kalman: ", "block: ", "median", "GFLOP/s", "6x4", "factor_solve", "sequential"}) CHECK(says(ran.out, word));
    const auto json = nlohmann::json::parse(read("out.json"));
    CHECK(json["results"].size() == 2 * (3 + 2));
    CHECK(run("bench block --size 6x4 -o /nowhere/out.json" + brief).status == 2);
}

TEST_CASE("bench: bad input") {
    const Scratch scratch;
    const auto check = [&](const std::string& arguments, int status, const std::string& message) {
        const auto ran = scratch.run("bench " + arguments);
        INFO(arguments, "\n", ran.err);
        CHECK(ran.status == status);
        CHECK(says(ran.err, message));
        CHECK(!says(ran.out, "factor"));  // nothing was measured
    };
    check("", 2, "suite");
    check("chess --device cpu", 2, "there is no suite 'chess'; give some of table1, latency, long");
    check("block --size 3 --device cpu", 2, "size '3' is not Nxn");
    check("block --size 4x5000 --device cpu", 2, "block = 5000 is out of range");
    check("kalman --size 4x3 --device cpu", 2, "n = 3 is odd");
    check("block --precision f16 --device cpu", 2, "unknown precision 'f16'");
    check("block --peers nobody --device cpu", 2,
          "there is no peer 'nobody' here; give some of lapack, openblas, one-thread, one-by-one, all or none");
    check("latency --rate 0 --device cpu", 2, "--rate 0");
    check("block --workers 0 --device cpu", 2, "--workers");
    check("block --seconds 0 --device cpu", 2, "--seconds");
    check("block --size 4x4 --rhs 0 --device cpu", 2, "rhs = 0 is out of range");
    check("block --device abacus", 2, "abacus");
    check("block --device cuda:99", 3, "");
}
