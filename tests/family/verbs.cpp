#include "tests/family/verbs.hpp"

#include <fmt/format.h>

#include <cmath>

#include "tests/family/solver.hpp"
#include "tools/formats/file.hpp"
#include "tools/formats/npy.hpp"

namespace trifold::test {
namespace {

using namespace command;

struct TriangularProblem {
    formats::Array l, x;
    std::int64_t block = 0;
};

TriangularProblem read(const SolveOptions& options, const std::string& size) {
    auto files = read_files(options.files);
    check_same_kind(files, true, "L.npy x.npy");
    TriangularProblem problem{formats::parse_npy(files[0].bytes, files[0].name), formats::parse_npy(files[1].bytes, files[1].name)};
    problem.block = problem.x.shape[0];
    if (std::to_string(problem.block) != size || problem.l.shape != std::vector{problem.block, problem.block})
        throw formats::InputError(fmt::format("--triangular {} was given, but L has shape {} and x {}", size,
                                              formats::shape_text(problem.l.shape), formats::shape_text(problem.x.shape)));
    return problem;
}

std::vector<double> apply(const TriangularProblem& problem, int workers) {
    const TriangularSpec spec{problem.block, 1, std::vector<double>(static_cast<std::size_t>(problem.block), 1.0)};
    TriangularSolver solver(spec, prepare_triangular(spec, Device::cpu(), workers));
    std::vector<double> y(problem.x.values.size());
    solver.apply_on_host(problem.l.values.data(), problem.x.values.data(), y.data(), 1);
    return y;
}

/// The lower triangle of L times a vector, or its transpose.
std::vector<double> times(const TriangularProblem& problem, const std::vector<double>& vector, bool transposed) {
    const auto n = static_cast<std::size_t>(problem.block);
    std::vector<double> result(n);
    for (std::size_t row = 0; row < n; ++row)
        for (std::size_t column = 0; column <= row; ++column)
            result[transposed ? column : row] += problem.l.values[row * n + column] * vector[transposed ? row : column];
    return result;
}

double residual_of(const TriangularProblem& problem, const std::vector<double>& y) {
    const auto expected = times(problem, times(problem, problem.x.values, false), true);
    double worst = 0;
    for (std::size_t k = 0; k < y.size(); ++k) worst = std::max(worst, std::abs(y[k] - expected[k]) / (1 + std::abs(expected[k])));
    return worst;
}

Report run(const SolveOptions& options, const std::string& size, double scale) {
    auto problem = read(options, size);
    if (Device::parse(options.device).backend() != Backend::cpu) throw SpecError("triangular systems run on the CPU; give --device cpu");
    for (auto& value : problem.x.values) value *= scale;
    const auto y = apply(problem, options.workers_on(Device::cpu()));
    const auto residual = residual_of(problem, y);
    options.output.write(formats::format_npy({{problem.block}, Precision::f64, y}));
    const bool accurate = residual <= options.tolerance_of(Precision::f64);
    if (!accurate) say_inaccurate(residual, options.tolerance_of(Precision::f64));
    return {{{"status", accurate ? "ok" : "inaccurate"}, {"block", problem.block}, {"relative_residual", residual}},
            fmt::format("triangular, n = {}\n", problem.block),
            accurate};
}

std::function<Report()> add_solve(CLI::App& app, const SolveOptions& options, const std::string& size) {
    const auto scale = std::make_shared<double>(1);
    app.add_option("--scale", *scale, "Of x");
    return [scale, &options, &size] { return run(options, size, *scale); };
}

}  // namespace

FamilyVerbs triangular_verbs() {
    FamilyVerbs verbs{.name = "triangular", .problems = "triangular systems", .option = "--triangular"};
    verbs.purpose = "y = L' L x; its size n";
    verbs.files = "With --triangular L.npy x.npy";
    verbs.solve = add_solve;
    return verbs;
}

}  // namespace trifold::test
