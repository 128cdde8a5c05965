#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trifold::command {

/// `trifold solve --grid`.
struct GridSolveOptions {
    std::vector<std::string> files;
    std::string size, matrix = "general", boundary = "natural", output, device, precision;
    int workers = 0;  ///< 0: those of the machine
    std::optional<double> tolerance;
};

/// "129x65". Throws SpecError.
std::pair<std::int64_t, std::int64_t> parse_image_size(const std::string& text);

/// Solves A x = b on images from files, writes x, prints a report. Returns the exit status: 0, or 1 where an image could not be solved.
int solve_grid(const GridSolveOptions& options, bool json);

}  // namespace trifold::command
