#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "generator/export/gpu/parts.hpp"
#include "generator/export/text.hpp"
#include "generator/program/templates.hpp"

namespace trifold {
namespace {

constexpr std::array operations{Operation::factor,         Operation::forward,      Operation::backward, Operation::solve,
                                Operation::factor_forward, Operation::factor_solve, Operation::inverse};

std::string piece(std::string_view name) { return std::string(template_text(fmt::format("export/gpu/{}", name))); }

std::string programs_comment(const GpuExport& project) {
    std::string text;
    for (const auto& design : project.designs)
        text += fmt::format(" *   {}: schedule {}, variant {}, {} kernels; flops of a system: factor {}, solve {}\n", design.target.arch,
                            design.schedule.name, design.variant, design.kernels.size(), nominal_factor_flops(design),
                            nominal_solve_flops(design));
    return text;
}

std::string header_comment(const GpuExport& project) {
    const auto& spec = project.spec();
    const auto bytes = array_bytes(spec);
    return fmt::format(
        "/* Factors and solves A X = B, A symmetric positive definite and block tridiagonal: {} blocks of {} by {}, {} right-hand "
        "side(s),\n"
        " * {}, up to {} system(s) at once. Made by Trifold for {}; do not edit. To make it again:\n"
        " *   {}\n"
        " *\n"
        " * Device memory: D {} bytes, E {}, B and X {} each; the workspace {}.\n"
        "{}"
        " * Work and launches depend on no number but the sizes; manifest.json has them{}.\n"
        " */\n",
        spec.horizon, spec.block, spec.block, spec.rhs, to_string(spec.precision), spec.batch, targets_text(project.request),
        project.command, bytes.d, bytes.e, bytes.b, project.workspace_bytes(), programs_comment(project),
        project.code.empty() ? "" : ", and the registers, shared memory and spills of each kernel");
}

std::size_t max_launches(const GpuExport& project) {
    std::size_t most = 0;
    for (const auto& design : project.designs)
        for (const auto& [operation, launches] : design.operations) most = std::max(most, launches.size());
    return most;
}

std::size_t max_kernels(const GpuExport& project) {
    return std::ranges::max(project.designs, {}, [](const Design& design) { return design.kernels.size(); }).kernels.size();
}

std::string sizes(const GpuExport& project) {
    const auto& spec = project.spec();
    return fmt::format(
        "/* n, N, m, and the most systems of one call. */\n"
        "#define BTD_BLOCK {}\n"
        "#define BTD_HORIZON {}\n"
        "#define BTD_RHS {}\n"
        "#define BTD_BATCH {}\n"
        "#define BTD_WORKSPACE_BYTES ((size_t){})\n"
        "#define BTD_ALIGNMENT {}\n"
        "/* Of the graphs: operations there may be, the most launches of one, and kernels. */\n"
        "#define BTD_OPERATIONS {}\n"
        "#define BTD_LAUNCHES {}\n"
        "#define BTD_KERNELS {}\n\n"
        "typedef {} btd_real;\n\n",
        spec.block, spec.horizon, spec.rhs, spec.batch, project.workspace_bytes(), workspace_alignment, operations.size(),
        max_launches(project), max_kernels(project), is_single(spec) ? "float" : "double");
}

std::string image_name(const Design& design) { return "btd_image_" + design.target.arch; }

std::string image_declarations(const GpuExport& project) {
    std::string text = "\n/* The compiled kernels, in btd_kernels_*.c. */\n";
    for (const auto& design : project.designs) text += fmt::format("extern const unsigned long long {}[];\n", image_name(design));
    return text;
}

// ---- tables ----

/// The constants of a Program's launches, each once, as initializers of a trifold_constants.
class Constants {
  public:
    std::size_t index(std::string row) {
        const auto found = std::ranges::find(rows_, row);
        const auto result = static_cast<std::size_t>(found - rows_.begin());
        if (found == rows_.end()) rows_.push_back(std::move(row));
        return result;
    }
    std::string text() const { return fmt::format("{}", fmt::join(rows_, "")); }

