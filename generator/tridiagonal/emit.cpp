#include "generator/tridiagonal/emit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

namespace trifold {
namespace {

std::string upper(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return result;
}

std::string regenerate_command(const Design& design) {
    const auto& spec = design.caller;
    auto command = fmt::format(
        "trifold generate --block {} --horizon {} --precision {} --rhs {} --batch {} --schedule {} --workers {} --variant {} --target {}",
        spec.block, spec.horizon, to_string(spec.precision), spec.rhs, spec.batch, design.schedule.name, design.workers, design.variant,
        to_string(design.target));
    if (spec.order == Order::column_major) command += " --order column-major";
    if (spec.coupling == Coupling::upper) command += " --coupling upper";
    if (spec.rhs_layout == RhsLayout::stacked) command += " --rhs-layout stacked";
    if (spec.operations != usual_operations()) command += " --operations " + to_string(spec.operations);
    const auto add = [&](std::string_view option, std::int64_t value) {
        if (value != dense) command += fmt::format(" --{} {}", option, value);
    };
    add("d-leading", spec.d.leading);
    add("d-stage", spec.d.stage);
    add("d-member", spec.d.member);
    add("e-leading", spec.e.leading);
    add("e-stage", spec.e.stage);
    add("e-member", spec.e.member);
    return command;
}

}  // namespace

void add_strides(std::vector<Constant>& constants, std::string_view prefix, const Strides& strides) {
    constants.push_back({fmt::format("{}_ROW", prefix), fmt::format("{}LL", strides.row)});
    constants.push_back({fmt::format("{}_COLUMN", prefix), fmt::format("{}LL", strides.column)});
    constants.push_back({fmt::format("{}_STAGE", prefix), fmt::format("{}LL", strides.stage)});
    constants.push_back({fmt::format("{}_MEMBER", prefix), fmt::format("{}LL", strides.member)});
}

std::string header_comment(const Design& design) {
    const auto& spec = design.caller;
    return fmt::format(
        "/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.\n"
        " * {} blocks of {} by {}, {}, {} right-hand side(s), up to {} system(s); target {}; schedule {}; variant {}.\n"
        " * Generated; do not edit. Regenerate with:\n"
        " *   {}\n"
        " * Workspace: {} bytes, aligned to {}.\n"
        " */\n",
        spec.horizon, spec.block, spec.block, to_string(spec.precision), spec.rhs, spec.batch, to_string(design.target),
        design.schedule.name, design.variant, regenerate_command(design), design.workspace_bytes, workspace_alignment);
}

std::vector<Constant> constants_of(const Design& design) {
    const auto& spec = design.spec;
    const auto& storage = design.lowered.storage;
    const auto& levels = design.schedule.levels;
    const bool has_separators = levels.size() > 1;
    const auto number = [](auto value) { return fmt::format("{}", value); };
    const auto long_number = [](auto value) { return fmt::format("{}LL", value); };
    std::vector<Constant> constants{
        {"BLOCK", number(spec.block)},
        {"HORIZON", long_number(spec.horizon)},
        {"RHS", number(spec.rhs)},
        {"BATCH", long_number(design.lowered.members)},
        {"REAL", spec.precision == Precision::f32 ? "float" : "double"},
        {"REAL_BYTES", number(element_bytes(spec.precision))},
        {"SEPARATORS", long_number(has_separators ? levels[1].size : 0)},
        {"SEPARATOR_BASE", long_number(has_separators ? levels[1].base : 0)},
        {"SEPARATOR_SCALE", long_number(has_separators ? levels[1].scale : 1)},
    };
    std::int64_t couplings = 0;
    for (std::size_t k = 1; k < levels.size(); ++k) couplings += levels[k].size - 1;
    constants.push_back({"COUPLINGS", long_number(couplings)});
    add_strides(constants, "D", diagonal_strides(spec));
    add_strides(constants, "E", coupling_strides(spec));
    constants.push_back({"STORAGE_FACTOR", long_number(storage.factor)});
    constants.push_back({"STORAGE_PANEL", long_number(storage.panel)});
    constants.push_back({"STORAGE_UPDATE", long_number(storage.update)});
    constants.push_back({"STORAGE_COUPLING", long_number(storage.coupling)});
    constants.push_back({"STORAGE_VECTOR", long_number(storage.vector)});
    for (const auto& item : design.buffers) constants.push_back({"OFFSET_" + upper(item.name), long_number(item.offset)});
    return constants;
}

std::string define(std::span<const Constant> constants) {
    std::string text;
    for (const auto& [name, value] : constants) text += fmt::format("#define TRIFOLD_{} {}\n", name, value);
    return text;
}

std::string kernel_macro(std::string_view phase) { return "TRIFOLD_KERNEL_" + upper(phase); }

std::string define_kernel(std::string_view phase, std::string_view name) {
    return fmt::format("#define {} {}\n", kernel_macro(phase), name);
}

std::string emit_prologue(const Design& design, std::span<const PhaseKernel> kernels) {
    auto text = header_comment(design) + define(constants_of(design));
    for (const auto& kernel : kernels) text += define_kernel(to_string(kernel.phase), kernel.name);
    return text;
}

}  // namespace trifold
