#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <trifold/grid_spec.hpp>
#include <utility>

namespace trifold::command {

/// `--grid`, and what belongs to it.
struct ImageOptions {
    std::string size, matrix = "general", boundary = "natural";
    /// Returns the option of the size, which says that A is one of an image.
    CLI::Option* add_to(CLI::App& app);
    bool given() const { return !size.empty(); }
    /// Width and height, matrix and boundary. Throws SpecError on what is no size.
    GridSpec spec() const;
};

/// "129x65". Throws SpecError.
std::pair<std::int64_t, std::int64_t> parse_image_size(const std::string& text);

}  // namespace trifold::command
