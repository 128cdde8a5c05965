// Exported rings, borders and blocks of several sizes, against dense algebra in double.
#include "tests/support/shapes.hpp"

#include "tests/export/c99/solver.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

ExportRequest shaped(const Spec& spec) { return {.spec = spec, .target = parse_target("c99:generic")}; }

/// An exported solver for a problem at random, whose X is followed by its tip.
template <class Real>
class Shaped {
  public:
    explicit Shaped(ExportRequest asked, const std::string& compiler = "gcc -O1")
        : problem([&] {
              asked.spec.precision = precision_of<Real>;
              return ShapedProblem<Real>(asked.spec, 7);
          }()),
          spec(asked.spec),
          project_(asked) {
        const auto built = project_.run(compiler +
                                        " -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -ffp-contract=off -shared -fPIC"
                                        " -o solver.so btd_solver.c -lm");
        INFO(built.out);
        REQUIRE(built.status == 0);
        library_.emplace(project_.path() / "solver.so");
        const auto size = library_->template function<std::size_t()>("btd_workspace_size")();
        CHECK(size == project_.manifest()["bytes"]["workspace_with_64_bit_pointers"]);
        memory_.resize(size / sizeof(double) + 1, std::nan(""));
        library_->template function<void*(void*)>("btd_init")(memory_.data());
    }

    std::vector<Real> b() const {
        auto all = problem.b;
        all.insert(all.end(), problem.tip_b.begin(), problem.tip_b.end());
        return all;
    }
    Status factor() {
        return call<Status(void*, const Real*, const Real*, const void*)>("btd_factor", problem.d.data(), problem.e.data(), shape());
    }
    Status solve(const Real* b, Real* x) { return call<Status(void*, const Real*, Real*)>("btd_solve", b, x); }
    Status factor_solve(std::vector<Real>& x) {
        x.assign(b().size(), Real(1));
        using Signature = Status(void*, const Real*, const Real*, const Real*, Real*, const void*);
        return call<Signature>("btd_factor_solve", problem.d.data(), problem.e.data(), b().data(), x.data(), shape());
    }
    double least_pivot() { return static_cast<double>(call<Real(void*, const Real*)>("btd_least_pivot", problem.d.data())); }

    /// Whether A x = b to rounding, and x = 0 beyond the rows of a block.
    bool solves(const std::vector<Real>& x) const {
        const auto value = [&](std::int64_t r, std::int64_t c) {
            return static_cast<double>(x[static_cast<std::size_t>(r * spec.rhs + c)]);
        };
        const Matrix all = Matrix::NullaryExpr(spec.horizon * spec.block + spec.border, spec.rhs, value);
        const auto rows = problem.rows(0);
        if (!(all(problem.rows(0, true), Eigen::all).array() == 0).all()) return false;
        if (rows.empty()) return true;
        auto dense = problem;
        const Matrix a = dense.matrix(0)(rows, rows), b = problem.right(0)(rows, Eigen::all), own = all(rows, Eigen::all);
        return relative_residual(a, own, b) <= tolerance<Real>;
    }

    ShapedProblem<Real> problem;
    Spec spec;
    bool null_sizes = false;

  private:
    template <class Signature, class... Arguments>
    auto call(const char* name, Arguments... arguments) {
        return library_->template function<Signature>(name)(memory_.data(), arguments...);
    }
    /// A btd_shape; solvers that take none ignore it.
    const void* shape() {
        fields_.clear();
        if (spec.border > 0) fields_.insert(fields_.end(), {problem.f.data(), problem.c.data()});
        if (spec.sizes) fields_.push_back(null_sizes ? nullptr : problem.sizes.data());
        return fields_.data();
    }
    Project project_;
    std::optional<Library> library_;
    std::vector<double> memory_;
    std::vector<const void*> fields_;
};

template <class Real>
bool all_nan(const std::vector<Real>& values) {
    return std::ranges::all_of(values, [](Real value) { return std::isnan(value); });
}

template <class Real>
void check_solves(const ExportRequest& asked, const std::string& compiler = "gcc -O1") {
    const auto& spec = asked.spec;
    INFO("n = ", spec.block, ", N = ", spec.horizon, ", a = ", spec.border, ", ring ", spec.ring, ", sizes ", spec.sizes);
    Shaped<Real> solver(asked, compiler);
    std::vector<Real> x, again = solver.b();
    CHECK(solver.factor_solve(x) == fine);
    CHECK(solver.solves(x));
    CHECK(solver.factor() == fine);
    CHECK(solver.solve(again.data(), again.data()) == fine);
    CHECK(std::memcmp(x.data(), again.data(), x.size() * sizeof(Real)) == 0);
    const auto least = solver.least_pivot();
    CHECK((least > 0 && least <= 1));
}

