#include "generator/tridiagonal/emit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <trifold/error.hpp>

#include "generator/tridiagonal/fields.hpp"
#include "generator/tridiagonal/mixed.hpp"
#include "generator/tridiagonal/operands.hpp"
#include "generator/tridiagonal/variant.hpp"

namespace trifold {
namespace {

std::string regenerate_command(const Design& design) {
    const auto& spec = design.caller;
    auto command = fmt::format(
        "trifold generate --block {} --horizon {} --precision {} --rhs {} --batch {} --schedule {} --workers {} --variant {} --target {}",
        spec.block, spec.horizon, to_string(spec.precision), spec.rhs, spec.batch, design.schedule.name, design.workers, design.variant,
        to_string(design.target));
    for (const auto& [field, word] : unusual_choices(spec_fields, &spec)) command += fmt::format(" {} {}", option_of(*field), word);
    if (spec.ring) command += " --ring";
    if (spec.lengths) command += " --lengths";
    if (spec.sizes) command += " --sizes";
    if (spec.bandwidth > 1) command += fmt::format(" --bandwidth {}", spec.bandwidth);
    if (spec.operations != usual_operations()) command += " --operations " + to_string(spec.operations);
    for (const auto& [letter, layout] : {std::pair("d", &spec.d), std::pair("e", &spec.e)})
        for (const auto& field : layout_fields.all)
            if (const auto value = field.get(layout); value != dense)
                command += fmt::format(" --{}-{} {}", letter, field.name, value.dump());
    return command;
}

}  // namespace

void add_strides(std::vector<Constant>& constants, std::string_view prefix, const Strides& strides) {
    constants.push_back({fmt::format("{}_ROW", prefix), fmt::format("{}LL", strides.row)});
    constants.push_back({fmt::format("{}_COLUMN", prefix), fmt::format("{}LL", strides.column)});
    constants.push_back({fmt::format("{}_STAGE", prefix), fmt::format("{}LL", strides.stage)});
    constants.push_back({fmt::format("{}_MEMBER", prefix), fmt::format("{}LL", strides.member)});
    constants.push_back({fmt::format("{}_STEP", prefix), fmt::format("{}LL", std::gcd(strides.stage, strides.member))});
}

std::string header_comment(const Design& design) {
    const auto& spec = design.caller;
    const auto about = fmt::format("/* Trifold: factor and solve A X = B, A symmetric{} and block tridiagonal.\n",
                                   has_signs(spec) || is_general(spec) ? "" : " positive definite");
    if (!design.baked)
        return about + fmt::format(
                           " * Blocks of {} by {}, {}, {} right-hand side(s) at once; target {}; variant {}. Any number of blocks and "
                           "systems: the\n"
                           " * caller gives these sizes, and places in the workspace, with each call.\n"
                           " * Generated; do not edit.\n"
                           " */\n",
                           spec.block, spec.block, to_string(spec.precision), design.spec.rhs, to_string(design.target),
                           variant_of(design).name);
    return about + fmt::format(
                       " * {} blocks of {} by {}, {}, {} right-hand side(s), up to {} system(s); target {}; schedule {}; variant {}.\n"
                       " * Generated; do not edit. Regenerate with:\n"
                       " *   {}\n"
                       " * Workspace: {} bytes, aligned to {}.\n"
                       " */\n",
                       spec.horizon, spec.block, spec.block, to_string(spec.precision), spec.rhs, spec.batch, to_string(design.target),
                       design.schedule.name, design.variant, regenerate_command(design), design.workspace_bytes, workspace_alignment);
}

namespace {

std::size_t bytes_of_args(const Design& design) {
    return design.baked || design.target.backend == Backend::cpu ? sizeof(trifold_args) : sizeof(KernelArgs);
}

}  // namespace

std::vector<Constant> constants_of(const Design& design) {
    const auto& spec = design.spec;
    const auto& given = spec.bandwidth > 1 ? design.caller : spec;  // whose blocks the caller's arrays have
    const auto& storage = design.lowered.storage;
    const auto& levels = design.schedule.levels;
    const bool has_separators = levels.size() > 1;
    const auto number = [](auto value) { return fmt::format("{}", value); };
    const auto long_number = [](auto value) { return fmt::format("{}LL", value); };
    const auto reciprocal = [](std::int64_t value) { return fmt::format("{}ULL", reciprocal_of(value)); };
    std::vector<Constant> constants{
        {"BLOCK", number(spec.block)},
        {"BAKED", number(static_cast<int>(design.baked))},
        {"HORIZON", long_number(spec.horizon)},
        {"HORIZON_RECIPROCAL", reciprocal(spec.horizon)},
        {"FRONTS", long_number(spec.horizon * design.lowered.members)},
        {"RHS", number(spec.rhs)},
        {"QUADRATICS", long_number(design.caller.rhs)},
        {"BATCH", long_number(design.lowered.members)},
        {"REAL", spec.precision == Precision::f32 ? "float" : "double"},
        {"REAL_BYTES", number(element_bytes(spec.precision))},
        {"SEPARATORS", long_number(has_separators ? levels[1].size : 0)},
        {"SEPARATOR_BASE", long_number(has_separators ? levels[1].base : 0)},
        {"SEPARATOR_SCALE", long_number(has_separators ? levels[1].scale : 1)},
        {"SEPARATOR_SCALE_RECIPROCAL", reciprocal(has_separators ? levels[1].scale : 1)},
    };
    constants.push_back({"COUPLINGS", long_number(design.schedule.couplings())});
    constants.push_back({"SIGNS", number(static_cast<int>(has_signs(spec)))});
    constants.push_back({"GENERAL", number(static_cast<int>(is_general(spec)))});
    constants.push_back({"LOADS", number(static_cast<int>(loads_ahead(spec)))});
    constants.push_back({"RING", number(static_cast<int>(spec.ring))});
    constants.push_back({"LENGTHS", number(static_cast<int>(spec.lengths))});
    constants.push_back({"SIZES", number(static_cast<int>(spec.sizes))});
    constants.push_back({"BAND", number(spec.bandwidth)});
    constants.push_back({"TAIL", number(given.horizon * given.block - (spec.horizon - 1) * spec.block)});
    constants.push_back({"E_BAND", long_number(band_stride(given))});
    constants.push_back({"HAS_SEPARATORS", number(static_cast<int>(has_separators))});
    constants.push_back({"SIZEOF_ARGS", number(bytes_of_args(design))});
    add_strides(constants, "D", diagonal_strides(given));
    add_strides(constants, "E", coupling_strides(given));
    constants.push_back({"STORAGE_FACTOR", long_number(storage.factor)});
    constants.push_back({"STORAGE_PANEL", long_number(storage.panel)});
    constants.push_back({"STORAGE_UPDATE", long_number(storage.update)});
    constants.push_back({"STORAGE_COUPLING", long_number(storage.coupling)});
    constants.push_back({"STORAGE_VECTOR", long_number(storage.vector)});
    for (const auto& item : design.buffers) constants.push_back({"OFFSET_" + upper(item.name), long_number(item.offset)});
    return constants;
}

std::string define(const Design& design, std::span<const Constant> constants) {
    const std::string_view access = design.target.backend == Backend::cpu ? "->" : ".";
    std::string text;
    for (const auto& [name, value] : constants) {
        const auto place = design.baked ? std::nullopt : place_of_open_size(name);
        text += place ? fmt::format("#define TRIFOLD_{} (args{}sizes[{}])\n", name, access, *place)
                      : fmt::format("#define TRIFOLD_{} {}\n", name, value);
    }
    return text;
}

std::vector<std::int64_t> open_sizes_of(const Design& design) {
    std::vector<std::int64_t> sizes(open_size_count);
    const auto add = [&](const std::vector<Constant>& constants) {
        for (const auto& [name, value] : constants)
            if (const auto place = place_of_open_size(name)) sizes[*place] = static_cast<std::int64_t>(std::stoull(value));
    };
    add(constants_of(design));
    add(variant_of(design).constants(design));
    if (is_wrapped(design)) add(constants_of_mixed(design.caller));
    return sizes;
}

std::string define_sizes(const Design& design) {
    if (design.baked || design.target.backend == Backend::cpu) return "";
    return fmt::format("#define TRIFOLD_SIZES_BY_VALUE {}\n", open_size_count);
}

std::string emit_prologue(const Design& design, std::span<const PhaseKernel> kernels) {
    auto text = header_comment(design) + define_sizes(design) + define(design, constants_of(design));
    for (const auto& kernel : kernels) text += define_kernel(to_string(kernel.phase), kernel.name);
    return text;
}

}  // namespace trifold
