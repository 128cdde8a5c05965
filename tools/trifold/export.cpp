
#include "tools/formats/file.hpp"
#include "tools/trifold/family.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {

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
