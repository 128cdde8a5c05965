#include "tools/bench/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <trifold/error.hpp>

#include "generator/grid/levels.hpp"
#include "tools/formats/residual.hpp"
#include "tools/problems/grid.hpp"

namespace trifold::bench {
namespace {

/// Our solver, its data in place.
class OurGrid : public Contender {
  public:
    OurGrid(const GridPlan& plan, const formats::GridSystem& system, const DeviceTools& tools)
        : solver_(plan),
          precision_(plan.spec().precision),
          stencil_(tools, system.stencil, precision_),
          b_(tools, system.b, precision_),
          x_(tools, system.b, precision_),
          stream_{tools.stream()} {
        x_.take();
    }
    std::vector<Step> steps() override { return precision_ == Precision::f32 ? steps_in<float>() : steps_in<double>(); }
    std::vector<double> take_solution() override { return x_.take(); }
    /// Throws GridFailed.
    void check() { solver_.check(); }

  private:
    template <class Real>
    std::vector<Step> steps_in() {
        const auto *a = stencil_.as<const Real>(), *b = b_.as<const Real>();
        auto* x = x_.as<Real>();
        return {{"factor", [=, this] { solver_.factor(a, stream_); }},
                {.operation = "solve", .call = [=, this] { solver_.solve(b, x, stream_); }, .solves = true},
                {.operation = "factor_solve", .call = [=, this] { solver_.factor_solve(a, b, x, stream_); }, .solves = true}};
    }
    GridSolver solver_;
    Precision precision_;
    Array stencil_, b_, x_;
    Stream stream_;
};

/// What a device holds in single precision is what its solution is checked against.
formats::GridSystem rounded(formats::GridSystem system) {
    for (auto* values : {&system.stencil, &system.b})
        for (auto& value : *values) value = static_cast<double>(static_cast<float>(value));
    return system;
}

/// One case: images in one precision, on which the solvers take turns.
class GridCase {
  public:
    GridCase(const formats::GridSystem& system, const GridSpec& spec, const GridRequest& request, const GridListener& listener)
        : system_(system), spec_(spec), request_(request), listener_(listener), tools_(request.device) {}

    void run_ours() {
        const GridPlan plan(spec_, request_.device, request_.tuning);
        OurGrid ours(plan, system_, tools_);
        auto results = operations_of(ours);
        ours.check();
        double flops = 0;
        for (const auto& level : grid::levels_of(spec_, grid::leaf_cells_of(plan.tuning(), request_.device.target()))) flops += level.flops;
        for (auto& result : results)
            if (result.operation == "factor") result.flops = flops * static_cast<double>(spec_.batch);
        report("trifold", results);
    }

    void run_peer(const GridPeer& peer) {
        const auto contender = peer.make(system_, spec_, tools_);
        auto results = operations_of(*contender);
        report(peer.name, results);
    }

  private:
    std::vector<GridResult> operations_of(Contender& contender) {
        std::vector<GridResult> results;
        double worst = 0;
        for (const auto& step : contender.steps()) {
            GridResult result;
            result.operation = step.operation;
            result.spec = spec_;
            result.seconds = summarize(time_step(tools_, step, request_.budget));
            results.push_back(std::move(result));
            if (!step.solves) continue;
            for (const auto residual : formats::relative_residuals(system_, spec_, contender.take_solution()))
                worst = formats::worse(worst, residual);
        }
        for (auto& result : results) result.residual = worst;
        return results;
    }

    void report(const std::string& solver, std::vector<GridResult>& results) const {
        const auto tolerance = request_.tolerance.value_or(spec_.precision == Precision::f32 ? 1e-6 : 1e-14);
        for (auto& result : results) {
            result.solver = solver;
            result.problem = spec_.matrix == GridMatrix::symmetric ? request_.symmetric : request_.general;
            result.accurate = *result.residual <= tolerance;
            listener_.result(result);
        }
    }

    const formats::GridSystem& system_;
    const GridSpec& spec_;
    const GridRequest& request_;
    const GridListener& listener_;
    DeviceTools tools_;
};

}  // namespace

std::string to_string(const ImageSize& size) {
    const auto image = fmt::format("{}x{}", size.width, size.height);
    return size.batch == 1 ? image : fmt::format("{}x{}", image, size.batch);
}

ImageSize parse_image(std::string_view text) {
    ImageSize size{0, 0, 1};
    const auto* at = text.data();
    const auto* const end = at + text.size();
    int given = 0;
    for (auto* value : {&size.width, &size.height, &size.batch}) {
        const auto [next, error] = std::from_chars(at, end, *value);
        if (error != std::errc{} || *value < 1) break;
        at = next, ++given;
        if (at == end && given >= 2) return size;
        if (at == end || *at++ != 'x') break;
    }
    throw SpecError(
        fmt::format("size '{}' is no size of images; give WIDTHxHEIGHT or WIDTHxHEIGHTxIMAGES, such as 513x513 or 129x65x16", text));
}

/// Sides of 2^k + 1, which halve evenly, and primes, which do not; a batch of small images.
const std::vector<ImageSize>& image_sizes() {
    static const std::vector<ImageSize> all{{65, 65, 64}, {129, 129}, {257, 257}, {513, 513}, {509, 521}, {1025, 1025}};
    return all;
}

std::vector<ImageSize> quick(const std::vector<ImageSize>& sizes) {
    constexpr std::int64_t part = 8;
    std::vector<ImageSize> result;
    for (const auto& size : sizes) {
        const ImageSize scaled{size.width / part + 1, size.height / part + 1, (size.batch + part - 1) / part};
        if (std::ranges::find(result, scaled) == result.end()) result.push_back(scaled);
    }
    return result;
}

std::vector<GridSpec> grid_specs(const ImageSize& size, const GridRequest& request) {
    std::vector<GridSpec> specs;
    for (const auto matrix : request.matrices) {
        for (const auto precision : request.precisions) {
            GridSpec spec{.width = size.width, .height = size.height};
            spec.precision = precision;
            spec.matrix = matrix;
            spec.rhs = request.rhs;
            spec.batch = size.batch;
            spec.operations = {GridOperation::factor, GridOperation::solve, GridOperation::factor_solve};
            generate(spec, request.device.target(), request.tuning);
            specs.push_back(spec);
        }
    }
    return specs;
}

void measure_grid(const ImageSize& size, const GridRequest& request, const GridListener& listener) {
    for (const auto& spec : grid_specs(size, request)) {
        const auto& name = spec.matrix == GridMatrix::symmetric ? request.symmetric : request.general;
        auto system = problems::make_grid(name, size.width, size.height, request.rhs, size.batch, request.seed);
        if (spec.precision == Precision::f32) system = rounded(std::move(system));
        GridCase one(system, spec, request, listener);
        const auto attempt = [&](const std::string& solver, const std::function<void()>& run) {
            try {
                run();
            } catch (const std::exception& error) {
                listener.failure({solver, error.what(), spec});
            }
        };
        attempt("trifold", [&] { one.run_ours(); });
        for (const auto& peer : request.peers)
            if (peer.problem.empty() && peer.fits(spec)) attempt(peer.name, [&] { one.run_peer(peer); });
    }
}

}  // namespace trifold::bench
