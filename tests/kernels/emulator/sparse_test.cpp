// Kernels of sparse systems for GPUs as host code, under the detector of races, against the definitions.
#include <Eigen/LU>

#include "tests/runtime/sparse/problems.hpp"
#include "tests/support/emulator/sparse_unit.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

const Target cuda{Backend::cuda, "sm_90"}, hip{Backend::hip, "gfx942"};

struct Case {
    SparseSpec spec{};
    Target target = cuda;
    std::int64_t rows = 50, each = 19;
    int fill = 0;
    bool symmetric = false;
    Running running{};
    std::string variant = "auto";
};

Eigen::VectorXd solved(const Eigen::MatrixXd& m, const std::vector<double>& b) { return m.partialPivLu().solve(as_vector(b)); }

template <class Real>
void check(const Case& given) {
    auto spec = given.spec;
    if (sizeof(Real) == 4) spec.precision = Precision::f32;
    spec.maxiter = 60;
    const auto label = fmt::format("block {} {} {} {} {}", spec.block, to_string(spec.precision), to_string(spec.preconditioner),
                                   to_string(spec.method), to_string(given.target));
    CAPTURE(label);
    auto a = scattered(given.rows, 3, spec.block, static_cast<unsigned>(spec.block), given.symmetric);
    for (auto& value : a.values) value = static_cast<double>(static_cast<Real>(value));
    const std::vector<Real> values(a.values.begin(), a.values.end());
    std::vector<std::int32_t> parts;
    for (std::int64_t row = 0; row < a.rows(); ++row) parts.push_back(static_cast<std::int32_t>(row / given.each));
    EmulatedSparse gpu(spec, given.target, a.pattern(), sparse::given_parts(a.pattern(), parts), given.variant);
    trifold_sparse_args args{};
    args.columns = args.used_columns = spec.rhs;
    args.members = 1;
    args.maxiter = spec.maxiter;
    args.rtol = sizeof(Real) == 4 ? 1e-5 : 1e-10;
    auto update = args;
    update.values = values.data();
    gpu.run("update", update, given.running);
    CHECK(gpu.record().zero_pivots == 0);
    CHECK(gpu.record().not_finite == 0);
    CHECK(gpu.record().unequal == 0);
    std::vector<Real> b;
    for (const auto value : random_vector(a.size() * spec.rhs, 7)) b.push_back(static_cast<Real>(value));
    const auto column = [&](const std::vector<Real>& all, std::int64_t c) {
        std::vector<double> one;
        for (std::int64_t k = 0; k < a.size(); ++k) one.push_back(static_cast<double>(all[static_cast<std::size_t>(k * spec.rhs + c)]));
        return one;
    };
    const auto call = [&](const char* operation) {
        std::vector<Real> x(b.size());
        auto each = args;
        each.b = b.data();
        each.x = x.data();
        gpu.run(operation, each, given.running);
        return x;
    };
    const double tolerance = spec.precision == Precision::f64 ? 1e-12 : 1e-5;
    const auto close = [&](const std::vector<Real>& x, std::int64_t c, const Eigen::VectorXd& expected, double bound) {
        CHECK((as_vector(column(x, c)) - expected).norm() <= bound * expected.norm());
    };
    const bool diagonal_alone = spec.preconditioner == SparsePreconditioner::dilu;
    Eigen::MatrixXd m = DenseIldu(a, parts, given.fill, diagonal_alone).matrix();
    if (spec.preconditioner == SparsePreconditioner::none) m.setIdentity();
    if (spec.preconditioner == SparsePreconditioner::jacobi) {
        std::vector<std::int32_t> alone(parts.size());
        std::iota(alone.begin(), alone.end(), 0);
        m = DenseIldu(a, alone).matrix();
    }
    const auto applied = call("apply"), x_transposed = call("apply_transposed"), product = call("multiply"),
               other = call("multiply_transposed");
    const auto sparse = a.eigen();
    for (std::int64_t c = 0; c < spec.rhs; ++c) {
        close(applied, c, solved(m, column(b, c)), tolerance);
        close(x_transposed, c, solved(m.transpose(), column(b, c)), tolerance);
        close(product, c, sparse * as_vector(column(b, c)), sizeof(Real) == 4 ? 1e-6 : 1e-14);
        close(other, c, sparse.transpose() * as_vector(column(b, c)), sizeof(Real) == 4 ? 1e-6 : 1e-14);
    }
    std::vector<std::vector<Real>> solutions;
    for (const bool transposed : {false, true}) {
        const auto x = call(transposed ? "solve_transposed" : "solve");
        solutions.push_back(x);
        for (std::int64_t c = 0; c < spec.rhs; ++c) {
            CHECK(gpu.state(c).outcome == trifold_sparse_converged);
            const Eigen::VectorXd residual =
                as_vector(column(b, c)) - (transposed ? Eigen::VectorXd(sparse.transpose() * as_vector(column(x, c)))
                                                      : Eigen::VectorXd(sparse * as_vector(column(x, c))));
            CHECK(residual.norm() <= 1.05 * args.rtol * as_vector(column(b, c)).norm());
        }
    }
    const auto &x = solutions[0], &lam = solutions[1];
    std::vector<Real> gradient(values.size());
    auto each = args;
    each.x = const_cast<Real*>(x.data());
    each.b = lam.data();
    each.gradient = gradient.data();
    gpu.run("gradient", each, given.running);
    const auto block = spec.block;
    for (std::int64_t row = 0; row < a.rows(); ++row)
        for (auto k = a.starts[static_cast<std::size_t>(row)]; k < a.starts[static_cast<std::size_t>(row) + 1]; ++k)
            for (std::int64_t i = 0; i < block; ++i)
                for (std::int64_t j = 0; j < block; ++j) {
                    double expected = 0;
                    for (std::int64_t c = 0; c < spec.rhs; ++c)
                        expected -= column(lam, c)[static_cast<std::size_t>(row * block + i)] *
                                    column(x, c)[static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)] * block + j)];
                    CHECK(static_cast<double>(gradient[static_cast<std::size_t>((k * block + i) * block + j)]) ==
                          doctest::Approx(expected).epsilon(1e-5));
                }
    CHECK(fmt::format("{}", fmt::join(gpu.findings(), "\n")) == "");
}

