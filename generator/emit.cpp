#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/backend.hpp"
#include "generator/mixed.hpp"

namespace trifold {
namespace {

struct Macro {
    std::string name, value;
};

std::string upper(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return result;
}

void add_strides(std::vector<Macro>& macros, std::string_view prefix, const Strides& strides) {
    macros.push_back({fmt::format("TRIFOLD_{}_ROW", prefix), fmt::format("{}LL", strides.row)});
    macros.push_back({fmt::format("TRIFOLD_{}_COLUMN", prefix), fmt::format("{}LL", strides.column)});
    macros.push_back({fmt::format("TRIFOLD_{}_STAGE", prefix), fmt::format("{}LL", strides.stage)});
    macros.push_back({fmt::format("TRIFOLD_{}_MEMBER", prefix), fmt::format("{}LL", strides.member)});
}

std::vector<Macro> constants(const Program& program) {
    const auto spec = inner_spec(program.spec);
    const auto& storage = program.variant.storage;
    const bool has_separators = program.schedule.levels.size() > 1;
    const auto number = [](auto value) { return fmt::format("{}", value); };
    const auto wide = [](auto value) { return fmt::format("{}LL", value); };
    std::vector<Macro> macros{
        {"TRIFOLD_BLOCK", number(spec.block)},
        {"TRIFOLD_HORIZON", wide(spec.horizon)},
        {"TRIFOLD_RHS", number(spec.rhs)},
        {"TRIFOLD_BATCH", wide(program.variant.members)},
        {"TRIFOLD_REAL", spec.precision == Precision::f32 ? "float" : "double"},
        {"TRIFOLD_REAL_BYTES", number(element_bytes(spec.precision))},
        {"TRIFOLD_SEPARATORS", wide(has_separators ? program.schedule.levels[1].size : 0)},
        {"TRIFOLD_SEPARATOR_BASE", wide(has_separators ? program.schedule.levels[1].base : 0)},
        {"TRIFOLD_SEPARATOR_SCALE", wide(has_separators ? program.schedule.levels[1].scale : 1)},
    };
    std::int64_t couplings = 0;
    for (std::size_t k = 1; k < program.schedule.levels.size(); ++k) couplings += program.schedule.levels[k].size - 1;
    macros.push_back({"TRIFOLD_COUPLINGS", wide(couplings)});
    add_strides(macros, "D", diagonal_strides(spec));
    add_strides(macros, "E", coupling_strides(spec));
    macros.push_back({"TRIFOLD_STORAGE_FACTOR", wide(storage.factor)});
    macros.push_back({"TRIFOLD_STORAGE_PANEL", wide(storage.panel)});
    macros.push_back({"TRIFOLD_STORAGE_UPDATE", wide(storage.update)});
    macros.push_back({"TRIFOLD_STORAGE_COUPLING", wide(storage.coupling)});
    macros.push_back({"TRIFOLD_STORAGE_VECTOR", wide(storage.vector)});
    for (const auto& item : program.buffers) macros.push_back({"TRIFOLD_OFFSET_" + upper(item.name), wide(item.offset)});
    return macros;
}

/// Templates define the kernels that have a name.
std::string kernel_names(const Program& program) {
    const bool several = images_of(program) > 1;
    std::string text;
    if (several) text += "/* With TRIFOLD_IMAGE defined: the kernels of one of the images that can be compiled beside one another. */\n";
    for (const auto& kernel : program.kernels) {
        const auto name = fmt::format("#define {} {}\n", kernel_macro(kernel.phase), kernel.name);
        text += several ? fmt::format("#if !defined(TRIFOLD_IMAGE) || TRIFOLD_IMAGE == {}\n{}#endif\n", kernel.image, name) : name;
    }
    return text;
}

std::string regenerate_command(const Program& program) {
    const auto& spec = program.spec;
    auto command = fmt::format(
        "trifold generate --block {} --horizon {} --precision {} --rhs {} --batch {} --schedule {} --workers {} --variant {} --target {}",
        spec.block, spec.horizon, to_string(spec.precision), spec.rhs, spec.batch, program.schedule.name, program.tuning.workers,
        program.variant.name, to_string(program.target));
    if (spec.order == Order::column_major) command += " --order column-major";
    if (spec.coupling == Coupling::upper) command += " --coupling upper";
    if (spec.rhs_layout == RhsLayout::column_major) command += " --rhs-layout column-major";
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

std::string kernel_macro(Phase phase) { return "TRIFOLD_KERNEL_" + upper(to_string(phase)); }

std::string emit_prologue(const Program& program) {
    const auto& spec = program.spec;
    auto text = fmt::format(
        "/* Trifold: factor and solve A X = B, A symmetric positive definite and block tridiagonal.\n"
        " * {} blocks of {} by {}, {}, {} right-hand side(s), up to {} system(s); target {}; schedule {}; variant {}.\n"
        " * Generated; do not edit. Regenerate with:\n"
        " *   {}\n"
        " * Workspace: {} bytes, aligned to {}.\n"
        " */\n",
        spec.horizon, spec.block, spec.block, to_string(spec.precision), spec.rhs, spec.batch, to_string(program.target),
        program.schedule.name, program.variant.name, regenerate_command(program), program.workspace_bytes, workspace_alignment);
    for (const auto& macro : constants(program)) text += fmt::format("#define {} {}\n", macro.name, macro.value);
    text += kernel_names(program) + mixed_constants(program) + "\n";
    text += template_text("args.h");
    return text;
}

}  // namespace trifold
