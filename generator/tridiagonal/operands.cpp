#include "generator/tridiagonal/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <trifold/error.hpp>

#include "generator/program/words.hpp"
#include "generator/tridiagonal/mixed.hpp"
#include "generator/tridiagonal/variant.hpp"

namespace trifold {
namespace {

// The sizes that most kernels read come first, so that they share few lines of a cache.
constexpr auto open_sizes = words_of<open_size_count>(
    "HORIZON, HORIZON_RECIPROCAL, FRONTS, OFFSET_FACTOR, OFFSET_NEXT, OFFSET_BEHIND, OFFSET_UPDATE, OFFSET_RHS_UPDATE, "
    "OFFSET_COUPLING, SEPARATORS, SEPARATOR_BASE, SEPARATOR_SCALE, SEPARATOR_SCALE_RECIPROCAL, COUPLINGS, BATCH, D_MEMBER, "
    "E_MEMBER, OFFSET_FAILURE, OFFSET_FLOORS, OFFSET_POISON, OFFSET_BLOCK_LOG_DETERMINANT, OFFSET_REDUCTION, "
    "OFFSET_BLOCK_QUADRATIC, OFFSET_STATUS, OFFSET_LOG_DETERMINANT, OFFSET_QUADRATIC, OFFSET_RANGE, QUADRATICS, OFFSET_TICKET, "
    "OFFSET_FLAG, OFFSET_MESSAGE, MESSAGE_FRONTS, OFFSET_UPDATE_WORDS, OFFSET_FORWARD_WORDS, OFFSET_SOLUTION_WORDS, "
    "WIDE_RECIPROCAL, ABOVE_RECIPROCAL, OFFSET_HALVES, OFFSET_INVERSE_COUPLING, OFFSET_QUOTIENTS, "
    "OFFSET_SCRATCH, SCRATCH_CHAINS, "
    "CALLER_D_MEMBER, CALLER_E_MEMBER, OFFSET_WIDE_D, OFFSET_WIDE_E, OFFSET_NARROW_D, OFFSET_NARROW_E, OFFSET_NARROW_X, "
    "OFFSET_SOLUTION, OFFSET_ERRORS, OFFSET_RUNNING, OFFSET_PROGRESS, OFFSET_REFINED, TASKS, TASK_BLOCKS, SWEEP_TASKS, "
    "SWEEP_TASK_BLOCKS, OFFSET_LEVELS, OFFSET_SIGNS");
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
namespace {

/// Right-hand sides stand column by column in a block of the caller's; the solution takes their place.
trifold_args copies_of(const Spec& spec, std::int64_t columns, const std::vector<Buffer>& buffers, const trifold_args& caller) {
    const auto place = [&](std::string_view name) {
        return static_cast<char*>(caller.workspace) + std::ranges::find(buffers, name, &Buffer::name)->offset;
    };
    auto result = caller;
    result.b = result.x = place("narrow_x");
    const auto block = spec.block * columns;
    result.b_strides = result.x_strides = {1, spec.block, spec.bandwidth * block, spec.horizon * block};
    if (spec.precision != Precision::mixed) return result;
    result.d = place("narrow_d");
    result.e = place("narrow_e");
    result.diagonal = result.shift = nullptr;  // the copies have them
    result.active = reinterpret_cast<const int*>(place("running"));
    return result;
}

}  // namespace

std::array<trifold_args, 3> operands_of(const Spec& spec, std::int64_t columns, const std::vector<Buffer>& buffers,
                                        const trifold_args& caller) {
    std::array<trifold_args, 3> result{caller, caller, caller};
    auto& in_x = result[static_cast<std::size_t>(Operands::caller_in_x)];
    in_x.b = caller.x;
    in_x.b_strides = caller.x_strides;
    if (spec.precision == Precision::mixed || spec.operations.contains(Operation::refine))
        result[static_cast<std::size_t>(Operands::copies)] = copies_of(spec, columns, buffers, caller);
    return result;
}

bool takes_sizes_by_value(const Program& program) { return !program.sizes.empty() && program.units.front().target.backend != Backend::cpu; }

std::size_t bytes_of_args(const Program& program) { return takes_sizes_by_value(program) ? sizeof(KernelArgs) : sizeof(trifold_args); }

void set_sizes(KernelArgs& args, const Program& program, std::size_t set) {
    if (program.sizes.empty()) return;  // they are literals
    const auto* sizes = reinterpret_cast<const trifold_int*>(program.sizes.data()) + set * open_size_count;
    if (takes_sizes_by_value(program))
        std::memcpy(reinterpret_cast<char*>(&args) + offsetof(trifold_args, sizes), sizes, open_size_count * sizeof(trifold_int));
    else
        args.args.sizes = sizes;
}

namespace {

constexpr std::int64_t classes[] = {1, 2, 4, 8, 16, 32, 64};
constexpr std::int64_t max_panels = 31;  // each has a bit of an int that says whether X has left the range

}  // namespace

std::int64_t panel_columns(std::int64_t rhs, std::int64_t most, std::int64_t workers) {
    const auto widest = std::ranges::max(classes);
    for (const auto columns : classes)
        if (rhs <= columns) return std::min(columns, most);
    return rhs < most * workers ? std::min(widest, most) : most;
}

std::int64_t columns_at_once(const Choice& choice) {
    const auto rhs = choice.spec.rhs, workers = std::int64_t{choice.tuning.workers};
    const auto& can = variant_named(choice.target, choice.variant).abilities;
    const auto kernels = kernel_spec(choice.spec, choice.variant).rhs;
    if (can.max_columns == 0) return kernels;
    if (choice.target.backend != Backend::cpu) {
        const bool exact = kernels == rhs && parse_variant(choice.variant).pinned.contains(bake.name);
        return exact ? kernels : std::min(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rhs))), can.max_columns);
    }
    const auto panel = panel_columns(rhs, can.max_columns, workers), panels = (rhs + panel - 1) / panel;
    return can.shares_columns ? panel * std::min({panels, workers, max_panels}) : panel;
}

Widened widened(const Choice& choice, std::int64_t columns) {
    constexpr std::int64_t many = 4;  // fewer are treated one by one, or take as long together
    if (columns < 1) throw SpecError(fmt::format("columns = {} is out of range; give 1 or more", columns));
    auto tuning = choice.tuning;
    tuning.schedule = choice.schedule.name;
    tuning.variant = choice.variant;
    auto wide = choice;
    wide.spec.rhs = columns;
    wide.spec.rhs = round_up(columns, columns_at_once(wide));
    const bool gains = choice.spec.precision != Precision::mixed && choice.spec.border == 0 && columns >= many;
    return {gains && wide.spec.rhs > choice.spec.rhs ? wide.spec : choice.spec, tuning};
}

}  // namespace trifold
