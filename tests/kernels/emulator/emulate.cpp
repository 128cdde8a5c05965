// Runs the device kernels of one Program on the CPU and says what is wrong with them: for work on kernels.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <sstream>

#include "tests/support/cpu/conform.hpp"
#include "tests/support/emulator/unit.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

struct Options {
    Spec spec{.block = 8, .horizon = 9};
    std::string target = "cuda:sm_90", precision = "f64", source, text;
    bool symmetric = false;
    Tuning tuning;
    Running running;
    bool plain = false;
    int seeds = 1;
};

Options parse(int argc, char** argv) {
    Options options;
    CLI::App app("Runs the device kernels of a Program on the CPU under a race detector");
    auto& spec = options.spec;
    app.add_option("--block", spec.block, "n")->capture_default_str();
    app.add_option("--horizon", spec.horizon, "N")->capture_default_str();
    app.add_option("--rhs", spec.rhs, "right-hand sides")->capture_default_str();
    app.add_option("--batch", spec.batch, "systems")->capture_default_str();
    app.add_option("--precision", options.precision, "f32 or f64")->capture_default_str();
    app.add_flag("--symmetric", options.symmetric, "pivots of both signs");
    app.add_option("--target", options.target, "such as cuda:sm_90")->capture_default_str();
    app.add_option("--schedule", options.tuning.schedule, "as of trifold explain")->capture_default_str();
    app.add_option("--variant", options.tuning.variant, "of the kernels")->capture_default_str();
    app.add_option("--source", options.source, "run this unit in place of the generated one")->check(CLI::ExistingFile);
    const std::map<std::string, trifold::test::Order> orders{
        {"forward", trifold::test::Order::forward}, {"reverse", trifold::test::Order::reverse}, {"random", trifold::test::Order::random}};
    app.add_option("--order", options.running.order, "of waves and lanes: forward, reverse or random")
        ->transform(CLI::CheckedTransformer(orders));
    app.add_option("--seed", options.running.seed, "of the random order")->capture_default_str();
    app.add_option("--seeds", options.seeds, "run with so many seeds, one after another")->capture_default_str();
    app.add_option("--alive", options.running.alive, "thread blocks alive at once")->capture_default_str();
    app.add_flag("--plain", options.plain, "without the detector of races and accesses out of bounds");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error) == 0 ? 0 : 2);
    }
    spec.precision = parse_precision(options.precision);
    if (options.symmetric) spec.matrix = MatrixKind::symmetric;
    spec.operations = all_operations();
    return options;
}

/// Prints the errors of one run; false when something is wrong.
bool report(const EmulatedUnit& unit, const Running& running) {
    const auto start = std::chrono::steady_clock::now();
    KernelRunner<EmulatedUnit, Running> runner(unit, {running});
    const auto errors = errors_of(runner);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    bool good = true;
    for (const auto& [name, error] : errors) {
        good &= error <= 1;
        fmt::print("  {:24} {:10.3g} of what is allowed{}\n", name, error, error <= 1 ? "" : "  <-- WRONG");
    }
    fmt::print("  run in {:.2f} s\n", seconds.count());
    return good;
}

int run(const Options& options) {
    const auto choice = choose(options.spec, parse_target(options.target), options.tuning);
    auto program = generate(choice, Packing::together);
    if (!options.source.empty()) {
        std::ostringstream text;
        text << std::ifstream(options.source).rdbuf();
        program.units.front().source = text.str();
    }
    fmt::print("n {}, N {}, {}, {} right-hand side(s), {} system(s); {}, schedule {}, variant {}\n", options.spec.block,
               options.spec.horizon, options.precision, options.spec.rhs, options.spec.batch, options.target, choice.schedule.name,
               choice.variant);
    const EmulatedUnit unit(choice, std::move(program), options.plain ? EmulatedUnit::Build::plain : EmulatedUnit::Build::watched);
    bool good = true;
    auto running = options.running;
    for (int k = 0; k < options.seeds; ++k, ++running.seed) {
        if (options.seeds > 1) fmt::print("seed {}\n", running.seed);
        good &= report(unit, running);
    }
    for (const auto& finding : unit.findings()) fmt::print("  {}\n", finding);
    fmt::print("{}\n", good && unit.findings().empty() ? "nothing found" : "SOMETHING IS WRONG");
    return good && unit.findings().empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(parse(argc, argv));
    } catch (const std::exception& error) {
        fmt::print(stderr, "emulate: {}\n", error.what());
        return 1;
    }
}