/// A solution of several members, and how each of their systems ended.
struct Solution {
    std::vector<double> x;
    std::vector<trifold_sparse_state> states;
    std::size_t launches;
};
Solution solution_of(const Case& given, const std::string& variant, std::int64_t members, bool transposed, std::int64_t most,
                     std::int64_t renew) {
    auto spec = given.spec;
    spec.maxiter = 60;
    const auto a = scattered(given.rows, 3, spec.block, 5, given.symmetric);
    std::vector<double> values;
    for (std::int64_t member = 0; member < members; ++member)
        for (const auto value : a.values) values.push_back(value * (member == 1 ? 1.5 : 1));
    if (members > 2) values[2] = std::nan("");  // of the first one
    std::vector<std::int32_t> parts;
    for (std::int64_t row = 0; row < a.rows(); ++row) parts.push_back(static_cast<std::int32_t>(row / given.each));
    EmulatedSparse gpu(spec, given.target, a.pattern(), sparse::given_parts(a.pattern(), parts), variant);
    trifold_sparse_args args{};
    args.columns = args.used_columns = spec.rhs;
    args.members = members;
    args.maxiter = most;
    args.renew = renew;
    args.rtol = 1e-10;
    auto update = args;
    update.values = values.data();
    gpu.run("update", update, given.running);
    const auto b = random_vector(members * a.size() * spec.rhs, 7);
    std::vector<double> x(b.size());
    args.b = b.data();
    args.x = x.data();
    const std::string operation = transposed ? "solve_transposed" : "solve";
    gpu.run(operation, args, given.running);
    Solution solution{std::move(x), {}, gpu.program().operations.at(operation).size()};
    for (std::int64_t system = 0; system < members * spec.rhs; ++system) solution.states.push_back(gpu.state(system));
    CHECK(fmt::format("{}", fmt::join(gpu.findings(), "\n")) == "");
    return solution;
}
/// One launch does what many do.
void check_one_launch(const Case& given, std::int64_t members = 1, bool transposed = false, std::int64_t most = 60,
                      std::int64_t renew = 0) {
    CAPTURE(to_string(given.spec.method));
    const auto one = solution_of(given, "sweeps:one_launch=1", members, transposed, most, renew);
    const auto many = solution_of(given, "sweeps:one_launch=0", members, transposed, most, renew);
    CHECK(one.launches < many.launches);
    for (std::size_t k = 0; k < one.states.size(); ++k) {
        CHECK(one.states[k].outcome == many.states[k].outcome);
        CHECK(one.states[k].iterations == many.states[k].iterations);
    }
    for (std::size_t k = 0; k < one.x.size(); ++k)
        if (!std::isnan(many.x[k])) CHECK(one.x[k] == doctest::Approx(many.x[k]).epsilon(1e-7));
}

}  // namespace

