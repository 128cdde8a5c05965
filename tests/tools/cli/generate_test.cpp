#include "tests/tools/cli/command.hpp"

namespace {

/// The command in a generated source's header.
std::string regenerate_command(const std::string& source) {
    const auto start = source.find("trifold generate");
    REQUIRE(start != std::string::npos);
    return source.substr(start + 8, source.find('\n', start) - start - 8);
}

/// The lines of the shell's blocks in one chapter of docs/users/switches.md.
std::vector<std::string> examples_of(const std::string& title) {
    const auto page = read_text(PROJECT_DIRECTORY "/docs/users/switches.md");
    const auto start = page.find("## " + title + "\n");
    REQUIRE(start != std::string::npos);
    std::istringstream chapter(page.substr(start, page.find("\n## ", start) - start));
    std::vector<std::string> lines;
    bool inside = false;
    for (std::string line; std::getline(chapter, line);) {
        if (line.starts_with("```"))
            inside = line == "```sh";
        else if (inside)
            lines.push_back(line);
    }
    return lines;
}

}  // namespace

TEST_CASE("generate: the command in the source gives the same bytes, for every option") {
    for (const std::string options :
         {"--block 4 --horizon 8 --target cpu:x86-64-v3", "--block 33 --horizon 7 --target cuda:sm_90 --precision f32 --rhs 3 --batch 5",
          "--block 6 --horizon 31 --target cpu:x86-64-v4 --schedule segments:3,2 --workers 4 --operations inverse,factor --variant "
          "tile:bake=1",
          "--block 5 --horizon 9 --target cpu:x86-64-v2 --order column-major --coupling upper --rhs-layout stacked "
          "--variant tile:bake=1",
          "--block 3 --horizon 9 --target cpu:x86-64-v3 --ring --variant tile:bake=1",
          "--block 3 --horizon 9 --batch 4 --target cpu:x86-64-v3 --lengths --variant tile:bake=1",
          "--block 4 --horizon 9 --batch 3 --target cpu:x86-64-v3 --d-leading 8 --d-stage 0 --d-member 64 --e-leading 5 --e-stage 40 "
          "--e-member 0"}) {
        const Scratch scratch;
        const auto ran = scratch.well("generate --json -o first " + options);
        const auto name = ran.json()["files"]["source"][0].get<std::string>();
        const auto source = scratch.read("first/" + name);
        const auto again = scratch.well(regenerate_command(source) + " -o second");
        CHECK(scratch.read("second/" + name) == source);
        CHECK(scratch.read("second/program.json") == scratch.read("first/program.json"));
        CHECK(!says(source, scratch.path.string()));
    }
}

TEST_CASE_FIXTURE(Scratch, "explain, generate: rings, borders and lengths") {
    const auto ring = well("explain --block 4 --horizon 12 --ring --border 3 --target cpu:x86-64-v3");
    CHECK(says(ring.out, "12 blocks of 4 by 4 in a ring and a border of 3, f64", "one factorization of the chain"));
    const auto border = well("explain --block 4 --horizon 12 --border 3 --schedule sequential --target cpu:x86-64-v3 --json").json();
    CHECK(border["border_flops"]["columns"].get<double>() == 3 * 16 * (12 + 2 * 11));
    CHECK(border["border_flops"]["tip"].get<double>() == 12 * 4 * 9 + 9);
    CHECK(says(ring.out, "of the border: ", " for Y = L^-1 F', ", " for the tip C - Y'Y and its factor"));
    const auto band = well("explain --block 2 --horizon 24 --bandwidth 2 --target cpu:x86-64-v3 --json").json();
    CHECK(band["flops"] == well("explain --block 4 --horizon 12 --target cpu:x86-64-v3 --json").json()["flops"]);
    CHECK(says(well("explain --block 4 --horizon 12 --lengths --batch 3").out, "3 systems of unequal length"));
    const auto program = well("generate --json -o out --block 4 --horizon 12 --border 3 --target cpu:x86-64-v3").json();
    CHECK(program["files"]["source"].size() == 3);
    for (const auto& [options, words] : {std::pair{"--ring --lengths", "a ring has no end"},
                                         {"--border 600", "border = 600 is out of range; give 0 to 512"},
                                         {"--lengths --precision mixed", "mixed precision has no lengths"}}) {
        const auto refused = run(std::string("explain --block 4 --horizon 12 ") + options);
        CHECK(refused.status == 2);
        CHECK(says(refused.err, words));
    }
}

