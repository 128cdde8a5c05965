#include "tools/trifold/bench.hpp"

#include <fmt/format.h>

#include "generator/grid/fields.hpp"
#include "tools/bench/suites.hpp"
#include "tools/trifold/grid/options.hpp"

namespace trifold::command {
namespace {

using namespace bench;
using ImageSize = std::array<std::int64_t, 3>;

ImageSize parse_image(std::string_view text) {
    if (const auto numbers = parse_numbers(text, 2)) return *numbers;
    throw SpecError(
        fmt::format("size '{}' is no size of images; give WIDTHxHEIGHT or WIDTHxHEIGHTxIMAGES, such as 513x513 or 129x65x16", text));
}

/// An eighth of the sides.
std::vector<ImageSize> quick_images(const std::vector<ImageSize>& sizes) {
    constexpr std::int64_t part = 8;
    std::vector<ImageSize> result;
    for (const auto& [width, height, batch] : sizes) {
        const ImageSize scaled{width / part + 1, height / part + 1, (batch + part - 1) / part};
        if (std::ranges::find(result, scaled) == result.end()) result.push_back(scaled);
    }
    return result;
}

/// Problem that is solved. Throws SpecError where there is no such image, or no kernels for the device.
std::vector<GridSpec> specs_of(const BenchOptions& options, std::optional<GridMatrix> only, const Device& device,
                               const GridTuning& tuning) {
    if (options.precision == "mixed") throw SpecError("images have no mixed precision; give f32, f64 or both, and see GridSolver::refine");
    if (options.has_ranks()) throw SpecError("ranks share blocks or sparse systems, and these are images; leave --ranks out");
    std::vector<GridSpec> specs;
    for (const auto& [width, height, batch] : options.sizes_or<ImageSize>(image_sizes(), parse_image, quick_images))
        for (const auto rhs : options.rhs)
            for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric})
                for (const auto precision : options.precisions()) {
                    if (only && only != matrix) continue;
                    GridSpec spec{.width = width, .height = height, .precision = precision, .matrix = matrix};
                    spec.rhs = rhs;
                    spec.batch = batch;
                    spec.operations = {GridOperation::factor, GridOperation::solve, GridOperation::factor_solve};
                    generate(spec, device.target(), tuning);
                    specs.push_back(spec);
                }
    return specs;
}

int run(const BenchOptions& options, std::optional<GridMatrix> only) {
    const auto device = options.one_device();
    const GridTuning tuning{.workers = options.workers_on(device)};
    const auto specs = specs_of(options, only, device, tuning);
    const auto peers = options.chosen_peers(Family::grid);
    const auto seed = options.seed_or_new();
    BenchReport report(options, device, seed, peers);
    report.head("grid: images, by width and height", false);
    DeviceTools tools(device, tuning.workers == 1);
    for (const auto& spec : specs) {
        const std::string name = !options.problem.empty()               ? options.problem
                                 : spec.matrix == GridMatrix::symmetric ? "grid-anisotropic"
                                                                        : "grid-convection";
        const Problem problem = make_image(name, spec, seed);
        const auto size = fmt::format("{}x{}{}", spec.width, spec.height, spec.batch == 1 ? "" : fmt::format("x{}", spec.batch));
        Contest contest{
            .problem = problem,
            .entries = {{"trifold", [&](DeviceTools& on) { return our_image(std::get<ImageProblem>(problem), device, tuning, on); }}},
            .tolerance = options.tolerance_of(spec.precision),
            .budget = options.budget(0.2)};
        contest.add(peers);
        report.measure({"grid",
                        fmt::format("{} {} {}", size, to_string(spec.precision), to_string(spec.matrix)),
                        {{"problem", name},
                         {"width", spec.width},
                         {"height", spec.height},
                         {"batch", spec.batch},
                         {"rhs", spec.rhs},
                         {"precision", to_string(spec.precision)},
                         {"matrix", to_string(spec.matrix)}}},
                       contest, tools);
    }
    return report.end();
}

}  // namespace

std::function<int()> grid_bench(CLI::App& app, const BenchOptions& options, const std::string&) {
    const auto matrix = std::make_shared<SharedField>();
    matrix->add_to(app, grid_fields[shared_field]);
    return [matrix, &options] {
        GridSpec spec;
        matrix->set(grid_fields[shared_field], &spec);
        return run(options, matrix->is_given() ? std::optional(spec.matrix) : std::nullopt);
    };
}

}  // namespace trifold::command
