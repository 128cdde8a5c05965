#include <fmt/format.h>
#include <fmt/ranges.h>

#include "generator/program/sha256.hpp"
#include "runtime/base/files.hpp"
#include "runtime/compile/cache.hpp"

namespace trifold {
namespace {

constexpr int key_version = 2;  // raise when the same text must be compiled again, as when a compiler's fixed options change

void add_part(std::string& text, std::string_view part) { text.append(std::to_string(part.size())).append(":").append(part); }

}  // namespace

std::string cache_key(const Unit& unit) {
    std::string text;
    text.reserve(unit.source.size() + 1024);  // 1024: the other parts are shorter
    add_part(text, std::to_string(key_version));
    add_part(text, unit.source);
    add_part(text, to_string(unit.target));
    add_part(text, fmt::format("{}", fmt::join(unit.options, "\n")));
    const auto backend = unit.target.backend;
    add_part(text, backend == Backend::cpu ? host_triple() : backend == Backend::cuda ? "nvptx64-nvidia-cuda" : "amdgcn-amd-amdhsa");
    return sha256(text);
}

}  // namespace trifold
