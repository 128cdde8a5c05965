#include "generator/program/templates.hpp"

#include <cctype>
#include <trifold/grid_spec.hpp>
#include <trifold/ranks.hpp>

#include "generator/program/template_folder.hpp"
#include "generator/sparse/generate.hpp"
#include "tests/generator/designs.hpp"
#include "tests/support/test.hpp"

using namespace trifold;

namespace {

const std::map<std::string_view, std::string_view> texts{
    {"a", "/* a */\n#include \"b\"\n#include \"c\"\n\nint a;\n"},
    {"b", "/* b */\n#include \"d\"\nint b;\n"},
    {"c", "/* c\n */\n#include \"d\"\nint c;\n"},
    {"d", "int d;\n"},
    {"titled", "/* titled */\n/* ---- one ---- */\nint one;\n\n/* ---- two ---- */\nint two;\n"},
    {"lost", "#include \"a\"\n#include \"nowhere\"\n"},
    {"first", "#include \"second\"\n"},
    {"second", "#include \"third\"\n"},
    {"third", "#include \"second\"\n"},
    {"kernel", "#include \"gpu/platform.cuh\"\nkernel\n"},
    {"gpu/platform_cuda.cuh", "cuda\n"},
    {"gpu/platform_hip.cuh", "hip\n"},
};

std::string_view read(std::string_view name) {
    const auto found = texts.find(name);
    if (found == texts.end()) throw SpecError(fmt::format("no template named {}", name));
    return found->second;
}

std::string pasted(const std::vector<std::string>& roots, Platform platform = Platform::none) { return paste(roots, platform, read); }

/// Every template that kernels consist of.
std::set<std::string> kernel_templates() {
    std::set<std::string> names{"tridiagonal/mixed.h"};
    for (const auto* folder : {"cpu", "gpu"})
        for (const auto& entry : std::filesystem::recursive_directory_iterator(std::filesystem::path(TEMPLATE_DIRECTORY) / folder))
            if (entry.is_regular_file()) names.insert(std::filesystem::relative(entry.path(), TEMPLATE_DIRECTORY).string());
    return names;
}

/// The units of a Program for each variant, in every way that brings templates of its own: wide levels, an inverse, mixed precision.
std::vector<Unit> units() {
    const Target sm_90{Backend::cuda, "sm_90"}, gfx942{Backend::hip, "gfx942"}, cpu{Backend::cpu, "x86-64-v3"};
    const auto all = all_operations();
    std::vector<Unit> units;
    const auto add = [&](const Spec& spec, const Target& target, const Tuning& tuning) {
        for (auto& unit : generate(spec, target, tuning, Packing::together).units) units.push_back(std::move(unit));
    };
    add({.block = 8, .horizon = 9, .operations = all}, cpu, {.variant = "tile"});
    add({.block = 8, .horizon = 9, .batch = 8, .operations = all}, cpu, {.variant = "lanes"});
    add({.block = 8, .horizon = 9, .operations = all}, cpu, {.variant = "intervals"});
    add({.block = 8, .horizon = 9, .precision = Precision::mixed}, cpu, {.variant = "tile"});
    add({.block = 16, .horizon = 9, .operations = all}, sm_90, {.variant = "fused"});
    add({.block = 16, .horizon = 9, .operations = all}, gfx942, {.variant = "fused"});
    add({.block = 64, .horizon = 9}, sm_90, {.variant = "tiled"});
    add({.block = 65, .horizon = 9, .operations = all}, sm_90, {.variant = "tiled"});
    add({.block = 16, .horizon = 8192}, sm_90, {.schedule = "multi-stage", .variant = "dataflow"});
    add({.block = 16, .horizon = 9, .precision = Precision::mixed}, sm_90, {.schedule = "multi-stage", .variant = "dataflow"});
    add({.block = 8, .horizon = 9}, sm_90, {.schedule = "sequential", .variant = "team"});
    add({.block = 20, .horizon = 9}, sm_90, {.schedule = "sequential", .variant = "chains"});
    add({.block = 128, .horizon = 9, .precision = Precision::f32}, sm_90, {.variant = "tile-dataflow"});
    for (const auto& target : {cpu, sm_90}) add({.block = 8, .horizon = 9, .matrix = MatrixKind::general}, target, {.variant = "getrf"});
    add({.block = 24, .horizon = 9, .matrix = MatrixKind::general}, sm_90, {.variant = "getrf-fused"});
    add({.block = 2, .horizon = 9, .matrix = MatrixKind::general}, sm_90, {.schedule = "sequential", .variant = "getrf-lanes"});
    for (const auto& target : {cpu, sm_90})
        add({.block = 8, .horizon = 9, .operations = {Operation::factor, Operation::refine}}, target, {});
    add({.block = 8, .horizon = 9, .border = 2}, cpu, {});
    add({.block = 8, .horizon = 9, .border = 2}, sm_90, {});
    for (const std::int64_t batch : {1, 8}) {
        const RankSpec rank{.spec = {.block = 8, .horizon = 9, .batch = batch, .operations = all}, .shards = {4, 1, 4}, .rank = 1};
        for (auto& unit : generate(rank, choose(rank, cpu, {.variant = batch == 1 ? "tile" : "lanes"})).units)
            units.push_back(std::move(unit));
    }
    units.push_back(repeat_unit(sm_90));
    units.push_back(copy_unit(sm_90));
    for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric}) {
        GridSpec grid{.width = 129, .height = 129};  // has fronts that thread blocks share
        grid.matrix = matrix;
        units.push_back(generate(grid, cpu).units.front());
        for (auto& unit : generate(grid, sm_90).units) units.push_back(std::move(unit));
    }
    const SparsePattern mesh(SparseMesh{4, 4, 4, 7});
    const auto arrangement = sparse::arrange(mesh, sparse::whole(mesh), SparsePreconditioner::ildu0);
    for (const auto& target : {cpu, sm_90})
        units.push_back(sparse::generate({.block = 3}, target, {}, mesh, arrangement).program.units.front());
    units.push_back(sparse::gpu::message_unit({.block = 3}, sm_90));
    return units;
}