TEST_CASE("sparse kernels: a solution in one launch ends as one of many launches does") {
    check_one_launch({{.block = 3, .rhs = 2}});
    check_one_launch({{.block = 1, .preconditioner = SparsePreconditioner::none}}, 1, false, 60, 2);
    check_one_launch({{.block = 2, .precision = Precision::mixed}, cuda, 50, 19, 0, false, {Order::random, 5, 1}}, 1, true);
    check_one_launch(
        {{.block = 2, .preconditioner = SparsePreconditioner::ic0, .method = SparseMethod::cg, .batch = 2}, cuda, 50, 30, 0, true}, 2);
    check_one_launch({{.block = 3, .batch = 4}, cuda, 30, 30}, 3);
    check_one_launch({{.block = 3}}, 1, false, 3);
    check_one_launch({{.block = 4, .preconditioner = SparsePreconditioner::ildu1}, cuda, 60, 30});
    check_one_launch({{.block = 3}, hip});
    check_one_launch(
        {{.block = 2, .preconditioner = SparsePreconditioner::ic0, .method = SparseMethod::cg, .batch = 2}, hip, 50, 30, 0, true}, 2);
}

TEST_CASE("sparse kernels: blocks, preconditioners and methods, as CUDA") {
    check<double>({{.block = 1}});
    check<double>({{.block = 3, .rhs = 2}});
    check<double>({{.block = 2, .preconditioner = SparsePreconditioner::ildu1}, cuda, 40, 40, 1});
    check<double>({{.block = 3, .preconditioner = SparsePreconditioner::dilu}});
    check<double>({{.block = 3, .preconditioner = SparsePreconditioner::none}});
    check<double>({{.block = 3, .precision = Precision::mixed}});
    check<float>({{.block = 4}});
    check<double>({{.block = 3, .preconditioner = SparsePreconditioner::ic0, .method = SparseMethod::cg}, cuda, 50, 19, 0, true});
    check<double>({{.block = 2, .method = SparseMethod::gmres, .restart = 5}});
}

TEST_CASE("sparse kernels: every block, and levels of more rows than a thread block takes at once") {
    for (const std::int64_t block : {5, 6, 7, 8}) check<double>({{.block = block}, cuda, 90, 90});
    check<double>({{.block = 1, .preconditioner = SparsePreconditioner::jacobi}, cuda, 400, 400});
}

TEST_CASE("sparse kernels: subdomains of one row, random orders of threads, blocks side by side") {
    check<double>({{.block = 3}, cuda, 20, 1});
    check<double>({{.block = 3}, cuda, 50, 19, 0, false, {Order::random, 3, 4}});
    check<double>({{.block = 2, .method = SparseMethod::gmres, .restart = 3}, cuda, 50, 19, 0, false, {Order::reverse, 1, 2}});
}

TEST_CASE("sparse kernels: as HIP, waves of 64") {
    check<double>({{.block = 3}, hip});
    check<float>({{.block = 1, .method = SparseMethod::gmres, .restart = 4}, hip});
    check<double>({{.block = 2, .preconditioner = SparsePreconditioner::ic0, .method = SparseMethod::cg}, hip, 50, 19, 0, true});
}
