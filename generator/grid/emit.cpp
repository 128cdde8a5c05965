#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "generator/grid/layout.hpp"

namespace trifold::grid {

std::string_view kind_of(const GridSpec& spec) {
    if (spec.matrix == GridMatrix::symmetric) return "symmetric";
    return spec.pivoting == GridPivoting::partial ? "general" : "unpivoted";
}

std::string title_of(const GridSpec& spec, const Target& target) {
    return fmt::format(
        "/* Trifold: factor and solve A x = b, where A couples each pixel of an image with its eight neighbours ({}, {}); target {}.\n"
        " * Generated; do not edit. It serves images of every size: launches say which. */\n",
        kind_of(spec), to_string(spec.precision), to_string(target));
}

std::string define_kernel(std::string_view kernel, std::string_view name, std::int64_t blocks) {
    std::string word(kernel);
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const auto bound = blocks > 0 ? fmt::format("#define TRIFOLD_BLOCKS_{} {}\n", word, blocks) : "";
    return fmt::format("#define TRIFOLD_KERNEL_{} {}\n", word, name) + bound;
}

void append(std::vector<Launch>& list, std::size_t kernel, const trifold_grid_launch& constants, std::int64_t groups, std::string what) {
    Launch launch;
    launch.kernel = kernel;
    launch.grid = {groups, 1};
    launch.constants.assign(reinterpret_cast<const char*>(&constants), sizeof constants);
    if (!list.empty()) launch.after = {list.size() - 1};
    launch.what = std::move(what);
    list.push_back(std::move(launch));
}

std::vector<Launch> join(std::vector<Launch> first, const std::vector<Launch>& second) {
    const auto count = first.size();
    for (const auto& launch : second) {
        first.push_back(launch);
        for (auto& k : first.back().after) k += count;
        if (first.back().after.empty() && count > 0) first.back().after = {count - 1};
    }
    return first;
}

}  // namespace trifold::grid