/// Words such as TRIFOLD_HORIZON in a text without comments.
std::set<std::string> constants_in(std::string text) {
    for (auto at = text.find("/*"); at != text.npos; at = text.find("/*", at)) text.erase(at, text.find("*/", at) + 2 - at);
    const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    std::set<std::string> words;
    for (auto at = text.find("TRIFOLD_"); at != text.npos; at = text.find("TRIFOLD_", at + 1))
        words.insert(text.substr(at, text.find_first_not_of(letters, at) - at));
    return words;
}

/// Every variant, precision and set of operations, on targets with different instructions.
std::vector<Unit> all_kinds() {
    std::vector<Unit> result;
    for (const auto* target : {"cpu:x86-64-v2", "cpu:znver4", "cuda:sm_75", "cuda:sm_90", "hip:gfx942", "hip:gfx1100"})
        for (const auto* variant :
             {"tile", "lanes", "intervals", "fused", "tiled", "dataflow", "team", "tile-dataflow", "chains", "getrf", "getrf-fused"})
            for (const auto precision : {Precision::f32, Precision::f64, Precision::mixed})
                for (const bool all : {false, true})
                    for (const std::int64_t n : {1, 8, 20, 70}) try {
                            Spec spec{.block = n, .horizon = 9, .precision = precision, .rhs = 2, .batch = 16};
                            if (all && precision != Precision::mixed) spec.operations = all_operations();
                            if (!all) spec.operations = {Operation::factor, Operation::solve};
                            const std::string_view named = variant;
                            if (named.starts_with("getrf")) spec.matrix = MatrixKind::general, spec.operations.erase(Operation::inverse);
                            const std::string schedule = named == "chains"      ? "twisted:2"
                                                         : named == "intervals" ? "segments:2"
                                                                                : "multi-stage";
                            for (auto& unit : generate(spec, parse_target(target), {.schedule = schedule, .variant = variant}).units)
                                result.push_back(std::move(unit));
                        } catch (const SpecError&) {
                            // Not every target has every variant at every size.
                        }
    return result;
}

/// Names that a text defines.
std::set<std::string> defined_in(const std::string& text) {
    std::set<std::string> names;
    std::istringstream lines(text);
    for (std::string line, word, name; std::getline(lines, line);) {
        std::istringstream words(line);
        if (words >> word >> name && word == "#define") names.insert(name.substr(0, name.find('(')));
    }
    return names;
}

