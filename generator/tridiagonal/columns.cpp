#include "generator/tridiagonal/columns.hpp"

#include <algorithm>

namespace trifold {
namespace {

constexpr std::int64_t classes[] = {1, 2, 4, 8, 16, 32, 64};
constexpr std::int64_t most_panels = 31;  // each has a bit of an int that says whether X has left the range

}  // namespace

std::int64_t columns_class(std::int64_t rhs) {
    for (const auto columns : classes)
        if (rhs <= columns) return columns;
    return *std::rbegin(classes);
}

std::int64_t columns_at_once(const Spec& spec, const Target& target, std::int64_t workers) {
    if (target.backend != Backend::cpu) return spec.rhs;
    const auto panel = columns_class(spec.rhs), panels = (spec.rhs + panel - 1) / panel;
    return panel * std::min({panels, workers, most_panels});
}

}  // namespace trifold
