#pragma once
#include <trifold/grid_args.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <trifold/grid_spec.hpp>
#include <vector>

#include "generator/grid/levels.hpp"

namespace trifold::grid {

/// Which levels a launch of the factorization treats: one task for each box of `last`, with all boxes below it from `first` on; or several
/// tasks for each.
struct Stage {
    std::size_t first, last;
    bool shared;
};

/// Decisions of a backend that the layout of memory follows from.
struct Shape {
    std::int64_t lanes = 1;    ///< sizes of stored fronts are multiples of it
    std::int64_t columns = 1;  ///< right-hand sides that the vectors of sweeps have room for
    std::vector<Stage> stages;
    /// Elements for a box of each level; empty: as many as it eliminates.
    std::vector<std::int64_t> pivot_elements, inverse_elements;
};

/// Places of all data in the workspace.
struct Layout {
    std::vector<Buffer> buffers;
    std::vector<trifold_grid_level> levels;
    std::int64_t status = 0, scale = -1, edge = -1, residual = 0, kept_b = 0, stencil = -1, all_levels = 0;
    std::int64_t bytes = 0;  ///< the size of all buffers
};

/// Throws SpecError when a size leaves 63 bits.
Layout layout_of(const GridSpec& spec, const std::vector<Level>& levels, const Shape& shape);

/// Limits beyond which a factorization is no good. A least pivot below the first means that the matrix is nearly singular, and below the
/// second, if that is not 0, that it may be. A negative pivot of a symmetric matrix means the same below the third, and above it that the
/// matrix is not positive definite. Pivots that grow above the fourth lose too many digits. Rows whose sums are at most the fifth of their
/// entries sum to zero. Solutions are looked at where pivots grow above the sixth times the least, since their backward errors may be above
/// the seventh.
struct Limits {
    double least_pivot, doubtful_pivot, negligible_pivot, growth, row_sum, rough, backward_error;
};
Limits limits_of(const GridSpec& spec);

/// Whether the Program has solutions; and whether they may need refinement. Pivots of a positive definite matrix do not grow.
bool has_solutions(const GridSpec& spec);
bool can_be_rough(const GridSpec& spec);

/// A launch with all that is the same for all launches of the Spec. It has no levels yet.
trifold_grid_launch launch_of(const GridSpec& spec, const Layout& layout);

/// The kind in kernels' names: symmetric, general, unpivoted.
std::string_view kind_of(const GridSpec& spec);
/// Comment at the start of a unit, which says what the unit is for.
std::string title_of(const GridSpec& spec, const Target& target);
/// A launch of `groups` tasks or thread blocks for each image, after all that the list has.
void append(std::vector<Launch>& list, std::size_t kernel, const trifold_grid_launch& constants, std::int64_t groups, std::string what);
/// All of the second after all of the first.
std::vector<Launch> join(std::vector<Launch> first, const std::vector<Launch>& second);

}  // namespace trifold::grid
