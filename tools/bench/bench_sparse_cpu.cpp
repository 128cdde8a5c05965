/// Times whole solutions on processors, beside those of Eigen and of dune-istl by BiCGSTAB with an incomplete factorization, to the same
/// true residual.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <trifold/error.hpp>
#include <trifold/sparse.hpp>

#include "tools/bench/dune.hpp"

namespace trifold::bench {
namespace {

using Rows = Eigen::SparseMatrix<double, Eigen::RowMajor>;

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

/// Rows of blocks, and what they have to give.
struct SparseProblem {
    std::string name;
    std::int64_t block = 1;
    std::vector<std::int64_t> starts{0}, columns;
    std::vector<double> values, b;

    std::int64_t rows() const { return static_cast<std::int64_t>(starts.size()) - 1; }
    SparsePattern pattern() const { return {std::span(starts), std::span(columns)}; }
    /// Adds a row whose blocks these are, by column.
    void add(const std::map<std::int64_t, std::vector<double>>& row) {
        for (const auto& [column, values_of] : row) {
            columns.push_back(column);
            values.insert(values.end(), values_of.begin(), values_of.end());
        }
        starts.push_back(static_cast<std::int64_t>(columns.size()));
    }
    Rows by_numbers() const {
        std::vector<Eigen::Triplet<double>> all;
        for (std::int64_t row = 0; row < rows(); ++row)
            for (auto k = starts[at(row)]; k < starts[at(row) + 1]; ++k)
                for (std::int64_t i = 0; i < block; ++i)
                    for (std::int64_t j = 0; j < block; ++j)
                        all.emplace_back(static_cast<int>(row * block + i), static_cast<int>(columns[at(k)] * block + j),
                                         values[at((k * block + i) * block + j)]);
        Rows a(static_cast<int>(rows() * block), static_cast<int>(rows() * block));
        a.setFromTriplets(all.begin(), all.end());
        return a;
    }
};

std::vector<double> random_numbers(std::int64_t count) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> number(-1, 1);
    std::vector<double> all(at(count));
    for (auto& one : all) one = number(random);
    return all;
}

/// A step in time of heat that a turning wind carries, with linear elements on a square whose inner nodes are moved at random.
SparseProblem convection(std::int64_t side) {
    SparseProblem p{.name = fmt::format("convection and diffusion, {0} x {0} nodes", side)};
    const double h = 1.0 / static_cast<double>(side - 1), diffusion = 1e-3, step = 20 * h;
    const auto moved = random_numbers(2 * side * side);
    const auto node = [&](std::int64_t i, std::int64_t j) {
        const bool inner = i > 0 && j > 0 && i < side - 1 && j < side - 1;
        const double by = inner ? 0.25 * h : 0;
        return std::array{static_cast<double>(i) * h + by * moved[at(2 * (i + side * j))],
                          static_cast<double>(j) * h + by * moved[at(2 * (i + side * j) + 1)]};
    };
    std::vector<std::map<std::int64_t, std::vector<double>>> all(at(side * side));
    const auto add_triangle = [&](std::array<std::int64_t, 3> numbers) {
        std::array<std::array<double, 2>, 3> v;
        for (std::size_t k = 0; k < 3; ++k) v[k] = node(numbers[k] % side, numbers[k] / side);
        const double area = 0.5 * ((v[1][0] - v[0][0]) * (v[2][1] - v[0][1]) - (v[2][0] - v[0][0]) * (v[1][1] - v[0][1]));
        const double x = (v[0][0] + v[1][0] + v[2][0]) / 3 - 0.5, y = (v[0][1] + v[1][1] + v[2][1]) / 3 - 0.5;
        std::array<std::array<double, 2>, 3> slope;  // of the three hat functions
        for (std::size_t k = 0; k < 3; ++k)
            slope[k] = {(v[(k + 1) % 3][1] - v[(k + 2) % 3][1]) / (2 * area), (v[(k + 2) % 3][0] - v[(k + 1) % 3][0]) / (2 * area)};
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < 3; ++j) {
                auto& value = all[at(numbers[i])].try_emplace(numbers[j], 1, 0.0).first->second[0];
                value += area * ((i == j ? 2 : 1) / 12.0 / step + diffusion * (slope[i][0] * slope[j][0] + slope[i][1] * slope[j][1]) +
                                 (y * slope[j][0] - x * slope[j][1]) / 3);
            }
    };
    for (std::int64_t j = 0; j + 1 < side; ++j)
        for (std::int64_t i = 0; i + 1 < side; ++i) {
            const auto corner = i + side * j;
            add_triangle({corner, corner + 1, corner + side + 1});
            add_triangle({corner, corner + side + 1, corner + side});
        }
    for (const auto& row : all) p.add(row);
    p.b = random_numbers(p.rows());
    return p;
}

