#include <fmt/format.h>

#include <algorithm>
#include <trifold/binary.hpp>
#include <trifold/error.hpp>

#include "runtime/compile/entry.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/image_options.hpp"
#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {
namespace {

struct GenerateOptions {
    SpecOptions spec;
    ImageOptions image;
    std::string output;
    bool binaries = false, together = false;
};

/// A Program to be written, and what the JSON says of how it came about.
struct Generated {
    Program program;
    Backend backend;
    Json choice;
};

Generated generated_blocks(const GenerateOptions& options) {
    const auto choice = options.spec.choice(options.spec.spec());
    return {generate(choice, options.together ? Packing::together : Packing::apart),
            choice.target.backend,
            {{"schedule", choice.schedule.name},
             {"variant", choice.variant},
             {"reason", choice.reason},
             {"rung", to_string(choice.rung)},
             {"row", choice.row}}};
}

Generated generated_image(const GenerateOptions& options) {
    auto spec = options.image.spec();
    options.spec.apply(spec);
    const auto target = options.spec.target();
    const auto& tuning = options.spec.tuning();
    return {generate(spec, target, {.workers = tuning.workers}),
            target.backend,
            {{"width", spec.width}, {"height", spec.height}, {"matrix", to_string(spec.matrix)}, {"boundary", to_string(spec.boundary)}}};
}

int run(const GenerateOptions& options, bool json) {
    const auto [program, backend, choice] = options.image.given() ? generated_image(options) : generated_blocks(options);
    const auto directory = formats::make_directory(options.output);
    Json report{{"name", program.name}, {"directory", directory.string()}};
    report.update(choice);
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
    app.add_flag("--together", options->together, "All kernels in one file, as exports have them; a Plan on CUDA has several");
    auto* grid = options->image.add_to(app);
    const std::vector<std::string> of_images{"--json", "--grid",  "--matrix",  "--boundary", "--precision",
                                             "--rhs",  "--batch", "--workers", "--target"};
    for (auto* option : app.get_options())
        if (std::ranges::find(of_images, option->get_name()) == of_images.end() && option != app.get_help_ptr()) grid->excludes(option);
    app.add_flag("--binaries", options->binaries, "Also the compiled kernels and the compiler's log");
    app.add_option("-o,--output", options->output, "Directory to write to")->default_val(".");
    app.footer("A source for blocks states the command that regenerates it to the byte. One for images serves every size.");
    return [options, &json] { return run(*options, json); };
}

}  // namespace trifold::command
