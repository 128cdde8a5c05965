#include "tests/tools/cli/command.hpp"
#include "tools/formats/assemble.hpp"
#include "tools/problems/problems.hpp"

using namespace trifold;
using namespace trifold::formats;

TEST_CASE_FIXTURE(Scratch, "verbs: help and version go to standard output with exit status 0") {
    CHECK(run("--version").out.starts_with("trifold 0."));
    const auto help = well("--help");
    for (const std::string verb : {"solve", "generate", "explain", "problem", "bench", "cache", "doctor"}) {
        CHECK(says(help.out, "  " + verb));
        const auto of_verb = well(verb + " --help");
        CHECK(says(of_verb.out, "--json"));
        CHECK(of_verb.err.empty());
    }
}

TEST_CASE_FIXTURE(Scratch, "explain: levels, kernels, launches and memory") {
    const auto text = well("explain --block 8 --horizon 16 --schedule multi-stage --target cpu:x86-64-v3");
    for (const auto* word : {"16 blocks of 8 by 8", "Schedule multi-stage", "critical path", "Kernels", "btd_factor_n8_f64", "compiled by",
                             "Launches", "finish_factor", "Memory", "workspace"})
        CHECK(says(text.out, word));
    const auto json = well("explain --block 8 --horizon 16 --schedule multi-stage --target cpu:x86-64-v3 --json --svg tree.svg").json();
    REQUIRE(json["levels"].size() == 5);
    CHECK(json["levels"][0]["chains"] == 8);
    CHECK(json["levels"][4]["fronts"] == 1);
    double flops = 0;
    for (const auto& level : json["levels"]) flops += level["flops"].get<double>();
    CHECK(json["flops"].get<double>() == doctest::Approx(flops));
    REQUIRE(json["kernels"].size() == 6);
    for (const auto& kernel : json["kernels"]) CHECK(kernel["code_bytes"].get<int>() > 0);
    CHECK(json["program"]["operations"]["factor"].size() == 6);
    CHECK(read("tree.svg").starts_with("<svg"));
}

TEST_CASE_FIXTURE(Scratch, "explain: flops of the sequential sweep are the textbook's") {
    const auto json = run("explain --block 10 --horizon 7 --schedule sequential --target cpu:x86-64-v2 --json").json();
    CHECK(json["flops"].get<double>() == doctest::Approx(1000.0 * (7.0 * 7 - 6) / 3));  // the last block has no next one
}

TEST_CASE_FIXTURE(Scratch, "explain: launches of several levels, and those that begin as others end") {
    const auto text = [&](const std::string& size) {
        return run("explain --target cuda:sm_90 --schedule multi-stage --block 8 --horizon " + size, "TRIFOLD_DISABLE=cache,jit").out;
    };
    const auto latency = text("512"), throughput = text("4096");
    for (const auto* line :
         {"factor_forward all levels, 512 chains\n", "finish_factor, as 0 ends\n", "backward all levels, 512 chains, as 0 ends\n"})
        CHECK(says(latency, line));
    for (const auto* line : {"factor_wide levels 0 to 1, 3072 chains\n", "factor levels from 2 on, 1024 chains, as 0 ends\n",
                             "finish_factor, after 0 and 1\n"})
        CHECK(says(throughput, line));
}

TEST_CASE_FIXTURE(Scratch, "explain: sizes from files, without a compiler the rest is shown") {
    write("A.mtx", format_matrix_market(to_sparse(problems::socu({5, 6}, 1))));
    write("b.mtx", format_matrix_market(DenseMatrix{30, 2, std::vector<double>(60, 1.0)}));
    const auto json = well("explain A.mtx b.mtx --json", "TRIFOLD_DISABLE=cache,clang TRIFOLD_CC=/nowhere/cc").json();
    check_json(json["program"]["spec"], {{"block", 5}, {"rhs", 2}});
    CHECK(json["kernels"].empty());
    CHECK(json["problem"].get<std::string>().size() > 10);
    const auto text = run("explain A.mtx b.mtx", "TRIFOLD_DISABLE=cache,clang TRIFOLD_CC=/nowhere/cc");
    CHECK(says(text.out, "not compiled: "));
    CHECK(run("explain A.mtx b.mtx --block 5").status == 2);
}

