// Runs kernels whose thread blocks wait for one another again and again, while other work comes and goes on the same device, so that
// blocks start late, in other numbers and on other multiprocessors: every run must give the bits of the first. No sanitizer sees the
// fences and flags that this depends on. `perturb --runs 100000 --size 17x32` for each size.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <trifold/trifold.hpp>

#include "tools/bench/device_tools.hpp"
#include "tools/bench/suites.hpp"
#include "tools/problems/problems.hpp"

using namespace trifold;

namespace {

constexpr int skipped = 77;  // what ctest knows as skipped

/// A Solver with its own stream and data.
template <class Real>
class Work {
  public:
    Work(const Device& device, const bench::Size& size, const std::string& variant, std::int64_t slots)
        : tools_(device), slots_(slots), plan_(spec_of(size), device, tuning_of(variant)), solver_(plan_) {
        const auto system = problems::dominant({size.block, size.horizon, 1, size.batch}, 42);
        d_ = upload(system.d), e_ = upload(system.e), b_ = upload(system.b);
        length_ = system.b.size();
        nothing_ = upload(std::vector<double>(length_ * static_cast<std::size_t>(slots), std::numeric_limits<double>::quiet_NaN()));
        x_ = upload(std::vector<double>(length_ * static_cast<std::size_t>(slots)));
        solutions();  // a copy back waits for those before it
    }

    /// One run for each slot.
    void run() {
        for (std::int64_t slot = 0; slot < slots_; ++slot)
            solver_.template factor_solve<Real>(get(d_), get(e_), get(b_), get(x_) + slot * static_cast<std::int64_t>(length_),
                                                {tools_.stream()});
    }
    /// In the order of the stream: a copy from the host may still be under way when the call returns.
    void poison() {
        tools_.copy(x_.get(), nothing_.get(), static_cast<std::int64_t>(length_ * static_cast<std::size_t>(slots_) * sizeof(Real)));
    }
    /// All solutions, one behind another.
    std::vector<Real> solutions() {
        tools_.synchronize();
        std::vector<Real> result(length_ * static_cast<std::size_t>(slots_));
        tools_.download(result.data(), x_.get(), bytes(result));
        return result;
    }
    void synchronize() { tools_.synchronize(); }
    std::string variant() const { return std::string(plan_.choice().variant); }
    std::size_t length() const { return length_; }

  private:
    static Spec spec_of(const bench::Size& size) {
        return {.block = size.block,
                .horizon = size.horizon,
                .precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32,
                .batch = size.batch,
                .operations = {Operation::factor_solve}};
    }
    static Tuning tuning_of(const std::string& variant) { return {.schedule = "multi-stage", .variant = variant}; }
    static Real* get(const std::shared_ptr<void>& memory) { return static_cast<Real*>(memory.get()); }
    static std::int64_t bytes(const std::vector<Real>& values) { return static_cast<std::int64_t>(values.size() * sizeof(Real)); }
    std::shared_ptr<void> upload(const std::vector<double>& values) const {
        const std::vector<Real> rounded(values.begin(), values.end());
        auto memory = tools_.allocate(std::max<std::int64_t>(bytes(rounded), 8));
        tools_.upload(memory.get(), rounded.data(), bytes(rounded));
        return memory;
    }

    DeviceTools tools_;
    std::int64_t slots_;
    Plan plan_;
    Solver solver_;
    std::shared_ptr<void> d_, e_, b_, x_, nothing_;
    std::size_t length_ = 0;
};

/// Random bursts of runs, and pauses between them, until told to stop.
void disturb(const std::stop_token& stop, const Device& device, const bench::Size& size, unsigned seed) {
    Work<float> work(device, size, "auto", 1);
    std::mt19937 random(seed);
    while (!stop.stop_requested()) {
        for (auto k = random() % 8; k > 0; --k) work.run();
        work.synchronize();
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    }
}

/// The number of runs whose bits differ from the first one's.
template <class Real>
std::int64_t differences(const Device& device, const bench::Size& size, const std::string& variant, std::int64_t runs) {
    constexpr std::int64_t slots = 50;
    Work<Real> work(device, size, variant, slots);
    std::vector<Real> first;
    std::int64_t different = 0, unwritten = 0;
    for (std::int64_t done = 0; done < runs; done += slots) {
        work.poison();
        work.run();
        const auto all = work.solutions();
        if (first.empty()) first.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(work.length()));
        for (std::size_t at = 0; at < all.size(); at += work.length()) {
            if (std::memcmp(all.data() + at, first.data(), work.length() * sizeof(Real)) == 0) continue;
            ++different;
            unwritten += static_cast<std::int64_t>(std::any_of(&all[at], &all[at] + work.length(), [](Real x) { return std::isnan(x); }));
        }
    }
    fmt::print("{:<10} {} {:<14} {:>8} runs, {} different, {} of them with NaN\n", bench::to_string(size),
               sizeof(Real) == 8 ? "f64" : "f32", work.variant(), runs, different, unwritten);
    std::fflush(stdout);
    return different;
}

int run(std::int64_t runs, const std::vector<std::string>& sizes, const std::string& variant) {
    std::optional<Device> device;
    try {
        device = Device::parse("cuda");
    } catch (const DeviceError& error) {
        fmt::print(stderr, "perturb: skipped: {}\n", error.what());
        return skipped;
    }
    std::vector<std::jthread> others;
    unsigned seed = 1;
    for (const bench::Size size : {bench::Size{700, 12}, bench::Size{90, 40}, bench::Size{11, 128}})
        others.emplace_back([&device, size, seed = seed++](const std::stop_token& stop) { disturb(stop, *device, size, seed); });
    std::int64_t different = 0;
    for (const auto& text : sizes) {
        different += differences<double>(*device, bench::parse_size(text), variant, runs);
        different += differences<float>(*device, bench::parse_size(text), variant, runs);
    }
    return different == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Runs kernels beside others and compares the bits of their solutions"};
    std::int64_t runs = 1000;
    std::vector<std::string> sizes{"17x8", "17x32", "5x75", "6x100"};
    std::string variant = "auto";
    app.add_option("--runs", runs, "Of each size and precision")->check(CLI::PositiveNumber);
    app.add_option("--size", sizes, "Nxn, several");
    app.add_option("--variant", variant, "Of the kernels");
    CLI11_PARSE(app, argc, argv);
    try {
        return run(runs, sizes, variant);
    } catch (const std::exception& error) {
        fmt::print(stderr, "perturb: {}\n", error.what());
        return 1;
    }
}