Spec with(Spec spec, std::int64_t border, bool ring, bool sizes) {
    spec.border = border;
    spec.ring = ring;
    spec.sizes = sizes;
    return spec;
}

}  // namespace

TEST_CASE("export: rings, borders and sizes solve") {
    const std::int64_t borders[] = {1, 3, 8, 16};
    int k = 0;
    for (const std::int64_t n : {1, 3, 8, 12})
        for (const std::int64_t horizon : {1, 2, 3, 7, 20}) {
            const Spec spec{.block = n, .horizon = horizon, .rhs = k % 3 == 2 ? 2 : 1};
            const auto a = borders[k % 4];
            auto asked = shaped(with(spec, a, false, false));
            asked.factorization = k % 2 == 0 ? Factorization::llt : Factorization::ldlt;
            check_solves<double>(asked);
            check_solves<float>(asked);
            for (const auto& [border, ring, sizes] : {std::tuple{0, true, false}, {3, true, false}, {0, false, true}, {3, false, true}}) {
                asked.spec = with(spec, border, ring, sizes);
                if (++k % 2 == 0)
                    check_solves<double>(asked);
                else
                    check_solves<float>(asked);
            }
        }
}

TEST_CASE("export: shapes take every layout, tiling and compiler, with the same bits whatever the tiling") {
    const Spec spec{.block = 7, .horizon = 5, .order = Order::column_major, .coupling = Coupling::upper, .d = {.leading = 9, .stage = 80}};
    for (const auto factorization : {Factorization::llt, Factorization::ldlt})
        for (const bool ring : {true, false}) {
            auto asked = shaped(with(spec, 5, ring, !ring));
            asked.factorization = factorization;
            check_solves<double>(asked, "clang-19 -O2");
            check_solves<float>(asked, "gcc -O3 -march=native");
            auto single = asked;
            single.spec.horizon = 1;
            check_solves<double>(single);
            Shaped<double> speed(asked), size(with_size(asked));
            std::vector<double> x, y;
            CHECK(speed.factor_solve(x) == fine);
            CHECK(size.factor_solve(y) == fine);
            CHECK(x == y);
        }
}

