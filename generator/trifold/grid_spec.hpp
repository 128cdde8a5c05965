#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <trifold/precision.hpp>
#include <trifold/program.hpp>
#include <trifold/target.hpp>

/// Grids: A x = b, where A couples each pixel of an image with its eight neighbours.
namespace [[gnu::visibility("default")]] trifold {

/// What may be said of A. `symmetric`: positive definite too. Then only entries 0 to 4 of a stencil are read: those to pixels before it,
/// row by row, and its own; with a fixed boundary also those to the ring.
enum class GridMatrix { general, symmetric };
/// `partial`: rows may be exchanged within what a front eliminates. It costs little; without it a zero pivot is an error.
enum class GridPivoting { none, partial };
/// `natural`: each pixel is an unknown. `fixed`: pixels of the outer ring are data. Their rows of A are x = b, whatever their stencils
/// hold.
enum class GridBoundary { natural, fixed };

/// What a caller can ask of a GridSolver. Log determinant and status come with every factorization.
enum class GridOperation { factor, solve, solve_transposed, factor_solve, gradient, refine };
using GridOperations = std::set<GridOperation>;
GridOperations all_grid_operations();
std::string_view to_string(GridMatrix matrix);
std::string_view to_string(GridPivoting pivoting);
std::string_view to_string(GridBoundary boundary);
std::string_view to_string(GridOperation operation);

/// The problem to specialize for: images of `width` by `height` pixels.
///
/// A stands in an array of stencils, [batch][height][width][9]: entry (dy + 1) 3 + dx + 1 of pixel (x, y) is what its row of A has at pixel
/// (x + dx, y + dy). Entries that reach beyond the image must be zero. B and X: [batch][height][width][rhs].
struct GridSpec {
    std::int64_t width = 0, height = 0;  ///< at least 2 each; with a fixed boundary 3
    Precision precision = Precision::f64;
    GridMatrix matrix = GridMatrix::general;
    GridPivoting pivoting = GridPivoting::partial;  ///< of a general matrix
    GridBoundary boundary = GridBoundary::natural;
    std::int64_t rhs = 1;    ///< right-hand sides solved at once; more go in panels of that many
    std::int64_t batch = 1;  ///< capacity: fewer images may be active at a call
    GridOperations operations = all_grid_operations();
    /// Pixels of data at each side of the image: 1 with a fixed boundary.
    std::int64_t ring() const { return boundary == GridBoundary::fixed ? 1 : 0; }
    bool operator==(const GridSpec&) const = default;
};

inline constexpr std::int64_t max_grid_side = 1 << 20;

/// Throws SpecError unless every size is in range.
void validate(const GridSpec& spec);

/// Choices that change speed but not the problem. Those of `variant` may change bits.
struct GridTuning {
    int workers = 1;             ///< CPU threads a call may use; they change no bit
    int spin_microseconds = -1;  ///< how long idle threads stay awake after a call; -1: TRIFOLD_SPIN, or 1000
    /// The kernels: "fronts", with pinned knobs where they follow: "fronts:panel_columns=16,step_rows=128". `trifold explain` lists them.
    /// auto: what was measured to be best, by wisdom or by the rows of the device.
    std::string variant = "auto";
    bool operator==(const GridTuning&) const = default;
};

/// A GridSpec with everything that was left open decided.
struct GridChoice {
    GridSpec spec;
    Target target;
    GridTuning tuning;  ///< its variant is "fronts", with what the caller or wisdom has pinned
    DecisionSource rung = DecisionSource::model;
    std::string row;  ///< of wisdom, with its file; empty: none decided
};

/// Decides what the tuning leaves to `auto`, without wisdom. The target must be resolved. Throws SpecError.
GridChoice choose(const GridSpec& spec, const Target& target, const GridTuning& tuning = {});

/// The whole generator. Pure: same input, same bytes. Throws SpecError.
Program generate(const GridChoice& choice);
Program generate(const GridSpec& spec, const Target& target, const GridTuning& tuning = {});

}  // namespace trifold
