// What has data, pivots and a solution in the range of the precision is solved as well as at scale 1; all else ends in a status.
// Solvers of every size are compiled as one file, so that what they call their own is theirs alone.
#include "tests/export/c99/solver.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

using Exact = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
constexpr std::int64_t horizon = 5;
template <class Real>
constexpr int max_exponent = sizeof(Real) == 4 ? 118 : 996;  // of D: from 1e-36 to 1e36, or 1e-300 to 1e300

template <class Real>
std::string prefix(std::int64_t n) {
    return fmt::format("{}{}", sizeof(Real) == 4 ? "single" : "Twice", n);
}

/// Calls with each size, and a number of the precision.
void for_each_size(const auto& call) {
    for (const std::int64_t n : {1, 3, 7, 12}) call(n, float{});
    for (const std::int64_t n : {3, 12}) call(n, double{});
}

/// Block i in units of its own: D times the square of 2^units[i], coupling times both neighbours' units, b times its unit; and all of A
/// and all of b times a power of two.
struct Units {
    std::vector<int> blocks;
    int a = 0, b = 0;
    int d_exponent(std::int64_t i) const { return a + 2 * blocks[static_cast<std::size_t>(i)]; }
    int e_exponent(std::int64_t i) const { return a + blocks[static_cast<std::size_t>(i)] + blocks[static_cast<std::size_t>(i + 1)]; }
    int b_exponent(std::int64_t i) const { return b + blocks[static_cast<std::size_t>(i)]; }
    int x_exponent(std::int64_t i) const { return b - a - blocks[static_cast<std::size_t>(i)]; }
};
Units whole(int a, int b) { return {std::vector<int>(horizon, 0), a, b}; }

/// `most`: of the exponent of D.
std::vector<Units> sound_units(int most) {
    const int half = most / 2;
    std::vector<Units> result;
    for (const int a : {-most, -half, half, most})
        for (const int b : {0, a}) result.push_back(whole(a, b));
    for (const int unit : {-half, half})
        for (const std::size_t stage : {0, 2, 4}) {
            result.push_back(whole(0, 0));
            result.back().blocks[stage] = unit;
        }
    for (const int unit : {-half, half}) result.push_back({{unit, -unit, unit, -unit, unit}});
    result.push_back({{-half, -half / 2, 0, half / 2, half}});
    return result;
}

/// Numbers of a precision, the same at each scale but for powers of two.
template <class Real>
struct Problem {
    explicit Problem(std::int64_t size) : n(size), system(random_system(n, horizon, 1, 7)) {
        const auto round = [](Matrix& block) { block = block.template cast<Real>().template cast<double>().eval(); };
        for (auto& block : system.d) round(block);
        for (auto& block : system.e) round(block);
        round(system.b);
        x = system.dense().template cast<long double>().llt().solve(system.b.template cast<long double>());
    }
    Arrays<Real> scaled(const Units& units) const {
        auto result = arrays<Real>({.block = n, .horizon = horizon, .precision = precision_of<Real>}, {system});
        const auto scale = [](std::vector<Real>& values, std::int64_t length, auto exponent) {
            for (std::size_t k = 0; k < values.size(); ++k)
                values[k] = std::ldexp(values[k], exponent(static_cast<std::int64_t>(k) / length));
        };
        scale(result.d, n * n, [&](std::int64_t i) { return units.d_exponent(i); });
        scale(result.e, n * n, [&](std::int64_t i) { return units.e_exponent(i); });
        scale(result.b, n, [&](std::int64_t i) { return units.b_exponent(i); });
        return result;
    }
    /// Of the largest element, back in the units of scale 1.
    double error(const std::vector<Real>& found, const Units& units) const {
        long double worst = 0;
        for (std::size_t k = 0; k < found.size(); ++k) {
            const auto row = static_cast<Eigen::Index>(k);
            const auto value = std::ldexp(static_cast<long double>(found[k]), -units.x_exponent(row / n));
            worst = std::max(worst, std::abs(value - x(row, 0)));
        }
        return static_cast<double>(worst / x.cwiseAbs().maxCoeff());
    }
    std::int64_t n;
    System system;
    Exact x;
};

constexpr int risky = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;

/// Solvers of all sizes and both precisions, one file.
class Family {
  public:
    explicit Family(const Build& build) : build_(build), project_(files(build)) {
        std::string text;
        for_each_size([&](std::int64_t n, auto number) { text += include(prefix<decltype(number)>(n)); });
        project_.write("all.c", text);
        const auto built = project_.run(build.compiler + " -shared -fPIC -Wall -Wextra -Werror -o all.so all.c -lm");
        REQUIRE_MESSAGE(built.status == 0, built.out);
        library_.emplace(project_.path() / "all.so");
    }
    const Build& build() const { return build_; }
    template <class Signature>
    Signature* function(const std::string& name) const {
        return library_->function<Signature>(name.c_str());
    }

