// An exported solver, compiled by the system's compiler, against the one that is compiled at run time: one thread, interleaved rounds.
#include <dlfcn.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <trifold/trifold.hpp>

#include "generator/export/c99/export.hpp"
#include "tools/formats/file.hpp"
#include "tools/problems/problems.hpp"

using namespace trifold;
namespace fs = std::filesystem;

namespace {

struct Options {
    std::int64_t block = 12, horizon = 128;
    std::string precision = "f64", target = "c99:avx2", source;
    std::vector<std::string> compilers{"gcc", "clang-19"};
    std::string flags = "-O3 -march=native -ffp-contract=fast -fno-math-errno";
    int rounds = 200;
};

/// As in an exported header.
struct Status {
    int code, block, row;
};

/// The exported solver, compiled and loaded.
template <class Real>
class Exported {
  public:
    Exported(const ExportRequest& request, const Options& options, const std::string& compiler) {
        static int count = 0;  // a library of a name that is loaded is not loaded again
        const auto directory = fs::temp_directory_path() / fmt::format("trifold-bench-export-{}-{}", ::getpid(), ++count);
        fs::create_directories(directory);
        for (const auto& file : export_project(request)) formats::write_file(directory / file.name, file.text);
        const auto source = options.source.empty() ? "btd_solver.c" : fs::absolute(options.source).string();
        const auto command = fmt::format("cd '{}' && {} -std=gnu11 {} -I. -shared -fPIC -o solver.so '{}' -lm", directory.string(),
                                         compiler, options.flags, source);
        const bool built = std::system(command.c_str()) == 0;
        if (built) library_ = ::dlopen((directory / "solver.so").c_str(), RTLD_NOW | RTLD_LOCAL);
        fs::remove_all(directory);
        if (library_ == nullptr) throw Error(fmt::format("'{}' made no library; give another --compilers or --flags", command));
        const auto bytes = find<std::size_t()>("btd_workspace_size")();
        memory_.reset(static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
        find<void*(void*)>("btd_init")(memory_.get());
        factor_ = find<Status(void*, const Real*, const Real*)>("btd_factor");
        factor_solve_ = find<Status(void*, const Real*, const Real*, const Real*, Real*)>("btd_factor_solve");
    }
    void factor(const Real* d, const Real* e) const { check(factor_(memory_.get(), d, e)); }
    void factor_solve(const Real* d, const Real* e, const Real* b, Real* x) const { check(factor_solve_(memory_.get(), d, e, b, x)); }

  private:
    template <class Signature>
    Signature* find(const char* name) const {
        return reinterpret_cast<Signature*>(::dlsym(library_, name));
    }
    static void check(const Status& status) {
        if (status.code != 0)
            throw Error(fmt::format("the exported solver fails: status {}, block {}, row {}", status.code, status.block, status.row));
    }
    struct Free {
        void operator()(char* memory) const { std::free(memory); }
    };
    void* library_ = nullptr;
    std::unique_ptr<char, Free> memory_;
    Status (*factor_)(void*, const Real*, const Real*);
    Status (*factor_solve_)(void*, const Real*, const Real*, const Real*, Real*);
};

/// The thread's own clock keeps most of what else runs here out of the times.
double seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double time(const std::function<void()>& work, int repeats) {
    const auto start = seconds();
    for (int k = 0; k < repeats; ++k) work();
    return (seconds() - start) / repeats;
}

/// Medians of every contender, in rounds that take one after another.
std::vector<double> race(const std::vector<std::function<void()>>& contenders, int rounds) {
    const auto repeats = std::max(1, static_cast<int>(3e-4 / time(contenders[0], 3)));
    std::vector<std::vector<double>> times(contenders.size());
    for (int round = 0; round < rounds; ++round)
        for (std::size_t k = 0; k < contenders.size(); ++k) {
            contenders[k]();  // its data come back to the caches
            times[k].push_back(time(contenders[k], repeats));
        }
    std::vector<double> medians;
    for (auto& all : times) {
        std::ranges::nth_element(all, all.begin() + rounds / 2);
        medians.push_back(all[static_cast<std::size_t>(rounds / 2)]);
    }
    return medians;
}

/// The same solution, to rounding.
template <class Real>
void check_same(const std::vector<Real>& x, const std::vector<Real>& other) {
    const double tolerance = sizeof(Real) == 4 ? 1e-4 : 1e-10;
    double difference = 0, largest = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
        difference = std::max(difference, std::fabs(static_cast<double>(x[k]) - static_cast<double>(other[k])));
        largest = std::max(largest, std::fabs(static_cast<double>(x[k])));
    }
    if (!(difference <= tolerance * largest))
        throw Error(fmt::format("the exported solver's X is {} away from that of the run-time solver, whose largest element is {}",
                                difference, largest));
}

template <class Real>
void run(const Options& options) {
    const Spec spec{.block = options.block, .horizon = options.horizon, .precision = parse_precision(options.precision)};
    const auto system = problems::socu({.block = spec.block, .horizon = spec.horizon}, 1);
    const std::vector<Real> d(system.d.begin(), system.d.end()), e(system.e.begin(), system.e.end()), b(system.b.begin(), system.b.end());
    std::vector<Real> x(b.size());
    const Plan plan(spec, Device::cpu(), {"sequential", "auto", 1});
    Solver solver(plan);
    std::vector<std::function<void()>> factor{[&] { solver.factor(d.data(), e.data()); }};
    std::vector<std::function<void()>> both{[&] { solver.factor_solve(d.data(), e.data(), b.data(), x.data()); }};
    std::vector<Exported<Real>> exported;
    exported.reserve(options.compilers.size());
    for (const auto& compiler : options.compilers) {
        const auto& one = exported.emplace_back(ExportRequest{spec, parse_target(options.target)}, options, compiler);
        factor.push_back([&] { one.factor(d.data(), e.data()); });
        both.push_back([&] { one.factor_solve(d.data(), e.data(), b.data(), x.data()); });
    }
    const auto factor_times = race(factor, options.rounds), both_times = race(both, options.rounds);
    fmt::print("n = {}, N = {}, {}, {}; run time on {}: {:.1f} us, {:.1f} us\n", spec.block, spec.horizon, options.precision,
               options.target, Device::cpu().name(), factor_times[0] * 1e6, both_times[0] * 1e6);
    for (std::size_t k = 0; k < exported.size(); ++k)
        fmt::print("  {:<12} {:.2f}, {:.2f}\n", options.compilers[k], factor_times[k + 1] / factor_times[0],
                   both_times[k + 1] / both_times[0]);
    solver.check();
    const auto reference = (both[0](), x);
    for (std::size_t k = 0; k < exported.size(); ++k) check_same(reference, (both[k + 1](), x));
}

}  // namespace

int main(int argc, char** argv) try {
    Options options;
    CLI::App app{
        "Times exported C beside the solver compiled at run time. Prints median times of factor and of factor and solve, those of the "
        "exported C as multiples of the others."};
    app.add_option("--block", options.block, "block size")->capture_default_str();
    app.add_option("--horizon", options.horizon, "blocks on the diagonal")->capture_default_str();
    app.add_option("--precision", options.precision, "f32 or f64")->check(CLI::IsMember({"f32", "f64"}))->capture_default_str();
    app.add_option("--target", options.target, "c99:generic, c99:avx2, ...")->capture_default_str();
    app.add_option("--compilers", options.compilers, "C compilers")->delimiter(',')->capture_default_str();
    app.add_option("--flags", options.flags, "for the compilers")->capture_default_str();
    app.add_option("--source", options.source, "an edited btd_solver.c in place of the exported one");
    app.add_option("--rounds", options.rounds, "of which the median counts")->check(CLI::PositiveNumber)->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    options.precision == "f32" ? run<float>(options) : run<double>(options);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "bench_export: %s\n", error.what());
    return 1;
}
