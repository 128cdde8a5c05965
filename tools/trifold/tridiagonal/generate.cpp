#include "tools/trifold/tridiagonal/options.hpp"
#include "tools/trifold/tridiagonal/verbs.hpp"

namespace trifold::command {

std::function<Generated()> tridiagonal_generate(CLI::App& app, const SpecOptions& options, const std::string&) {
    const auto own = std::make_shared<BlockOptions>(options);
    const auto together = std::make_shared<bool>(false);
    own->add_to(app);
    app.add_flag("--together", *together, "All kernels in one file, as exports have them; a Plan on CUDA has several");
    return [own, together] {
        const auto choice = own->choice(own->spec());
        return Generated{generate(choice, *together ? Packing::together : Packing::apart),
                         {{"schedule", choice.schedule.name},
                          {"variant", choice.variant},
                          {"reason", choice.reason},
                          {"rung", to_string(choice.rung)},
                          {"row", choice.row}}};
    };
}

}  // namespace trifold::command