  private:
    std::vector<std::string> rows_;
};

std::string level_row(const trifold_level& l) {
    auto text = fmt::format("    {{{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {{", l.index, l.base, l.scale, l.size, l.next_base,
                            l.next_scale, l.next_size, l.coupling, l.next_coupling, l.chains, l.runs);
    for (const auto& run : l.run)
        text += fmt::format("{}{{{}, {}, {}, {}, {}}}", &run == l.run ? "" : ", ", run.first, run.stride, run.count, run.length, run.step);
    return text + "}}},\n";
}

std::string constants_row(const Design& design, const Step& step) {
    if (!takes_all_levels(design, step)) return level_row(step.level);
    // C++11 initializes the first member of a union only. Its first word is that of the others.
    static_assert(offsetof(trifold_all_levels, start) == 0 && offsetof(trifold_level, index) == 0);
    return level_row({.index = step.start});
}

std::string kernel_row(const PhaseKernel& kernel) {
    return fmt::format("    {{\"{}\", {}, {}, {}}},\n", kernel.name, kernel.shape.threads, kernel.shape.shared_bytes,
                       kernel.shape.members_per_task);
}

std::string launch_row(const Design& design, Operation operation, const Step& launch, Constants& constants) {
    const auto& kernel = design.kernels[launch.kernel];
    if (launch.after.size() > 1) throw std::logic_error("a launch that waits for several others has no place in the exported tables");
    const auto after = launch.after.empty() ? std::string("-1") : fmt::format("{}", launch.after.front());
    return fmt::format("    {{{}, {}, {}, {}, {}}}, /* {}: {} */\n", launch.kernel, constants.index(constants_row(design, launch)),
                       groups_of(design, launch), after, launch.operands == Operands::caller_in_x ? 1 : 0, to_string(operation),
                       to_string(kernel.phase));
}

std::string table(std::string_view type, std::string_view name, std::string_view arch, const std::string& rows) {
    return fmt::format("static const {} {}_{}[] = {{\n{}}};\n", type, name, arch, rows);
}

struct Tables {
    std::string text, program;  ///< the arrays, and what refers to them
};

Tables tables_of(const Design& design, std::string_view prefix) {
    const auto& arch = design.target.arch;
    std::string kernels, launches, zeroed, first;
    for (const auto& kernel : design.kernels) kernels += kernel_row(kernel);
    Constants distinct;
    std::size_t count = 0, regions = 0;
    for (const auto operation : operations) {
        first += fmt::format("{}, ", count);
        const auto found = design.operations.find(operation);
        if (found == design.operations.end()) continue;
        count += found->second.size();
        for (const auto& launch : found->second) launches += launch_row(design, operation, launch, distinct);
    }
    for (const auto& item : design.buffers) {
        if (!item.zeroed || item.bytes == 0) continue;
        zeroed += fmt::format("    {{{}, {}}}, /* {} */\n", item.offset, item.bytes, item.name);
        ++regions;
    }
    if (zeroed.empty()) zeroed = "    {0, 0}, /* none */\n";
    const auto text = fmt::format("\n/* {}: schedule {}, variant {}. */\n", arch, design.schedule.name, design.variant) +
                      table("kernel", "kernels", arch, kernels) + table("trifold_constants", "constants", arch, distinct.text()) +
                      table("launch", "launches", arch, launches) + table("region", "zeroed", arch, zeroed);
    const auto offset = [&](std::string_view name) { return buffer(design, name).offset; };
    return {text,
            fmt::format(
                "    {{\"{0}\", {1}, {2}, {3}, kernels_{0}, constants_{0}, launches_{0}, zeroed_{0}, {{{4}{5}}}, {6}, {7}, {8}, {9}}},\n",
                arch, with_prefix(image_name(design), prefix), design.kernels.size(), regions, first, count, offset("status"),
                offset("log_determinant"), offset("quadratic"), offset("range"))};
}

std::string all_tables(const GpuExport& project) {
    const auto& prefix = project.request.prefix;
    std::string text = "/* clang-format off */\n", programs;
    for (const auto& design : project.designs) {
        const auto tables = tables_of(design, prefix);
        text += tables.text;
        programs += tables.program;
    }
    return text + with_prefix("\nstatic const struct btd_program programs[] = {\n", prefix) + programs + "};\n/* clang-format on */\n";
}

}  // namespace

std::string gpu_header(const GpuExport& project) {
    const auto include = project.backend() == Backend::hip ? "hip/hip_runtime_api.h" : "cuda.h";
    const auto text =
        sizes(project) + piece(fmt::format("driver_{}.h", project.backend_name())) + "\n" + piece("api.h") + image_declarations(project);
    return with_prefix(header_file(header_comment(project), fmt::format("#include <{}>\n", include), "", "", text), project.request.prefix);
}

std::string gpu_source(const GpuExport& project) {
    const auto before = fmt::format(
        "/* See btd_solver.h. C99, and C++ as well: no recursion, no heap, nothing global that is written. */\n"
        "#include \"btd_solver.h\"\n\n"
        "#include <stdint.h>\n"
        "#include <string.h>\n\n"
        "/* clang-format off */\n{}/* clang-format on */\n\n{}\n{}\n{}\n",
        paste({"tridiagonal_args.h"}, Platform::none),
        filled(piece("driver.c"), {{"API", project.backend() == Backend::hip ? "hip" : "cu"}}),
        piece(fmt::format("driver_{}.c", project.backend_name())), piece("tables.c"));
    const auto& prefix = project.request.prefix;
    return with_prefix(before, prefix) + all_tables(project) + "\n" + with_prefix(piece("launcher.c"), prefix);
}

std::string gpu_example(const GpuExport& project) {
    const auto text = fmt::format(
        "/* Solves a problem, checks X in double precision, and takes the time of a call. */\n"
        "#include <math.h>\n"
        "#include <stdint.h>\n"
        "#include <stdio.h>\n"
        "#include <stdlib.h>\n\n"
        "#include \"btd_solver.h\"\n\n"
        "static const double tolerance = {};\n\n"
        "/* Element (r, c) of block i of D, and of E. */\n"
        "#define BTD_D(i, r, c) (((i) * BTD_BLOCK + (r)) * BTD_BLOCK + (c))\n"
        "#define BTD_E BTD_D\n\n"
        "/* ---- the check ---- */\n\n"
        "{}\n{}\n{}",
        is_single(project.spec()) ? "1e-5" : "1e-14", check_of_chain(project.spec()),
        piece(fmt::format("example_{}.c", project.backend_name())), piece("example_main.c"));
    return with_prefix(text, project.request.prefix);
}

std::string embedded(std::string_view arch, std::string_view file, std::string_view bytes) {
    auto text = fmt::format(
        "/* {}; see btd_solver.h. Made by embed.sh. */\n#include \"btd_solver.h\"\n\nconst unsigned long long btd_image_{}[] = {{\n", file,
        arch);
    constexpr std::size_t word_bytes = 8, line_bytes = 16;
    for (std::size_t at = 0; at < bytes.size(); at += word_bytes) {
        std::uint64_t word = 0;  // the last word may lack bytes, which stay zero
        for (std::size_t k = 0; k < word_bytes && at + k < bytes.size(); ++k)
            word |= std::uint64_t{static_cast<unsigned char>(bytes[at + k])} << (8 * k);
        text += fmt::format("0x{:016x}ULL,", word);
        if ((at + word_bytes) % line_bytes == 0 || at + word_bytes >= bytes.size()) text += '\n';
    }
    return text + "};\n";
}

}  // namespace trifold