/// Pressure in layers of rock, whose permeability is log-normal; wells in two corners.
SparseProblem layers(std::array<std::int64_t, 3> cells) {
    const auto [nx, ny, nz] = cells;
    SparseProblem p{.name = fmt::format("pressure in rock, {} x {} x {} cells", nx, ny, nz)};
    std::mt19937_64 random(2);
    std::normal_distribution<double> normal;
    std::vector<double> k(at(nx * ny * nz));
    for (std::int64_t z = 0; z < nz; ++z) {
        const double layer = 2 * normal(random);
        for (std::int64_t cell = 0; cell < nx * ny; ++cell) k[at(z * nx * ny + cell)] = std::exp(layer + normal(random));
    }
    for (std::int64_t z = 0; z < nz; ++z)
        for (std::int64_t y = 0; y < ny; ++y)
            for (std::int64_t x = 0; x < nx; ++x) {
                const auto row = x + nx * (y + ny * z);
                const bool is_well = (x == 0 && y == 0) || (x == nx - 1 && y == ny - 1);
                double own = is_well ? k[at(row)] : 0;
                std::map<std::int64_t, std::vector<double>> entries;
                const auto couple = [&](bool there, std::int64_t other, double weight) {
                    if (!there) return;
                    const double t = weight * 2 * k[at(row)] * k[at(other)] / (k[at(row)] + k[at(other)]);
                    entries[other] = {-t};
                    own += t;
                };
                constexpr double upright = 0.1;  // vertical permeability
                couple(x > 0, row - 1, 1);
                couple(x < nx - 1, row + 1, 1);
                couple(y > 0, row - nx, 1);
                couple(y < ny - 1, row + nx, 1);
                couple(z > 0, row - nx * ny, upright);
                couple(z < nz - 1, row + nx * ny, upright);
                entries[row] = {own};
                p.add(entries);
                p.b.push_back(is_well ? (x == 0 ? 1 : -1) * k[at(row)] : 0);
            }
    return p;
}

/// Three substances that diffuse and react with one another.
SparseProblem reactions(std::int64_t side) {
    SparseProblem p{.name = fmt::format("three substances that react, {0} x {0} x {0} cells", side), .block = 3};
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> rate(0, 1);
    constexpr std::array diffusion{1.0, 0.3, 0.05};
    const auto all = side * side * side;
    for (std::int64_t row = 0; row < all; ++row) {
        const std::array place{row % side, row / side % side, row / side / side};
        const std::array apart{std::int64_t{1}, side, side * side};
        std::map<std::int64_t, std::vector<double>> entries;
        std::vector<double> own(9, 0.0);
        for (std::size_t axis = 0; axis < 3; ++axis)
            for (const int way : {-1, 1}) {
                const auto next = place[axis] + way;
                for (std::size_t c = 0; c < 3; ++c) own[4 * c] += diffusion[c];
                if (next < 0 || next >= side) continue;
                auto& other = entries[row + way * apart[axis]];
                other.assign(9, 0.0);
                for (std::size_t c = 0; c < 3; ++c) other[4 * c] = -diffusion[c];
            }
        for (std::size_t c = 0; c < 3; ++c)
            for (std::size_t d = 0; d < 3; ++d) own[3 * c + d] += c == d ? 0.02 + rate(random) : 0.4 * (rate(random) - 0.5);
        entries[row] = own;
        p.add(entries);
    }
    p.b = random_numbers(3 * all);
    return p;
}

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct SparseTimes {
    double prepare, solve, residual;  // seconds; the last is |b - A x| / |b|
    std::int64_t iterations;
};
void print_times(const std::string& who, const SparseTimes& t) {
    fmt::print("{:46} {:9.3f} s {:9.3f} s {:7} {:10.2e}\n", who, t.prepare, t.solve, t.iterations, t.residual);
    std::fflush(stdout);  // the next one may take minutes
}

SparseTimes time_eigen(const Rows& a, const Eigen::VectorXd& b, double tolerance, double drop, int fill) {
    Eigen::BiCGSTAB<Rows, Eigen::IncompleteLUT<double>> solver;
    solver.preconditioner().setDroptol(drop);
    solver.preconditioner().setFillfactor(fill);
    solver.setTolerance(tolerance);
    auto begin = Clock::now();
    solver.compute(a);
    const double prepared = seconds_since(begin);
    begin = Clock::now();
    const Eigen::VectorXd x = solver.solve(b);
    return {prepared, seconds_since(begin), (b - a * x).norm() / b.norm(), solver.iterations()};
}

