// `trifold pack`: layers of compiled kernels.
#include <iterator>

#include "tests/tools/cli/command.hpp"

namespace {

/// Whether all units of a problem are in the layer.
bool prebuilt(const Scratch& scratch, const std::string& layer, const std::string& problem) {
    const auto ran = run_shell(
        scratch.path, fmt::format("TRIFOLD_BINARIES={} TRIFOLD_DISABLE=jit {} explain {} --json", layer, TRIFOLD_COMMAND, problem));
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    const auto report = ran.json();
    REQUIRE_FALSE(report["units"].empty());
    bool all = true;
    for (const auto& unit : report["units"]) all = all && unit["prebuilt"].get<bool>();
    return all;
}

}  // namespace

TEST_CASE_FIXTURE(Scratch, "pack: sizes, specs of files and images go into one layer") {
    auto ran = well("pack --block 3,5 --horizon 20 --precision f64,f32 --any-size -o layer --json");
    auto report = ran.json();
    check_json(report, {{"problems", 4}, {"units", 4}, {"entries", 4}});
    CHECK(report["left_out"].empty());
    CHECK(prebuilt(*this, "layer", "--block 5 --horizon 40 --batch 3 --precision f32 --any-size"));
    CHECK_FALSE(prebuilt(*this, "layer", "--block 4 --horizon 20 --any-size"));
    write("specs.jsonl", R"({"block": 4, "horizon": 9, "operations": ["factor", "solve"]})"
                         "\n"
                         R"({"family": "grid", "width": 17, "height": 9})"
                         "\n");
    ran = run("pack specs.jsonl -o layer");
    INFO(ran.err);
    CHECK(ran.status == 0);
    CHECK(prebuilt(*this, "layer", "--block 4 --horizon 9 --operations factor,solve"));
    CHECK(prebuilt(*this, "layer", "--grid 17x9"));
    CHECK(prebuilt(*this, "layer", "--block 3 --horizon 4 --any-size"));
}

TEST_CASE_FIXTURE(Scratch, "pack: a captured program's kernels, as it ran them") {
    const auto problem = well("problem socu --block 5 --horizon 12");
    const std::string solve = "solve D.npy E.npy b.npy --device cpu --schedule twisted:2 -o x.npy";
    REQUIRE(run_shell(path, fmt::format("TRIFOLD_CAPTURE=specs.jsonl {} {}", TRIFOLD_COMMAND, solve)).status == 0);
    REQUIRE(run("pack specs.jsonl -o layer").status == 0);
    const auto ran = run_shell(
        path, fmt::format("env -u TRIFOLD_CACHE_DIR TRIFOLD_CACHE_DIR=none TRIFOLD_BINARIES=layer TRIFOLD_DISABLE=jit {} {} --json",
                          TRIFOLD_COMMAND, solve));
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    CHECK(ran.json()["cache"] == "prebuilt");
}

TEST_CASE_FIXTURE(Scratch, "pack: captured images and sparse systems, whose families have one schedule") {
    for (const std::string problem : {"grid-jumps --grid 9x7", "sparse-laplacian --iterative --mesh 6x5x4"}) {
        CAPTURE(problem);
        REQUIRE(run("problem " + problem + " --force").status == 0);
        const bool sparse = problem.starts_with("sparse");
        const std::string solve = sparse ? "solve A.mtx b.mtx --iterative --device cpu" : "solve A.npy b.npy --grid 9x7 --device cpu";
        REQUIRE(run_shell(path, fmt::format("TRIFOLD_CAPTURE=specs.jsonl {} {}", TRIFOLD_COMMAND, solve)).status == 0);
        const auto ran = well("pack specs.jsonl -o layer --json");
        CHECK(ran.json()["left_out"].empty());
        const auto again = run_shell(
            path, fmt::format("env -u TRIFOLD_CACHE_DIR TRIFOLD_CACHE_DIR=none TRIFOLD_BINARIES=layer TRIFOLD_DISABLE=jit {} {} --json",
                              TRIFOLD_COMMAND, solve));
        INFO(again.err);
        REQUIRE(again.status == 0);
        CHECK(again.json()["cache"] == "prebuilt");
    }
}

TEST_CASE_FIXTURE(Scratch, "pack: what cannot be made is left out and named, and the rest is there") {
    const auto pack = [&](const std::string& switches, const std::string& words) {
        return run_shell(path,
                         fmt::format("TRIFOLD_CACHE_DIR=own {} {} pack --horizon 5 --block {} --json", switches, TRIFOLD_COMMAND, words));
    };
    REQUIRE(pack("", "3 -o first").status == 0);
    const auto ran = pack("TRIFOLD_DISABLE=jit", "3,6 -o layer");
    CHECK(ran.status == 1);
    CHECK(says(ran.err, "trifold pack: left out: btd_n6_f64"));
    const auto report = ran.json();
    CHECK(report["left_out"].size() == 1);
    CHECK(report["entries"] == 1);
    CHECK(prebuilt(*this, "layer", "--block 3 --horizon 5"));
}

TEST_CASE_FIXTURE(Scratch, "pack: PTX beside machine code, and the names of both in the layer") {
    const auto ran = run("pack --block 3 --horizon 5 --target cuda:sm_80 --device-name '' --ptx -o layer --json");
    if (ran.err.find("no usable NVRTC") != std::string::npos) {
        MESSAGE("skipped: there is no NVRTC");
        return;
    }
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    const auto entries = std::filesystem::recursive_directory_iterator(path / "layer");
    std::int64_t machine_code = 0, ptx = 0;
    for (const auto& file : entries) {
        if (file.path().filename() != "kernel.cubin") continue;
        std::ifstream code(file.path());
        const std::string text((std::istreambuf_iterator<char>(code)), {});
        machine_code += text.starts_with("\177ELF");
        ptx += text.find(".target sm_80") != std::string::npos;
    }
    CHECK(ptx > 0);
    CHECK(machine_code == ptx);
    CHECK(ran.json()["entries"] == 2 * ptx);
    CHECK(std::filesystem::exists(path / "layer/targets/sm_80"));
    CHECK(std::filesystem::exists(path / "layer/targets/compute_80"));
}

TEST_CASE_FIXTURE(Scratch, "pack: bad usage") {
    CHECK(says(run("pack -o layer").err, "there is nothing to pack"));
    CHECK(run("pack --block 3 --horizon 5 --target cpu:z80 -o layer").status == 2);
    CHECK(run("pack --block 3 --horizon 5").status == 2);
    CHECK(run("pack missing.jsonl -o layer").status == 2);
    write("file", "");
    CHECK(run("pack --block 3 --horizon 5 -o file").status != 0);
}
