#include <fmt/format.h>

#include "tools/formats/file.hpp"
#include "tools/trifold/tune/report.hpp"
#include "tools/trifold/tune/sweep.hpp"
#include "tools/trifold/tune/verbs.hpp"

namespace trifold::command {
namespace {

struct TuneVerb {
    const CLI::App* app;
    Action action;
};

/// A verb's words may also stand behind it when they are the command's, for --json. Of the others none would be heeded there.
void refuse_options_of_the_sweep(const CLI::App& app, const CLI::App& verb) {
    for (const auto* option : app.get_options())
        if (option->count() > 0 && !option->check_name("--json"))
            throw SpecError(fmt::format("`trifold tune {}` takes no {}", verb.get_name(), option->get_name()));
}

}  // namespace

Action add_tune(CLI::App& app, const bool& json) {
    app.require_subcommand(0, 1);
    std::vector<TuneVerb> verbs;
    const auto add = [&](const char* name, const char* purpose, Action (*add_verb)(CLI::App&, const bool&)) {
        auto* verb = app.add_subcommand(name, purpose);
        verbs.push_back({verb, add_verb(*verb, json)});
        verb->fallthrough();  // so that --json may stand after it
    };
    const auto sweep = add_sweep(app, json);
    add("export", "Write what was decided to a wisdom file, which all that make kernels read; or the trials", add_tune_export);
    add("import", "Add a wisdom file, or trials of another machine, to the database", add_tune_import);
    add("merge", "Make one wisdom file of several", add_tune_merge);
    add("show", "List what was decided, and what failed", add_tune_show);
    add("report", "Make a page for the browser of what was tried and decided", add_tune_report);
    add("rows", "Say what trials tell of the rows of generator/devices, and write those rows", add_tune_rows);
    add("forget", "Remove trials and decisions from the database", add_tune_forget);
    add("replay", "Compare strategies of the search on a recorded sweep; needs no device", add_replay);
    add("model", "", add_model);
    add(compile_unit_name, "", add_compile_unit);
    return [=, &app] {
        for (const auto& verb : verbs) {
            if (!verb.app->parsed()) continue;
            refuse_options_of_the_sweep(app, *verb.app);
            return verb.action();
        }
        return sweep();
    };
}

}  // namespace trifold::command
