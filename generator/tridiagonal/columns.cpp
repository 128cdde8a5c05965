#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <trifold/error.hpp>

#include "generator/tridiagonal/mixed.hpp"
#include "generator/tridiagonal/operands.hpp"
#include "generator/tridiagonal/variant.hpp"

namespace trifold {
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
    const bool gains = choice.spec.precision != Precision::mixed && columns >= many;
    return {gains && wide.spec.rhs > choice.spec.rhs ? wide.spec : choice.spec, tuning};
}

}  // namespace trifold
