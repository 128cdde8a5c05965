// Times factor, solve and factor_solve on a device, data there already: the sizes of docs/performance.md and a horizon series.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/trifold.hpp"
#include "tools/bench/device_tools.hpp"

using namespace trifold;

namespace {

struct Options {
    std::string device = "cuda", json, precision = "both";
    std::vector<std::string> schedules{"auto"}, variants{"auto"}, only;
    bool quick = false;
};

struct Size {
    std::int64_t horizon, block;
};

/// xorshift: enough for data, and a gigabyte of it takes a second.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed * 2654435769U + 88172645463325252U) {}
    double uniform() {
        state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
        return static_cast<double>(state_ >> 11) * 0x1p-52 - 1;
    }

  private:
    std::uint64_t state_;
};

/// Random symmetric D with a dominant diagonal, random E and b.
template <class Real>
struct Problem {
    Problem(Size size, std::uint64_t seed) : n(size.block), horizon(size.horizon) {
        d.resize(elements(horizon * n * n)), e.resize(elements((horizon - 1) * n * n)), b.resize(elements(horizon * n));
        std::vector<std::thread> threads;
        const std::int64_t parts = 8;
        for (std::int64_t part = 0; part < parts; ++part)
            threads.emplace_back(
                [=, this] { fill(part * horizon / parts, (part + 1) * horizon / parts, seed * 64 + static_cast<std::uint64_t>(part)); });
        for (auto& thread : threads) thread.join();
    }
    /// ||A x - b|| / (||A|| ||x|| + ||b||), infinity norms.
    double residual(const std::vector<Real>& x) const;

    std::int64_t n, horizon;
    std::vector<Real> d, e, b;

  private:
    static std::size_t elements(std::int64_t count) { return static_cast<std::size_t>(std::max<std::int64_t>(count, 1)); }
    void fill(std::int64_t first, std::int64_t last, std::uint64_t seed) {
        Random random(seed);
        for (auto i = first; i < last; ++i) {
            auto* block = d.data() + i * n * n;
            for (std::int64_t r = 0; r < n; ++r) {
                for (std::int64_t c = 0; c < r; ++c) block[r * n + c] = block[c * n + r] = static_cast<Real>(random.uniform());
                block[r * n + r] = static_cast<Real>(2.5 * static_cast<double>(n) + random.uniform());
                b[elements(i * n + r + 1) - 1] = static_cast<Real>(random.uniform());
            }
            if (i + 1 == horizon) continue;
            for (std::int64_t k = 0; k < n * n; ++k) e[static_cast<std::size_t>(i * n * n + k)] = static_cast<Real>(random.uniform());
        }
    }
};

template <class Real>
double Problem<Real>::residual(const std::vector<Real>& x) const {
    std::vector<double> ax(x.size(), 0.0), row(x.size(), 0.0);
    const auto add = [&](std::int64_t r, std::int64_t c, double a) {
        ax[static_cast<std::size_t>(r)] += a * static_cast<double>(x[static_cast<std::size_t>(c)]);
        row[static_cast<std::size_t>(r)] += std::fabs(a);
    };
    for (std::int64_t i = 0; i < horizon; ++i)
        for (std::int64_t r = 0; r < n; ++r)
            for (std::int64_t c = 0; c < n; ++c) {
                add(i * n + r, i * n + c, static_cast<double>(d[static_cast<std::size_t>((i * n + r) * n + c)]));
                if (i + 1 == horizon) continue;
                const auto a = static_cast<double>(e[static_cast<std::size_t>((i * n + r) * n + c)]);
                add((i + 1) * n + r, i * n + c, a);
                add(i * n + c, (i + 1) * n + r, a);
            }
    double residual = 0, norm_a = 0, norm_x = 0, norm_b = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
        const auto difference = std::fabs(ax[k] - static_cast<double>(b[k]));
        if (!(difference <= residual)) residual = difference;  // a NaN must not get lost
        norm_a = std::max(norm_a, row[k]);
        norm_x = std::max(norm_x, std::fabs(static_cast<double>(x[k])));
        norm_b = std::max(norm_b, std::fabs(static_cast<double>(b[k])));
    }
    return residual / (norm_a * norm_x + norm_b);
}

/// Median and least milliseconds of a call.
struct Timing {
    double median, least;
};

template <class Call>
Timing time_call(DeviceTools& tools, bool quick, const Call& call) {
    std::vector<double> times;
    double total = 0;
    for (int k = 0; k < 3; ++k) call();
    tools.synchronize();
    while (times.size() < 5 || (total < (quick ? 20 : 200) && times.size() < 400)) {
        tools.start();
        call();
        times.push_back(tools.stop());
        total += times.back();
    }
    std::sort(times.begin(), times.end());
    return {times[times.size() / 2], times.front()};
}

