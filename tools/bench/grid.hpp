#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <trifold/grid.hpp>
#include <vector>

#include "tools/bench/contender.hpp"
#include "tools/bench/statistics.hpp"
#include "tools/bench/timing.hpp"
#include "tools/formats/grid.hpp"

/// The suite of images: factor, solve and factor_solve, as the other suites time them.
namespace trifold::bench {

/// `batch` images of width by height pixels.
struct ImageSize {
    std::int64_t width, height, batch = 1;
    bool operator==(const ImageSize&) const = default;
};
std::string to_string(const ImageSize& size);
/// "513x513" or "129x65x16": width, height and the batch. Throws SpecError.
ImageSize parse_image(std::string_view text);
const std::vector<ImageSize>& image_sizes();
/// The same with an eighth of the sides.
std::vector<ImageSize> quick(const std::vector<ImageSize>& sizes);

/// A solver of images that is not ours; see Peer.
struct GridPeer {
    std::string name, problem;
    std::function<bool(const GridSpec&)> fits;
    std::function<std::unique_ptr<Contender>(const formats::GridSystem&, const GridSpec&, const DeviceTools&)> make;
};
/// Those that the command may run. Solvers under the GPL are in bench_grid alone.
std::vector<GridPeer> find_grid_peers(const Device& device);

struct GridRequest {
    Device device;
    std::vector<Precision> precisions{Precision::f64, Precision::f32};
    std::vector<GridMatrix> matrices{GridMatrix::general, GridMatrix::symmetric};
    GridTuning tuning;
    std::vector<GridPeer> peers;
    Budget budget;
    std::int64_t rhs = 1;
    std::uint64_t seed = 0;
    std::optional<double> tolerance;  ///< of the relative residual; 1e-14 in f64 and 1e-6 in f32 when it is not given
    std::string general = "grid-convection", symmetric = "grid-anisotropic";  ///< problems, see problems::make_grid
};

/// One operation of one solver on one case.
struct GridResult {
    std::string solver, operation, problem;
    GridSpec spec;
    Statistics seconds;
    std::optional<double> residual;  ///< the worst of the solver's solutions of this case
    bool accurate = true;
    std::optional<double> flops;  ///< of our elimination: factor alone
};

struct GridFailure {
    std::string solver, message;
    GridSpec spec;
};

struct GridListener {
    std::function<void(const GridResult&)> result;
    std::function<void(const GridFailure&)> failure;
};

/// What is solved at this size. Throws SpecError where there is no such image, or no kernels for the device.
std::vector<GridSpec> grid_specs(const ImageSize& size, const GridRequest& request);

/// Every solver on one size, with every matrix in every precision. Throws as grid_specs does, and DeviceError without a device.
void measure_grid(const ImageSize& size, const GridRequest& request, const GridListener& listener);

}  // namespace trifold::bench
