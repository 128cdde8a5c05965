#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/trifold/image_options.hpp"
#include "tools/trifold/input.hpp"

namespace trifold::command {

/// `trifold solve --grid`.
struct GridSolveOptions {
    std::vector<std::string> files;
    ImageOptions image;
    Output output;
    std::string device, precision;
    int workers = 0;  ///< 0: one for each processor that may be used
    int refine = 0;   ///< steps
    std::optional<double> tolerance;
    bool accept_nearly_singular = false, condition = false;
};

/// Solves A x = b on images from files, writes x, prints a report. Returns the exit status: 0, or 1 where an image could not be solved.
int solve_grid(const GridSolveOptions& options, bool json);

}  // namespace trifold::command