const std::filesystem::path gpu_templates = std::filesystem::path(TEMPLATE_DIRECTORY) / "gpu";

/// Whether a word belongs into a platform header: one of a toolkit's, assembly, a test for a dialect or an architecture.
bool is_dialect(std::string_view word) {
    for (const auto* exact : {"asm", "threadIdx", "blockIdx", "blockDim", "gridDim"})
        if (word == exact) return true;
    for (const auto* part : {"TRIFOLD_ARCH", "TRIFOLD_WAVE", "CUDA", "HIP", "amdgcn"})
        if (word.find(part) != std::string_view::npos) return true;
    const auto underscores = word.find("__");
    return underscores != std::string_view::npos && underscores + 2 < word.size() &&
           std::islower(static_cast<unsigned char>(word[underscores + 2])) != 0;
}

/// The first such word of a text, or nothing.
std::string first_dialect_word(std::string_view text) {
    const auto in_word = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    std::string word;
    for (std::size_t k = 0; k <= text.size(); ++k) {
        if (k < text.size() && in_word(text[k])) {
            word += text[k];
            continue;
        }
        if (is_dialect(word)) return word;
        word.clear();
    }
    return {};
}

}  // namespace

TEST_CASE("templates are pasted once each, behind the files that they need and a line with their name") {
    CHECK(pasted({"a", "c", "d"}) ==
          "/* ---- d ---- */\nint d;\n\n/* ---- b ---- */\n/* b */\nint b;\n\n/* ---- c ---- */\n/* c\n */\nint c;\n\n"
          "/* ---- a ---- */\n/* a */\n\nint a;\n\n");
    CHECK(pasted({}).empty());
    CHECK(pasted({"kernel"}, Platform::cuda).starts_with("/* ---- gpu/platform_cuda.cuh ---- */\ncuda\n"));
    CHECK(pasted({"kernel"}, Platform::hip).starts_with("/* ---- gpu/platform_hip.cuh ---- */\nhip\n"));
}

TEST_CASE("a template that needs what there is not says by which way it is needed") {
    CHECK_THROWS_WITH_AS(pasted({"nowhere"}), "no template named nowhere: nowhere", SpecError);
    CHECK_THROWS_WITH_AS(pasted({"a", "lost"}), "no template named nowhere: lost needs nowhere", SpecError);
    CHECK_THROWS_WITH_AS(pasted({"first"}), "templates need one another in a circle: first needs second needs third needs second",
                         SpecError);
    CHECK_THROWS_WITH_AS(pasted({"kernel"}), "'gpu/platform.cuh' stands for no dialect here: kernel", SpecError);
}

TEST_CASE("constants that a text does not read are left out") {
    const std::string constants =
        "/* first */\n#define TRIFOLD_A 1\n#define TRIFOLD_AB 2\n#define TRIFOLD_C \\\n    {1}, \\\n    {2}\n#define TRIFOLD_D_1 3\n";
    CHECK(with_constants(constants, "TRIFOLD_AB") == "/* first */\n#define TRIFOLD_AB 2\n\nTRIFOLD_AB");
    CHECK(with_constants(constants, "{TRIFOLD_C}") == "/* first */\n#define TRIFOLD_C \\\n    {1}, \\\n    {2}\n\n{TRIFOLD_C}");
    CHECK(with_constants(constants, "D(w) TRIFOLD_D_##w") == "/* first */\n#define TRIFOLD_D_1 3\n\nD(w) TRIFOLD_D_##w");
    CHECK(with_constants(constants, "") == "/* first */\n\n");
}

TEST_CASE("each line of a unit knows the line of its template") {
    const auto unit = "#define N 4\n\n" + pasted({"a"}) + "/* ---- elsewhere ---- */\nint e;\n";
    std::string told;
    for (const auto& [file, line] : places_of(unit, read)) told += file.empty() ? "- " : fmt::format("{}:{} ", file, line);
    CHECK(told == "- - - d:1 - - b:1 b:3 - - c:1 c:2 c:4 - - a:1 a:4 a:5 - - - ");
}

