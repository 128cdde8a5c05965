#include <fmt/format.h>

#include "tools/formats/file.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tune/verbs.hpp"
#include "tools/tune/family.hpp"
#include "tools/tune/rows.hpp"

namespace trifold::command {
namespace {

struct MergeOptions {
    std::vector<std::string> files;
    std::string output;
};

int merge_files(const MergeOptions& options, bool json) {
    std::vector<std::vector<WisdomRow>> files;
    for (const auto& name : options.files) try {
            files.push_back(read_wisdom(formats::read_file(name), tune::check_key));
        } catch (const SpecError& error) {
            throw formats::InputError(fmt::format("'{}', {}", name, error.what()));
        }
    const auto merged = tune::merge(files);
    formats::write_file(options.output, write_wisdom(merged.rows));
    for (const auto& conflict : merged.conflicts) say(fmt::format("trifold tune merge: {}\n", conflict));
    if (json)
        print(Json{{"file", options.output}, {"rows", merged.rows.size()}, {"conflicts", merged.conflicts}});
    else
        print(fmt::format("{}: {}, {}\n", options.output, plural(static_cast<std::int64_t>(merged.rows.size()), "row"),
                          plural(static_cast<std::int64_t>(merged.conflicts.size()), "conflict")));
    return 0;
}

}  // namespace

Action add_tune_merge(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<MergeOptions>();
    app.add_option("files", options->files, "Wisdom files")->required();
    app.add_option("-o,--output", options->output, "Write all their rows to this file")->required();
    app.footer(
        "Of two rows about one problem and device the one with the greater gain over its default is taken, and of equal gains the later "
        "given. Where the two would make other kernels, a line says so.");
    return [options, &json] { return merge_files(*options, json); };
}

}  // namespace trifold::command
