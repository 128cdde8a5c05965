#include "tools/formats/matrix_market.hpp"
#include "tools/problems/grid.hpp"
#include "tools/trifold/grid/options.hpp"
#include "tools/trifold/grid/verbs.hpp"

namespace trifold::command {

static std::vector<File> make_files(const ProblemOptions& options, const std::string& size) {
    const auto [width, height] = parse_image_size(size);
    auto system = problems::make_grid(options.name, width, height, options.rhs, options.batch, options.seed);
    options.round({&system.stencil, &system.b});
    if (options.format == "mtx")
        return {{"A.mtx", formats::format_matrix_market(to_sparse(system))},
                {"b.mtx", formats::format_matrix_market(formats::DenseMatrix{width * height, options.rhs, system.b})}};
    std::vector<std::int64_t> rhs_shape{height, width};
    if (options.rhs > 1) rhs_shape.push_back(options.rhs);
    return {options.array("A.npy", {height, width, 9}, system.stencil), options.array("b.npy", rhs_shape, system.b)};
}

std::function<std::vector<File>()> grid_problem(CLI::App&, const ProblemOptions& options, const std::string& size) {
    return [&] { return make_files(options, size); };
}

}  // namespace trifold::command
