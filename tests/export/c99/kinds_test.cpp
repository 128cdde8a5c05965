// Exported solvers of matrices with pivots of both signs and of general ones, against Eigen and against the library.
#include <trifold/trifold.hpp>

#include "tests/export/c99/solver.hpp"

using namespace trifold;
using namespace trifold::test;
using Eigen::MatrixXd;

namespace {

/// N blocks of n with a random A of one kind, and what it is as a dense matrix.
template <class Real>
struct KindProblem {
    KindProblem(std::int64_t n, std::int64_t horizon, std::int64_t rhs, MatrixKind kind, unsigned seed)
        : n(n), horizon(horizon), rhs(rhs), kind(kind) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<float> uniform(-1, 1);  // exact in both precisions
        for (auto [values, count] :
             {std::pair{&d, horizon * n * n}, {&e, (horizon - 1) * n * n}, {&u, (horizon - 1) * n * n}, {&b, horizon * n * rhs}})
            for (std::int64_t k = 0; k < count; ++k) values->push_back(static_cast<Real>(uniform(random)));
        for (std::int64_t row = 0; row < horizon * n && kind == MatrixKind::symmetric; ++row)
            d[at(row * n + row % n)] += static_cast<Real>(random() % 2 == 0 ? 3 * n : -3 * n);
        e.resize(std::max<std::size_t>(e.size(), 1)), u.resize(e.size());
    }
    static std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }
    MatrixXd dense() const {
        MatrixXd a = MatrixXd::Zero(horizon * n, horizon * n);
        const bool general = kind == MatrixKind::general;
        for (std::int64_t i = 0; i < horizon; ++i)
            for (std::int64_t r = 0; r < n; ++r)
                for (std::int64_t c = 0; c < n; ++c) {
                    const auto place = at((i * n + (general ? r : std::max(r, c))) * n + (general ? c : std::min(r, c)));
                    a(i * n + r, i * n + c) = static_cast<double>(d[place]);
                    if (i + 1 == horizon) continue;
                    a((i + 1) * n + r, i * n + c) = static_cast<double>(e[at((i * n + r) * n + c)]);
                    (general ? a(i * n + r, (i + 1) * n + c) : a(i * n + c, (i + 1) * n + r)) =
                        static_cast<double>((general ? u : e)[at((i * n + r) * n + c)]);
                }
        return a;
    }
    MatrixXd right() const {
        return Eigen::Map<const Eigen::Matrix<Real, -1, -1, Eigen::RowMajor>>(b.data(), horizon * n, rhs).template cast<double>();
    }
    Outcome by_library() const {
        Spec spec{.block = n, .horizon = horizon, .precision = precision_of<Real>, .matrix = kind, .rhs = rhs};
        Solver solver(Plan(spec, Device::cpu(), {.schedule = "sequential"}));
        FactorOptions<Real> options;
        if (kind == MatrixKind::general) options.u = u.data();
        const auto couplings = std::span(e).first(at((horizon - 1) * n * n));
        solver.factor(std::span<const Real>(d), std::span<const Real>(couplings), options);
        return solver.status()[0];
    }
    std::int64_t n, horizon, rhs;
    MatrixKind kind;
    std::vector<Real> d, e, u, b;
};

/// The exported project, called as its kind of matrix needs.
template <class Real>
struct KindSolver {
    KindSolver(const KindProblem<Real>& one, Build build)
        : exported((build.matrix = one.kind, one.n), one.horizon, one.rhs, build), general(one.kind == MatrixKind::general) {}
    Status factor_solve(const KindProblem<Real>& one, std::vector<Real>& x) {
        x.assign(one.b.size(), 7);
        if (general)
            return exported.template function<Status(void*, const Real*, const Real*, const Real*, Real*, const Real*)>("btd_factor_solve")(
                exported.workspace(), one.d.data(), one.e.data(), one.b.data(), x.data(), one.u.data());
        return exported.template function<Status(void*, const Real*, const Real*, const Real*, Real*)>("btd_factor_solve")(
            exported.workspace(), one.d.data(), one.e.data(), one.b.data(), x.data());
    }
    int negative() { return exported.template function<int(const void*)>("btd_negative_pivots")(exported.workspace()); }
    double growth() { return static_cast<double>(exported.template function<Real(const void*)>("btd_growth")(exported.workspace())); }
    Exported<Real> exported;
    bool general;
};