TEST_CASE_FIXTURE(Scratch, "explain: knobs, what is taken and who says so") {
    const std::string problem = "explain --block 32 --horizon 5 --target cpu:x86-64-v4 --variant ";
    const auto text = well(problem + "tile:halves=1 --knobs", "TRIFOLD_DISABLE=cache,jit");
    for (const auto* line : {"Knobs of variant tile:halves=1; pin them as --variant tile:knob=value\n",
                             "    takes 1: pinned by the caller\n", "row 2 of fetches_from for cpu:any", "    nothing asks for it here\n"})
        CHECK(says(text.out, line));
    const auto json = run(problem + "tile --json", "TRIFOLD_DISABLE=cache,jit").json()["knobs"];
    REQUIRE(json.size() == 4);
    CHECK(json[0]["name"] == "bake");
    CHECK(json[1]["name"] == "halves");
    CHECK(json[1]["candidates"].size() == 2);
    CHECK(json[1]["taken"][0]["value"] == 0);
    CHECK(json[1]["taken"][0]["by"].get<std::string>().starts_with("row "));
}

TEST_CASE_FIXTURE(Scratch, "explain: any target, whether or not the compiler here is for it") {
    int compiled = 0, not_compiled = 0;
    for (const std::string target : {"cpu:x86-64", "cpu:armv8-a", "cpu:rv64gcv"}) {
        const auto json = well("explain --block 2 --horizon 3 --operations factor --json --target " + target).json();
        CHECK(json["program"]["target"] == target);
        CHECK(json["levels"].size() == 1);
        const auto problem = json["problem"].get<std::string>();
        CHECK(problem.empty() == !json["kernels"].empty());
        CHECK(problem.find('\n') == std::string::npos);
        ++(problem.empty() ? compiled : not_compiled);
    }
    CHECK(compiled > 0);
    CHECK(not_compiled > 0);
}

TEST_CASE_FIXTURE(Scratch, "problem: symmetric and general matrices, which solve finds out") {
    for (const std::string shape : {"socu --block 5 --horizon 7", "kalman --block 4 --horizon 5 --ring --rhs 2"}) {
        for (const std::string matrix : {"symmetric", "general"}) {
            const auto problem = "problem " + shape + " --force --matrix " + matrix;
            REQUIRE(run(problem + " --format mtx").status == 0);
            const auto json = well("solve A.mtx b.mtx --device cpu --json --block " + shape.substr(shape.find("k ") + 2, 1)).json();
            check_json(json, {{"status", "ok"}, {"matrix", matrix}});
            if (matrix == "symmetric") CHECK(json["negative_pivots"][0] == (shape[0] == 's' ? 14 : 10));
            REQUIRE(run(problem + " --batch 2").status == 0);
            const auto* arrays = matrix == "general" ? "solve D.npy E.npy U.npy b.npy" : "solve D.npy E.npy b.npy";
            check_json(well(fmt::format("{} --device cpu --json", arrays)).json(), {{"status", "ok"}, {"matrix", matrix}, {"batch", 2}});
        }
    }
    check("problem socu --block 3 --horizon 4 --matrix general --border 2", 2, "a general matrix with border is not there yet");
    check("problem grid-poisson --grid 9x9 --matrix symmetric", 2, "leave --matrix out");
}

