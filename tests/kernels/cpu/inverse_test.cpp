#include <doctest/doctest.h>

#include "tests/support/cpu/problem.hpp"
#include "tests/support/cpu/unit.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// Arrays, workspace and outputs of one batch, all NaN before the calls.
template <class Real>
struct Batch {
    Batch(const CompiledProgram& unit, const std::vector<System>& systems)
        : user(arrays<Real>(unit.choice().spec, systems)), workspace(unit.program()) {
        const auto& spec = unit.choice().spec;
        const auto area = spec.block * spec.block, nan_blocks = spec.batch * spec.horizon;
        diagonal.assign(static_cast<std::size_t>(nan_blocks * area), std::numeric_limits<Real>::quiet_NaN());
        coupling.assign(static_cast<std::size_t>((nan_blocks - spec.batch) * area), std::numeric_limits<Real>::quiet_NaN());
        args.d = user.d.data();
        args.e = user.e.data();
        args.members = static_cast<std::int64_t>(systems.size());
        args.columns = 1;
        args.workspace = workspace.data();
        args.inverse_diagonal = diagonal.data();
        args.inverse_coupling = coupling.data();
    }
    Arrays<Real> user;
    Workspace workspace;
    std::vector<Real> diagonal, coupling;
    trifold_args args{};
};

template <class Real>
Matrix block_of(const std::vector<Real>& values, std::int64_t index, std::int64_t n) {
    using Rows = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    return Eigen::Map<const Rows>(values.data() + index * n * n, n, n).template cast<double>();
}

/// Largest error of the blocks that member `m` got, relative to the largest entry of the inverse.
template <class Real>
double error(const Spec& spec, const Batch<Real>& batch, std::int64_t m, const Matrix& inverse) {
    const auto n = spec.block;
    double worst = 0;
    for (std::int64_t i = 0; i < spec.horizon; ++i) {
        const auto s = block_of(batch.diagonal, m * spec.horizon + i, n);
        if (!(s == s.transpose())) return std::numeric_limits<double>::infinity();
        worst = std::max(worst, (s - inverse.block(i * n, i * n, n, n)).cwiseAbs().maxCoeff());
        if (i + 1 == spec.horizon) break;
        const auto c = block_of(batch.coupling, m * (spec.horizon - 1) + i, n);
        worst = std::max(worst, (c - inverse.block((i + 1) * n, i * n, n, n)).cwiseAbs().maxCoeff());
    }
    return worst / inverse.cwiseAbs().maxCoeff();
}

template <class Real>
constexpr double epsilon = std::numeric_limits<Real>::epsilon();

template <class Real>
void check_inverse(const Spec& given, const std::string& schedule, const std::string& variant, const Target& target = host_target()) {
    auto spec = given;
    spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
    spec.operations = all_operations();
    CAPTURE(spec.block);
    CAPTURE(spec.horizon);
    CAPTURE(schedule);
    CAPTURE(variant);
    const CompiledProgram unit(choose(spec, target, {.schedule = schedule, .variant = variant}));
    std::vector<System> systems;
    for (std::int64_t m = 0; m < spec.batch; ++m)
        systems.push_back(random_system(spec.block, spec.horizon, 1, 31 + static_cast<unsigned>(m)));
    Batch<Real> batch(unit, systems);
    unit.run(Operation::factor, batch.args);
    unit.run(Operation::inverse, batch.args);
    CHECK(unit.exceptions() == 0);
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        const Matrix a = systems[static_cast<std::size_t>(m)].dense(), inverse = a.inverse();
        const auto condition = a.cwiseAbs().rowwise().sum().maxCoeff() * inverse.cwiseAbs().rowwise().sum().maxCoeff();
        CHECK(error(spec, batch, m, inverse) <= epsilon<Real> * condition);
    }
}

const std::string schedules[] = {"sequential", "single-stage", "multi-stage",   "partitioned:3",
                                 "twisted:2",  "twisted:4",    "recursive:2:3", "segments:3,2"};

/// A system whose condition is about `condition`: a chain of unknowns tied by strong springs and held by one weak one.
System stiff_system(std::int64_t n, std::int64_t horizon, double condition, unsigned seed) {
    auto system = random_system(n, horizon, 1, seed);
    // A = L L' with one pivot of the last block's L shrunk: as near to singular as asked for.
    Matrix l = system.dense().llt().matrixL();
    l(l.rows() - 1, l.rows() - 1) = l(0, 0) / std::sqrt(condition);
    const Matrix a = l * l.transpose();
    for (std::int64_t i = 0; i < horizon; ++i) {
        system.d[static_cast<std::size_t>(i)] = a.block(i * n, i * n, n, n);
        if (i + 1 < horizon) system.e[static_cast<std::size_t>(i)] = a.block((i + 1) * n, i * n, n, n);
    }
    return system;
}

/// The rows of the matrix in the order that the Program's schedule eliminates them.
std::vector<Eigen::Index> elimination_order(const Choice& choice) {
    std::vector<Eigen::Index> order;
    for (const auto& level : choice.schedule.levels)
        for (const auto& run : level.runs)
            for (std::int64_t chain = 0; chain < run.count; ++chain)
                for (const auto& front : chain_fronts(level, run, chain))
                    for (Eigen::Index r = 0; r < choice.spec.block; ++r) order.push_back(front.pivot * choice.spec.block + r);
    return order;
}

}  // namespace