TEST_CASE("titles within a template are no markers") {
    std::string told;
    for (const auto& [file, line] : places_of(pasted({"titled", "d"}), read))
        told += file.empty() ? "- " : fmt::format("{}:{} ", file, line);
    CHECK(told == "- titled:1 titled:2 titled:3 titled:4 titled:5 titled:6 - - d:1 - ");
}

TEST_CASE("a folder's templates are read as they are now, each once") {
    auto path = (std::filesystem::temp_directory_path() / "trifold-folder-XXXXXX").string();
    REQUIRE(mkdtemp(path.data()) != nullptr);
    const auto write = [&](const std::string& name, std::string_view text) {
        std::filesystem::create_directories(std::filesystem::path(path + "/" + name).parent_path());
        std::ofstream(path + "/" + name) << text;
    };
    write("cpu/vectors.c", "int edited;\n");
    write("grid/boxes.h", embedded_text("grid/boxes.h"));
    write("gpu/grid/shared.h", "int edited;\n");
    TemplateFolder folder(path, "A_SWITCH");
    CHECK(folder.text("cpu/vectors.c") == "int edited;\n");
    write("cpu/vectors.c", "int again;\n");
    CHECK(folder.text("cpu/vectors.c") == "int edited;\n");
    CHECK(folder.text("grid/boxes.h") == embedded_text("grid/boxes.h"));
    CHECK_REFUSED("has changed since this program was built", folder.text("gpu/grid/shared.h"));
    CHECK_REFUSED(fmt::format("A_SWITCH names '{}', where the template cpu/constants.c cannot be read", path).c_str(),
                  folder.text("cpu/constants.c"));
    CHECK_REFUSED("which is no directory", TemplateFolder(path + "/cpu/vectors.c", "A_SWITCH"));
    CHECK_REFUSED("A_SWITCH names '/nowhere'", TemplateFolder("/nowhere", "A_SWITCH"));
    std::filesystem::remove_all(path);
}

TEST_CASE("templates that the generator includes are those that need a build") {
    std::set<std::string> included;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(TEST_ROOT "/generator")) {
        const auto text = entry.is_regular_file() ? read_text(entry.path().string()) : "";
        constexpr std::string_view begin = "#include \"templates/";
        for (auto at = text.find(begin); at != text.npos; at = text.find(begin, at + 1))
            included.insert(text.substr(at + begin.size(), text.find('"', at + begin.size()) - at - begin.size()));
    }
    CHECK(included.size() > 5);
    std::set<std::string> compiled_in;
    for (const auto name : template_names())
        if (is_compiled_in(name)) compiled_in.emplace(name);
    CHECK(compiled_in == included);
}

TEST_CASE("a template's path is where it lies in the repository") {
    for (const auto& name : kernel_templates()) CHECK(std::filesystem::exists(TEST_ROOT "/" + template_path(name)));
    CHECK(std::filesystem::exists(TEST_ROOT "/" + template_path("tridiagonal_args.h")));
}

TEST_CASE("the units' lines are those of the templates") {
    for (const auto& unit : units()) {
        CAPTURE(unit.kernels.front().name);
        const auto places = places_of(unit.source);
        std::istringstream lines(unit.source);
        std::size_t known = 0, different = 0, unknown = 0;
        std::string line;
        for (const auto& [file, number] : places) {
            REQUIRE(std::getline(lines, line));
            if (file.empty()) {
                if (known > 0 && !line.empty() && !line.starts_with("/* ---- ")) ++unknown;
                continue;
            }
            ++known;
            std::istringstream text{std::string(template_text(file))};
            std::string expected;
            for (std::size_t k = 0; k < number; ++k) std::getline(text, expected);
            if (line != expected) ++different;
        }
        CHECK(different == 0);
        CHECK(unknown == 0);
        CHECK(known > 300);
    }
}

TEST_CASE("some unit has each template") {
    auto missing = kernel_templates();
    for (const auto& unit : units())
        for (const auto& [file, line] : places_of(unit.source)) missing.erase(file);
    CHECK_MESSAGE(missing.empty(), (missing.empty() ? "" : *missing.begin()));
}

