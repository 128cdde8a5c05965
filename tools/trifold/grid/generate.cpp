#include "tools/trifold/grid/options.hpp"
#include "tools/trifold/grid/verbs.hpp"

namespace trifold::command {

std::function<Generated()> grid_generate(CLI::App& app, const SpecOptions& options, const std::string& size) {
    const auto own = std::make_shared<GridMatrixOptions>();
    own->add_to(app);
    own->add_variant(app);
    return [own, &options, &size] {
        const auto spec = own->spec(size, options);
        const auto choice = own->choice(spec, options);
        return Generated{generate(choice),
                         {{"width", spec.width},
                          {"height", spec.height},
                          {"matrix", to_string(spec.matrix)},
                          {"boundary", to_string(spec.boundary)},
                          {"variant", choice.tuning.variant},
                          {"rung", to_string(choice.rung)},
                          {"row", choice.row}}};
    };
}

}  // namespace trifold::command
