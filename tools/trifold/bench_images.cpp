#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <trifold/error.hpp>

#include "tools/bench/grid.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/bench_options.hpp"
#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {
namespace {

using namespace bench;

/// Options of other suites would be ignored, and so are refused.
void check_images_options(const BenchOptions& options) {
    if (options.suites.size() > 1) throw SpecError("suite grid has sizes and options of its own; run it alone");
    const auto refuse = [](bool given, const char* name) {
        if (given) throw SpecError(fmt::format("{} says nothing about images; leave it out with suite grid", name));
    };
    const BenchOptions defaults;
    refuse(options.schedules != defaults.schedules, "--schedule");
    refuse(options.variants != defaults.variants, "--variant");
    refuse(options.rates != defaults.rates, "--rate");
    if (options.precision == "mixed") throw SpecError("images have no mixed precision; give f32, f64 or both, and see GridSolver::refine");
}

std::vector<ImageSize> images_of(const BenchOptions& options) {
    if (options.sizes.empty()) return options.quick ? quick(image_sizes()) : image_sizes();
    std::vector<ImageSize> sizes;
    for (const auto& size : options.sizes) sizes.push_back(parse_image(size));
    return sizes;
}

std::vector<GridPeer> image_peers(const BenchOptions& options, const Device& device) {
    if (options.peers == std::vector<std::string>{"none"}) return {};
    auto found = find_grid_peers(device);
    if (options.peers == std::vector<std::string>{"all"}) return found;
    for (const auto& name : options.peers)
        if (std::ranges::find(found, name, &GridPeer::name) == found.end())
            throw SpecError(
                fmt::format("there is no peer '{}' for images on {}; give all or none, or cudss on CUDA. UMFPACK and CHOLMOD "
                            "are in the program bench_grid",
                            name, device.name()));
    std::erase_if(found, [&](const GridPeer& peer) { return std::ranges::find(options.peers, peer.name) == options.peers.end(); });
    return found;
}

GridRequest images_request(const BenchOptions& options) {
    GridRequest request{.device = Device::parse(options.device)};
    if (options.precision != "both") request.precisions = {parse_precision(options.precision)};
    if (options.matrix == "general") request.matrices = {GridMatrix::general};
    if (options.matrix == "symmetric") request.matrices = {GridMatrix::symmetric};
    if (request.device.backend() == Backend::cpu) request.tuning.workers = options.workers > 0 ? options.workers : all_workers();
    request.peers = image_peers(options, request.device);
    request.budget.seconds = options.seconds > 0 ? options.seconds : options.quick ? 0.02 : request.budget.seconds;
    request.rhs = options.rhs;
    request.seed = options.seed.value_or(std::random_device{}());
    request.tolerance = options.tolerance;
    return request;
}

Json spec_json(const GridSpec& spec) {
    return {{"width", spec.width},
            {"height", spec.height},
            {"batch", spec.batch},
            {"rhs", spec.rhs},
            {"precision", to_string(spec.precision)},
            {"matrix", to_string(spec.matrix)}};
}

std::string case_text(const GridSpec& spec) {
    return fmt::format("{} {} {}", to_string(ImageSize{spec.width, spec.height, spec.batch}), to_string(spec.precision),
                       to_string(spec.matrix));
}

/// Prints as it goes, and keeps everything for the JSON.
class ImagesReport {
  public:
    ImagesReport(const BenchOptions& options, const GridRequest& request, bool json) : options_(options), json_(json) {
        auto peers = Json::array();
        for (const auto& peer : request.peers) {
            peers.push_back({{"name", peer.name}, {"problem", peer.problem}});
            if (!peer.problem.empty()) say(fmt::format("trifold bench: {} takes no part: {}\n", peer.name, peer.problem));
        }
        all_ = {{"device", request.device.name()},
                {"target", to_string(request.device.target())},
                {"workers", request.tuning.workers},
                {"seed", request.seed},
                {"peers", peers},
                {"results", Json::array()},
                {"failures", Json::array()}};
        if (json) return;
        print(fmt::format("{}, {}\n\n{:<14} {:<4} {:<9} {:<8} {:<12} {:>9} {:>9} {:>9} {:>8} {:>8}\n", request.device.name(),
                          plural(request.tuning.workers, "worker"), "pixels", "", "matrix", "solver", "operation", "median", "minimum",
                          "spread", "GFLOP/s", "residual"));
    }

    void add(const GridResult& result) {
        all_["results"].push_back(result_json(result));
        const auto residual = result.residual.value_or(0);
        if (!result.accurate) {
            sound_ = sound_ && result.solver != "trifold";
            say(fmt::format("trifold bench: {}: the relative residual {:.2e} of {} is above the tolerance\n", case_text(result.spec),
                            residual, result.solver));
        }
        if (json_) return;
        const auto& [spec, seconds] = std::tie(result.spec, result.seconds);
        print(fmt::format("{:<14} {:<4} {:<9} {:<8} {:<12} {:>9} {:>9} {:>9} {:>8} {:>8.1e}\n",
                          to_string(ImageSize{spec.width, spec.height, spec.batch}), to_string(spec.precision), to_string(spec.matrix),
                          result.solver, result.operation, seconds_text(seconds.median), seconds_text(seconds.minimum),
                          seconds_text(seconds.spread), result.flops ? fmt::format("{:.1f}", *result.flops / seconds.median * 1e-9) : "-",
                          residual));
    }

    void add(const GridFailure& failure) {
        auto item = spec_json(failure.spec);
        item["solver"] = failure.solver;
        item["message"] = failure.message;
        all_["failures"].push_back(item);
        sound_ = sound_ && failure.solver != "trifold";
        say(fmt::format("trifold bench: {}: {} failed: {}\n", case_text(failure.spec), failure.solver, failure.message));
    }

    /// What was measured so far, so that a run that is cut off leaves it.
    void save() const {
        if (!options_.output.empty()) formats::write_file(options_.output, all_.dump(1) + "\n");
    }

    int end() const {
        if (json_) print(all_);
        return sound_ ? 0 : 1;
    }

  private:
    Json result_json(const GridResult& result) const {
        Json item{{"suite", "grid"}, {"solver", result.solver}, {"operation", result.operation}, {"problem", result.problem}};
        item.update(spec_json(result.spec));
        item["runs"] = result.seconds.sorted.size();
        item["seconds"] = seconds_json(result.seconds);
        item["relative_residual"] = result.residual ? Json(*result.residual) : Json(nullptr);
        item["accurate"] = result.accurate;
        item["gigaflops_per_second"] = result.flops ? Json(*result.flops / result.seconds.median * 1e-9) : Json(nullptr);
        if (options_.samples) item["samples"] = result.seconds.sorted;
        return item;
    }

    const BenchOptions& options_;
    bool json_, sound_ = true;
    Json all_;
};

}  // namespace

int bench_images(const BenchOptions& options, bool json) {
    check_images_options(options);
    if (!options.output.empty()) formats::check_writable(options.output);
    const auto request = images_request(options);
    const auto sizes = images_of(options);
    for (const auto& size : sizes) grid_specs(size, request);  // before minutes are spent on others
    ImagesReport report(options, request, json);
    const GridListener listener{[&](const GridResult& result) { report.add(result); },
                                [&](const GridFailure& failure) { report.add(failure); }};
    for (const auto& size : sizes) {
        measure_grid(size, request, listener);
        report.save();
    }
    return report.end();
}

}  // namespace trifold::command
