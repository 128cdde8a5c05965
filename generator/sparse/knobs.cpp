#include "generator/sparse/knobs.hpp"

#include <fmt/format.h>

#include <trifold/error.hpp>
#include <trifold/precision.hpp>

namespace trifold {
namespace sparse {
namespace {

constexpr std::string_view one_launch = "one_launch", tile_scalars = "tile_scalars",
                           tile_words = "about so many rows of a subdomain, times rows of a block";

// Arrays of braces alone: then the lists of values live as long as they do.
constexpr Knob cpu_knobs[] = {
    {tile_scalars, tile_words, {4096, 8192, 16384, 32768, 65536}},
    {"slice_scalars", "rows of a task where they do not need one another, times rows of a block", {2048, 4096, 8192, 16384, 32768}}};

constexpr Knob gpu_knobs[] = {
    {tile_scalars, tile_words, {768, 1536, 3072, 6144, 12288, 24576}},
    {"resident_threads", "threads of triangular solves for which a multiprocessor has registers", {448, 672, 768, 896, 1344, 1792}},
    {one_launch, "1: a solution whose factors fit on chip takes one launch", {0, 1}}};

}  // namespace

std::span<const Knob> knobs_for(const Target& target) {
    if (target.backend == Backend::cpu) return cpu_knobs;
    return gpu_knobs;
}

Knobs pinned_by(const SparseTuning& tuning, const Target& target) {
    const auto variant = parse_variant(tuning.variant);
    if (variant.name == "auto")
        check_knobs(variant, {});
    else if (variant.name != sweeps)
        throw SpecError(fmt::format("unknown variant '{}' of a sparse system; give auto, sweeps, or sweeps with knobs", variant.name));
    else
        check_knobs(variant, knobs_for(target));
    return {variant.pinned};
}

std::int64_t decide(const Knobs& knobs, const SparseSpec& spec, const Target& target, std::int64_t rows, std::string_view knob) {
    return take(knobs, device_of(target), knob,
                {{"block", static_cast<double>(spec.block)},
                 {"bytes", static_cast<double>(element_bytes(spec.precision))},
                 {"scalars", static_cast<double>(rows) * static_cast<double>(spec.block)}});
}

}  // namespace sparse

SparseChoice choose(const SparseSpec& spec, const Target& target, const SparseTuning& tuning) {
    validate(spec);
    validate(target);
    check_range("workers", tuning.workers, 1, max_workers);
    const auto knobs = sparse::pinned_by(tuning, target);
    SparseChoice choice{spec, target, tuning, tuning.variant == "auto" ? DecisionSource::model : DecisionSource::pinned, {}};
    choice.tuning.variant = to_string(VariantName{std::string(sparse::sweeps), knobs.pinned});
    return choice;
}

}  // namespace trifold
