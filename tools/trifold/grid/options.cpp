#include "tools/trifold/grid/options.hpp"

#include <fmt/format.h>

#include <trifold/error.hpp>
#include <tuple>

#include "generator/grid/fields.hpp"
#include "generator/grid/wisdom.hpp"
#include "runtime/wisdom/wisdom.hpp"

namespace trifold::command {

std::pair<std::int64_t, std::int64_t> parse_image_size(const std::string& text) {
    const auto sides = parse_size(text, 2, 2);
    if (sides.empty()) throw SpecError(fmt::format("'{}' is no size of an image; give WIDTHxHEIGHT, such as 129x65", text));
    return {sides[0], sides[1]};
}

void GridMatrixOptions::add_to(CLI::App& app) {
    matrix_.add_to(app, grid_fields[shared_field]);
    add_choices(app, grid_fields, &spec_);
}

void GridMatrixOptions::add_variant(CLI::App& app) {
    app.add_option("--grid-variant", variant, "auto, or fronts and its knobs, as explain lists them: fronts:leaf_cells=8")
        ->capture_default_str();
}

GridChoice GridMatrixOptions::choice(const GridSpec& spec, const SpecOptions& common) const {
    const auto device = common.native();
    return choose_by_wisdom(spec, common.target(), GridTuning{.workers = common.workers, .variant = variant},
                            device ? wisdom_device(*device) : "");
}

GridSpec GridMatrixOptions::spec(const std::string& size) const {
    auto spec = spec_;
    matrix_.set(grid_fields[shared_field], &spec);
    std::tie(spec.width, spec.height) = parse_image_size(size);
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