TEST_CASE("selected inverse: every schedule") {
    for (const auto& schedule : schedules)
        for (const std::string variant : {"tile", "lanes"})
            check_inverse<double>({.block = 5, .horizon = 29, .batch = 3}, schedule, variant);
    for (const std::string variant : {"tile", "lanes"})
        check_inverse<float>({.block = 3, .horizon = 16, .batch = 19}, "recursive:2:3", variant);
}

TEST_CASE("selected inverse: chains of one system in the lanes") {
    const std::string intervals = "intervals:bake=0";  // open sizes: one compilation for all horizons
    for (const std::string schedule : {"sequential", "segments:1", "segments:3", "segments:7", "segments:30"}) {
        check_inverse<double>({.block = 5, .horizon = 37, .batch = 2}, schedule, intervals);
        check_inverse<float>({.block = 3, .horizon = 59}, schedule, intervals);
    }
    for (const std::int64_t horizon : {1, 2, 3, 15, 16, 17, 64, 65})
        check_inverse<double>({.block = 1, .horizon = horizon}, "auto", intervals);
    for (const std::int64_t n : {9, 16}) check_inverse<double>({.block = n, .horizon = 23}, "auto", intervals);
    check_inverse<double>({.block = 6, .horizon = 22}, "auto", intervals, {Backend::cpu, "x86-64"});
}

TEST_CASE("selected inverse: every block size") {
    int k = 0;
    for (const std::int64_t n : {1, 2, 3, 4, 6, 7, 8, 12, 16, 24, 31, 32, 33, 48, 65}) {
        check_inverse<double>({.block = n, .horizon = 6}, schedules[k++ % 8], "tile");
        if (n % 4 != 0) check_inverse<float>({.block = n, .horizon = 5}, schedules[k++ % 8], "tile");
        if (n < 14 || n == 31) check_inverse<double>({.block = n, .horizon = 5, .batch = 2}, schedules[k++ % 8], "lanes");
    }
}

TEST_CASE("selected inverse: short and odd horizons") {
    for (const std::int64_t horizon : {1, 2, 3, 4, 7, 17})
        for (const std::string schedule : {"twisted:3", "partitioned:3", "multi-stage"})
            for (const std::string variant : {"tile", "lanes"})
                check_inverse<double>({.block = 4, .horizon = horizon, .batch = 2}, schedule, variant);
}

TEST_CASE("selected inverse: narrower targets") {
    for (const std::string arch : {"x86-64", "x86-64-v3"}) {
        if (arch == "x86-64-v3" && host_target().arch == "x86-64") continue;
        for (const std::string variant : {"tile", "lanes"})
            check_inverse<double>({.block = 7, .horizon = 5, .batch = 3}, "partitioned:2", variant, {Backend::cpu, arch});
    }
}

TEST_CASE("selected inverse: a large block") { check_inverse<double>({.block = 150, .horizon = 3}, "partitioned:2", "tile"); }

TEST_CASE("selected inverse: ill-conditioned systems") {
    // No method can promise more than the condition times the rounding. Which one is luckier on one system is chance, so the
    // worst of several systems is held against the worst of Eigen's dense Cholesky in the same order of elimination.
    using Exact = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
    const Spec spec{.block = 6, .horizon = 9, .batch = 8, .operations = all_operations()};
    for (const std::string variant : {"tile", "lanes", "intervals"})
        for (const std::string schedule : {"sequential", variant == "intervals" ? "segments:2" : "partitioned:3", "multi-stage"}) {
            if (variant == "intervals" && schedule == "multi-stage") continue;
            const CompiledProgram unit(choose(spec, host_target(), {.schedule = schedule, .variant = variant}));
            const auto order = elimination_order(unit.choice());
            for (const double condition : {1e6, 1e10}) {
                CAPTURE(variant);
                CAPTURE(schedule);
                CAPTURE(condition);
                std::vector<System> systems;
                for (unsigned m = 0; m < 8; ++m) systems.push_back(stiff_system(6, 9, condition, 50 + m));
                Batch<double> batch(unit, systems);
                unit.run(Operation::factor, batch.args);
                unit.run(Operation::inverse, batch.args);
                double ours = 0, eigens = 0;
                for (std::int64_t m = 0; m < 8; ++m) {
                    const Matrix a = systems[static_cast<std::size_t>(m)].dense();
                    const Matrix inverse = Exact(a.cast<long double>()).llt().solve(Exact::Identity(a.rows(), a.rows())).cast<double>();
                    const auto reached = error(spec, batch, m, inverse);
                    const auto norms = a.cwiseAbs().rowwise().sum().maxCoeff() * inverse.cwiseAbs().rowwise().sum().maxCoeff();
                    CHECK(norms > condition);
                    CHECK(reached <= epsilon<double> * norms);
                    const Matrix permuted = a(order, order);
                    const Matrix permuted_inverse = permuted.llt().solve(Matrix::Identity(a.rows(), a.rows()));
                    Matrix eigen(a.rows(), a.rows());
                    eigen(order, order) = permuted_inverse;
                    ours = std::max(ours, reached);
                    eigens = std::max(eigens, (eigen - inverse).cwiseAbs().maxCoeff() / inverse.cwiseAbs().maxCoeff());
                }
                CHECK(ours <= 4 * eigens);
            }
        }
}
