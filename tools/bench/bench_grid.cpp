/// Times images on this processor beside UMFPACK and CHOLMOD, where this was built with SuiteSparse: `trifold bench grid` with peers under
/// the GPL, which are part of this program alone. Their BLAS takes its threads from OPENBLAS_NUM_THREADS.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "tools/bench/grid.hpp"
#include "tools/bench/suitesparse.hpp"

namespace trifold::bench {
namespace {

struct GridBenchOptions {
    std::int64_t width = 513, height = 513;
    int workers = 2, repeats = 5;
    GridRequest request{.device = Device::cpu()};
};

/// Its analysis is not timed.
class SuiteSparse : public Contender {
  public:
    SuiteSparse(Rival rival, const std::vector<double>& b) : rival_(std::move(rival)), b_(b) {}
    std::vector<Step> steps() override {
        return {{.operation = "factor", .call = rival_.factor},
                {.operation = "solve", .call = [this] { x_ = rival_.solve(b_); }, .solves = true}};
    }
    std::vector<double> take_solution() override { return std::move(x_); }

  private:
    Rival rival_;
    const std::vector<double>& b_;
    std::vector<double> x_;
};

/// One for each place in the list of rivals, in double precision.
std::vector<GridPeer> suitesparse_peers(GridMatrix matrix) {
    std::vector<GridPeer> peers;
    const auto names = suitesparse_names(matrix == GridMatrix::symmetric);
    for (std::size_t k = 0; k < names.size(); ++k) {
        GridPeer peer{.name = names[k]};
        peer.fits = [matrix](const GridSpec& spec) { return spec.matrix == matrix && spec.precision == Precision::f64; };
        peer.make = [k, matrix](const formats::GridSystem& system, const GridSpec&, const DeviceTools&) {
            return std::make_unique<SuiteSparse>(suitesparse_rival(k, formats::to_sparse(system), matrix == GridMatrix::symmetric),
                                                 system.b);
        };
        peers.push_back(std::move(peer));
    }
    return peers;
}

void print_result(const GridResult& result) {
    fmt::print("{:18} {:10} {:4} {:13} {:10.1f} {:10.1f} {:12.1e}\n", result.solver, to_string(result.spec.matrix),
               to_string(result.spec.precision), result.operation, result.seconds.median * 1e3, result.seconds.minimum * 1e3,
               result.residual.value_or(0));
}

int run(GridBenchOptions options) {
    auto& request = options.request;
    request.tuning.workers = options.workers;
    request.budget = {.seconds = 0, .least_runs = static_cast<std::size_t>(options.repeats)};
    request.seed = 1;
    for (const auto matrix : request.matrices)
        for (auto& peer : suitesparse_peers(matrix)) request.peers.push_back(std::move(peer));
    fmt::print("{}x{} pixels, {} threads, {} times\n{:47} {:>10} {:>10} {:>12}\n", options.width, options.height, options.workers,
               options.repeats, "", "median, ms", "least, ms", "residual");
    bool sound = true;
    measure_grid({options.width, options.height}, request, {print_result, [&](const GridFailure& failure) {
                                                                fmt::print(stderr, "bench_grid: {}: {}\n", failure.solver, failure.message);
                                                                sound = false;
                                                            }});
    return sound ? 0 : 1;
}

}  // namespace
}  // namespace trifold::bench

int main(int argc, char** argv) {
    using namespace trifold;
    CLI::App app{"Times images on this processor, beside SuiteSparse where this was built with it", "bench_grid"};
    bench::GridBenchOptions options;
    app.add_option("--width", options.width, "Pixels of a row")->capture_default_str();
    app.add_option("--height", options.height, "Rows")->capture_default_str();
    app.add_option("--general", options.request.general, "The problem with a general matrix")->capture_default_str();
    app.add_option("--symmetric", options.request.symmetric, "The problem with a positive definite one")->capture_default_str();
    app.add_option("--workers", options.workers, "Threads of Trifold")->capture_default_str();
    app.add_option("--repeats", options.repeats, "Times that each is measured")->check(CLI::PositiveNumber)->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        return bench::run(options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench_grid: {}\n", error.what());
        return 2;
    }
}
