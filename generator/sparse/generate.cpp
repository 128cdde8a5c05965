#include "generator/sparse/generate.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "generator/program/device.hpp"
#include "generator/program/sha256.hpp"
#include "generator/sparse/fields.hpp"
#include "generator/sparse/knobs.hpp"
#include "generator/sparse/layout.hpp"

namespace trifold::sparse {
namespace {

constexpr int sparse_format_version = 1;  // raise when the meaning of a Program or the templates' contract changes

nlohmann::json identity(const SparseSpec& spec, const Target& target, const SparseTuning& tuning, const Arrangement& a,
                        const std::string& hash) {
    auto about = trifold::to_json(sparse_fields, &spec);
    about["asked"].swap(about["operations"]);  // the Program has its own operations
    about.erase("operations");
    about.update({{"format", sparse_format_version},
                  {"family", "sparse"},
                  {"pattern", hash},
                  {"partition", sha256(bytes_of(a.order) + bytes_of(a.tile_starts))},
                  {"rows", a.rows()},
                  {"entries", a.entries()},
                  {"tiles", a.tiles()},
                  {"target", to_string(target)},
                  {"workers", tuning.workers},
                  {"variant", tuning.variant}});
    return about;
}

}  // namespace

Generated generate(const SparseSpec& spec, const Target& target, const SparseTuning& tuning, const SparsePattern& pattern,
                   const Arrangement& a, std::vector<trifold::KnobDecision>* asked) {
    const auto chosen = choose(spec, target, tuning).tuning;
    auto knobs = pinned_by(chosen, target);
    knobs.asked = asked;
    const bool on_cpu = target.backend == Backend::cpu;
    auto backing = (on_cpu ? cpu_backing : gpu_backing)(spec, target, a, knobs);
    auto about = identity(spec, target, chosen, a, pattern.hash());
    Generated made;
    auto& program = made.program;
    program.id = sha256(about.dump()).substr(0, 8);
    program.name = fmt::format("sparse_{}x{}_{}_{}", a.rows(), spec.block, to_string(spec.precision), program.id);
    program.workers = on_cpu ? tuning.workers : 1;
    auto layout = layout_of(spec, a, std::move(backing.stored), backing.launch);
    layout.launch.values = pattern.values();
    program.units = {std::move(backing.unit)};
    program.scratch_bytes = backing.scratch_bytes;
    add_launches(program, spec, layout.launch);
    if (target.backend == Backend::cuda && !program.repeats.empty()) {
        for (auto& [operation, repeats] : program.repeats)
            for (auto& repeat : repeats) repeat.unit = program.units.size();
        program.units.push_back(repeat_unit(target));
    }
    program.buffers = std::move(layout.buffers);
    program.workspace_bytes = checked_add(layout.bytes, checked_multiply(program.workers, program.scratch_bytes, "scratch"), "workspace");
    program.about = about.dump();
    made.contents = std::move(layout.contents);
    return made;
}

namespace {

/// Vectors that an iteration reads and writes, without those of its applications and products. For GMRES the mean over a cycle.
std::int64_t vectors_of(const SparseSpec& spec) {
    if (spec.method == SparseMethod::bicgstab) return trifold_sparse_vectors_of_bicgstab + trifold_sparse_vectors_of_cg;
    if (spec.method == SparseMethod::cg) return trifold_sparse_vectors_of_cg;
    constexpr std::int64_t passes = 4;  // over the vectors so far: twice their products, twice what is subtracted
    return passes * spec.restart / 2;
}

}  // namespace

std::vector<Cost> costs_of(const SparseSpec& spec, const Target& target, const Arrangement& a) {
    const auto square = spec.block * spec.block, real = element_bytes(spec.precision);
    const auto index = static_cast<std::int64_t>(sizeof(std::int32_t)), local = static_cast<std::int64_t>(sizeof(std::uint16_t));
    const auto matrix = checked_multiply(a.entries(), square * real + index, "values");
    const auto factors = has_factors(spec) ? checked_multiply(a.filled, square * factor_bytes(spec) + local, "factors") : 0;
    const auto vector = checked_multiply(a.rows(), spec.block * real, "vectors");
    const auto rate = device_of(target).number("facts.bytes_per_second");
    const std::int64_t twice = spec.method == SparseMethod::bicgstab ? 2 : 1;
    const auto cost = [&](std::string operation, std::int64_t bytes) {
        return Cost{std::move(operation), bytes, static_cast<double>(bytes) / rate};
    };
    return {cost("update", 2 * a.entries() * square * real + matrix + factors), cost("apply", factors + 2 * vector),
            cost("multiply", matrix + 2 * vector), cost("iteration", twice * (matrix + factors + 4 * vector) + vectors_of(spec) * vector)};
}

}  // namespace trifold::sparse
