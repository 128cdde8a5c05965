#include <trifold/error.hpp>

#include "tools/formats/matrix_market.hpp"
#include "tools/problems/problems.hpp"
#include "tools/trifold/tridiagonal/verbs.hpp"

namespace trifold::command {
namespace {

using namespace formats;

constexpr std::int64_t missing = -1;  // of a size that was not given

std::vector<File> as_arrays(const System& system, const problems::Sizes& sizes, const ProblemOptions& options) {
    const auto n = sizes.block, horizon = sizes.horizon;
    auto rhs_shape = std::vector{horizon, n};
    if (sizes.rhs > 1) rhs_shape.push_back(sizes.rhs);
    return {options.array("D.npy", {horizon, n, n}, system.d), options.array("E.npy", {horizon - 1, n, n}, system.e),
            options.array("b.npy", rhs_shape, system.b)};
}

std::vector<File> make_files(const ProblemOptions& options, problems::Sizes sizes) {
    if (sizes.block == missing || sizes.horizon == missing) throw SpecError("a problem of blocks needs --block and --horizon");
    sizes.rhs = options.rhs;
    sizes.batch = options.batch;
    auto system = problems::make(options.name, sizes, options.seed);
    if (options.format == "npy") return as_arrays(system, sizes, options);
    options.round({&system.d, &system.e, &system.b});
    return {{"A.mtx", format_matrix_market(to_sparse(system))},
            {"b.mtx", format_matrix_market(DenseMatrix{system.rows, system.rhs, system.b})}};
}

}  // namespace

std::function<std::vector<File>()> tridiagonal_problem(CLI::App& app, const ProblemOptions& options, const std::string&) {
    const auto sizes = std::make_shared<problems::Sizes>(problems::Sizes{missing, missing});
    app.add_option("--block", sizes->block, "Block size n");
    app.add_option("--horizon", sizes->horizon, "Number of diagonal blocks N");
    return [sizes, &options] { return make_files(options, *sizes); };
}

}  // namespace trifold::command