TEST_CASE("each constant that a unit defines is read by it, and each that it reads is defined") {
    // What a unit may read without a definition: names of kernels that the Program lacks, and what chooses between ways to compile it.
    const auto is_optional = [](const std::string& name) {
        return name.starts_with("TRIFOLD_KERNEL_") || name == "TRIFOLD_STATIC_KERNELS" || name == "TRIFOLD_DEVICE" ||
               name == "TRIFOLD_SIZES_BY_VALUE" || name == "TRIFOLD_TASK_LEVELS";
    };
    const auto kinds = all_kinds();
    CHECK(kinds.size() > 200);
    for (const auto& unit : kinds) {
        CAPTURE(unit.kernels.front().name);
        const auto begin = unit.source.find("/* ---- ");
        const auto defined = defined_in(unit.source.substr(0, begin)), own = defined_in(unit.source.substr(begin));
        const auto read = constants_in(unit.source.substr(begin));
        // The preprocessor completes names that end in an underscore.
        const auto is_read = [&](const std::string& name) {
            return read.contains(name) || read.contains(name.substr(0, name.rfind('_') + 1));
        };
        for (const auto& name : defined) CHECK_MESSAGE(is_read(name), name);
        for (const auto& name : read)
            if (!name.ends_with('_')) CHECK_MESSAGE((defined.contains(name) || own.contains(name) || is_optional(name)), name);
    }
}

TEST_CASE("only files of constants read what a unit is told, but for names and bounds of kernels and what the preprocessor decides") {
    const auto platform = defined_in(std::string(template_text("gpu/platform_cuda.cuh")));
    std::set<std::string> others;
    for (const auto& name : kernel_templates()) {
        if (name == "tridiagonal/mixed.h" || name.starts_with("gpu/platform") || name.find("constants.c") != std::string::npos) continue;
        for (const auto& word : constants_in(std::string(template_text(name))))
            if (!platform.contains(word) && !word.starts_with("TRIFOLD_KERNEL") && !word.starts_with("TRIFOLD_BLOCKS_"))
                others.insert(name + ": " + word);
    }
    CHECK(others == std::set<std::string>{"cpu/tridiagonal/common.c: TRIFOLD_STATIC_KERNELS", "gpu/tridiagonal/input.cuh: TRIFOLD_LOADS",
                                          "gpu/tridiagonal/tiles/halves.cuh: TRIFOLD_HALF_PANELS"});
}

TEST_CASE("a macro that families share on a processor has one text") {
    std::map<std::string, std::set<std::string>> families;
    for (const auto& file : kernel_templates()) {
        const std::filesystem::path path(file);
        if (*path.begin() != "cpu" || path.parent_path() == "cpu") continue;
        for (const auto& name : defined_in(std::string(template_text(file)))) families[name].insert(std::next(path.begin())->string());
    }
    std::set<std::string> several;
    for (const auto& [name, where] : families)
        if (where.size() > 1) several.insert(name);
    CHECK(several == std::set<std::string>{"KERNEL"});  // the head of a kernel, whose parameters differ
}

#ifdef __x86_64__
TEST_CASE("units compile for processors whose registers are narrower than their vectors") {
    const Target wide{Backend::cpu, "x86-64-v4"};
    const GridSpec grid{.width = 9, .height = 9, .precision = Precision::f32};
    const Spec blocks{.block = 32, .horizon = 9, .precision = Precision::f32, .operations = {Operation::factor}};
    for (const auto& program : {generate(blocks, wide, {.variant = "tile"}), generate(grid, wide)}) {
        CAPTURE(program.name);
        const auto command = fmt::format("{} -std=gnu11 -w -Wno-psabi -march=x86-64-v3 -O0 -S -o /dev/null -x c -", TEST_CC);
        auto* compiler = popen(command.c_str(), "w");
        REQUIRE(compiler != nullptr);
        const auto& source = program.units.front().source;
        std::fwrite(source.data(), 1, source.size(), compiler);
        CHECK(pclose(compiler) == 0);
    }
}
#endif