TEST_CASE_FIXTURE(Scratch, "explain, generate: general matrices have kernels for A and its transpose") {
    const std::string general = " --block 4 --horizon 12 --matrix general --target cpu:x86-64-v3 ";
    CHECK(says(well("explain" + general).out, "variant getrf", "btd_backward_transposed_n4"));
    const auto program = well("generate --json -o out" + general).json();
    CHECK(says(read("out/" + program["files"]["source"][0].get<std::string>()), "--matrix general", "btd_forward_transposed_n4"));
    for (const auto& [options, words] : {std::pair{"--border 2", "a general matrix with border is not there yet"},
                                         {"--coupling upper", "E of a general matrix is its lower half"},
                                         {"--precision mixed", "mixed precision is for positive definite matrices"},
                                         {"--operations all", "a general matrix has no selected inverse yet; leave inverse out"}}) {
        const auto refused = run("explain" + general + options);
        CHECK(refused.status == 2);
        CHECK(says(refused.err, words));
    }
}

TEST_CASE_FIXTURE(Scratch, "generate: sources with open sizes serve every number of blocks and systems, and say so") {
    const auto source_of = [&](const std::string& sizes) {
        const auto ran = well("generate --json -o out --block 12 --target cuda:sm_90 --any-size " + sizes);
        return read("out/" + ran.json()["files"]["source"][0].get<std::string>());
    };
    const auto source = source_of("--horizon 50");
    CHECK(says(source, "Any number of blocks and systems"));
    CHECK(source_of("--horizon 57") == source);
}

TEST_CASE_FIXTURE(Scratch, "generate: TRIFOLD_TEMPLATES is where templates are read") {
    namespace fs = std::filesystem;
    const auto templates = path / "templates";
    fs::copy(PROJECT_DIRECTORY "/templates", templates, fs::copy_options::recursive);
    const auto source_by = [&](const std::string& environment) {
        const auto ran = well("generate --block 4 --horizon 8 --target cuda:sm_90 -o out --json", environment);
        return read("out/" + ran.json()["files"]["source"][0].get<std::string>());
    };
    const auto with_folder = "TRIFOLD_TEMPLATES=" + templates.string();
    const auto embedded = source_by("");
    CHECK(source_by(with_folder) == embedded);
    std::ofstream(templates / "gpu/platform_cuda.cuh", std::ios::app) << "/* an edit */\n";
    const auto edited = source_by(with_folder);
    CHECK(says(edited, "/* an edit */"));
    CHECK(source_by("") == embedded);
    fs::remove(templates / "gpu/platform_cuda.cuh");
    const auto missing = run("generate --block 4 --horizon 8 --target cuda:sm_90 -o out", with_folder);
    CHECK(missing.status != 0);
    CHECK(says(missing.err, "where the template gpu/platform_cuda.cuh cannot be read"));
    const auto nowhere = run("generate --block 4 --horizon 8 -o out", "TRIFOLD_TEMPLATES=/nowhere");
    CHECK(nowhere.status != 0);
    CHECK(says(nowhere.err, "TRIFOLD_TEMPLATES names '/nowhere', which is no directory"));
}

TEST_CASE_FIXTURE(Scratch, "generate: binaries for every architecture of HIP, by the compiler that doctor tells, on either route") {
    for (const std::string environment : {"TRIFOLD_DISABLE=cache,clang", "TRIFOLD_DISABLE=cache,hiprtc"}) {
        const auto routes = run("doctor --json", environment).json()["hip"]["compilers"];
        REQUIRE(routes.size() == 7);
        for (const auto& [target, compiler] : routes.items()) {
            const auto ran =
                run(fmt::format("generate --block 2 --horizon 3 --operations factor --target {} --binaries -o out --json", target),
                    environment);
            INFO(environment, " ", target, " ", ran.err);
            CHECK(ran.status == (compiler == "" ? 3 : 0));
            if (ran.status != 0) continue;
            CHECK(ran.json()["compiler"] == compiler);
            CHECK(read("out/" + ran.json()["files"]["binary"][0].get<std::string>())
                      .starts_with("\x7f"
                                   "ELF"));
        }
    }
}

