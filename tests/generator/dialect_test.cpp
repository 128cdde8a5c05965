#include <doctest/doctest.h>

#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>
#include <trifold/error.hpp>
#include <trifold/generate.hpp>

#include "tests/generator/designs.hpp"
#include "tests/support/text.hpp"

using namespace trifold;

namespace {

const std::filesystem::path gpu_templates = std::filesystem::path(TEMPLATE_DIRECTORY) / "gpu";

/// Whether a word belongs into a platform header: one of a toolkit's, assembly, a test for a dialect or an architecture.
bool is_dialect(std::string_view word) {
    for (const auto* exact : {"asm", "threadIdx", "blockIdx", "blockDim", "gridDim"})
        if (word == exact) return true;
    for (const auto* part : {"TRIFOLD_ARCH", "TRIFOLD_WAVE", "CUDA", "HIP", "amdgcn"})
        if (word.find(part) != std::string_view::npos) return true;
    const auto underscores = word.find("__");
    return underscores != std::string_view::npos && underscores + 2 < word.size() &&
           std::islower(static_cast<unsigned char>(word[underscores + 2])) != 0;
}

/// The first such word of a text, or nothing.
std::string first_dialect_word(std::string_view text) {
    const auto in_word = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    std::string word;
    for (std::size_t k = 0; k <= text.size(); ++k) {
        if (k < text.size() && in_word(text[k])) {
            word += text[k];
            continue;
        }
        if (is_dialect(word)) return word;
        word.clear();
    }
    return {};
}

}  // namespace

TEST_CASE("templates for GPUs speak no dialect but through the platform headers") {
    int checked = 0, platforms = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(gpu_templates)) {
        if (!entry.is_regular_file()) continue;
        const auto name = entry.path().filename().string();
        CAPTURE(name);
        const auto text = read_text(entry.path());
        const auto found = first_dialect_word(text);
        if (name.starts_with("platform")) {
            CHECK(!found.empty());
            ++platforms;
        } else {
            CHECK(found == "");
            ++checked;
        }
    }
    CHECK(platforms == 2);
    CHECK(checked >= 36);
}

TEST_CASE("HIP programs: whole waves, 64 KiB of shared memory, matrix instructions where they exist") {
    for (const auto* arch : {"gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"}) {
        for (const std::int64_t n : {1, 5, 12, 24, 32, 48, 49, 65, 100, 256}) {
            for (const auto precision : {Precision::f32, Precision::f64}) {
                const auto program = test::design_of({.block = n, .horizon = 20, .precision = precision, .rhs = 3}, {Backend::hip, arch});
                CAPTURE(program.kernels.front().name);
                const auto lanes = warp_lanes(program.target);
                const auto source = test::source_of(program);
                for (const auto& kernel : program.kernels) {
                    CHECK(kernel.shape.threads % lanes == 0);
                    CHECK(kernel.shape.threads <= 256);
                    CHECK(kernel.shape.shared_bytes <= 65536);
                }
                const bool matrix = precision == Precision::f64 && (arch == std::string("gfx90a") || arch == std::string("gfx942"));
                CHECK((source.find("#define TRIFOLD_TENSOR 1\n") != std::string::npos) == matrix);
                CHECK((source.find(lanes == 64 ? "#define TRIFOLD_WAVE 64\n" : "#define TRIFOLD_WAVE 32\n") != std::string::npos));
            }
        }
    }
    const Target target{Backend::hip, "gfx942"};
    CHECK(choose({.block = 48, .horizon = 4}, target, {.schedule = "sequential"}).variant == "fused");
    CHECK(choose({.block = 49, .horizon = 4}, target, {.schedule = "sequential"}).variant == "tiled");
    CHECK_THROWS_WITH_AS(generate({.block = 49, .horizon = 4}, target, {.schedule = "sequential", .variant = "fused"}),
                         doctest::Contains("hip:gfx942 has 65536"), SpecError);
}
