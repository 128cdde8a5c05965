// The verb `export` for GPUs: what it writes, and what bad input gets.
#include "tests/tools/cli/command.hpp"

namespace {

const std::string sizes = "export --block 3 --horizon 4 --operations factor_solve ";

void refuse(const Scratch& scratch, const std::string& arguments, const std::string& message, int status = 2,
            const std::string& environment = "") {
    scratch.check("export " + arguments, status, message, environment);
}

}  // namespace

TEST_CASE("export: the kernels of a project are those of generate, and its command makes it again") {
    for (const std::string target : {"cuda:sm_87", "hip:gfx90a"}) {
        const Scratch scratch;
        const auto ran = scratch.run(sizes + "--target " + target + " --prefix mpc -o out --json");
        INFO(ran.err);
        if (ran.status == 3) {
            MESSAGE("skipped: nothing compiles for " << target);
            continue;
        }
        REQUIRE(ran.status == 0);
        std::set<std::string> names;
        const auto written = ran.json();
        for (const auto& name : written["files"]) names.insert(name.get<std::string>());
        for (const auto& name : names) CHECK(scratch.has("out/" + name));
        CHECK(names.size() == 11);

        const auto variant = nlohmann::json::parse(scratch.read("out/manifest.json"))["programs"][0]["variant"].get<std::string>();
        CHECK(variant.ends_with(":bake=1"));  // a project's sizes are literals
        const auto generated =
            scratch.well("generate --block 3 --horizon 4 --operations factor_solve --binaries --together --json -o same --target " +
                         target + " --variant " + variant);
        const auto files = generated.json()["files"];
        const auto stem = "out/mpc_kernels_" + target.substr(target.find(':') + 1);
        const bool on_cuda = target.starts_with("cuda");
        CHECK(scratch.read(stem + (on_cuda ? ".cu" : ".hip")) == scratch.read("same/" + files["source"].at(0).get<std::string>()));
        CHECK(scratch.read(stem + (on_cuda ? ".cubin" : ".hsaco")) == scratch.read("same/" + files["binary"].at(0).get<std::string>()));
        const auto manifest = nlohmann::json::parse(scratch.read("out/manifest.json"));
        for (const auto& kernel : manifest["programs"][0]["kernels"]) {
            CHECK(kernel["registers"].get<int>() > 0);
            CHECK(kernel["spill_bytes"].get<int>() >= 0);
            CHECK(kernel["code_bytes"].get<int>() > 0);
        }

        const auto header = scratch.read("out/mpc_solver.h");
        const auto start = header.find("export --block");
        REQUIRE(start != std::string::npos);
        const auto again = scratch.well(header.substr(start, header.find('\n', start) - start) + " -o again");
        for (const auto& name : names) CHECK(scratch.read("again/" + name) == scratch.read("out/" + name));
    }
}

TEST_CASE_FIXTURE(Scratch, "export: without binaries for every architecture of a list, over what an earlier export has left") {
    const auto command = sizes + "--no-binaries --batch 2 --schedule sequential --target cuda:sm_87,sm_110 -o out";
    const auto no_compiler = "TRIFOLD_NVRTC=/nowhere TRIFOLD_CACHE_DIR=" + (path / "cache").string();
    for (int round = 0; round < 2; ++round) {
        const auto ran = well(command, no_compiler);
        for (const auto* name : {"btd_kernels_sm_87.cu", "btd_kernels_sm_110.cu", "btd_solver.c", "btd_solver.h", "example_main.c",
                                 "embed.sh", "CMakeLists.txt", "Makefile", "README.md", "manifest.json"})
            CHECK(has("out/" + std::string(name)));
        CHECK(!has("out/btd_kernels_sm_87.cubin"));
        CHECK(!has("out/btd_kernels_sm_87.c"));
        CHECK(says(read("out/btd_solver.h"), "#define BTD_BATCH 2\n"));
    }
}

TEST_CASE_FIXTURE(Scratch, "export: bad input for a GPU") {
    const std::string size = "--block 4 --horizon 4 ";
    refuse(*this, size + "--target cuda:sm_1", "unknown architecture in target 'cuda:sm_1'");
    refuse(*this, size + "--target cuda:sm_87 --operations fly", "fly");
    refuse(*this, size + "--target cuda:sm_87 --schedule sideways", "sideways");
    refuse(*this, size + "--target cuda:sm_87 --variant best", "unknown variant 'best'");
    refuse(*this, size + "--target cuda:sm_87 --batch 0", "batch");
    refuse(*this, "--block 4 --target cuda:sm_87", "horizon = 0 is out of range");
    refuse(*this, "--block 4097 --horizon 4 --target cuda:sm_87", "block = 4097 is out of range");
    refuse(*this, size + "--target cuda:sm_87 --data a b c", "are for c99 targets");
    refuse(*this, size + "--target cuda:sm_87 --prefactored a b", "are for c99 targets");
    refuse(*this, size + "--target hip:gfx942 --shift 1", "are for c99 targets");
    refuse(*this, size + "--target c99:generic --no-binaries", "--no-binaries is for targets cuda:... and hip:...");
    refuse(*this, size + "--target c99:generic --batch 3", "--batch is for targets cuda:... and hip:...");
    write("file", "");
    refuse(*this, size + "--target cuda:sm_87 --no-binaries -o file", "cannot make the directory 'file'");
    refuse(*this, size + "--target cuda:sm_87 -o out", "or give --no-binaries", 3,
           "TRIFOLD_NVRTC=/nowhere TRIFOLD_CACHE_DIR=" + (path / "cache").string());
    CHECK(!has("out"));
}
