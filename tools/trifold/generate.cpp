#include <fmt/format.h>

#include <trifold/binary.hpp>
#include <trifold/error.hpp>

#include "runtime/compile/entry.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {
namespace {

struct GenerateOptions {
    SpecOptions spec;
    std::string output;
    bool binaries = false, together = false;
};

int run(const GenerateOptions& options, bool json) {
    const auto choice = options.spec.choice(options.spec.spec());
    const auto program = generate(choice, options.together ? Packing::together : Packing::apart);
    const auto directory = formats::make_directory(options.output);
    const auto backend = choice.target.backend;
    Json report{{"name", program.name},
                {"directory", directory.string()},
                {"schedule", choice.schedule.name},
                {"variant", choice.variant},
                {"reason", choice.reason}};
    report["rung"] = to_string(choice.rung);
    report["row"] = choice.row;
    std::vector<std::vector<std::string>> files;
    const auto write = [&](const char* what, const std::string& name, const std::string& bytes) {
        formats::write_file(directory / name, bytes);
        report["files"][what].push_back(name);
        files.push_back({(directory / name).string(), bytes_text(static_cast<std::int64_t>(bytes.size()))});
    };
    for (const auto& unit : program.units) write("source", unit.id + source_extension(backend), unit.source);
    write("program", "program.json", to_json(program) + "\n");
    if (options.binaries) {
        const auto binaries = obtain_all(program);
        bool all_cached = true;
        for (std::size_t k = 0; k < binaries.size(); ++k) {
            write("binary", program.units[k].id + binary_extension(backend), binaries[k].image);
            write("log", program.units[k].id + ".log", binaries[k].log);
            report["compiler"] = binaries[k].compiler;
            all_cached = all_cached && binaries[k].cache_hit;
        }
        report["cache"] = all_cached ? "hit" : "miss";
    }
    if (json)
        print(report);
    else
        print(table(files));
    return 0;
}

}  // namespace

Action add_generate(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<GenerateOptions>();
    options->spec.add_to(app);
    app.add_flag("--binaries", options->binaries, "Also the compiled kernels and the compiler's log");
    app.add_flag("--together", options->together, "All kernels in one file, as exports have them; a Plan on CUDA has several");
    app.add_option("-o,--output", options->output, "Directory to write to")->default_val(".");
    app.footer("The source states the command that regenerates it to the byte.");
    return [options, &json] { return run(*options, json); };
}

}  // namespace trifold::command