TEST_CASE("a template compiles with nothing but what it names") {
    // Which unit's constants a template is tried with: one of its variant, or any.
    const auto all = units();
    std::map<std::string, const Unit*> with;
    for (const auto& unit : all)
        for (const auto& [file, line] : places_of(unit.source))
            if (!file.empty()) with.try_emplace(file, &unit);
    auto folder = (std::filesystem::temp_directory_path() / "trifold-templates-XXXXXX").string();
    REQUIRE(mkdtemp(folder.data()) != nullptr);
    std::string commands;
    for (const auto& [name, owner] : with) {
        // Texts below grid/, sparse/ and tridiagonal/ are of both dialects, whose files of constants define what they name.
        const auto top = name.substr(0, name.find('/'));
        if (top == name || top == "grid" || top == "sparse" || top == "tridiagonal" || name.starts_with("gpu/platform")) continue;
        const bool on_gpu = owner->target.backend != Backend::cpu;
        const auto file = fmt::format("{}/{}.{}", folder, std::hash<std::string>{}(name), on_gpu ? "cpp" : "c");
        std::ofstream text(file);
        text << owner->source.substr(0, owner->source.find("/* ---- "));
        if (on_gpu)
            text << fmt::format(
                "#define TRIFOLD_WAVE 32\n#include \"{0}/generator/trifold/tridiagonal_args.h\"\n#include "
                "\"{0}/tests/support/emulator/platform.cuh\"\n",
                TEST_ROOT);
        text << paste({name}, on_gpu ? Platform::cuda : Platform::none);
        commands += fmt::format("{} -w -fsyntax-only {} || echo {}\n", on_gpu ? TEST_CXX : TEST_CC, file, name);
    }
    const auto script = folder + "/all";
    std::ofstream(script) << commands;
    REQUIRE(std::system(fmt::format("sh {0} > {0}.failed 2> {0}.log", script).c_str()) == 0);
    CHECK_MESSAGE(read_text(script + ".failed") == "", read_text(script + ".log"));
    std::filesystem::remove_all(folder);
}

TEST_CASE("templates for GPUs speak no dialect but through the platform headers") {
    int checked = 0, platforms = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(gpu_templates)) {
        if (!entry.is_regular_file()) continue;
        const auto name = entry.path().filename().string();
        CAPTURE(name);
        const auto text = read_text(entry.path());
        const auto found = first_dialect_word(text);
        if (name.starts_with("platform")) {
            CHECK(!found.empty());
            ++platforms;
        } else {
            CHECK(found == "");
            ++checked;
        }
    }
    CHECK(platforms == 2);
    CHECK(checked >= 36);
}

TEST_CASE("HIP programs: whole waves, 64 KiB of shared memory, matrix instructions where they exist") {
    for (const auto* arch : {"gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"}) {
        for (const std::int64_t n : {1, 5, 12, 24, 32, 48, 49, 65, 100, 256}) {
            for (const auto precision : {Precision::f32, Precision::f64}) {
                const auto program = test::design_of({.block = n, .horizon = 20, .precision = precision, .rhs = 3}, {Backend::hip, arch});
                CAPTURE(program.kernels.front().name);
                const auto lanes = warp_lanes(program.target);
                const auto source = test::source_of(program);
                for (const auto& kernel : program.kernels) {
                    CHECK(kernel.shape.threads % lanes == 0);
                    CHECK(kernel.shape.threads <= 256);
                    CHECK(kernel.shape.shared_bytes <= 65536);
                }
                const bool matrix = precision == Precision::f64 && (arch == std::string("gfx90a") || arch == std::string("gfx942"));
                CHECK((source.find("#define TRIFOLD_TENSOR 1\n") != std::string::npos) == matrix);
                CHECK((source.find(lanes == 64 ? "#define TRIFOLD_WAVE 64\n" : "#define TRIFOLD_WAVE 32\n") != std::string::npos));
            }
        }
    }
    const Target target{Backend::hip, "gfx942"};
    CHECK(choose({.block = 48, .horizon = 4}, target, {.schedule = "sequential"}).variant == "fused");
    CHECK(choose({.block = 49, .horizon = 4}, target, {.schedule = "sequential"}).variant == "tiled");
    CHECK_REFUSED("hip:gfx942 has 65536", generate({.block = 49, .horizon = 4}, target, {.schedule = "sequential", .variant = "fused"}));
}