TEST_CASE_FIXTURE(Scratch, "problem: what it writes solves") {
    CHECK(run("problem kalman --block 6 --horizon 8 --batch 2 --rhs 3 --precision f32").status == 0);
    CHECK(names() == std::vector<std::string>{"D.npy", "E.npy", "b.npy"});
    CHECK(run("solve D.npy E.npy b.npy --device cpu").status == 0);
    CHECK(run("problem blockdss --block 8 --horizon 3 --format mtx --json").json()["files"].size() == 2);
    CHECK(run("solve A.mtx b.mtx --device cpu --json").json()["block"] == 8);
    const auto first = read("A.mtx");
    CHECK(run("problem blockdss --block 8 --horizon 3 --format mtx --seed 43").status == 2);
    CHECK(read("A.mtx") == first);
    CHECK(run("problem blockdss --block 8 --horizon 3 --format mtx --seed 43 --force").status == 0);
    CHECK(read("A.mtx") != first);
    CHECK(run("problem kalman --block 7 --horizon 8").status == 2);
    CHECK(run("problem chess --block 8 --horizon 8").status == 2);
    CHECK(run("problem socu --block 8 --horizon 8 --batch 2 --format mtx").status == 2);
    CHECK(says(run("problem socu --block 8 --horizon 8 --border 600").err, "border = 600 is out of range; give 0 to 512"));
}

TEST_CASE_FIXTURE(Scratch, "problem: rings and borders, whose member k has the seed plus k") {
    for (const std::string options : {"--border 2", "--border 3 --ring", "--ring"})
        for (const std::string format : {"npy --batch 2 --rhs 2", "npy", "mtx"}) {
            const auto made = "problem dominant --block 3 --horizon 7 --force " + options + " --format ";
            REQUIRE(run(made + format).status == 0);
            const bool has_border = options.starts_with("--border");
            const std::string files = format == "mtx" ? "A.mtx b.mtx" : has_border ? "D.npy E.npy b.npy F.npy C.npy" : "D.npy E.npy b.npy";
            const auto solved = run("solve " + files + " --device cpu --json");
            REQUIRE(solved.status == 0);
            CHECK(solved.json()["ring"] == options.ends_with("--ring"));
            CHECK(solved.json()["border"] == (has_border ? options[9] - '0' : 0));
        }
    const auto numbers = [&](const std::string& file, const std::string& seed) {
        REQUIRE(run("problem socu --block 2 --horizon 3 --force --border 2 --ring " + seed).status == 0);
        return trifold::formats::parse_npy(read(file), file).values;
    };
    for (const std::string file : {"E.npy", "F.npy", "b.npy"}) {
        const auto both = numbers(file, "--seed 4 --batch 2"), second = numbers(file, "--seed 5");
        CHECK(std::vector(both.end() - static_cast<std::ptrdiff_t>(second.size()), both.end()) == second);
    }
}

TEST_CASE_FIXTURE(Scratch, "cache: list, size, verify, prune, clear and path") {
    const auto environment = fmt::format("TRIFOLD_CACHE_DIR='{}'", (path / "cache").string());
    const auto cache = [&](const std::string& arguments) { return run("cache " + arguments, environment); };
    CHECK(cache("list").out == "the cache is empty\n");
    CHECK(cache("path").out == (path / "cache").string() + "\n");
    REQUIRE(run("generate --block 2 --horizon 3 --target cpu:x86-64-v2 --binaries -o out", environment).status == 0);
    const auto list = cache("list --json").json();
    REQUIRE(list.size() == 1);
    CHECK(list[0]["target"] == "cpu:x86-64-v2");
    CHECK(list[0]["key"].get<std::string>().size() == 64);
    CHECK(cache("--json list").json() == list);
    CHECK(says(cache("list").out, "btd_n2_f64_x8664v2_"));
    CHECK(cache("size --json").json()["entries"] == 1);
    CHECK(cache("size --json").json()["bytes"].get<std::int64_t>() > 0);
    CHECK(cache("verify").status == 0);
    for (const auto& file : std::filesystem::recursive_directory_iterator(path / "cache")) {
        if (file.path().filename() == "kernel.so") std::filesystem::resize_file(file.path(), 100);
    }
    const auto bad = cache("verify --json");
    CHECK(bad.status == 1);
    REQUIRE(bad.json().size() == 1);
    CHECK(bad.json()[0]["problem"].get<std::string>().size() > 3);
    CHECK(cache("verify").status == 0);  // it was set aside
    REQUIRE(run("generate --block 2 --horizon 4 --target cpu:x86-64-v2 --binaries -o out", environment).status == 0);
    CHECK(cache("prune --to 0 --json").json()["freed_bytes"].get<std::int64_t>() > 0);
    CHECK(cache("list --json").json().empty());
    CHECK(cache("clear").status == 0);
}