template <class Real>
nlohmann::json measure(const Device& device, Size size, const std::string& schedule, const std::string& variant, bool quick) {
    Spec spec{.block = size.block, .horizon = size.horizon, .precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32};
    const Plan plan(spec, device, {.schedule = schedule, .variant = variant});
    DeviceTools tools(device);
    Solver solver(plan);
    const Problem<Real> problem(size, 42);
    const auto bytes = [](const std::vector<Real>& v) { return static_cast<std::int64_t>(v.size() * sizeof(Real)); };
    const auto upload = [&](const std::vector<Real>& v) {
        auto memory = tools.allocate(bytes(v));
        tools.upload(memory.get(), v.data(), bytes(v));
        return memory;
    };
    const auto d = upload(problem.d), e = upload(problem.e), b = upload(problem.b);
    const auto x = tools.allocate(bytes(problem.b));
    const auto* pd = static_cast<const Real*>(d.get());
    const auto* pe = static_cast<const Real*>(e.get());
    const auto* pb = static_cast<const Real*>(b.get());
    auto* px = static_cast<Real*>(x.get());
    const Stream stream{tools.stream()};
    const auto factor = time_call(tools, quick, [&] { solver.factor(pd, pe, stream); });
    const auto solve = time_call(tools, quick, [&] { solver.solve(pb, px, stream); });
    const auto both = time_call(tools, quick, [&] { solver.factor_solve(pd, pe, pb, px, stream); });
    tools.synchronize();
    solver.check();
    std::vector<Real> host(problem.b.size());
    tools.download(host.data(), px, bytes(host));
    const auto residual = problem.residual(host);
    const auto& program = plan.program();
    fmt::print("{:>6} x {:<5} {} {:>9.4f} {:>9.4f} {:>9.4f}   {:.1e}  {:>6.2f} s  {}, {}\n", size.horizon, size.block,
               to_string(spec.precision), factor.median, solve.median, both.median, residual, plan.report().compile_seconds,
               program.schedule.name, program.variant.name);
    std::fflush(stdout);
    auto kernels = nlohmann::json::array();
    for (const auto& kernel : plan.report().kernels)
        kernels.push_back({{"name", kernel.kernel}, {"registers", kernel.registers}, {"spill_bytes", kernel.spill_bytes}});
    return {{"horizon", size.horizon},
            {"block", size.block},
            {"precision", to_string(spec.precision)},
            {"schedule", program.schedule.name},
            {"variant", program.variant.name},
            {"milliseconds", {{"factor", factor.median}, {"solve", solve.median}, {"factor_solve", both.median}}},
            {"least", {{"factor", factor.least}, {"solve", solve.least}, {"factor_solve", both.least}}},
            {"relative_residual", residual},
            {"compile_seconds", plan.report().compile_seconds},
            {"kernels", kernels}};
}

std::vector<Size> sizes(const Options& options) {
    if (!options.only.empty()) {
        std::vector<Size> chosen;
        for (const auto& text : options.only) {
            const auto cross = text.find('x');
            if (cross == std::string::npos) throw SpecError(fmt::format("size '{}' is not NxB, such as 512x32", text));
            chosen.push_back({std::stoll(text.substr(0, cross)), std::stoll(text.substr(cross + 1))});
        }
        return chosen;
    }
    if (options.quick) return {{8192, 32}, {4096, 64}, {2048, 128}, {1024, 256}, {64, 32}, {512, 32}};
    return {{8192, 32}, {4096, 64}, {2048, 128}, {1024, 256}, {512, 512}, {256, 1024},
            {16, 32},   {64, 32},   {128, 32},   {512, 32},   {1024, 32}, {4096, 32}};
}

/// False when a size failed; the others still run.
bool run(const Options& options) {
    const auto device = Device::parse(options.device);
    auto results = nlohmann::json::array();
    bool sound = true;
    fmt::print(
        "{}; median milliseconds, data on the device\n     N x n          factor     solve      both  residual  compile  schedule, "
        "variant\n",
        device.name());
    for (const auto& size : sizes(options))
        for (const auto* precision : {"f64", "f32"})
            for (const auto& schedule : options.schedules)
                for (const auto& variant : options.variants) {
                    if (options.precision != "both" && options.precision != precision) continue;
                    try {
                        results.push_back(std::string_view(precision) == "f64"
                                              ? measure<double>(device, size, schedule, variant, options.quick)
                                              : measure<float>(device, size, schedule, variant, options.quick));
                    } catch (const Error& error) {
                        sound = false;
                        fmt::print("{} x {} {} {} {}: {}\n", size.horizon, size.block, precision, schedule, variant, error.what());
                    }
                }
    if (!options.json.empty())
        std::ofstream(options.json) << nlohmann::json{{"device", device.name()}, {"results", results}}.dump(2) << '\n';
    return sound;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"Times the solver on a device"};
    app.add_option("--device", options.device, "auto, cuda, cuda:1, cpu");
    app.add_option("--json", options.json, "file for all results");
    app.add_option("--precision", options.precision, "f32, f64 or both");
    app.add_option("--schedule", options.schedules, "one or more, each measured");
    app.add_option("--variant", options.variants, "one or more, each measured");
    app.add_option("--only", options.only, "sizes such as 512x32 in place of the built-in list");
    app.add_flag("--quick", options.quick, "fewer sizes and repetitions");
    CLI11_PARSE(app, argc, argv);
    try {
        return run(options) ? 0 : 1;
    } catch (const SpecError& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 3;
    }
}