  private:
    std::string include(const std::string& name) const {
        return fmt::format("#include \"{0}_solver.c\"\n", name) +
               (build_.corrections > 0 ? fmt::format("#include \"{0}_refine.c\"\n", name) : "");
    }
    static std::vector<ExportedFile> files(const Build& build) {
        std::vector<ExportedFile> result;
        for_each_size([&](std::int64_t n, auto number) {
            using Real = decltype(number);
            auto asked = with_schedule(request(n, horizon, precision_of<Real>, 1, build.target, prefix<Real>(n)), build.schedule);
            asked.factorization = build.factorization;
            asked.corrections = build.corrections;
            asked.spec.coupling = build.coupling;
            std::ranges::move(export_project(asked), std::back_inserter(result));
        });
        return result;
    }
    Build build_;
    Project project_;
    std::optional<Library> library_;
};

/// The calls of one solver of a family.
template <class Real>
class Calls {
  public:
    Calls(const Family& family, std::int64_t n) : family_(family), prefix_(prefix<Real>(n)) {
        const auto size = family.function<std::size_t()>(prefix_ + "_workspace_size")();
        memory_.reset(std::aligned_alloc(64, (size + 63) / 64 * 64));
        REQUIRE(family.function<void*(void*)>(prefix_ + "_init")(memory_.get()) == memory_.get());
    }
    /// By the call that does all at once, by one after another, in place or refined; and which of IEEE's exceptions that raised.
    Status solve(int way, Arrays<Real> user, std::vector<Real>& x, int& raised) const {
        x.assign(user.b.size(), Real{0});
        if (family_.build().coupling == Coupling::upper) transpose(user.e, static_cast<std::int64_t>(user.b.size()) / horizon);
        std::vector<Real> residual(x.size());
        void* workspace = memory_.get();
        const auto *d = user.d.data(), *e = user.e.data(), *b = user.b.data();
        std::feclearexcept(FE_ALL_EXCEPT);
        Status status = fine;
        if (way == 0) {
            status = call<Status(void*, const Real*, const Real*, const Real*, Real*)>("_factor_solve")(workspace, d, e, b, x.data());
        } else {
            status = way == 2 ? call<Status(void*, Real*, Real*)>("_refactor")(workspace, user.d.data(), user.e.data())
                              : call<Status(void*, const Real*, const Real*)>("_factor")(workspace, d, e);
            if (status == fine && way == 3)
                status = call<Status(void*, const Real*, const Real*, const Real*, Real*, Real*)>("_solve_refined")(
                    workspace, d, e, b, x.data(), residual.data());
            else if (status == fine)
                status = call<Status(void*, const Real*, Real*)>("_solve")(workspace, b, x.data());
        }
        raised = std::fetestexcept(risky);
        return status;
    }
    std::vector<int> ways() const {
        std::vector<int> result{0, 1};
        if (family_.build().in_place()) result.push_back(2);
        if (family_.build().corrections > 0) result.push_back(3);
        return result;
    }

  private:
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    template <class Signature>
    Signature* call(const std::string& name) const {
        return family_.function<Signature>(prefix_ + name);
    }
    static void transpose(std::vector<Real>& e, std::int64_t n) {
        for (std::size_t k = 0; k < e.size(); k += static_cast<std::size_t>(n * n))
            Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>>(e.data() + k, n, n).transposeInPlace();
    }
    const Family& family_;
    std::string prefix_;
    std::unique_ptr<void, Free> memory_;
};

template <class Real>
void check_range(const Family& family, std::int64_t n) {
    INFO(n, " ", sizeof(Real));
    const int most = max_exponent<Real>;
    const Problem<Real> problem(n);
    const Calls<Real> solver(family, n);
    std::vector<Real> x;
    int raised = 0;
    for (const auto way : solver.ways()) {
        CAPTURE(way);
        CHECK(solver.solve(way, problem.scaled(whole(0, 0)), x, raised) == fine);
        const auto usual = problem.error(x, whole(0, 0));
        CHECK(usual <= 1000 * tolerance<Real>);
        for (const auto& units : sound_units(most)) {
            INFO(units.a, " ", units.b, " ", units.blocks[0], " ", units.blocks[2]);
            CHECK(solver.solve(way, problem.scaled(units), x, raised) == fine);
            CHECK(problem.error(x, units) <= 4 * (usual + std::numeric_limits<Real>::epsilon()));
            CHECK(raised == 0);
        }
        // X leaves the range, everywhere or in one block; and pivots do.
        CHECK(solver.solve(way, problem.scaled(whole(-most, most)), x, raised).code == out_of_range);
        for (const std::size_t stage : {0, 2, 4}) {
            auto units = whole(0, most * 3 / 4);
            units.blocks[stage] = -most / 2;
            CHECK(solver.solve(way, problem.scaled(units), x, raised).code == out_of_range);
        }
        const int below = std::numeric_limits<Real>::min_exponent - 10;
        CHECK(solver.solve(way, problem.scaled(whole(below, 0)), x, raised) == Status{not_positive_definite, 0, 0});
    }
}