TEST_CASE_FIXTURE(Scratch, "generate: binaries of CUDA are a file a unit, and in the cache what a Plan looks for") {
    const std::string size = "--block 4 --horizon 9 --operations factor --target cuda:sm_90 --json";
    const auto cache = fmt::format("TRIFOLD_CACHE_DIR='{}'", (path / "cache").string());
    const auto made = run("generate --binaries -o out " + size, cache);
    if (made.status == 3 && made.err.find("NVRTC") != std::string::npos) {
        MESSAGE("skipped: there is no NVRTC");
        return;
    }
    INFO(made.err);
    REQUIRE(made.status == 0);
    const auto binaries = made.json()["files"]["binary"];
    CHECK(binaries.size() == 2);  // factor, and finish_factor
    for (const auto& name : binaries) CHECK(has("out/" + name.get<std::string>()));
    // What explain shows is the Program of a Plan.
    const auto planned = run("explain " + size, cache + " TRIFOLD_DISABLE=jit").json();
    CHECK(planned["problem"] == "");
    std::size_t kernels = 0;
    for (const auto& unit : planned["program"]["units"]) kernels += unit["kernels"].size();
    CHECK(planned["kernels"].size() == kernels);
}

TEST_CASE_FIXTURE(Scratch, "generate: what is written, and its name") {
    const auto json = well("generate --block 4 --horizon 8 --precision f32 --target cpu:x86-64-v2 --binaries -o out/deep --json").json();
    const auto name = json["name"].get<std::string>();
    CHECK(name.starts_with("btd_n4_f32_x8664v2_"));
    CHECK(has("out/deep/" + name + ".c"));
    CHECK(read("out/deep/" + name + ".so")
              .starts_with("\x7f"
                           "ELF"));
    CHECK(has("out/deep/" + name + ".log"));
    const auto program = nlohmann::json::parse(read("out/deep/program.json"));
    CHECK(program["spec"]["block"] == 4);
    CHECK(program["units"][0]["kernels"].size() == 6);
    CHECK(program["spec"]["operations"].size() == 6);
    const auto text = well("generate --block 4 --horizon 8 --target cuda:sm_120 -o .");
    const auto some = well("generate --block 4 --horizon 8 --target cpu:x86-64-v2 --operations factor_solve --json");
    const auto source = read(some.json()["files"]["source"][0].get<std::string>());
    CHECK(says(source, "btd_factor_forward_n4"));
    CHECK(!says(source, "btd_inverse_n4"));
    check("generate --block 4 --horizon 8 --target cpu:x86-64-v2 --operations factor,invert", 2, "unknown operation 'invert'");
    CHECK(says(text.out, ".cu"));
}

TEST_CASE("pack: the documented deployment finds its kernels, and compiles nothing") {
    const Scratch scratch;
    const auto lines = examples_of("Deploying without a compiler");
    REQUIRE(lines.size() == 6);
    // No cache but the example's, and no GPU.
    const auto surroundings = fmt::format(
        "env -u TRIFOLD_CACHE_DIR HOME='{0}' XDG_CACHE_HOME='{0}/own' CUDA_VISIBLE_DEVICES= "
        "HIP_VISIBLE_DEVICES=-1 PATH='{1}:{2}:'\"$PATH\" ",
        scratch.path.string(), std::filesystem::path(TRIFOLD_COMMAND).parent_path().string(),
        std::filesystem::path(MINIMAL_EXAMPLE).parent_path().string());
    const auto run = [&](const std::string& line) {
        auto ran = run_shell(scratch.path, surroundings + line);
        INFO(line, "\n", ran.err);
        CHECK(ran.status == 0);
        return ran;
    };
    run(lines[0]);
    run(lines[1]);
    run(lines[2]);
    run(lines[3]);
    std::filesystem::remove_all(scratch.path / "own");
    CHECK(run(lines[4]).out.starts_with("x in the middle: 0.500000"));
    CHECK(says(run(lines[5]).out, "prebuilt"));
    CHECK(scratch.has("x.npy"));
    // With any other Spec, and without the directory, the promise is kept too.
    CHECK(run_shell(scratch.path, surroundings + lines[5] + " --schedule twisted:2").status == 3);
    std::filesystem::remove_all(scratch.path / "kernels");
    CHECK(run_shell(scratch.path, surroundings + lines[5]).status == 3);
}