std::vector<Build> builds_of(MatrixKind kind) {
    Build generic = plain(), wide{"c99:avx2", "gcc -O2 -std=gnu11 -march=x86-64-v3"};
    if (kind == MatrixKind::general) generic.compiler = "clang-19 -O1 -std=gnu11 -ffp-contract=off";
    if (kind == MatrixKind::symmetric) generic.factorization = Factorization::ldlt;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return {generic};
    return {generic, wide};
}

template <class Real>
double distance(const std::vector<Real>& x, const MatrixXd& expected) {
    return (Eigen::Map<const Eigen::Matrix<Real, -1, -1, Eigen::RowMajor>>(x.data(), expected.rows(), expected.cols())
                .template cast<double>() -
            expected)
        .cwiseAbs()
        .maxCoeff();
}

/// Backward error of X as a whole.
template <class Real>
double residual(const MatrixXd& a, const std::vector<Real>& x, const MatrixXd& b) {
    const auto size = [](const MatrixXd& m) { return m.cwiseAbs().rowwise().sum().maxCoeff(); };
    const MatrixXd found =
        Eigen::Map<const Eigen::Matrix<Real, -1, -1, Eigen::RowMajor>>(x.data(), b.rows(), b.cols()).template cast<double>();
    return (a * found - b).cwiseAbs().maxCoeff() / (size(a) * found.cwiseAbs().maxCoeff() + b.cwiseAbs().maxCoeff());
}

}  // namespace

TEST_CASE_TEMPLATE("export: general matrices and pivots of both signs solve as the library does", Real, double, float) {
    for (const auto kind : {MatrixKind::symmetric, MatrixKind::general})
        for (const auto& build : builds_of(kind))
            for (const auto& [n, horizon, rhs] :
                 {std::tuple(1, 1, 1), {1, 9, 2}, {2, 5, 1}, {5, 7, 3}, {8, 3, 1}, {13, 4, 1}, {4, 2, 70}}) {
                INFO(build.target, " ", n, " ", horizon, " ", rhs);
                const KindProblem<Real> one(n, horizon, rhs, kind, static_cast<unsigned>(n + 10 * horizon));
                KindSolver<Real> solver(one, build);
                const auto a = one.dense(), b = one.right();
                const auto library = one.by_library();
                CHECK(solver.negative() == -1);
                std::vector<Real> x;
                const auto status = solver.factor_solve(one, x);
                CHECK(status.code == (library.nearly_singular ? nearly_singular : ok));
                CHECK(residual(a, x, b) <= library.growth * tolerance<Real>);
                CHECK(solver.negative() == library.negative);
                CHECK(solver.growth() == doctest::Approx(library.growth).epsilon(1e5 * tolerance<Real>));
                CHECK(solver.exported.least_pivot(one.d.data()) == doctest::Approx(library.least_pivot).epsilon(1e5 * tolerance<Real>));
                if (kind == MatrixKind::symmetric) {
                    const Eigen::VectorXd values = a.template selfadjointView<Eigen::Lower>().eigenvalues();
                    CHECK(solver.negative() == (values.array() < 0).count());
                } else {
                    CHECK((solver.negative() % 2 == 0) == (a.partialPivLu().determinant() > 0));
                    const auto turned = solver.exported.template function<Status(void*, const Real*, Real*)>("btd_solve_transposed")(
                        solver.exported.workspace(), one.b.data(), x.data());
                    CHECK(turned.code == status.code);
                    CHECK(residual(MatrixXd(a.transpose()), x, b) <= library.growth * tolerance<Real>);
                }
                auto in_place = one.b;  // X may be B
                CHECK(solver.exported.solve(in_place.data(), in_place.data()).code == status.code);
                CHECK(residual(a, in_place, b) <= library.growth * tolerance<Real>);
            }
}

