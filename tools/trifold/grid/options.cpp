#include "tools/trifold/grid/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <trifold/error.hpp>

#include "runtime/grid/wisdom.hpp"

namespace trifold::command {

std::pair<std::int64_t, std::int64_t> parse_image_size(const std::string& text) {
    std::int64_t width = 0, height = 0;
    const auto* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, width);
    if (first.ec == std::errc() && first.ptr != end && *first.ptr == 'x') {
        const auto second = std::from_chars(first.ptr + 1, end, height);
        if (second.ec == std::errc() && second.ptr == end) return {width, height};
    }
    throw SpecError(fmt::format("'{}' is no size of an image; give WIDTHxHEIGHT, such as 129x65", text));
}

void GridMatrixOptions::add_to(CLI::App& app) {
    app.add_option("--matrix", matrix, "With --grid: general, or symmetric for a positive definite A")
        ->check(CLI::IsMember({"general", "symmetric"}))
        ->capture_default_str();
    app.add_option("--boundary", boundary, "With --grid: natural, or fixed where the outer ring of b is data")
        ->check(CLI::IsMember({"natural", "fixed"}))
        ->capture_default_str();
}

void GridMatrixOptions::add_variant(CLI::App& app) {
    app.add_option("--grid-variant", variant, "With --grid: auto, or fronts and its knobs, as explain lists them: fronts:leaf_cells=8")
        ->capture_default_str();
}

GridChoice GridMatrixOptions::choice(const GridSpec& spec, const SpecOptions& common) const {
    const auto device = common.native();
    return choose_by_wisdom(spec, common.target(), {.workers = common.workers, .variant = variant}, device ? wisdom_device(*device) : "");
}

GridSpec GridMatrixOptions::spec(const std::string& size) const {
    const auto [width, height] = parse_image_size(size);
    GridSpec spec{.width = width, .height = height};
    spec.matrix = matrix == "symmetric" ? GridMatrix::symmetric : GridMatrix::general;
    spec.boundary = boundary == "fixed" ? GridBoundary::fixed : GridBoundary::natural;
    return spec;
}

GridSpec GridMatrixOptions::spec(const std::string& size, const SpecOptions& common) const {
    auto spec = this->spec(size);
    spec.precision = common.precision();
    spec.rhs = common.rhs;
    spec.batch = common.batch;
    return spec;
}

}  // namespace trifold::command
