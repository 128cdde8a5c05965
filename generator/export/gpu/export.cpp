#include "generator/export/gpu/export.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <trifold/cost.hpp>
#include <trifold/error.hpp>

#include "generator/export/gpu/parts.hpp"
#include "generator/export/text.hpp"
#include "generator/program/templates.hpp"
#include "generator/program/words.hpp"

namespace trifold {
namespace {

void check_layout(const Spec& spec) {
    const Spec plain{.block = spec.block,
                     .horizon = spec.horizon,
                     .precision = spec.precision,
                     .rhs = spec.rhs,
                     .batch = spec.batch,
                     .operations = spec.operations};
    if (spec == plain) return;
    throw SpecError(
        "an exported solver takes dense, row-major arrays with the lower coupling; leave order, coupling, strides and shapes out");
}

void check_operations(const Operations& operations) {
    const auto has = [&](Operation operation) { return operations.contains(operation); };
    for (const auto none : {Operation::refine, Operation::load})
        if (has(none))
            throw SpecError(fmt::format("an exported solver of GPUs has no {}; leave it out of the operations", to_string(none)));
    if (has(Operation::factor_solve) || (has(Operation::factor) && has(Operation::solve))) return;
    throw SpecError(
        fmt::format("operations {} solve nothing; an exported solver has factor_solve, or factor and solve", to_string(operations)));
}

/// The exported code counts these with C's int.
void check_export_sizes(const Spec& spec) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    for (const auto& [value, what] : {std::pair{spec.horizon, "horizon N"}, {spec.batch, "batch"}, {spec.rhs, "rhs"}})
        if (value > most) throw SpecError(fmt::format("{} = {} is out of range for export; give at most {}", what, value, most));
}

/// HIP counts threads of a grid, with 32 bits; both count 65535 groups of systems.
void check_grids(const Design& design) {
    const auto& spec = design.spec;
    for (const auto& [operation, launches] : design.operations) {
        for (const auto& launch : launches) {
            const auto& shape = design.kernels[launch.kernel].shape;
            const auto threads = design.target.backend == Backend::hip ? shape.threads : 1;
            if (checked_multiply(groups_of(design, launch), threads, "threads of a grid") > std::numeric_limits<std::int32_t>::max() ||
                (spec.batch - 1) / shape.members_per_task >= 65535)
                throw SpecError(fmt::format("schedule {} with N = {} and a batch of {} is too large for one launch on {}",
                                            design.schedule.name, spec.horizon, spec.batch, to_string(design.target)));
        }
    }
}

void check(const GpuExportRequest& request, const std::vector<KernelCode>& code) {
    validate(request.spec);
    if (request.spec.precision == Precision::mixed) throw SpecError("an exported solver has no mixed precision; give precision f32 or f64");
    check_layout(request.spec);
    check_operations(request.spec.operations);
    check_export_sizes(request.spec);
    check_prefix(request.prefix);
    if (request.targets.empty()) throw SpecError("there is no target to export for; give one, such as cuda:sm_87");
    if (!code.empty() && code.size() != request.targets.size())
        throw SpecError(
            fmt::format("{} compiled kernels were given for {} targets; give one for each", code.size(), request.targets.size()));
}

/// Throws SpecError.
std::vector<Design> designs_of(const GpuExportRequest& request) {
    std::vector<Design> designs;
    for (const auto& target : request.targets) {
        designs.push_back(design(with_literal_sizes(choose(request.spec, target, request.tuning))));
        check_grids(designs.back());
    }
    return designs;
}

/// The command that makes the project again. It leaves out options with their usual values.
std::string command_of(const GpuExportRequest& request, bool has_images) {
    const auto& spec = request.spec;
    auto text = fmt::format("trifold export --block {} --horizon {} --precision {}", spec.block, spec.horizon, to_string(spec.precision));
    if (spec.rhs != 1) text += fmt::format(" --rhs {}", spec.rhs);
    if (spec.batch != 1) text += fmt::format(" --batch {}", spec.batch);
    if (spec.operations != export_operations()) text += " --operations " + to_string(spec.operations);
    if (request.tuning.schedule != "auto") text += " --schedule " + request.tuning.schedule;
    if (request.tuning.variant != "auto") text += " --variant " + request.tuning.variant;
    text += fmt::format(" --target {} --prefix {}", targets_text(request), request.prefix);
    return has_images ? text : text + " --no-binaries";
}

/// Endings of the names of files with kernels.
std::string_view source_suffix(Backend backend) { return backend == Backend::hip ? "hip" : "cu"; }
std::string_view binary_suffix(Backend backend) { return backend == Backend::hip ? "hsaco" : "cubin"; }

std::string kernel_file(std::string_view prefix, const Target& target, std::string_view suffix) {
    return fmt::format("{}_kernels_{}.{}", prefix, target.arch, suffix);
}

Values values_of(const GpuExport& project) {
    const auto& spec = project.spec();
    const bool on_hip = project.backend() == Backend::hip;
    std::vector<std::string> archs;
    for (const auto& target : project.request.targets) archs.push_back(target.arch);
    const auto file = [&](const char* suffix) {
        return std::string(template_text(fmt::format("export/gpu/paths_{}.{}", project.backend_name(), suffix)));
    };
    auto values = common_values(spec, targets_text(project.request), project.command);
    values.merge(Values{{"PATHS", file("mk")},
                        {"CMAKE_PATHS", file("cmake")},
                        {"ARCHS", fmt::format("{}", fmt::join(archs, " "))},
                        {"SOURCE", std::string(source_suffix(project.backend()))},
                        {"BINARY", std::string(binary_suffix(project.backend()))},
                        {"BATCH", fmt::format("{}", spec.batch)},
                        {"OPERATIONS", to_string(spec.operations)},
                        {"MISSING", project.code.empty() ? "; not there yet: the build makes them" : ""},
                        {"FACTS", project.code.empty() ? "" : ", and the registers, shared memory, spills and code of each kernel"},
                        {"DRIVER", on_hip ? "HIP's module and graph calls (`libamdhip64`)" : "CUDA's driver (`libcuda`)"},
                        {"README_BUILD", std::string(template_text(fmt::format("export/gpu/readme_{}.md", project.backend_name())))},
                        {"WORKSPACE", fmt::format("{}", project.workspace_bytes())}});
    return values;
}

/// Adds the kernels as they are, by their own names.
void add_kernels(const GpuExport& project, std::vector<ExportedFile>& files) {
    const auto& prefix = project.request.prefix;
    for (std::size_t k = 0; k < project.designs.size(); ++k) {
        const auto& design = project.designs[k];
        const auto file = [&](std::string_view suffix) { return kernel_file(prefix, design.target, suffix); };
        files.push_back({file(source_suffix(project.backend())), write_down(design, Packing::together).units.front().source});
        if (project.code.empty()) continue;
        const auto& bytes = project.code[k].bytes;
        const auto binary = file(binary_suffix(project.backend()));
        files.push_back({binary, bytes});
        files.push_back({file("c"), with_prefix(embedded(design.target.arch, binary, bytes), prefix)});
    }
}

}  // namespace

