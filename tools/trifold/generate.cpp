#include <fmt/format.h>

#include <trifold/binary.hpp>
#include <trifold/error.hpp>

#include "runtime/entry.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {
namespace {

struct Options {
    SpecOptions spec;
    std::string output;
    bool binaries = false;
};

int run(const Options& options, bool json) {
    const auto planned = generate(options.spec.spec(), options.spec.target(), options.spec.tuning());
    const auto program = in_one_image(planned);
    const auto directory = formats::make_directory(options.output);
    const auto backend = program.target.backend;
    Json report{{"name", unit_name(program)}, {"directory", directory.string()}, {"schedule", program.schedule.name}};
    std::vector<std::vector<std::string>> files;
    const auto write = [&](const char* what, const std::string& name, const std::string& bytes) {
        formats::write_file(directory / name, bytes);
        report["files"][what] = name;
        files.push_back({(directory / name).string(), bytes_text(static_cast<std::int64_t>(bytes.size()))});
    };
    write("source", unit_name(program) + source_extension(backend), program.source);
    write("program", "program.json", to_json(program) + "\n");
    if (options.binaries) {
        const auto binary = obtain(program);
        if (images_of(planned) > 1) obtain(planned);  // for the cache: a Plan looks for this one
        write("binary", unit_name(program) + binary_extension(backend), binary.images.front());
        write("log", unit_name(program) + ".log", binary.log);
        report["compiler"] = binary.compiler;
        report["cache"] = binary.cache_hit ? "hit" : "miss";
    }
    if (json)
        print(report);
    else
        print(table(files));
    return 0;
}

}  // namespace

Action add_generate(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<Options>();
    options->spec.add_to(app);
    app.add_flag("--binaries", options->binaries, "Also the compiled kernels and the compiler's log");
    app.add_option("-o,--output", options->output, "Directory to write to")->default_val(".");
    app.footer("The source states the command that regenerates it to the byte.");
    return [options, &json] { return run(*options, json); };
}

}  // namespace trifold::command
