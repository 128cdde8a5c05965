#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "tools/formats/file.hpp"
#include "tools/problems/grid.hpp"
#include "tools/problems/problems.hpp"
#include "tools/trifold/image_options.hpp"
#include "tools/trifold/input.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {
namespace {

using namespace formats;

constexpr std::int64_t missing = -1;  // of a size that was not given

struct ProblemOptions {
    std::string name, grid, precision = "f64", format = "npy", output = ".";
    problems::Sizes sizes{missing, missing};
    std::uint64_t seed = 42;
    bool force = false;
};

struct File {
    std::string name, bytes;
};

std::vector<File> as_arrays(const System& system, const problems::Sizes& sizes, Precision precision) {
    const auto file = [&](const char* name, std::vector<std::int64_t> shape, const std::vector<double>& values) {
        if (sizes.batch > 1) shape.insert(shape.begin(), sizes.batch);
        return File{name, format_npy({std::move(shape), precision, values})};
    };
    const auto n = sizes.block, horizon = sizes.horizon;
    auto rhs_shape = std::vector{horizon, n};
    if (sizes.rhs > 1) rhs_shape.push_back(sizes.rhs);
    return {file("D.npy", {horizon, n, n}, system.d), file("E.npy", {horizon - 1, n, n}, system.e), file("b.npy", rhs_shape, system.b)};
}

std::vector<File> as_matrix_market(System system, const problems::Sizes& sizes, Precision precision) {
    if (sizes.batch > 1) throw InputError("a Matrix Market file holds one system; give --batch 1, or --format npy");
    if (precision == Precision::f32) {
        for (auto* values : {&system.d, &system.e, &system.b}) {
            for (auto& value : *values) value = static_cast<double>(static_cast<float>(value));
        }
    }
    return {{"A.mtx", format_matrix_market(to_sparse(system))},
            {"b.mtx", format_matrix_market(DenseMatrix{system.rows, system.rhs, system.b})}};
}

/// A problem on images.
std::vector<File> grid_files(const ProblemOptions& options, Precision precision) {
    const auto& sizes = options.sizes;
    const auto [width, height] = parse_image_size(options.grid);
    auto system = problems::make_grid(options.name, width, height, sizes.rhs, sizes.batch, options.seed);
    if (precision == Precision::f32)
        for (auto* values : {&system.stencil, &system.b})
            for (auto& value : *values) value = static_cast<double>(static_cast<float>(value));
    if (options.format == "mtx") {
        if (sizes.batch > 1) throw InputError("a Matrix Market file holds one system; give --batch 1, or --format npy");
        return {{"A.mtx", format_matrix_market(to_sparse(system))},
                {"b.mtx", format_matrix_market(DenseMatrix{width * height, sizes.rhs, system.b})}};
    }
    std::vector<std::int64_t> shape{height, width, 9}, rhs_shape{height, width};
    if (sizes.rhs > 1) rhs_shape.push_back(sizes.rhs);
    if (sizes.batch > 1)
        for (auto* extents : {&shape, &rhs_shape}) extents->insert(extents->begin(), sizes.batch);
    return {{"A.npy", format_npy({shape, precision, system.stencil})}, {"b.npy", format_npy({rhs_shape, precision, system.b})}};
}

std::vector<File> block_files(const ProblemOptions& options, Precision precision) {
    if (options.sizes.block == missing || options.sizes.horizon == missing)
        throw SpecError("a problem of blocks needs --block and --horizon");
    const auto system = problems::make(options.name, options.sizes, options.seed);
    return options.format == "npy" ? as_arrays(system, options.sizes, precision) : as_matrix_market(system, options.sizes, precision);
}

/// Every name is checked before the first is written, so that no problem is half there, and none half replaced.
std::vector<std::filesystem::path> paths_of(const std::vector<File>& files, const ProblemOptions& options) {
    std::vector<std::filesystem::path> paths;
    for (const auto& file : files) {
        const auto& path = paths.emplace_back(std::filesystem::path(options.output) / file.name);
        std::error_code ignored;
        const auto found = std::filesystem::symlink_status(path, ignored);
        if (!options.force && std::filesystem::exists(found))
            throw InputError(fmt::format("'{}' is there already; give --force to replace it, or another directory with -o", path.string()));
        check_writable(path);
    }
    return paths;
}

int run(const ProblemOptions& options, bool json) {
    const auto precision = parse_precision(options.precision);
    if (!std::filesystem::is_directory(options.output))
        throw InputError(fmt::format("'{}' is not a directory; give one that exists", options.output));
    const auto files = options.grid.empty() ? block_files(options, precision) : grid_files(options, precision);
    const auto paths = paths_of(files, options);
    auto names = Json::array();
    std::vector<std::vector<std::string>> rows;
    for (std::size_t k = 0; k < files.size(); ++k) {
        formats::write_file(paths[k], files[k].bytes);
        names.push_back(paths[k].string());
        rows.push_back({paths[k].string(), bytes_text(static_cast<std::int64_t>(files[k].bytes.size()))});
    }
    if (json)
        print(Json{{"problem", options.name}, {"seed", options.seed}, {"files", names}});
    else
        print(table(rows));
    return 0;
}

}  // namespace

Action add_problem(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<ProblemOptions>();
    app.add_option("name", options->name,
                   fmt::format("socu, blockdss (positive definite for n of about 8 and more), dominant or kalman (n even); with --grid {}",
                               fmt::join(problems::grid_names, ", ")))
        ->required();
    auto* block = app.add_option("--block", options->sizes.block, "Block size n");
    auto* horizon = app.add_option("--horizon", options->sizes.horizon, "Number of diagonal blocks N");
    app.add_option("--grid", options->grid, "Size of an image: WIDTHxHEIGHT")->excludes(block)->excludes(horizon);
    app.add_option("--rhs", options->sizes.rhs, "Right-hand sides m")->capture_default_str();
    app.add_option("--batch", options->sizes.batch, "Systems; member k has the seed plus k")->capture_default_str();
    app.add_option("--seed", options->seed, "Of the random numbers")->capture_default_str();
    app.add_option("--precision", options->precision, "f32 or f64")->check(CLI::IsMember({"f32", "f64"}))->capture_default_str();
    app.add_option("--format", options->format, "npy: D.npy E.npy b.npy, of an image A.npy b.npy; mtx: A.mtx b.mtx")
        ->check(CLI::IsMember({"npy", "mtx"}))
        ->capture_default_str();
    app.add_option("-o,--output", options->output, "Directory to write to")->capture_default_str();
    app.add_flag("--force", options->force, "Replace files that are there already");
    return [options, &json] { return run(*options, json); };
}

}  // namespace trifold::command
