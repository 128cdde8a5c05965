#include <fmt/ranges.h>

#include <regex>
#include <trifold/generate.hpp>
#include <trifold/grid_spec.hpp>

#include "generator/export/c99/export.hpp"
#include "generator/export/gpu/export.hpp"
#include "generator/program/sha256.hpp"
#include "generator/sparse/generate.hpp"
#include "tests/support/test.hpp"

using namespace trifold;

namespace {

/// How much of an output stands in generated/: the text, its outline, or nothing. Of the latter two hashes.txt has the SHA-256.
enum class Kept { whole, outline, hash };

struct Output {
    std::filesystem::path name;
    std::string text;
    Kept kept = Kept::hash;
    std::string outline = {};
};

/// The lines up to the first template, the names of the templates, and the kernels.
std::string outline_of(const Unit& unit) {
    static const std::regex marker(R"(/\* ---- [a-z0-9_/]+\.(c|h|cuh) ---- \*/)");
    std::istringstream lines(unit.source);
    std::string text;
    bool in_header = true;
    for (std::string line; std::getline(lines, line);) {
        const bool marks = std::regex_match(line, marker);
        in_header &= !marks;
        if (in_header || marks) text += line + "\n";
    }
    text += fmt::format("\noptions: {}\n", fmt::join(unit.options, " "));
    for (const auto& kernel : unit.kernels)
        text += unit.target.backend == Backend::cpu
                    ? fmt::format("kernel {}\n", kernel.name)
                    : fmt::format("kernel {}: {} threads, {} bytes of shared memory\n", kernel.name, kernel.threads, kernel.shared_bytes);
    return text;
}

struct GoldenUnit {
    const char* file;
    Spec spec;
    Target target;
    Tuning tuning;
};

// Each is a different way through the generator.
const GoldenUnit golden_units[] = {
    {"cpu_n4_N8_f64.c", {.block = 4, .horizon = 8}, {Backend::cpu, "x86-64-v3"}, {.schedule = "twisted:2"}},
    {"cpu_n6_N20_f32_batch16.c",
     {.block = 6, .horizon = 20, .precision = Precision::f32, .batch = 16},
     {Backend::cpu, "x86-64-v3"},
     {.schedule = "sequential", .variant = "lanes"}},
    {"cpu_n3_N128_f64.c", {.block = 3, .horizon = 128}, {Backend::cpu, "x86-64-v4"}, {}},
    {"cuda_n8_N16_f32.cu", {.block = 8, .horizon = 16, .precision = Precision::f32}, {Backend::cuda, "sm_90"}, {.schedule = "multi-stage"}},
};

struct GoldenGrid {
    const char* stem;
    const char* extension;
    GridSpec spec;
    Target target;
};

// Images whose last levels are shared by the whole device: factor and solve have a unit each on a GPU.
const GoldenGrid golden_grids[] = {
    {"cpu_grid_33x17_f64",
     "c",
     {.width = 33, .height = 17, .operations = {GridOperation::factor, GridOperation::solve}},
     {Backend::cpu, "x86-64-v3"}},
    {"cuda_grid_129x65_f32",
     "cu",
     {.width = 129, .height = 65, .precision = Precision::f32, .operations = {GridOperation::factor, GridOperation::solve}},
     {Backend::cuda, "sm_90"}},
};

struct GoldenSparse {
    const char* file;
    SparseSpec spec;
    Target target;
};

// Kernels of sparse systems serve every pattern. All three methods, a factorization without L and U of its own, mixed precision, and a
// solution in one launch.
const GoldenSparse golden_sparse[] = {
    {"cpu_sparse_b3_f64.c", {.block = 3}, {Backend::cpu, "x86-64-v3"}},
    {"cuda_sparse_b3_mixed.cu", {.block = 3, .precision = Precision::mixed, .method = SparseMethod::gmres}, {Backend::cuda, "sm_90"}},
    {"cuda_sparse_b3_f64.cu", {.block = 3}, {Backend::cuda, "sm_90"}},
    {"hip_sparse_b1_f32.hip",
     {.precision = Precision::f32, .preconditioner = SparsePreconditioner::dilu, .method = SparseMethod::cg},
     {Backend::hip, "gfx942"}},
};

struct GoldenExport {
    const char* folder;
    ExportRequest request;
};

/// Two blocks of two, with ones between them.
const Prefactored small_matrix{.d = {4, 1, 1, 3, 5, 1, 1, 4}, .e = {1, 0, 0, 1}, .shifts = {0.1, 1}};

// A model predictive controller of a mass with position and speed; one of a drone's size, a Kalman smoother, a matrix factored ahead for
// two shifts, a gait with two shared parameters, blocks of several sizes with one, and three chains for three cores.
const GoldenExport golden_exports[] = {
    {"c99_n2_N20_f32",
     {.spec = {.block = 2, .horizon = 20, .precision = Precision::f32}, .target = {Backend::c99, "cortex-m7"}, .prefix = "mpc"}},
    {"c99_n12_N20_f32",
     {.spec = {.block = 12, .horizon = 20, .precision = Precision::f32}, .target = {Backend::c99, "cortex-m7"}, .prefix = "mpc"}},
    {"c99_n6_N64_f64", {.spec = {.block = 6, .horizon = 64}, .target = {Backend::c99, "generic"}, .prefix = "kalman"}},
    {"c99_n2_N2_f32_prefactored",
     {.spec = {.block = 2, .horizon = 2, .precision = Precision::f32},
      .target = {Backend::c99, "cortex-m4"},
      .prefix = "admm",
      .prefactored = small_matrix}},
    {"c99_n4_N5_f32_ring_border",
     {.spec = {.block = 4, .horizon = 5, .precision = Precision::f32, .ring = true, .border = 2},
      .target = {Backend::c99, "cortex-m7"},
      .prefix = "gait"}},
    {"c99_n3_N4_f64_border_sizes",
     {.spec = {.block = 3, .horizon = 4, .border = 1, .sizes = true}, .target = {Backend::c99, "generic"}, .prefix = "mpc"}},
    {"c99_n4_N11_f64_partitioned",
     {.spec = {.block = 4, .horizon = 11}, .target = {Backend::c99, "generic"}, .prefix = "estimator", .schedule = "partitioned:3"}},
};

// Controllers for a Jetson, without compiled kernels.
GpuExportRequest golden_gpu_export(std::int64_t block, std::int64_t horizon, std::int64_t batch) {
    GpuExportRequest request;
    request.spec = {.block = block, .horizon = horizon, .precision = Precision::f32, .batch = batch, .operations = export_operations()};
    request.targets = {{Backend::cuda, "sm_87"}};
    request.prefix = "mpc";
    return request;
}

// A text and an outline to be read.
const std::map<std::filesystem::path, Kept> golden_to_read = {{"c99_n2_N20_f32/mpc_solver.c", Kept::whole},
                                                              {"cuda_grid_129x65_f32_0.cu", Kept::outline}};

std::vector<Output> golden_outputs() {
    std::vector<Output> outputs;
    const auto kept = [](const std::filesystem::path& name) {
        const auto found = golden_to_read.find(name);
        return found == golden_to_read.end() ? Kept::hash : found->second;
    };
    const auto add_unit = [&](const std::string& name, const Unit& unit) {
        outputs.push_back({name, unit.source, kept(name), outline_of(unit)});
    };
    const auto add_project = [&](const std::filesystem::path& folder, const std::vector<ExportedFile>& files) {
        for (const auto& file : files) outputs.push_back({folder / file.name, file.text, kept(folder / file.name)});
    };
    for (const auto& [file, spec, target, tuning] : golden_units)
        add_unit(file, generate(spec, target, tuning, Packing::together).units.front());
    for (const auto& [stem, extension, spec, target] : golden_grids) {
        const auto units = generate(spec, target).units;
        for (std::size_t k = 0; k < units.size(); ++k)
            add_unit(fmt::format("{}{}.{}", stem, units.size() > 1 ? fmt::format("_{}", k) : "", extension), units[k]);
    }
    const SparsePattern mesh(SparseMesh{4, 4, 4, 7});
    for (const auto& [file, spec, target] : golden_sparse) {
        const auto arrangement = sparse::arrange(mesh, sparse::whole(mesh), spec.preconditioner);
        add_unit(file, sparse::generate(spec, target, {}, mesh, arrangement).program.units.front());
    }
    for (const auto& [folder, request] : golden_exports) add_project(folder, export_project(request));
    add_project("cuda_n6_N10_f32_batch256", export_gpu_project(golden_gpu_export(6, 10, 256)));
    add_project("cuda_n12_N20_f32", export_gpu_project(golden_gpu_export(12, 20, 1)));
    return outputs;
}

void write(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

const std::filesystem::path golden_folder(GOLDEN_DIRECTORY);
const std::filesystem::path hashes("hashes.txt");

/// The files that generated/ must hold, but for its README. hashes.txt is as sha256sum writes it.
std::map<std::filesystem::path, std::string> golden_files(const std::vector<Output>& outputs) {
    std::map<std::filesystem::path, std::string> files;
    for (const auto& [name, text, kept, outline] : outputs) {
        if (kept == Kept::whole) files[name] = text;
        if (kept == Kept::outline) files["outlines" / name] = outline;
        if (kept != Kept::whole) files[hashes] += fmt::format("{}  {}\n", sha256(text), name.string());
    }
    return files;
}

std::set<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::set<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.insert(line);
    return lines;
}

constexpr std::string_view advice =
    "run tools/golden, and read the difference: of what is kept in full in git, of the rest by tools/golden --diff";

void check_hashes(const std::string& held, const std::string& made) {
    const auto before = lines_of(held);
    for (const auto& line : lines_of(made))
        CHECK_MESSAGE(before.contains(line), "generated/hashes.txt lacks " << line << ": the generator makes another text now; " << advice);
    CHECK_MESSAGE((held == made), "generated/hashes.txt is not what the generator makes; " << advice);
}

}  // namespace