TEST_CASE("export: failures of a shape are named by the blocks of A, the border as block N") {
    const int n = 3, N = 4, a = 2;
    for (const auto factorization : {Factorization::llt, Factorization::ldlt})
        for (const bool ring : {true, false}) {
            auto asked = shaped(with({.block = n, .horizon = N}, a, ring, false));
            asked.factorization = factorization;
            Shaped<double> solver(asked);
            const auto sound = solver.problem;
            std::vector<double> x;
            const auto check = [&](double& place, int block, int row) {
                for (const double value : {-1000.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
                    INFO(ring, " ", block, " ", row, " ", value);
                    const auto before = std::exchange(place, value);
                    CHECK(solver.factor_solve(x) == Status{not_positive_definite, block, row});
                    CHECK(all_nan(x));
                    CHECK(solver.solve(solver.b().data(), x.data()) == Status{not_factored, -1, -1});
                    CHECK(solver.least_pivot() == 0);
                    place = before;
                }
            };
            for (const int block : {0, 1, N - 1})
                for (const int row : {0, n - 1}) check(solver.problem.d[static_cast<std::size_t>((block * n + row) * n + row)], block, row);
            for (const int row : {0, 1}) check(solver.problem.c[static_cast<std::size_t>(row * a + row)], N, row);
            auto& f = solver.problem.f[static_cast<std::size_t>((2 * a + 1) * n)];  // row 1 of the border at block 2
            const auto before = std::exchange(f, std::nan(""));
            CHECK(solver.factor() == Status{not_positive_definite, N, 1});
            f = before;
            solver.problem.tip_b[1] = std::nan("");
            CHECK(solver.factor_solve(x).code == out_of_range);
            solver.problem = sound;
            CHECK(solver.factor_solve(x) == fine);
            CHECK(solver.solves(x));
        }
}

TEST_CASE("export: a tip that is nearly singular is named, and least_pivot says how near") {
    for (const bool ring : {true, false}) {
        Shaped<double> solver(shaped(with({.block = 1, .horizon = ring ? 2 : 1}, ring ? 0 : 1, ring, false)));
        auto& p = solver.problem;
        p.d.assign(p.d.size(), 1);
        p.e.assign(p.e.size(), 0.5);
        p.f.assign(p.f.size(), 1);
        const double small = std::ldexp(1, -50);
        (ring ? p.d[0] : p.c[0]) = 1 + small;
        std::vector<double> x;
        CHECK(solver.factor_solve(x) == Status{nearly_singular, ring ? 0 : 1, 0});
        CHECK(solver.least_pivot() == doctest::Approx(small));
        CHECK(solver.solves(x) == false);  // the problem's own matrix is another one
    }
}

TEST_CASE("export: sizes out of range are named, and null is n rows everywhere") {
    Shaped<double> solver(shaped(with({.block = 3, .horizon = 4}, 1, false, true)));
    std::vector<double> x, chain;
    for (const int odd : {-1, 4, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
        const auto before = std::exchange(solver.problem.sizes[2], odd);
        CHECK(solver.factor_solve(x) == Status{6, 2, -1});
        CHECK(all_nan(x));
        CHECK(solver.solve(x.data(), x.data()) == Status{not_factored, -1, -1});
        solver.problem.sizes[2] = before;
    }
    CHECK(solver.factor_solve(x) == fine);
    Shaped<double> whole(shaped(with({.block = 3, .horizon = 4}, 1, false, false)));
    std::swap(solver.problem, whole.problem);  // the whole problem has no NaN
    solver.null_sizes = true;
    CHECK(solver.factor_solve(x) == fine);
    std::swap(solver.problem, whole.problem);
    CHECK(whole.factor_solve(chain) == fine);
    CHECK(x == chain);
}

TEST_CASE("export: examples of shapes are good, touch nothing outside the arrays, and give the same bits on every machine") {
    for (const auto& spec :
         {with({.block = 5, .horizon = 6, .precision = Precision::f32}, 3, true, false),
          with({.block = 4, .horizon = 5, .rhs = 2}, 2, false, true), with({.block = 1, .horizon = 1}, 0, true, false)}) {
        const Project project(shaped(spec));
        const auto ran = project.run("make -s run CFLAGS='-O2 -Wconversion -Werror'");
        INFO(ran.out);
        CHECK(says(ran.out, ": good\n"));
        const auto checksum = ran.out.substr(ran.out.find("checksum"));
        for (const std::string other : {"CC=clang-19", "CC=aarch64-linux-gnu-gcc LDFLAGS=-static RUN=qemu-aarch64",
                                        "CFLAGS='-O1 -fsanitize=address,undefined -fno-sanitize-recover=all'"})
            CHECK(project.run("make -s clean run " + other).out.ends_with(checksum));
        auto cortex = shaped(spec);
        cortex.target = parse_target("c99:cortex-m7");
        CHECK(Project(cortex).run("make -s run CONTRACT=off").out.ends_with(checksum));
        CHECK(project.manifest()["shape"]["border"] == spec.border);
    }
}

TEST_CASE("export: what goes not with a shape is refused") {
    const auto good = shaped(with({.block = 4, .horizon = 6}, 2, true, false));
    auto bad = good;
    bad.spec.border = 17;
    CHECK_REFUSED("a border of 17 rows is out of range for export; give 0 to 16", export_project(bad));
    bad = good;
    bad.target = parse_target("c99:avx2");
    CHECK_REFUSED("kernels of target 'c99:avx2' are not for a chain closed to a ring, with a border of 2 row(s)", export_project(bad));
    CHECK_REFUSED("schedule twisted:2 is not for a chain closed to a ring", export_project(with_schedule(good, "twisted:2")));
    CHECK_REFUSED("refined solutions are not for a chain", export_project(with_corrections(good, 1)));
    bad = good;
    bad.prefactored = Prefactored{.d = std::vector<double>(96, 1), .e = std::vector<double>(80)};
    CHECK_REFUSED("factors as constants are not for a chain", export_project(bad));
    bad = good;
    bad.data = ProblemData{std::vector<double>(96), std::vector<double>(80), std::vector<double>(24)};
    CHECK_REFUSED("a problem to bake in is not for a chain", export_project(bad));
}
