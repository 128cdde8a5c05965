#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "generator/export/c99/parts.hpp"

namespace trifold {
namespace {

using Json = nlohmann::ordered_json;

Json counts_json(const OperationCounts& counts) {
    Json json{{"flops", counts.flops()},
              {"multiply_subtract", counts.multiply_subtract},
              {"multiply", counts.multiply},
              {"divide", counts.divide},
              {"square_root", counts.square_root}};
    if (counts.add > 0) json["add"] = counts.add;
    return json;
}

Json operations_json(const ExportRequest& request, const ExportFacts& facts) {
    if (uses_kernels(request))
        return {{"factor", {{"nominal_flops", facts.factor_flops}}}, {"solve", {{"nominal_flops", facts.solve_flops}}}};
    if (request.prefactored) return {{"solve", counts_json(exported_solve_counts(request))}};
    return {{"factor", counts_json(exported_factor_counts(request))}, {"solve", counts_json(exported_solve_counts(request))}};
}

Json bytes_json(const ExportRequest& request, const ExportFacts& facts) {
    Json bytes;
    if (!request.prefactored) bytes = {{"d", facts.arrays.d}, {"e", facts.arrays.e}};
    if (request.spec.border > 0) bytes["f"] = facts.border_bytes, bytes["c"] = facts.corner_bytes;
    bytes["b"] = facts.arrays.b;
    bytes["x"] = facts.arrays.b;
    if (request.prefactored) {
        bytes["constants"] = facts.table_bytes;
    } else {
        bytes["workspace_with_32_bit_pointers"] = facts.workspace_bytes_32;
        bytes["workspace_with_64_bit_pointers"] = facts.workspace_bytes_64;
    }
    bytes["stack_at_most"] = facts.stack_bytes;
    bytes["code_at_most"] = facts.code_bytes;
    return bytes;
}

/// Adds all about numbers except rounding.
Json numerics_json(const ExportRequest& request, Json numerics) {
    numerics["contraction_of_makefile"] = machine_of(request.target).contract;
    if (request.prefactored) {
        numerics["factors"] = "computed in double precision, then rounded";
        numerics["denormals"] = "used as they are";
    } else {
        numerics["pivot"] = fmt::format("passes if in {}", factor_words(request).at("PIVOTS"));
        numerics["nearly_singular"] = fmt::format("status where a pivot is below 64 {} times {}", factor_words(request).at("EPSILON"),
                                                  factor_words(request).at("RELATIVE_TO"));
        numerics["denormals"] = "used as they are; where the processor flushes them to zero, a pivot that is denormal fails";
    }
    return numerics;
}

Json rounding_json(const ExportRequest& request) {
    if (uses_kernels(request))
        return {{"rounding", "to nearest; sums run in vectors and fuse"},
                {"same_bits_everywhere", "no: they are the compiler's and the target's"}};
    return {{"rounding", "every operation rounds once, to nearest; a multiply-subtract once where the compiler fuses it, else twice"},
            {"same_bits_everywhere", "with -ffp-contract=off and IEEE 754 arithmetic, denormals included"}};
}

/// How to have instructions counted: `make report` writes those of a factorization and of a solve, next to their flops.
Json report_json(const Machine& machine) {
    if (!machine.has_report()) return nullptr;
    return {{"command", "make report"}, {"file", "report.json"}};
}

Json loops_json(const Spec& spec) {
    return {{"blocks", spec.horizon},
            {"rows_or_columns", spec.block},
            {"products_of_a_sum", spec.block},
            {"right_hand_sides", spec.rhs},
            {"elements_of_x", x_elements(spec)}};
}

}  // namespace

std::string export_manifest(const ExportRequest& request, const std::vector<ExportedFile>& files) {
    const auto& spec = request.spec;
    const auto facts = export_facts(request);
    auto names = Json::array();
    for (const auto& file : files) names.push_back(file.name);
    names.push_back("manifest.json");
    const auto& machine = machine_of(request.target);
    Json manifest{{"command", facts.command},
                  {"target", to_string(request.target)},
                  {"prefix", request.prefix},
                  {"block", spec.block},
                  {"horizon", spec.horizon},
                  {"rhs", spec.rhs},
                  {"precision", to_string(spec.precision)},
                  {"order", request.spec.order == Order::row_major ? "row-major" : "column-major"},
                  {"coupling", request.spec.coupling == Coupling::lower ? "lower" : "upper"},
                  {"schedule", request.schedule},
                  {"factorization", to_string(request.factorization)},
                  {"optimize", to_string(request.optimize)},
                  {"files", names},
                  {"bytes", bytes_json(request, facts)},
                  {"operations", operations_json(request, facts)},
                  {"loops_run_at_most", loops_json(spec)},
                  {"instruction_report", report_json(machine)},
                  {"recursion", false},
                  {"heap", false},
                  {"numerics", numerics_json(request, rounding_json(request))}};
    if (has_inertia(spec)) manifest["matrix"] = is_general(spec) ? "general" : "symmetric";
    if (has_shape(spec)) manifest["shape"] = {{"ring", spec.ring}, {"border", spec.border}, {"sizes", spec.sizes}};
    if (request.corrections > 0)
        manifest["refinement"] = {{"corrections", request.corrections},
                                  {"flops_of_a_correction_beside_a_solve", correction_flops(request, false)},
                                  {"with_fused_products", correction_flops(request, true)},
                                  {"bytes_of_residual", facts.arrays.b}};
    if (request.prefactored) manifest["shifts"] = request.prefactored->shifts;
    return manifest.dump(2) + "\n";
}

}  // namespace trifold
