// The range of exponents: whatever has data, pivots and a solution in the normal range of the precision is solved as well as at scale 1.
#include "tests/kernels/cpu/solves.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

void check_range(Spec spec, const std::string& schedule, const std::string& variant, const Target& target = host_target()) {
    spec.operations = all_operations();
    for (const auto precision : {Precision::f64, Precision::f32}) {
        INFO(spec.block, " ", schedule, " ", variant, " ", to_string(precision));
        spec.precision = precision;
        const CompiledProgram unit(choose(with_units(spec, 4), target, {.schedule = schedule, .variant = variant}), "-O1");
        KernelRunner<CompiledProgram, Split> runner(unit);
        check_errors(range_errors_of(runner, 4, true));
    }
}

/// Groups of members that fill their vectors, or do not, by their number or by a mask.
template <class Real>
void check_exceptions(const Spec& given, const std::string& schedule) {
    auto spec = Call<Real>::with_precision(given);
    spec.batch = 19;
    spec.operations = all_operations();
    const CompiledProgram unit(choose(spec, host_target(), {.schedule = schedule, .variant = "lanes"}), "-O1");
    const Workspace workspace(unit.program());
    const auto user = arrays<Real>(spec, random_systems(spec, spec.rhs, 5));
    std::vector<Real> x(user.b.size()), diagonal(user.d.size()), coupling(user.d.size());
    std::vector<int> active(19);
    auto args = kernel_args(spec, user, x, spec.rhs, workspace);
    args.inverse_diagonal = diagonal.data();
    args.inverse_coupling = coupling.data();
    for (int members = 1; members <= 19; ++members)
        for (const int every : {1, 2, 7}) {
            for (int m = 0; m < 19; ++m) active[static_cast<std::size_t>(m)] = m % every == 0;
            INFO(members, " ", every);
            args.members = members;
            args.active = active.data();
            for (const auto operation : {Operation::factor, Operation::solve, Operation::factor_solve, Operation::inverse})
                unit.run(operation, args);
            CHECK(unit.exceptions() == 0);
        }
}

}  // namespace

TEST_CASE("targets whose vectors have no masks solve over the whole range of exponents") {
    for (const std::string arch : {"x86-64", "x86-64-v3"}) {
        if (host_target().arch == "x86-64" && arch != "x86-64") continue;
        check_range({.block = 9, .horizon = 4, .rhs = 1}, "twisted:2", "tile", {Backend::cpu, arch});
        check_range({.block = 3, .horizon = 4, .rhs = 1}, "multi-stage", "lanes", {Backend::cpu, arch});
    }
}

TEST_CASE("lanes that are idle raise no exceptions") {
    check_exceptions<double>({.block = 6, .horizon = 7}, "multi-stage");
    check_exceptions<float>({.block = 6, .horizon = 7, .rhs = 2}, "sequential");
    check_exceptions<float>({.block = 3, .horizon = 5}, "partitioned:2");
}

TEST_CASE("tiles solve over the whole range of exponents") {
    check_range({.block = 1, .horizon = 5, .rhs = 2}, "sequential", "tile");
    check_range({.block = 7, .horizon = 6, .rhs = 2}, "partitioned:2", "tile");
    check_range({.block = 33, .horizon = 3, .rhs = 1}, "multi-stage", "tile");
}

TEST_CASE("lanes solve over the whole range of exponents") {
    check_range({.block = 1, .horizon = 6, .rhs = 2}, "multi-stage", "lanes");
    check_range({.block = 6, .horizon = 5, .rhs = 1}, "sequential", "lanes");
    check_range({.block = 9, .horizon = 6, .rhs = 2}, "partitioned:2", "lanes");
}
