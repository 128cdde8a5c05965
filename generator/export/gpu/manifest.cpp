#include <nlohmann/json.hpp>
#include <trifold/cost.hpp>

#include "generator/export/gpu/parts.hpp"

namespace trifold {
namespace {

using Json = nlohmann::ordered_json;

/// -1 stands for what the compiler did not say.
void add_known(Json& json, const char* name, std::int64_t value) {
    if (value >= 0) json[name] = value;
}

Json kernel_json(const PhaseKernel& kernel, const KernelResources* resources) {
    Json json{{"name", kernel.name},
              {"phase", to_string(kernel.phase)},
              {"threads", kernel.shape.threads},
              {"dynamic_shared_bytes", kernel.shape.shared_bytes},
              {"systems_of_a_thread_block", kernel.shape.members_per_task}};
    if (resources == nullptr) return json;
    add_known(json, "registers", resources->registers);
    add_known(json, "scalar_registers", resources->scalar_registers);
    add_known(json, "matrix_registers", resources->matrix_registers);
    add_known(json, "static_shared_bytes", resources->shared_bytes);
    add_known(json, "spill_bytes", resources->spill_bytes);
    add_known(json, "code_bytes", resources->code_bytes);
    return json;
}

Json operations_json(const Design& design) {
    Json json;
    for (const auto& [operation, launches] : design.operations) {
        std::int64_t groups = 0;
        for (const auto& launch : launches) groups += groups_of(design, launch);
        json[std::string(to_string(operation))] = {{"launches", launches.size()}, {"thread_blocks_of_a_system", groups}};
    }
    return json;
}

Json program_json(const GpuExport& project, std::size_t index) {
    const auto& design = project.designs[index];
    const auto costs = cost(design.schedule, design.spec, 1);
    const auto cube = design.spec.block * design.spec.block * design.spec.block;
    Json json{{"target", to_string(design.target)},
              {"schedule", design.schedule.name},
              {"variant", design.variant},
              {"levels", design.schedule.levels.size()},
              {"workspace_bytes", design.workspace_bytes},
              {"nominal_flops_of_a_system", {{"factor", nominal_factor_flops(design)}, {"solve", nominal_solve_flops(design)}}},
              {"bytes_a_factorization_moves_of_a_system", costs.bytes},
              {"operations", operations_json(design)}};
    std::int64_t longest = 0;
    for (const auto& level : costs.levels) longest += level.longest_thirds;
    json["flops_of_the_longest_path"] = longest * cube / 3;
    const auto* compiled = project.code.empty() ? nullptr : &project.code[index];
    if (compiled != nullptr) json["compiler"] = compiled->compiler;
    if (compiled != nullptr) json["image_bytes"] = compiled->bytes.size();
    for (const auto& kernel : design.kernels) {
        const KernelResources* found = nullptr;
        if (compiled != nullptr)
            for (const auto& resources : compiled->kernels)
                if (resources.kernel == kernel.name) found = &resources;
        json["kernels"].push_back(kernel_json(kernel, found));
    }
    return json;
}

Json bytes_json(const GpuExport& project) {
    const auto bytes = array_bytes(project.spec());
    return {{"d", bytes.d},
            {"e", bytes.e},
            {"b", bytes.b},
            {"x", bytes.b},
            {"workspace", project.workspace_bytes()},
            {"host_stack_at_most", project.backend() == Backend::hip ? 8192 : 4608}};
}

}  // namespace

std::string gpu_manifest(const GpuExport& project, const std::vector<ExportedFile>& files) {
    const auto& spec = project.spec();
    auto names = Json::array(), programs = Json::array();
    for (const auto& file : files) names.push_back(file.name);
    names.push_back("manifest.json");
    for (std::size_t k = 0; k < project.designs.size(); ++k) programs.push_back(program_json(project, k));
    const Json manifest{{"command", project.command},
                        {"target", targets_text(project.request)},
                        {"prefix", project.request.prefix},
                        {"block", spec.block},
                        {"horizon", spec.horizon},
                        {"rhs", spec.rhs},
                        {"batch", spec.batch},
                        {"precision", to_string(spec.precision)},
                        {"files", names},
                        {"bytes", bytes_json(project)},
                        {"programs", programs},
                        {"work_depends_on", "the sizes alone; masked systems and a call of fewer do less"},
                        {"recursion", false},
                        {"heap", false},
                        {"numerics",
                         {{"rounding", "to nearest; sums fuse products, in an order that the binary fixes"},
                          {"same_bits", "on every run of one binary, whatever the other systems of the batch are"},
                          {"pivot", "passes if 0 < d <= largest finite"},
                          {"denormals", "used as they are"}}}};
    return manifest.dump(2) + "\n";
}

}  // namespace trifold