TEST_CASE("cache prune removes what killed processes left in the temporary directory") {
    const Scratch scratch;
    const auto temporary = scratch.path / "temporary", old = temporary / "trifold-a1b2c3", young = temporary / "trifold-d4e5f6";
    for (const auto& path : {old, young}) std::filesystem::create_directories(path);
    scratch.write("temporary/trifold-a1b2c3/kernel.so", std::string(12345, 'x'));
    std::filesystem::last_write_time(old, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(61));
    const auto environment = fmt::format("TRIFOLD_CACHE_DIR='{}' TMPDIR='{}'", (scratch.path / "cache").string(), temporary.string());
    CHECK(scratch.run("cache prune --json", environment).json()["freed_bytes"].get<std::int64_t>() >= 12345);
    CHECK_FALSE(std::filesystem::exists(old));
    CHECK(std::filesystem::exists(young));
}

TEST_CASE_FIXTURE(Scratch, "a worker for each processor that may be used, not for each of the machine") {
    REQUIRE(run("problem socu --block 4 --horizon 64").status == 0);
    const auto on_one = fmt::format("TRIFOLD_CAPTURE='{}' taskset -c $(taskset -cp $$ | grep -o '[0-9]*$')", (path / "capture").string());
    REQUIRE(run("solve D.npy E.npy b.npy --device cpu", on_one).status == 0);
    const auto captured = read("capture");  // a line each time it is written
    CHECK(nlohmann::json::parse(captured.substr(0, captured.find('\n')))["workers"] == 1);
}

TEST_CASE_FIXTURE(Scratch, "doctor: compilers, devices, cache and advice") {
    const auto ran = well("doctor --json");  // the compiler that built this suite is here
    const auto json = ran.json();
    CHECK(json["can_run"]["cpu"] == true);
    const auto target = json["devices"][0]["target"].get<std::string>();
    CHECK((target.starts_with("cpu:x86-64") || target == "cpu:znver4"));
    CHECK(json["cache"]["from"] == "TRIFOLD_CACHE_DIR");
    const auto& metis = json["tools"].back();
    CHECK(metis["name"] == "METIS");
    CHECK(metis["found"] == true);  // tools/setup installs it
    CHECK(says(metis["path"].get<std::string>(), "libmetis.so.5"));
    const auto text = run("doctor");
    for (const auto* word : {"Compilers", "Devices", "Cache", "TRIFOLD_CACHE_DIR", "Solvers run on the CPU"}) CHECK(says(text.out, word));
    REQUIRE(json["switches"].size() == 18);
    for (const auto& item : json["switches"]) {
        const auto line = fmt::format("  {}={}\n      {}\n", item["name"].get<std::string>(), item["values"].get<std::string>(),
                                      item["meaning"].get<std::string>());
        CHECK(says(text.out, line));
    }
    const auto none = run("doctor", "TRIFOLD_DISABLE=clang TRIFOLD_CC=/nowhere/cc TRIFOLD_NVRTC=/nowhere");
    INFO(none.out);
    CHECK(none.status == 3);
    CHECK(says(none.out, "Nothing can run", "TRIFOLD_CC names '/nowhere/cc', which is not a working compiler"));
}
