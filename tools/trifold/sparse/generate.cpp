#include "tools/trifold/sparse/mesh.hpp"
#include "tools/trifold/sparse/verbs.hpp"

namespace trifold::command {

std::function<Generated()> sparse_generate(CLI::App& app, const SpecOptions& options, const std::string&) {
    const auto own = std::make_shared<SparseMatrixOptions>();
    own->add_to(app);
    own->add_points(app);
    own->add_variant(app);
    return [own, &app, &options] {
        const auto spec = own->spec(app, options);
        auto [choice, decided, a, program] = make_mesh(spec, *own, options);
        return Generated{std::move(program),
                         {{"rows", a.rows()},
                          {"block", spec.block},
                          {"preconditioner", to_string(spec.preconditioner)},
                          {"method", to_string(spec.method)},
                          {"partition", a.how},
                          {"subdomains", a.tiles()},
                          {"variant", choice.tuning.variant}}};
    };
}

}  // namespace trifold::command
