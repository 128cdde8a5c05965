#pragma once
#include "tests/support/cpu/problem.hpp"
#include "tests/support/cpu/unit.hpp"

namespace trifold::test {

/// Bound on the relative residual.
template <class Real>
constexpr double tolerance = sizeof(Real) == 8 ? 1e-14 : 1e-6;

inline trifold_strides kernel_strides(const Strides& s) { return {s.row, s.column, s.stage, s.member}; }

inline std::vector<System> random_systems(const Spec& spec, std::int64_t columns, unsigned seed) {
    std::vector<System> systems;
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        systems.push_back(random_system(spec.block, spec.horizon, columns, seed + static_cast<unsigned>(m)));
        if (spec.matrix == MatrixKind::symmetric) systems.back() = quasi_definite(std::move(systems.back()));
    }
    return systems;
}

template <class Real>
trifold_args kernel_args(const Spec& spec, const Arrays<Real>& arrays, std::vector<Real>& x, std::int64_t columns,
                         const Workspace& workspace) {
    const auto strides = kernel_strides(rhs_strides(spec, columns));
    trifold_args args{};
    args.d = arrays.d.data();
    args.e = arrays.e.data();
    args.b = arrays.b.data();
    args.x = x.data();
    args.b_strides = args.x_strides = strides;
    args.columns = columns;
    args.members = spec.batch;
    args.workspace = workspace.data();
    return args;
}

/// A compiled Program or an emulated one, its workspace, random systems and their arrays, ready to call.
template <class Real, class Unit = CompiledProgram>
struct Call {
    Call(const Spec& requested, const std::string& schedule, unsigned seed = 7, const Target& target = host_target(),
         const std::string& variant = "tile")
        : Call(with_precision(requested), schedule, random_systems(requested, requested.rhs, seed), target, variant) {}
    Call(const Spec& given, const std::string& schedule, std::vector<System> given_systems, const Target& target = host_target(),
         const std::string& variant = "tile")
        : spec(given),
          unit(choose(spec, target, {.schedule = schedule, .variant = variant})),
          systems(std::move(given_systems)),
          user(arrays<Real>(spec, systems)),
          workspace(unit.program()),
          x(user.b.size()),
          args(kernel_args(spec, user, x, spec.rhs, workspace)) {}
    static Spec with_precision(Spec result) {
        result.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
        return result;
    }
    template <class... How>
    void run(Operation operation, const How&... how) const {
        unit.run(operation, args, how...);
    }
    template <class T>
    const T* buffer(std::string_view name) const {
        return workspace.buffer<T>(unit.program(), name);
    }
    trifold_status status(std::int64_t member) const { return buffer<trifold_status>("status")[member]; }
    Real& d(std::int64_t member, std::int64_t block, std::int64_t r, std::int64_t c) {
        return user.d[static_cast<std::size_t>(((member * spec.horizon + block) * spec.block + r) * spec.block + c)];
    }
    Matrix solution(std::int64_t member) const { return gather(spec, x, member, spec.rhs); }
    double residual(std::int64_t member, const Matrix& a) const {
        return relative_residual(a, solution(member), systems[static_cast<std::size_t>(member)].b);
    }
    bool solves(std::int64_t member) const { return status(member).block == -1 && residual(member) <= tolerance<Real>; }
    double residual(std::int64_t member) const { return residual(member, systems[static_cast<std::size_t>(member)].dense()); }

    Spec spec;
    Unit unit;
    std::vector<System> systems;
    Arrays<Real> user;
    Workspace workspace;
    std::vector<Real> x;
    trifold_args args;
};

}  // namespace trifold::test
