#include <algorithm>
#include <array>
#include <bit>

#include "generator/tridiagonal/operands.hpp"

namespace trifold {
namespace {

// The sizes that most kernels read come first, so that they share few lines of a cache.
constexpr std::array<std::string_view, open_size_count> open_sizes{
    "HORIZON",
    "HORIZON_RECIPROCAL",
    "FRONTS",
    "OFFSET_FACTOR",
    "OFFSET_NEXT",
    "OFFSET_BEHIND",
    "OFFSET_UPDATE",
    "OFFSET_RHS_UPDATE",
    "OFFSET_COUPLING",
    "SEPARATORS",
    "SEPARATOR_BASE",
    "SEPARATOR_SCALE",
    "SEPARATOR_SCALE_RECIPROCAL",
    "COUPLINGS",
    "BATCH",
    "D_MEMBER",
    "E_MEMBER",
    "OFFSET_FAILURE",
    "OFFSET_FLOORS",
    "OFFSET_POISON",
    "OFFSET_BLOCK_LOG_DETERMINANT",
    "OFFSET_REDUCTION",
    "OFFSET_BLOCK_QUADRATIC",
    "OFFSET_STATUS",
    "OFFSET_LOG_DETERMINANT",
    "OFFSET_QUADRATIC",
    "OFFSET_RANGE",
    "QUADRATICS",
    "OFFSET_TICKET",
    "OFFSET_FLAG",
    "OFFSET_MESSAGE",
    "MESSAGE_FRONTS",
    "OFFSET_UPDATE_WORDS",
    "OFFSET_FORWARD_WORDS",
    "OFFSET_SOLUTION_WORDS",
    "WIDE_RECIPROCAL",
    "ABOVE_RECIPROCAL",
    "OFFSET_HALVES",
    "OFFSET_INVERSE_COUPLING",
    "OFFSET_QUOTIENTS",
    "OFFSET_SCRATCH",
    "SCRATCH_CHAINS",
    "CALLER_D_MEMBER",
    "CALLER_E_MEMBER",
    "OFFSET_WIDE_D",
    "OFFSET_WIDE_E",
    "OFFSET_NARROW_D",
    "OFFSET_NARROW_E",
    "OFFSET_NARROW_X",
    "OFFSET_SOLUTION",
    "OFFSET_ERRORS",
    "OFFSET_RUNNING",
    "OFFSET_PROGRESS",
    "OFFSET_REFINED",
    "TASKS",
    "TASK_BLOCKS",
    "SWEEP_TASKS",
    "SWEEP_TASK_BLOCKS",
    "OFFSET_LEVELS",
};
static_assert(!open_sizes.back().empty());

}  // namespace

std::optional<std::size_t> place_of_open_size(std::string_view constant) {
    const auto found = std::ranges::find(open_sizes, constant);
    if (constant.empty() || found == open_sizes.end()) return std::nullopt;
    return static_cast<std::size_t>(found - open_sizes.begin());
}

std::uint64_t reciprocal_of(std::int64_t divisor) {
    const auto by = static_cast<std::uint64_t>(divisor);
    return by == 1 ? 0 : ~std::uint64_t{0} / by + 1;
}

std::int64_t columns_class(std::int64_t rhs) {
    constexpr std::int64_t panel = 8;
    if (rhs <= panel) return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rhs)));
    return (rhs + panel - 1) / panel * panel;
}

}  // namespace trifold
