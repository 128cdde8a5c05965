#pragma once
#include <dlfcn.h>

#include "tests/export/c99/project.hpp"
#include "tests/support/cpu/problem.hpp"
#include "tests/support/test.hpp"

namespace trifold::test {

enum Code { ok = 0, not_positive_definite = 1, out_of_range = 2, not_factored = 3, no_such_shift = 4, nearly_singular = 5 };

struct Status {
    int code, block, row;
    bool operator==(const Status&) const = default;
};
inline constexpr Status fine{ok, -1, -1};

/// Bound on the relative residual.
template <class Real>
constexpr double tolerance = sizeof(Real) == 8 ? 1e-14 : 1e-6;

template <class Real>
constexpr Precision precision_of = sizeof(Real) == 4 ? Precision::f32 : Precision::f64;

/// What is exported, and the command that compiles it.
struct Build {
    std::string target, compiler, schedule = "sequential";
    Factorization factorization = Factorization::llt;
    std::int64_t corrections = 0;
    Order order = Order::row_major;
    Coupling coupling = Coupling::lower;
    BlockLayout d = {}, e = {};
    MatrixKind matrix = MatrixKind::positive_definite;
    bool has_layout() const { return order != Order::row_major || coupling != Coupling::lower || d != BlockLayout{} || e != BlockLayout{}; }
    bool in_place() const { return target == "c99:generic" && schedule == "sequential" && !has_layout(); }
};
inline Build plain(const std::string& compiler = "gcc -O2") { return {"c99:generic", compiler + " -std=c99 -ffp-contract=off"}; }

/// A shared library, loaded into this process.
class Library {
  public:
    explicit Library(const std::filesystem::path& path) : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        REQUIRE(handle_ != nullptr);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library() { ::dlclose(handle_); }
    template <class Signature>
    Signature* function(const char* name) const {
        auto* found = ::dlsym(handle_, name);
        REQUIRE(found != nullptr);
        return reinterpret_cast<Signature*>(found);
    }

  private:
    void* handle_;
};

/// An exported solver, compiled by the host's compiler and loaded into this process, with a workspace of the size it asks for.
template <class Real>
class Exported {
  public:
    Exported(std::int64_t n, std::int64_t horizon, std::int64_t rhs, const Build& build = plain())
        : request_(request_of(n, horizon, rhs, build)), project_(request_) {
        const std::string refined = build.corrections > 0 ? " btd_refine.c" : "";
        const auto built = project_.run(build.compiler + " -shared -fPIC -o solver.so btd_solver.c" + refined + " -lm");
        INFO(built.out);
        REQUIRE(built.status == 0);
        library_.emplace(project_.path() / "solver.so");
        const auto size = function<std::size_t()>("btd_workspace_size")();
        memory_.reset(std::aligned_alloc(64, (size + 63) / 64 * 64));
        workspace_ = function<void*(void*)>("btd_init")(memory_.get());
        REQUIRE(workspace_ == memory_.get());
    }

    const Spec& spec() const { return request_.spec; }
    void* workspace() const { return workspace_; }
    template <class Signature>
    Signature* function(const char* name) const {
        return library_->function<Signature>(name);
    }
    Status factor(const Real* d, const Real* e) {
        return function<Status(void*, const Real*, const Real*)>("btd_factor")(workspace_, d, e);
    }
    Status refactor(Real* d, Real* e) { return function<Status(void*, Real*, Real*)>("btd_refactor")(workspace_, d, e); }
    /// Of the D that was factored.
    double least_pivot(const Real* d) {
        return static_cast<double>(function<Real(const void*, const Real*)>("btd_least_pivot")(workspace_, d));
    }
    Status solve(const Real* b, Real* x) { return function<Status(void*, const Real*, Real*)>("btd_solve")(workspace_, b, x); }
    Status factor_solve(const Arrays<Real>& a, Real* x) {
        using Signature = Status(void*, const Real*, const Real*, const Real*, Real*);
        return function<Signature>("btd_factor_solve")(workspace_, a.d.data(), a.e.data(), a.b.data(), x);
    }

    Status solve_refined(const Arrays<Real>& a, Real* x) {
        std::vector<Real> residual(a.b.size());
        using Signature = Status(void*, const Real*, const Real*, const Real*, Real*, Real*);
        return function<Signature>("btd_solve_refined")(workspace_, a.d.data(), a.e.data(), a.b.data(), x, residual.data());
    }

  private:
    static ExportRequest request_of(std::int64_t n, std::int64_t horizon, std::int64_t rhs, const Build& build) {
        auto result = with_schedule(request(n, horizon, precision_of<Real>, rhs, build.target), build.schedule);
        result.factorization = build.factorization;
        result.spec.matrix = build.matrix;
        result.spec.order = build.order;
        result.spec.coupling = build.coupling;
        result.spec.d = build.d;
        result.spec.e = build.e;
        return with_corrections(result, build.corrections);
    }
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    ExportRequest request_;
    Project project_;
    std::optional<Library> library_;
    std::unique_ptr<void, Free> memory_;
    void* workspace_ = nullptr;
};

}  // namespace trifold::test