void check_range(const Build& build) {
    INFO(build.compiler, " ", build.schedule);
    const Family family(build);
    for_each_size([&](std::int64_t n, auto number) { check_range<decltype(number)>(family, n); });
}

Build with(Build build, Factorization factorization, std::int64_t corrections, const std::string& schedule = "sequential",
           Coupling coupling = Coupling::lower) {
    build.factorization = factorization;
    build.corrections = corrections;
    build.schedule = schedule;
    build.coupling = coupling;
    return build;
}

/// Units of the problems that are baked in, the first at scale 1.
template <class Real>
std::vector<Units> baked_units() {
    const int most = max_exponent<Real>, half = most / 2;
    return {whole(0, 0), whole(-most, 0), whole(most, 0), {{half, -half, half, -half, half}}, {{0, 0, -half, 0, 0}}};
}

template <class Real>
ExportRequest prefactored(const Problem<Real>& problem, const Units& units, const std::string& name) {
    auto result = request(problem.n, horizon, precision_of<Real>, 1, "c99:generic", name);
    const auto user = problem.scaled(units);
    result.prefactored = Prefactored{{user.d.begin(), user.d.end()}, {user.e.begin(), user.e.end()}};
    for (auto& value : result.prefactored->d)
        if (std::isnan(value)) value = 0;  // above the diagonals
    return result;
}

template <class Real>
void check_prefactored(const Library& library, std::int64_t n) {
    INFO(n, " ", sizeof(Real));
    const Problem<Real> problem(n);
    const int most = max_exponent<Real>;
    double usual = 0;
    int k = 0;
    for (auto units : baked_units<Real>()) {
        CAPTURE(k);
        const auto name = fmt::format("{}_{}_solve", prefix<Real>(n), k);
        auto* solve = library.function<Status(int, const Real*, Real*)>(name.c_str());
        std::vector<Real> x(problem.scaled(units).b.size());
        for (const int b : {0, units.a}) {
            units.b = b;
            std::feclearexcept(FE_ALL_EXCEPT);
            CHECK(solve(0, problem.scaled(units).b.data(), x.data()) == fine);
            CHECK(std::fetestexcept(risky) == 0);
            const auto error = problem.error(x, units);
            if (k == 0) usual = error;
            CHECK(error <= 4 * (usual + std::numeric_limits<Real>::epsilon()));
        }
        units.b = most;
        if (units.a < 0) CHECK(solve(0, problem.scaled(units).b.data(), x.data()).code == out_of_range);
        ++k;
    }
    CHECK(usual <= 1000 * tolerance<Real>);
}

}  // namespace

TEST_CASE("export: prefactored systems and single blocks in units of any size are solved as at scale 1, or end in a status") {
    std::vector<ExportedFile> files;
    std::string all;
    for_each_size([&](std::int64_t n, auto number) {
        using Real = decltype(number);
        const Problem<Real> problem(n);
        int k = 0;
        for (const auto& units : baked_units<Real>()) {
            const auto name = fmt::format("{}_{}", prefix<Real>(n), k++);
            std::ranges::move(export_project(prefactored(problem, units, name)), std::back_inserter(files));
            all += fmt::format("#include \"{0}_solver.c\"\n#include \"{0}_factors.c\"\n", name);
        }
    });
    const Project project(files);
    project.write("all.c", all);
    const auto built = project.run(plain("gcc -O0").compiler + " -shared -fPIC -Wall -Wextra -Werror -o all.so all.c");
    REQUIRE_MESSAGE(built.status == 0, built.out);
    const Library library(project.path() / "all.so");
    for_each_size([&](std::int64_t n, auto number) { check_prefactored<decltype(number)>(library, n); });
}

TEST_CASE("export: systems and single blocks in units of any size are solved as at scale 1, or end in a status") {
    check_range(with(plain("gcc -O0"), Factorization::llt, 2));
    check_range(with(plain("gcc -O0"), Factorization::ldlt, 1));
    check_range(with(plain("gcc -O2 -march=native"), Factorization::llt, 0, "twisted:2"));
    check_range(with(plain("gcc -O0"), Factorization::llt, 0, "partitioned:3"));
    check_range(with(plain("gcc -O0"), Factorization::llt, 0, "sequential", Coupling::upper));
}

TEST_CASE("export: kernels solve systems and single blocks in units of any size as at scale 1, or end in a status") {
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        check_range({"c99:avx2", "gcc -O1 -std=gnu11 -march=x86-64-v3 -ffp-contract=fast"});
}