TEST_CASE_TEMPLATE("export: a pivot that is zero or not finite fails by block and row, and small ones are named", Real, double, float) {
    for (const auto kind : {MatrixKind::symmetric, MatrixKind::general})
        for (const auto& build : builds_of(kind)) {
            CAPTURE(build.target);
            const KindProblem<Real> good(4, 5, 1, kind, 3);
            KindSolver<Real> solver(good, build);
            std::vector<Real> x;
            for (const double value : {0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
                auto bad = good;
                for (std::size_t k = 2 * 16; k < 3 * 16; ++k) bad.d[k] = k % 5 == 0 ? static_cast<Real>(value) : 0;
                for (auto* values : {&bad.e, &bad.u}) std::fill_n(values->begin() + 16, 32, Real(0));
                const auto library = bad.by_library();
                const auto status = solver.factor_solve(bad, x);
                CHECK(status.code == not_positive_definite);
                CHECK(status.block == 2);
                CHECK(status.row == library.row);
                CHECK(std::isnan(x[0]));
                CHECK(solver.negative() == -1);
                CHECK(solver.growth() == 0);
                CHECK(solver.exported.least_pivot(bad.d.data()) == 0);
                CHECK(solver.exported.solve(good.b.data(), x.data()).code == not_factored);
            }
            auto grown = good;  // the first pivots are tiny, and what couples to them is not
            std::fill_n(grown.d.begin(), 16, Real(0));
            for (std::size_t k = 0; k < 16; k += 5) grown.d[k] = Real(1e-10);
            CHECK(solver.factor_solve(grown, x).code == nearly_singular);
            CHECK(grown.by_library().nearly_singular);
            CHECK(solver.factor_solve(good, x).code == ok);  // as if nothing had been before
        }
}

TEST_CASE("export: what general matrices and pivots of both signs do not go with is refused") {
    const auto refused = [](const auto& change, const char* words) {
        auto one = request(4, 9, Precision::f64);
        change(one);
        CHECK_REFUSED(words, export_project(one));
    };
    const auto general = [](auto more) { return [=](ExportRequest& one) { one.spec.matrix = MatrixKind::general, more(one); }; };
    refused([](ExportRequest& one) { one.spec.matrix = MatrixKind::symmetric; }, "give factorization ldlt");
    refused(general([](ExportRequest& one) { one.spec.ring = true; }), "exported rings, borders and sizes are not for a general matrix");
    refused(general([](ExportRequest& one) { one.schedule = "twisted:2"; }), "schedule twisted:2 is not for a general matrix");
    refused(general([](ExportRequest& one) { one.factorization = Factorization::ldlt; }), "factorization ldlt is not for a general matrix");
    refused(general([](ExportRequest& one) { one.corrections = 1; }), "refined solutions are not for a general matrix");
    refused(general([](ExportRequest& one) { one.optimize = Optimize::size; }), "code that is optimized for size is not");
}

TEST_CASE("export: general matrices compile for every machine without warnings, within what the manifest states, and run") {
    for (const auto& [target, compiler] :
         {std::pair{"c99:generic", "gcc"}, std::pair{"c99:cortex-m4", cortex_m4.c_str()}, std::pair{"c99:cortex-m7", cortex_m7.c_str()},
          std::pair{"c99:avx2", "gcc -march=x86-64-v3"}, std::pair{"c99:neon", "aarch64-linux-gnu-gcc"}})
        for (const auto& [n, rhs, precision] : {std::tuple(1, 1, Precision::f64),
                                                {12, 1, Precision::f32},
                                                {33, 2, Precision::f64},
                                                {64, 3, Precision::f32},
                                                {64, 1, Precision::f64}}) {
            CAPTURE(target);
            auto one = request(n, 6, precision, rhs, target);
            one.spec.matrix = MatrixKind::general;
            const Project project(one);
            const auto manifest = project.manifest();
            for (const std::string optimized : {" -Os", " -O2", " -O3"}) {
                const auto ran = project.run(compiler + optimized +
                                             " -std=gnu11 -Wall -Wextra -Wconversion -Wsign-conversion -Werror -ffreestanding "
                                             "-fno-math-errno -fstack-usage -c -o out.o btd_solver.c");
                INFO(optimized, " ", ran.out);
                CHECK(ran.status == 0);
                std::istringstream usage(project.read("out.su"));
                std::int64_t stack = 0;
                for (std::string name, kind; usage >> name;) {
                    std::int64_t bytes = 0;
                    usage >> bytes >> kind;
                    stack += bytes;
                }
                CHECK(stack > 0);
                CHECK(stack <= manifest["bytes"]["stack_at_most"].get<std::int64_t>());
            }
            if (n != 12) continue;
            const auto ran = project.run("make run");
            CAPTURE(ran.out);
            CHECK(ran.status == 0);
            CHECK(says(ran.out, ": good"));
            CHECK(says(manifest["command"].get<std::string>(), "--matrix general"));
        }
}

TEST_CASE("export: examples of pivots of both signs print the same checksum on every machine") {
    std::set<std::string> sums;
    for (const auto* target : {"c99:generic", "c99:cortex-m7"}) {
        auto one = with_ldlt(request(7, 9, Precision::f32, 1, target));
        one.spec.matrix = MatrixKind::symmetric;
        const auto ran = Project(one).run("make run CONTRACT=off");
        CAPTURE(ran.out);
        CHECK(says(ran.out, ": good"));
        sums.insert(ran.out.substr(ran.out.find("checksum"), 40));
    }
    CHECK(sums.size() == 1);
}