SparseTimes time_ours(const SparseProblem& p, const Rows& a, const SparseSpec& spec, int workers, std::int64_t rows, double tolerance) {
    SparseSolver solver(SparsePlan(spec, p.pattern(), Device::cpu(), {.rows = rows}, {.workers = workers}));
    std::vector<double> x(p.b.size());
    auto begin = Clock::now();
    solver.update(p.values);
    const double prepared = seconds_since(begin);
    begin = Clock::now();
    solver.solve(p.b, x, {.relative = tolerance});
    const double seconds = seconds_since(begin);
    const Eigen::Map<const Eigen::VectorXd> b(p.b.data(), static_cast<Eigen::Index>(p.b.size())), found(x.data(), b.size());
    return {prepared, seconds, (b - a * found).norm() / b.norm(), solver.outcomes().front().iterations};
}

SparseTimes time_dune(const SparseProblem& p, const Rows& a, int fill, double tolerance) {
    std::vector<double> x(p.b.size());
    const auto times = solve_by_dune({p.block, p.starts, p.columns, p.values, p.b}, fill, tolerance, x);
    const Eigen::Map<const Eigen::VectorXd> b(p.b.data(), static_cast<Eigen::Index>(p.b.size())), found(x.data(), b.size());
    return {times.prepare, times.solve, (b - a * found).norm() / b.norm(), times.iterations};
}

struct SparseCpuOptions {
    int workers = 2;
    double tolerance = 1e-8, scale = 1;
    std::int64_t rows = 0;
    bool alone = false;
};

void run(const SparseProblem& p, const SparseCpuOptions& options) {
    const auto a = p.by_numbers();
    const Eigen::Map<const Eigen::VectorXd> b(p.b.data(), static_cast<Eigen::Index>(p.b.size()));
    fmt::print("{}: {} numbers, {} entries\n{:46} {:>11} {:>11} {:>7} {:>10}\n", p.name, a.rows(), a.nonZeros(), "", "prepare", "solve",
               "turns", "residual");
    for (const auto preconditioner : {SparsePreconditioner::ildu0, SparsePreconditioner::ildu1})
        for (const auto precision : {Precision::f64, Precision::mixed})
            print_times(fmt::format("ours, {}, {}", to_string(preconditioner), to_string(precision)),
                        time_ours(p, a, {.block = p.block, .precision = precision, .preconditioner = preconditioner}, options.workers,
                                  options.rows, options.tolerance));
    if (options.alone) return;
    for (const auto& [drop, fill] : {std::pair{1e-2, 2}, {1e-3, 4}, {1e-4, 8}})
        print_times(fmt::format("Eigen, IncompleteLUT, drop {:.0e}, fill {}", drop, fill), time_eigen(a, b, options.tolerance, drop, fill));
    for (const int fill : {0, 1})
        if (has_dune(p.block))
            print_times(fmt::format("dune-istl, SeqILU, fill {}, one thread", fill), time_dune(p, a, fill, options.tolerance));
}

}  // namespace
}  // namespace trifold::bench

int main(int argc, char** argv) {
    using namespace trifold::bench;
    SparseCpuOptions options;
    CLI::App app("Times whole solutions of sparse systems on processors, beside Eigen and dune-istl");
    app.add_option("--workers", options.workers, "Threads, ours and Eigen's")->capture_default_str();
    app.add_option("--tolerance", options.tolerance, "|b - A x| / |b|")->capture_default_str();
    app.add_option("--scale", options.scale, "Of the problems' numbers of cells along a side")->capture_default_str();
    app.add_option("--subdomain", options.rows, "Rows of a subdomain; 0: by the model")->capture_default_str();
    app.add_flag("--alone", options.alone, "Without others");
    std::vector<std::string> problems{"convection", "rock", "reaction"};
    app.add_option("problems", problems, "What is solved")->check(CLI::IsMember(problems))->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        Eigen::setNbThreads(options.workers);
        const auto cells = [&](double side) { return std::max<std::int64_t>(2, std::llround(side * options.scale)); };
        for (const auto& problem : problems)
            run(problem == "convection" ? convection(cells(708))
                : problem == "rock"     ? layers({cells(60), cells(220), cells(85)})
                                        : reactions(cells(64)),
                options);
    } catch (const trifold::Error& error) {
        fmt::print(stderr, "bench_sparse_cpu: {}\n", error.what());
        return 2;
    }
    return 0;
}
