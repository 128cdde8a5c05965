#pragma once
// A family of a page, for the tests alone: y = L' (w .* (L x)) for a batch of lower triangular matrices L, n by n, row by row; and an
// iteration that ends by data: y = 3 * 2^-k x, with the first k for which no element of 2^-k x is larger than 0.001. It shows what a family
// has to bring, and that the runtime needs nothing else: units, buffers (one with contents, w), launches and their repetition.
#include <string>
#include <trifold/program.hpp>

#include "generator/program/templates.hpp"

namespace trifold::test {

struct TriangularSpec {
    std::int64_t block = 1, batch = 1;
    std::vector<double> weights;  ///< w, n of them
    std::int64_t max_turns = 30;  ///< of the iteration
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

inline std::string triangular_head(const TriangularSpec& spec, const Program& program, bool gpu) {
    std::string text = gpu ? paste({"gpu/platform.cuh"}, Platform::cuda) : "#define TRIFOLD_DEVICE static\n";
    text +=
        "typedef struct { const double *l, *x; double* y; char* workspace; long long members; } args;\n"
        "typedef struct { long long count; } rows;\n";
    text += "enum { n = " + std::to_string(spec.block) + " };\n";
    for (const auto& item : program.buffers) {
        const std::string type = item.name == "again" ? "long long*" : "double*";
        text += "TRIFOLD_DEVICE " + type + " " + item.name + "_of(const args* a) { return (" + type + ")(a->workspace + " +
                std::to_string(item.offset) + "); }\n";
    }
    return text;
}

/// A kernel: what it is called, and the work of one row of a member.
struct TriangularKernel {
    const char *name, *work;
};
inline constexpr TriangularKernel triangular_kernels[] = {
    {"multiply",
     "    double sum = 0;\n"
     "    for (int c = 0; c <= r; ++c) sum += a->l[(m * n + r) * n + c] * a->x[m * n + c];\n"
     "    product_of(a)[m * n + r] = weights_of(a)[r] * sum;\n"},
    {"multiply_transposed",
     "    double sum = 0;\n"
     "    for (int c = r; c < n; ++c) sum += a->l[(m * n + c) * n + r] * product_of(a)[m * n + c];\n"
     "    a->y[m * n + r] = sum;\n"},
    {"begin",
     "    a->y[m * n + r] = a->x[m * n + r];\n"
     "    if (m == 0 && r == 0) again_of(a)[0] = 1;\n"},
    {"halve", "    if (again_of(a)[0] != 0) a->y[m * n + r] *= 0.5;\n"},
    {"look",
     "    if (again_of(a)[0] == 0 || m != 0 || r != 0) return;\n"
     "    int large = 0;\n"
     "    for (long long k = 0; k < a->members * n; ++k) large |= a->y[k] > 0.001 || a->y[k] < -0.001;\n"
     "    again_of(a)[0] = large;\n"},
    {"triple", "    a->y[m * n + r] *= 3;\n"}};

/// The kernel around the work: groups of `count` rows by members.
inline std::string triangular_text(const TriangularKernel& kernel, const std::string& name, bool gpu) {
    const std::string work = "TRIFOLD_DEVICE void work(const args* a, long long m, int r) {\n" + std::string(kernel.work) + "}\n";
    if (gpu)
        return work + "TRIFOLD_KERNEL(32, 1) void " + name +
               "(TRIFOLD_PARAMETER args a, TRIFOLD_PARAMETER rows r) {\n"
               "    for (long long k = group_x() * r.count + thread_index(); k < (group_x() + 1) * r.count && k < n; k += 32)\n"
               "        work(&a, group_y(), (int)k);\n}\n";
    return work + "void " + name +
           "(const args* a, const rows* r, long long first, long long last, void* scratch) {\n"
           "    const long long groups = (n + r->count - 1) / r->count;\n"
           "    (void)scratch;\n"
           "    for (long long task = first; task < last; ++task)\n"
           "        for (long long k = task % groups * r->count; k < (task % groups + 1) * r->count && k < n; ++k)\n"
           "            work(a, task / groups, (int)k);\n}\n";
}

inline Program generate_triangular(const TriangularSpec& spec, const Target& target, int workers = 1, std::int64_t rows_of_a_group = 3) {
    const bool gpu = target.backend != Backend::cpu;
    Program program;
    program.id = "7e57";
    program.workers = workers;
    const auto add_buffer = [&](const char* name, std::int64_t numbers, std::string contents) {
        program.buffers.push_back({name, program.workspace_bytes, 8 * numbers, false, std::move(contents)});
        program.workspace_bytes = round_up(program.workspace_bytes + 8 * numbers, workspace_alignment);
    };
    add_buffer("weights", spec.block, {reinterpret_cast<const char*>(spec.weights.data()), 8 * spec.weights.size()});
    add_buffer("again", 2, {});
    add_buffer("product", spec.block * spec.batch, {});
    const TriangularRows rows{rows_of_a_group};
    const auto add_launch = [&](const char* operation, bool waits) {
        const auto& kernel = triangular_kernels[program.units.size()];
        const auto name = std::string("test_") + kernel.name + "_7e57";
        Launch launch;
        launch.unit = program.units.size();
        launch.grid = {(spec.block + rows_of_a_group - 1) / rows_of_a_group, 1};
        launch.constants.assign(reinterpret_cast<const char*>(&rows), sizeof rows);
        auto& launches = program.operations[operation];
        if (waits) launch.after = {launches.size() - 1};
        launch.what = name;
        launches.push_back(std::move(launch));
        Unit unit{target, name, {{name, gpu ? 32 : 1}}, {}, {}};
        if (gpu)
            unit.options = {"-arch=" + target.arch, "-std=c++17"};
        else
            unit.options = {"-std=gnu11", "-O1"};
        unit.source = triangular_head(spec, program, gpu) + triangular_text(kernel, name, gpu);
        program.units.push_back(std::move(unit));
    };
    add_launch("apply", false);
    add_launch("apply", true);
    add_launch("shrink", false);
    add_launch("shrink", false);
    add_launch("shrink", true);
    add_launch("shrink", true);
    program.repeats["shrink"] = {
        {.first = 1, .count = 2, .most = spec.max_turns, .look = 3, .flag = "again", .unit = program.units.size()}};
    if (target.backend == Backend::cuda) program.units.push_back(repeat_unit(target));
    return program;
}

}  // namespace trifold::test
