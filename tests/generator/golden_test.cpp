#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "generator/program.hpp"

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

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace

// TRIFOLD_REFRESH_GOLDEN is set by tools/golden alone.
TEST_CASE("golden sources are what the generator makes") {
    const std::filesystem::path folder = GOLDEN_DIRECTORY;
    std::size_t files = 0;
    for (const auto& [name, spec, target, tuning] : golden) {
        const auto source = generate(spec, target, tuning).source;
        if (std::getenv("TRIFOLD_REFRESH_GOLDEN") != nullptr) std::ofstream(folder / name, std::ios::binary) << source;
        CHECK_MESSAGE(read(folder / name) == source,
                      "generated/" << name << " is not what the generator makes; run tools/golden and read the difference");
    }
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) files += entry.path().filename() != "README.md";
    CHECK(files == std::size(golden));
}
