#include "generator/tridiagonal/wisdom.hpp"

#include "tests/tools/cli/command.hpp"

using namespace trifold;

namespace {

const std::string in_use = "TRIFOLD_WISDOM=own.wisdom";

WisdomRow gpu_row() {
    return {.device = "NVIDIA H200",
            .key = key_of({.block = 12, .horizon = 50, .batch = 256}, {Backend::cuda, "sm_90"}, 1),
            .objective = "factor_solve",
            .pins = {"twisted:2", "fused:fused_warps=4"},
            .seconds = 1e-4,
            .default_seconds = 2e-4,
            .measured = "by hand"};
}
const std::string gpu_problem = "--block 12 --horizon 50 --batch 256 --target cuda:sm_90 ";

/// A row for this machine's processor, as doctor names it.
WisdomRow cpu_row(const Scratch& scratch) {
    const auto device = scratch.run("doctor --json").json().at("wisdom").at(0).at("devices").at(0);
    auto row = gpu_row();
    row.device = device.at("device").get<std::string>();
    row.key = key_of({.block = 4, .horizon = 9}, parse_target(device.at("target").get<std::string>()), 1);
    row.pins = {"twisted:3", "tile"};
    return row;
}

}  // namespace

TEST_CASE_FIXTURE(Scratch, "explain and generate name the row of wisdom, for the device that is named or for any of the architecture") {
    write("own.wisdom", write_wisdom({gpu_row()}));
    for (const std::string name : {"", "--device-name 'NVIDIA H200' "}) {
        const auto json = well("generate --json -o out " + name + gpu_problem, in_use).json();
        CHECK(json["rung"] == "wisdom: exact");
        CHECK(json["row"].get<std::string>().find("line 3 of own.wisdom: NVIDIA H200") == 0);
        CHECK(json["reason"].get<std::string>().find("wisdom: exact; line 3 of own.wisdom") == 0);
        check_json(json, {{"schedule", "twisted:2"}, {"variant", "fused:fused_warps=4"}});
        const auto by_hand = run("generate --json -o hand --schedule twisted:2 --variant fused:fused_warps=4 " + gpu_problem, in_use);
        check_json(by_hand.json(), {{"rung", "pinned"}, {"name", json["name"]}});
        CHECK(read("hand/program.json") == read("out/program.json"));
    }
    const auto other = run("generate --json -o other --device-name 'NVIDIA H100' " + gpu_problem, in_use).json();
    CHECK(other["rung"] != "wisdom: exact");
    const auto off = run("generate --json -o off " + gpu_problem, in_use + " TRIFOLD_DISABLE=wisdom").json();
    check_json(off, {{"rung", "model"}, {"row", ""}});
    const auto explained = "explain " + gpu_problem;
    const auto no_compiler = in_use + " TRIFOLD_NVRTC=/nowhere";
    CHECK(run(explained + "--json", no_compiler).json()["rung"] == "wisdom: exact");
    CHECK(says(run(explained, no_compiler).out, "chosen: wisdom: exact; line 3 of own.wisdom"));
}

TEST_CASE_FIXTURE(Scratch, "solve and bench name the row of wisdom, doctor counts the rows") {
    write("own.wisdom", write_wisdom({cpu_row(*this), gpu_row()}));
    REQUIRE(run("problem socu --block 4 --horizon 9 --batch 1").status == 0);
    const auto solved = run("solve D.npy E.npy b.npy --device cpu --workers 1 --json", in_use).json();
    check_json(solved, {{"rung", "wisdom: exact"}, {"schedule", "twisted:3"}});
    CHECK(says(solved["row"].get<std::string>(), " of own.wisdom: "));
    const auto text = run("solve D.npy E.npy b.npy --device cpu --workers 1", in_use).out;
    CHECK(says(text, "wisdom: exact"));
    const auto other = run("solve D.npy E.npy b.npy --device cpu --workers 1 --schedule sequential --json", in_use);
    CHECK(other.json()["rung"] == "pinned");
    const auto timed =
        run("bench latency --size 9x4 --precision f64 --workers 1 --device cpu --seconds 0.01 --peers none --json", in_use).json();
    REQUIRE_FALSE(timed["results"].empty());
    for (const auto& result : timed["results"])
        if (result["solver"] == "trifold") CHECK(result["rung"] == "wisdom: exact");
    const auto doctor = run("doctor --json", in_use).json();
    const auto& own = doctor["wisdom"][0];
    check_json(own, {{"name", "own.wisdom"}, {"from", "TRIFOLD_WISDOM"}, {"rows", 2}});
    CHECK(own["devices"][0]["rows"] == 1);
    CHECK(says(run("doctor", in_use).out, "own.wisdom (from TRIFOLD_WISDOM), rows: 2"));
    CHECK(says(run("doctor", "TRIFOLD_DISABLE=wisdom").out, "not used: TRIFOLD_DISABLE=wisdom"));
    CHECK(says(run("doctor").out, "no file of yours"));
}

TEST_CASE_FIXTURE(Scratch, "a wisdom file that cannot be used is one line on standard error, and the solve goes on") {
    write("own.wisdom", "trifold wisdom 1, 3 rows");
    REQUIRE(run("problem socu --block 4 --horizon 9 --batch 1").status == 0);
    for (const auto& environment : {in_use, std::string("TRIFOLD_WISDOM=missing")}) {
        const auto ran = well("solve D.npy E.npy b.npy --device cpu --json", environment);
        CHECK(ran.json()["rung"] == "model");
        CHECK(std::ranges::count(ran.err, '\n') == 1);
        CHECK(says(ran.err, "is not used: "));
        CHECK(says(run("doctor", environment).out, ": not used: "));
    }
}

TEST_CASE_FIXTURE(Scratch, "export for one GPU takes what wisdom says, and pins it in the command that makes the project again") {
    auto row = gpu_row();
    row.key.batch = 1;
    write("own.wisdom", write_wisdom({row}));
    const std::string project = "export --block 12 --horizon 50 --no-binaries --target ";
    const auto holds_pins = [&](const std::string& folder) {
        return read(folder + "/btd_solver.h").find("--schedule twisted:2 --variant fused:fused_warps=4") != std::string::npos;
    };
    REQUIRE(run(project + "cuda:sm_90 -o tuned", in_use).status == 0);
    REQUIRE(run(project + "cuda:sm_90 -o plain").status == 0);
    CHECK(holds_pins("tuned"));
    CHECK_FALSE(holds_pins("plain"));
}
