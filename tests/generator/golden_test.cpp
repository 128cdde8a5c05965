#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <trifold/generate.hpp>

#include "generator/export/c99/export.hpp"
#include "generator/export/gpu/export.hpp"
#include "tests/support/text.hpp"

using namespace trifold;

namespace {

struct Golden {
    const char* file;
    Spec spec;
    Target target;
    Tuning tuning;
};

// A few small ones, to be read: each a different way through the generator.
const Golden golden[] = {
    {"cpu_n4_N8_f64.c", {.block = 4, .horizon = 8}, {Backend::cpu, "x86-64-v3"}, {.schedule = "twisted:2"}},
    {"cpu_n6_N20_f32_batch16.c",
     {.block = 6, .horizon = 20, .precision = Precision::f32, .batch = 16},
     {Backend::cpu, "x86-64-v3"},
     {.schedule = "sequential", .variant = "lanes"}},
    {"cuda_n8_N16_f32.cu", {.block = 8, .horizon = 16, .precision = Precision::f32}, {Backend::cuda, "sm_90"}, {.schedule = "multi-stage"}},
};

struct GoldenExport {
    const char* folder;
    ExportRequest request;
};

/// Two blocks of two, with ones between them.
const Prefactored small_matrix{.d = {4, 1, 1, 3, 5, 1, 1, 4}, .e = {1, 0, 0, 1}, .shifts = {0.1, 1}};

// A model predictive controller of a drone's size, a Kalman smoother, a matrix factored ahead for two shifts, and three chains for three
// cores.
const GoldenExport golden_exports[] = {
    {"c99_n12_N20_f32",
     {.spec = {.block = 12, .horizon = 20, .precision = Precision::f32}, .target = {Backend::c99, "cortex-m7"}, .prefix = "mpc"}},
    {"c99_n6_N64_f64", {.spec = {.block = 6, .horizon = 64}, .target = {Backend::c99, "generic"}, .prefix = "kalman"}},
    {"c99_n2_N2_f32_prefactored",
     {.spec = {.block = 2, .horizon = 2, .precision = Precision::f32},
      .target = {Backend::c99, "cortex-m4"},
      .prefix = "admm",
      .prefactored = small_matrix}},
    {"c99_n4_N11_f64_partitioned",
     {.spec = {.block = 4, .horizon = 11}, .target = {Backend::c99, "generic"}, .prefix = "estimator", .schedule = "partitioned:3"}},
};

// The same controller for a Jetson; without compiled kernels, which have no place in a repository.
GpuExportRequest golden_gpu_export() {
    GpuExportRequest request;
    request.spec = {.block = 12, .horizon = 20, .precision = Precision::f32, .operations = export_operations()};
    request.targets = {{Backend::cuda, "sm_87"}};
    request.prefix = "mpc";
    return request;
}

void check_golden(const std::filesystem::path& name, const std::string& text) {
    const auto path = std::filesystem::path(GOLDEN_DIRECTORY) / name;
    // Set by tools/golden alone.
    if (std::getenv("TRIFOLD_REFRESH_GOLDEN") != nullptr) {
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text;
    }
    CHECK_MESSAGE(read_text(path) == text,
                  "generated/" << name.string() << " is not what the generator makes; run tools/golden and read the difference");
}

}  // namespace

TEST_CASE("golden sources are what the generator makes") {
    std::set<std::string> names{"README.md"};
    for (const auto& [name, spec, target, tuning] : golden) {
        check_golden(name, generate(spec, target, tuning, Packing::together).units.front().source);
        names.insert(name);
    }
    const auto check_project = [&](const std::filesystem::path& folder, const std::vector<ExportedFile>& files) {
        for (const auto& file : files) {
            check_golden(folder / file.name, file.text);
            names.insert((folder / file.name).string());
        }
    };
    for (const auto& [folder, request] : golden_exports) check_project(folder, export_project(request));
    check_project("cuda_n12_N20_f32", export_gpu_project(golden_gpu_export()));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(GOLDEN_DIRECTORY)) {
        if (entry.is_regular_file()) CHECK(names.contains(std::filesystem::relative(entry.path(), GOLDEN_DIRECTORY).string()));
    }
}