std::int64_t nominal_factor_flops(const Design& design) {
    return static_cast<std::int64_t>(cost(design.schedule, design.spec, 1).total.flops(design.spec.block));
}

std::int64_t nominal_solve_flops(const Design& design) {
    const auto& spec = design.spec;
    const auto panels = cost(design.schedule, spec, 1).total.trsm;
    return 2 * spec.rhs * spec.block * spec.block * (spec.horizon + 2 * panels);
}

std::string targets_text(const GpuExportRequest& request) {
    std::string text;
    for (const auto& target : request.targets) text += text.empty() ? to_string(target) : "," + target.arch;
    return text;
}

Operations export_operations() { return {Operation::factor, Operation::solve, Operation::factor_solve}; }

bool is_gpu_export(std::string_view targets) {
    const auto backend = targets.substr(0, targets.find(':'));
    return backend == "cuda" || backend == "hip";
}

std::vector<Target> parse_gpu_targets(std::string_view text) {
    const auto backend = text.substr(0, text.find(':'));
    std::vector<Target> result;
    for (const auto part : split(text, ',')) {
        const bool named = part.find(':') != std::string_view::npos || result.empty();
        const auto target = parse_target(named ? std::string(part) : fmt::format("{}:{}", backend, part));
        if (to_string(target.backend) != backend)
            throw SpecError(fmt::format("target '{}' mixes {} and {}; export once for each", text, backend, to_string(target.backend)));
        if (std::ranges::find(result, target) != result.end())
            throw SpecError(fmt::format("target '{}' names {} twice; give each architecture once", text, target.arch));
        result.push_back(target);
    }
    return result;
}

std::vector<Program> gpu_export_programs(const GpuExportRequest& request) {
    check(request, {});
    std::vector<Program> programs;
    for (const auto& design : designs_of(request)) programs.push_back(write_down(design, Packing::together));
    return programs;
}

std::vector<ExportedFile> export_gpu_project(const GpuExportRequest& request, const std::vector<KernelCode>& code) {
    check(request, code);
    const GpuExport project{request, designs_of(request), code, command_of(request, !code.empty())};
    const auto& prefix = request.prefix;
    std::vector<ExportedFile> files{
        {prefix + "_solver.h", gpu_header(project)}, {prefix + "_solver.c", gpu_source(project)}, {"example_main.c", gpu_example(project)}};
    const auto values = values_of(project);
    for (const std::string name : {"CMakeLists.txt", "Makefile", "README.md", "embed.sh"})
        files.push_back({name, with_prefix(filled(template_text("export/gpu/" + name), values), prefix)});
    add_kernels(project, files);
    files.push_back({"manifest.json", gpu_manifest(project, files)});
    return files;
}

}  // namespace trifold
