#pragma once
// A family of a page, for the tests alone: y = L' (w .* (L x)) for a batch of lower triangular matrices L, n by n, row by row. It shows
// what a family has to bring, and that the runtime needs nothing else: units, buffers (one with contents, w) and launches.
#include <string>
#include <trifold/program.hpp>

#include "generator/program/templates.hpp"

namespace trifold::test {

struct TriangularSpec {
    std::int64_t block = 1, batch = 1;
    std::vector<double> weights;  ///< w, n of them
};

/// What a call gives to kernels; their text has its own copy.
struct TriangularArgs {
    const double *l, *x;
    double* y;
    char* workspace;
    long long members;
};

/// What a launch gives: rows of a task.
struct TriangularRows {
    long long count;
};

inline std::string triangular_text(const TriangularSpec& spec, const Program& program, bool gpu) {
    std::string text = gpu ? paste({"gpu/platform.cuh"}, Platform::cuda) : "#define TRIFOLD_DEVICE static\n";
    text +=
        "typedef struct { const double *l, *x; double* y; char* workspace; long long members; } args;\n"
        "typedef struct { long long count; } rows;\n";
    text += "enum { n = " + std::to_string(spec.block) + " };\n";
    for (const auto& item : program.buffers)
        text += "TRIFOLD_DEVICE double* " + item.name + "_of(const args* a) { return (double*)(a->workspace + " +
                std::to_string(item.offset) + "); }\n";
    return text;
}

/// Row r of w .* (L x), and of L' times that.
inline constexpr const char* triangular_rows[] = {
    "TRIFOLD_DEVICE void work(const args* a, long long m, int r) {\n"
    "    double sum = 0;\n"
    "    for (int c = 0; c <= r; ++c) sum += a->l[(m * n + r) * n + c] * a->x[m * n + c];\n"
    "    product_of(a)[m * n + r] = weights_of(a)[r] * sum;\n}\n",
    "TRIFOLD_DEVICE void work(const args* a, long long m, int r) {\n"
    "    double sum = 0;\n"
    "    for (int c = r; c < n; ++c) sum += a->l[(m * n + c) * n + r] * product_of(a)[m * n + c];\n"
    "    a->y[m * n + r] = sum;\n}\n"};

/// The kernel around work(): groups of `count` rows by members.
inline std::string triangular_kernel(const std::string& name, bool gpu) {
    if (gpu)
        return "TRIFOLD_KERNEL(32, 1) void " + name +
               "(TRIFOLD_PARAMETER args a, TRIFOLD_PARAMETER rows r) {\n"
               "    for (long long k = group_x() * r.count + thread_index(); k < (group_x() + 1) * r.count && k < n; k += 32)\n"
               "        work(&a, group_y(), (int)k);\n}\n";
    return "void " + name +
           "(const args* a, const rows* r, long long first, long long last, void* scratch) {\n"
           "    const long long groups = (n + r->count - 1) / r->count;\n"
           "    (void)scratch;\n"
           "    for (long long task = first; task < last; ++task)\n"
           "        for (long long k = task % groups * r->count; k < (task % groups + 1) * r->count && k < n; ++k)\n"
           "            work(a, task / groups, (int)k);\n}\n";
}

inline Program generate_triangular(const TriangularSpec& spec, const Target& target, int workers = 1) {
    constexpr std::int64_t rows_of_a_group = 3;
    const bool gpu = target.backend != Backend::cpu;
    Program program;
    program.id = "7e57";
    program.workers = workers;
    const auto add_buffer = [&](const char* name, std::int64_t doubles, std::string contents) {
        program.buffers.push_back({name, program.workspace_bytes, 8 * doubles, false, std::move(contents)});
        program.workspace_bytes = round_up(program.workspace_bytes + 8 * doubles, workspace_alignment);
    };
    add_buffer("weights", spec.block, {reinterpret_cast<const char*>(spec.weights.data()), 8 * spec.weights.size()});
    add_buffer("product", spec.block * spec.batch, {});
    const TriangularRows rows{rows_of_a_group};
    for (std::size_t k = 0; k < 2; ++k) {
        const std::string name = k == 0 ? "test_multiply_7e57" : "test_multiply_transposed_7e57";
        Unit unit{target, name, {{name, gpu ? 32 : 1}}, {}, {}};
        if (!gpu) unit.options = {"-std=gnu11", "-O1"};
        unit.source = triangular_text(spec, program, gpu) + triangular_rows[k] + triangular_kernel(name, gpu);
        program.units.push_back(std::move(unit));
        Launch launch;
        launch.unit = k;
        launch.grid = {(spec.block + rows_of_a_group - 1) / rows_of_a_group, 1};
        launch.constants.assign(reinterpret_cast<const char*>(&rows), sizeof rows);
        if (k > 0) launch.after = {k - 1};
        launch.what = name;
        program.operations["apply"].push_back(std::move(launch));
    }
    return program;
}

}  // namespace trifold::test
