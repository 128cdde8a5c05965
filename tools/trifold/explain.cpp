#include "tools/trifold/family.hpp"

namespace trifold::command {

Action add_explain(CLI::App& app, const bool& json, Families families) {
    const auto options = std::make_shared<SpecOptions>();
    options->add_to(app);
    const auto explain = by_family(app, families, &FamilyVerbs::explain, *options);
    return [options, explain, &json] { return finish(explain(), json); };
}

}  // namespace trifold::command
