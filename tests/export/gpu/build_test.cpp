// What compilers, linkers and other tools say of exported solvers for GPUs.
#include <regex>

#include "tests/export/gpu/exported.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

const Spec spec{.block = 12, .horizon = 20, .precision = Precision::f32, .batch = 4, .operations = export_operations()};
const std::string binary = std::string(EXPORT_BACKEND) == "cuda" ? "cubin" : "hsaco";

GpuExportRequest request_for(const std::string& prefix = "btd", const std::string& schedule = "auto") {
    auto request = gpu_request(spec, schedule);
    request.prefix = prefix;
    return request;
}

Project project_of(const GpuExportRequest& request) { return Project(export_gpu_project(request, stand_ins(request))); }

void check_runs(const Project& project, const std::string& command) {
    const auto ran = project.run(command);
    INFO(command, "\n", ran.out);
    CHECK(ran.status == 0);
}

}  // namespace

TEST_CASE(EXPORT_BACKEND " export: no compiler warns, of C or of C++") {
    const auto project = project_of(request_for());
    const std::string strict = "-Wall -Wextra -Wpedantic -Wconversion -Werror -c -o out.o ";
    for (const std::string compiler :
         {"gcc -std=c99", "clang-19 -std=c99", "gcc -std=c17 -O3", "g++ -x c++ -std=c++11", "clang++-19 -x c++ -std=c++20"})
        for (const std::string file : {"btd_solver.c", "example_main.c", "btd_kernels_" EXPORT_ARCH ".c"})
            check_runs(project, compile(compiler) + strict + file);
}

TEST_CASE(EXPORT_BACKEND " export: the solver needs the driver and the memory functions, and has no data that is written") {
    const auto project = project_of(request_for());
    const std::regex allowed("(cu|hip)[A-Z].*|mem(set|cpy|cmp)|bcmp|str(len|ncmp)|btd_image_.*");
    for (const std::string compiler : {"gcc -std=c99 -O2 -fno-pie", "clang-19 -std=c99 -O2 -fno-pie"}) {
        check_runs(project, compile(compiler) + "-c -o out.o btd_solver.c");
        std::istringstream lines(project.run("nm out.o").out);
        int functions = 0;
        for (std::string line; std::getline(lines, line);) {
            const auto kind = line.at(17);
            const auto name = line.substr(19);
            INFO(line);
            CHECK((kind == 'T' || kind == 't' || kind == 'r' || (kind == 'U' && std::regex_match(name, allowed))));
            if (kind == 'T') CHECK(name.starts_with("btd_"));
            functions += kind == 'T' ? 1 : 0;
        }
        CHECK(functions == 16);
    }
}

TEST_CASE(EXPORT_BACKEND " export: two prefixes link into one program, called from C++") {
    const auto first = project_of(request_for("one")), second = project_of(request_for("Two", "sequential"));
    first.write("main.cpp",
                "#include \"one_solver.h\"\n"
                "#include \"Two_solver.h\"\n"
                "static_assert(ONE_BLOCK == 12 && TWO_BATCH == 4, \"\");\n"
                "int main() {\n"
                "    static one_solver one;\n"
                "    static Two_solver two;\n"
                "    one_destroy(&one);\n"
                "    return one_create(&one, nullptr) == ONE_BAD_ARGUMENT && Two_create(&two, nullptr) == TWO_BAD_ARGUMENT &&\n"
                "                   one_workspace_size() == ONE_WORKSPACE_BYTES ? 0 : 1;\n"
                "}\n");
    const auto other = second.path().string();
    // The driver is not called, so that what it stands on need not be there.
    check_runs(first, fmt::format("{0}-c one_*.c && {0}-c '{1}'/Two_*.c && {2}-Wall -Wextra -Werror -I'{1}' main.cpp *.o '{3}' "
                                  "-Wl,-rpath,\"$(dirname '{3}')\" -Wl,--unresolved-symbols=ignore-in-shared-libs -o program && ./program",
                                  compile("gcc -std=c99"), other, compile("g++"), EXPORT_LIBRARY));
}

TEST_CASE(EXPORT_BACKEND " export: the host's stack is within what the manifest states") {
    const auto project = project_of(request_for());
    for (const std::string options : {"-Os", "-O2", "-O3"}) {
        check_runs(project, compile("gcc -std=c99 " + options) + "-fstack-usage -c -o out.o btd_solver.c");
        std::istringstream lines(project.read("out.su"));
        std::int64_t sum = 0;
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line.substr(line.find('\t')));
            std::int64_t bytes = 0;
            std::string kind;
            words >> bytes >> kind;
            CHECK_MESSAGE((kind == "static" || kind == "dynamic,bounded"), line);
            sum += bytes;
        }
        CHECK(sum > 0);
        CHECK(sum <= project.manifest()["bytes"]["host_stack_at_most"].get<std::int64_t>());
    }
}

TEST_CASE(EXPORT_BACKEND " export: embed.sh and the generator make the same array of a file") {
    for (const std::size_t size : {1, 7, 8, 9, 16, 17, 1000}) {
        auto request = request_for();
        std::string bytes;
        for (std::size_t k = 0; k < size; ++k) bytes += static_cast<char>(k * 37 % 251);
        const Project project(export_gpu_project(request, {{bytes, "none", {}}}));
        const std::string kernels = "btd_kernels_" EXPORT_ARCH;
        CHECK(project.read(kernels + "." + binary) == bytes);
        const auto embedded = project.run("sh embed.sh btd_image_" EXPORT_ARCH " " + kernels + "." + binary);
        CHECK(embedded.out == project.read(kernels + ".c"));
        project.write("main.c", "#include \"btd_solver.h\"\n#include <stdio.h>\nint main(void) { fwrite(btd_image_" EXPORT_ARCH ", 1, " +
                                    std::to_string(size) + ", stdout); return 0; }\n");
        check_runs(project, compile("gcc -std=c99") + "-o image main.c " + kernels + ".c && ./image | cmp - " + kernels + "." + binary);
    }
}

