#include "tools/trifold/grid/options.hpp"
#include "tools/trifold/grid/verbs.hpp"

namespace trifold::command {

std::function<Generated()> grid_generate(CLI::App& app, const SpecOptions& options, const std::string& size) {
    const auto own = std::make_shared<GridMatrixOptions>();
    own->add_to(app);
    return [own, &options, &size] {
        const auto spec = own->spec(size, options);
        return Generated{
            generate(spec, options.target(), {.workers = options.workers}),
            {{"width", spec.width}, {"height", spec.height}, {"matrix", to_string(spec.matrix)}, {"boundary", to_string(spec.boundary)}}};
    };
}

}  // namespace trifold::command
