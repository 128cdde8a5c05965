#include <trifold/binary.hpp>

#include "runtime/compile/entry.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/family.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {
namespace {

Report write_generated(const Generated& generated, const std::string& output, bool binaries) {
    const auto& program = generated.program;
    const auto backend = program.units.at(0).target.backend;
    const auto directory = formats::make_directory(output);
    Json report{{"name", program.name}, {"directory", directory.string()}};
    report.update(generated.choice);
    std::vector<std::vector<std::string>> files;
    const auto write = [&](const char* what, const std::string& name, const std::string& bytes) {
        formats::write_file(directory / name, bytes);
        report["files"][what].push_back(name);
        files.push_back({(directory / name).string(), bytes_text(static_cast<std::int64_t>(bytes.size()))});
    };
    for (const auto& unit : program.units) write("source", unit.id + source_extension(backend), unit.source);
    write("program", "program.json", to_json(program) + "\n");
    if (binaries) {
        const auto compiled = obtain_all(program);
        bool all_cached = true;
        for (std::size_t k = 0; k < compiled.size(); ++k) {
            write("binary", program.units[k].id + binary_extension(backend), compiled[k].code);
            write("log", program.units[k].id + ".log", compiled[k].log);
            report["compiler"] = compiled[k].compiler;
            all_cached = all_cached && compiled[k].cache_hit;
        }
        report["cache"] = all_cached ? "hit" : "miss";
    }
    return {report, table(files)};
}

struct GenerateOptions {
    SpecOptions spec;
    std::string output;
    bool binaries = false;
};

}  // namespace

Action add_generate(CLI::App& app, const bool& json, Families families) {
    const auto options = std::make_shared<GenerateOptions>();
    options->spec.add_to(app);
    app.add_flag("--binaries", options->binaries, "Also the compiled kernels and the compiler's log");
    app.add_option("-o,--output", options->output, "Directory to write to")->default_val(".");
    const auto generate = by_family(app, families, &FamilyVerbs::generate, options->spec);
    app.footer("A source for blocks states the command that regenerates it to the byte. One for images serves every size.");
    return [options, generate, &json] { return finish(write_generated(generate(), options->output, options->binaries), json); };
}

static Report write_project(const std::vector<ExportedFile>& files, const ExportOptions& options) {
    const auto directory = formats::make_directory(options.output);
    std::vector<std::vector<std::string>> rows;
    auto names = Json::array();
    for (const auto& file : files) {
        const auto path = directory / file.name;
        formats::write_file(path, file.text);
        names.push_back(file.name);
        rows.push_back({path.string(), bytes_text(static_cast<std::int64_t>(file.text.size()))});
    }
    return {{{"target", options.target}, {"prefix", options.prefix}, {"directory", directory.string()}, {"files", names}}, table(rows)};
}

Action add_export(CLI::App& app, const bool& json, Families families) {
    const auto options = std::make_shared<ExportOptions>();
    app.add_option("--precision", options->precision, "f32 or f64")->check(CLI::IsMember({"f32", "f64"}))->capture_default_str();
    app.add_option(
           "--target", options->target,
           "c99:generic, c99:cortex-m4, c99:cortex-m7, c99:neon, c99:avx2, c99:avx512 or c99:rvv; cuda:sm_87,sm_110,... or hip:gfx942,...")
        ->capture_default_str();
    app.add_option("--prefix", options->prefix, "Of every name in the code")->capture_default_str();
    app.add_option("-o,--output", options->output, "Directory to write to")->capture_default_str();
    const auto project = by_family(app, families, &FamilyVerbs::export_project, *options);
    return [options, project, &json] { return finish(write_project(project(), *options), json); };
}

}  // namespace trifold::command