TEST_CASE(EXPORT_BACKEND " export: make and CMake build the example, with kernels that came along or that they compile") {
    const std::string paths =
        fmt::format("INCLUDE='{}' LIBRARY='{} -Wl,--unresolved-symbols=ignore-in-shared-libs'", EXPORT_FLAGS, EXPORT_LIBRARY);
    const auto request = request_for();
    const auto along = project_of(request);
    check_runs(along, "make -s example COMPILE=false " + paths);
    const Project bare(export_gpu_project(request));
    CHECK(!says(bare.run("ls").out, "." + binary));
    bare.write("compiler", "#!/bin/sh\nwhile [ $# -gt 2 ]; do [ \"$1\" = -o ] && echo compiled > \"$2\"; shift; done\n");
    check_runs(bare, "chmod +x compiler && make -s example 'COMPILE=./compiler ' " + paths);
    CHECK(bare.read("btd_kernels_" EXPORT_ARCH "." + binary) == "compiled\n");
    check_runs(bare, "make -s kernels 'COMPILE=./compiler ' " + paths);
    CHECK(bare.run("make -s example COMPILE=false " + paths).status == 0);
    CHECK(bare.run("make -s kernels COMPILE=false " + paths).status != 0);

    for (const auto* project : {&along, &bare})
        check_runs(*project, fmt::format("cmake -B build -DBTD_INCLUDE='{}' -DBTD_LIBRARY='{}' -DBTD_COMPILER=\"$PWD/compiler\" "
                                         "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--unresolved-symbols=ignore-in-shared-libs && cmake --build build "
                                         "&& test -x build/example",
                                         EXPORT_INCLUDE, EXPORT_LIBRARY));
}

TEST_CASE(EXPORT_BACKEND " export: the project's own rules compile its kernels") {
    const bool on_cuda = std::string(EXPORT_BACKEND) == "cuda";
    if (on_cuda && shell("make -v > /dev/null && ${CUDA_HOME:-/usr/local/cuda}/bin/nvcc --version").status != 0) {
        MESSAGE("skipped: no nvcc");
        return;
    }
    const Project project(export_gpu_project(request_for()));
    check_runs(project, "make -s btd_kernels_" EXPORT_ARCH ".c CLANG=clang++-19");
    const auto image = project.read("btd_kernels_" EXPORT_ARCH "." + binary);
    const auto programs = gpu_export_programs(request_for());
    for (const auto& kernel : programs[0].units[0].kernels) CHECK(says(image, kernel.name));
}

TEST_CASE(EXPORT_BACKEND " export: cppcheck finds nothing") {
    const auto project = project_of(request_for());
    // Nothing calls the interface here, and kernels read the structures.
    check_runs(project,
               "cppcheck -q --std=c99 --enable=all --suppress=missingIncludeSystem --suppress=unusedFunction --suppress=unusedStructMember "
               "--error-exitcode=1 btd_solver.c");
}

TEST_CASE(EXPORT_BACKEND " export: exports with a prefix of three letters are formatted") {
    const auto project = project_of(request_for("mpc"));
    check_runs(project,
               "clang-format-19 --dry-run -Werror --style=file:" SOURCE_FOLDER "/.clang-format mpc_solver.h mpc_solver.c example_main.c");
}

TEST_CASE(EXPORT_BACKEND " export: the manifest has the facts of each Program") {
    auto request = request_for();
    const auto programs = gpu_export_programs(request);
    std::vector<KernelCode> code{{"bytes", "a compiler 1.0", {}}};
    for (const auto& kernel : programs[0].units[0].kernels) code[0].kernels.push_back({kernel.name, 40, 16, 0, 5000});
    const Project project(export_gpu_project(request, code));
    const auto manifest = project.manifest();
    CHECK(manifest["bytes"]["d"] == 4 * 20 * 12 * 12 * 4);
    CHECK(manifest["bytes"]["e"] == 4 * 19 * 12 * 12 * 4);
    CHECK(manifest["bytes"]["x"] == 4 * 20 * 12 * 4);
    CHECK(manifest["bytes"]["workspace"] == programs[0].workspace_bytes);
    const auto& about = manifest["programs"][0];
    CHECK(about["target"] == EXPORT_BACKEND ":" EXPORT_ARCH);
    CHECK(about["compiler"] == "a compiler 1.0");
    CHECK(about["operations"]["factor_solve"]["launches"] == programs[0].operations.at("factor_solve").size());
    REQUIRE(about["kernels"].size() == programs[0].units[0].kernels.size());
    CHECK(about["kernels"][0]["registers"] == 40);
    CHECK(about["kernels"][0]["spill_bytes"] == 0);
    CHECK(about["kernels"][0]["threads"] == programs[0].units[0].kernels[0].threads);
    for (const auto& name : manifest["files"]) CHECK(std::filesystem::exists(project.path() / name.get<std::string>()));
    // 7/3 N n^3 but for the first block, and 6 n^2 a block but for one coupling
    const auto sequential =
        Project(export_gpu_project(request_for("btd", "sequential"))).manifest()["programs"][0]["nominal_flops_of_a_system"];
    CHECK(sequential["factor"] == 12 * 12 * 12 / 3 + 19 * 7 * 12 * 12 * 12 / 3);
    CHECK(sequential["solve"] == 2 * 12 * 12 * (3 * 20 - 2));
}
