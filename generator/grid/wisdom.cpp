#include "generator/grid/wisdom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/grid/fields.hpp"
#include "generator/grid/knobs.hpp"
#include "generator/program/words.hpp"

namespace trifold {
namespace {

constexpr std::string_view family_name = "grid";

std::string layout_text(const GridSpec& spec) {
    std::string text(to_string(spec.matrix));
    if (spec.matrix == GridMatrix::general && spec.pivoting == GridPivoting::none) text += ",unpivoted";
    return spec.boundary == GridBoundary::fixed ? text + ",fixed" : text;
}

void parse_layout_text(std::string_view text, GridSpec& spec) {
    for (const auto word : split(text, ',')) {
        if (word == "symmetric")
            spec.matrix = GridMatrix::symmetric;
        else if (word == "unpivoted")
            spec.pivoting = GridPivoting::none;
        else if (word == "fixed")
            spec.boundary = GridBoundary::fixed;
        else if (word != "general")
            throw SpecError(fmt::format("layout '{}' has '{}'; give general or symmetric, then some of unpivoted, fixed", text, word));
    }
}

bool solves(const GridSpec& spec) {
    return std::ranges::any_of(spec.operations, [](GridOperation operation) { return operation != GridOperation::factor; });
}

GridOperations grid_operations_named(std::string_view name) {
    if (name == "factor") return {GridOperation::factor};
    if (name == "solve") return {GridOperation::factor, GridOperation::solve, GridOperation::factor_solve};
    throw SpecError(fmt::format("operations are '{}'; give factor or solve", name));
}

}  // namespace

ProblemKey key_of(const GridSpec& spec, const Target& target, int workers) {
    validate(spec);
    validate(target);
    return {.target = target,
            .precision = spec.precision,
            .operations = solves(spec) ? "solve" : "factor",
            .layout = layout_text(spec),
            .workers = target.backend == Backend::cpu ? workers : 1,
            .kind = std::string(family_name),
            .size = fmt::format("{}x{}", spec.width, spec.height),
            .rhs = spec.rhs,
            .batch = spec.batch};
}

GridSpec grid_of(const ProblemKey& key) {
    const auto sides = parse_size(key.size, 2, 2);
    if (sides.empty()) throw SpecError(fmt::format("N is '{}', which is no size of an image; give WIDTHxHEIGHT", key.size));
    GridSpec spec{.width = sides[0], .height = sides[1]};
    parse_layout_text(key.layout, spec);
    spec.precision = key.precision;
    spec.rhs = key.rhs;
    spec.batch = key.batch;
    spec.operations = grid_operations_named(key.operations);
    const auto again = key_of(spec, key.target, key.workers);
    if (common_columns(again) != common_columns(key) || again.size != key.size)
        throw SpecError("its first columns are not written as a file has them, so nothing would find it");
    return spec;
}

bool is_grid(const ProblemKey& key) { return key.kind == family_name; }

std::unique_ptr<const WisdomProblem> wisdom_problem(const GridSpec& spec, const Target& target, const GridTuning& tuning) {
    const auto make = [=](const std::string& variant) {
        auto with_variant = tuning;
        with_variant.variant = variant;
        choose(spec, target, with_variant);
    };
    return problem_with_one_schedule(key_of(spec, target, tuning.workers), {"a grid", grid::dissection, grid_of, make});
}

GridChoice choose_with(const WisdomAnswer& answer, const GridSpec& spec, const Target& target, const GridTuning& tuning) {
    return choose_by(answer, tuning, [&](const GridTuning& with_row) { return choose(spec, target, with_row); });
}

GridChoice choose(const GridSpec& spec, const Target& target, const GridTuning& tuning, std::string_view device,
                  std::span<const Wisdom* const> files) {
    if (!is_open(tuning)) return choose(spec, target, tuning);
    return choose_with(look_up(*wisdom_problem(spec, target, tuning), device, files), spec, target, tuning);
}

}  // namespace trifold
