#include "tools/trifold/tune_sweep.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {

Action add_tune(CLI::App& app, const bool& json) {
    app.require_subcommand(0, 1);
    const auto sweep = add_sweep(app, json);
    auto* replay = app.add_subcommand("replay", "Compare strategies of the search on a recorded sweep; needs no device");
    auto* compile_unit = app.add_subcommand("compile-unit", "");
    return [=, replayed = add_replay(*replay, json), compiled = add_compile_unit(*compile_unit, json)] {
        return replay->parsed() ? replayed() : compile_unit->parsed() ? compiled() : sweep();
    };
}

}  // namespace trifold::command