TEST_CASE("golden sources are what the generator makes") {
    const auto outputs = golden_outputs();
    const auto files = golden_files(outputs);
    // tools/golden alone sets these two.
    if (std::getenv("TRIFOLD_REFRESH_GOLDEN") != nullptr)
        for (const auto& [name, text] : files) write(golden_folder / name, text);
    if (const char* folder = std::getenv("TRIFOLD_GOLDEN_TEXTS"))
        for (const auto& output : outputs) write(folder / output.name, output.text);
    for (const auto& [name, text] : files) {
        const auto held = read_text(golden_folder / name);
        if (name == hashes)
            check_hashes(held, text);
        else
            CHECK_MESSAGE((held == text), "generated/" << name.string() << " is not what the generator makes; " << advice);
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(golden_folder)) {
        const auto name = std::filesystem::relative(entry.path(), golden_folder);
        if (entry.is_regular_file())
            CHECK_MESSAGE((name == "README.md" || files.contains(name)), "nothing makes generated/" << name.string());
    }
}

TEST_CASE("an outline keeps constants, template names and kernels, and no code") {
    const auto unit = generate(Spec{.block = 4, .horizon = 8}, {Backend::cpu, "x86-64-v3"}, {}, Packing::together).units.front();
    const auto outline = outline_of(unit);
    CHECK(says(outline, "#define TRIFOLD_BLOCK 4\n", "/* ---- cpu/tridiagonal/common.c ---- */\n"));
    for (const auto& kernel : unit.kernels) CHECK(says(outline, "kernel " + kernel.name + "\n"));
    CHECK(!says(outline, "/* ---- lanes ---- */"));  // a title within a template
    CHECK(!says(outline, "static "));
    CHECK(10 * std::ranges::count(outline, '\n') < std::ranges::count(unit.source, '\n'));
}
