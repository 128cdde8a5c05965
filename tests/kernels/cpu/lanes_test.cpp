#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <trifold/error.hpp>

#include "generator/tridiagonal/design.hpp"
#include "tests/support/cpu/problem.hpp"
#include "tests/support/cpu/unit.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

template <class Real>
constexpr double tolerance = sizeof(Real) == 8 ? 1e-14 : 1e-6;

std::vector<System> random_systems(const Spec& spec, std::int64_t columns, unsigned seed) {
    std::vector<System> systems;
    for (std::int64_t m = 0; m < spec.batch; ++m)
        systems.push_back(random_system(spec.block, spec.horizon, columns, seed + static_cast<unsigned>(m)));
    return systems;
}

/// Arrays, workspace (all NaN) and arguments of calls on one batch.
template <class Real>
struct Batch {
    Batch(const CompiledProgram& unit, const std::vector<System>& systems)
        : user(arrays<Real>(unit.choice().spec, systems)),
          workspace(unit.program()),
          x(user.b.size(), std::numeric_limits<Real>::quiet_NaN()) {
        const auto& spec = unit.choice().spec;
        const auto columns = systems[0].b.cols();
        const auto s = rhs_strides(spec, columns);
        args.d = user.d.data();
        args.e = user.e.data();
        args.b = user.b.data();
        args.x = x.data();
        args.b_strides = args.x_strides = {s.row, s.column, s.stage, s.member};
        args.columns = columns;
        args.members = static_cast<std::int64_t>(systems.size());
        args.workspace = workspace.data();
    }
    Arrays<Real> user;
    Workspace workspace;
    std::vector<Real> x;
    trifold_args args{};
};

template <class Real>
Spec with_precision(Spec spec) {
    spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
    return spec;
}

const trifold_status& status(const CompiledProgram& unit, const Workspace& workspace, std::int64_t member) {
    return workspace.buffer<trifold_status>(unit.program(), "status")[member];
}

/// Solves random systems every way there is and compares with dense algebra in double.
template <class Real>
void check_solves(const Spec& given, const std::string& schedule, const Target& target = host_target(), std::int64_t columns = 0) {
    const auto spec = with_precision<Real>(given);
    CAPTURE(spec.block);
    CAPTURE(spec.horizon);
    CAPTURE(spec.batch);
    CAPTURE(schedule);
    if (columns == 0) columns = spec.rhs;
    const CompiledProgram unit(choose(spec, target, {.schedule = schedule, .variant = "lanes"}));
    const auto systems = random_systems(spec, columns, 11);
    Batch<Real> batch(unit, systems);
    unit.run(Operation::factor_solve, batch.args);
    const auto x = batch.x;
    unit.run(Operation::forward, batch.args);
    auto y = batch.x;
    unit.run(Operation::solve, batch.args);
    const auto again = batch.x;
    CHECK(x == again);
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        const auto& system = systems[static_cast<std::size_t>(m)];
        const auto a = system.dense();
        CHECK(status(unit, batch.workspace, m).block == -1);
        CHECK(status(unit, batch.workspace, m).floors == 0);
        CHECK(status(unit, batch.workspace, m).nearly_singular == 0);
        CHECK(status(unit, batch.workspace, m).least_pivot ==
              doctest::Approx(least_pivot_oracle(system, unit.choice().schedule)).epsilon(1000 * tolerance<Real>));
        CHECK(relative_residual(a, gather(spec, x, m, columns), system.b) <= tolerance<Real>);
        const auto forward = forward_oracle(system, unit.choice().schedule);
        CHECK((gather(spec, y, m, columns) - forward).cwiseAbs().maxCoeff() <= 100 * tolerance<Real> * forward.cwiseAbs().maxCoeff());
        const auto expected = 2 * a.llt().matrixLLT().diagonal().array().log().sum();
        CHECK(batch.workspace.template buffer<double>(unit.program(), "log_determinant")[m] ==
              doctest::Approx(expected).epsilon(tolerance<Real>));
        const auto* quadratic = batch.workspace.template buffer<double>(unit.program(), "quadratic") + m * spec.rhs;
        for (std::int64_t c = 0; c < columns; ++c)
            CHECK(quadratic[c] == doctest::Approx(forward.col(c).squaredNorm()).epsilon(10 * tolerance<Real>));
    }
    batch.args.b = batch.args.x = y.data();  // in place
    unit.run(Operation::backward, batch.args);
    CHECK(y == again);
    CHECK(unit.exceptions() == 0);
}

/// Alternates between the precisions.
void check_one(const Spec& spec, const std::string& schedule, int turn, const Target& target = host_target()) {
    if (turn % 2 == 0)
        check_solves<double>(spec, schedule, target);
    else
        check_solves<float>(spec, schedule, target);
}

}  // namespace

TEST_CASE("lanes: auto takes them for batches that fill the lanes of all workers, or most of them where blocks are small") {
    const Target target{Backend::cpu, "x86-64-v4"};
    const auto variant = [&](std::int64_t block, std::int64_t batch, Precision precision, int workers) {
        return choose({.block = block, .horizon = 4, .precision = precision, .batch = batch}, target, {.workers = workers}).variant;
    };
    struct Case {
        std::int64_t block, batch;  // the block is the largest that takes lanes
        Precision precision;
        int workers;
    };
    for (const auto& [block, batch, precision, workers] :
         {Case{32, 8, Precision::f64, 1}, Case{32, 64, Precision::f64, 2}, Case{32, 16, Precision::f32, 1}, Case{20, 7, Precision::f64, 1},
          Case{16, 8, Precision::f64, 2}, Case{13, 4, Precision::f64, 1}, Case{20, 8, Precision::f32, 1}}) {
        CAPTURE(batch);
        CAPTURE(workers);
        CHECK(variant(block, batch, precision, workers) == "lanes");
        CHECK(variant(block + 1, batch, precision, workers) == "tile");
    }
    CHECK(variant(4, 3, Precision::f64, 1) == "tile");
    CHECK(variant(4, 8, Precision::f32, 2) == "tile");
    const auto made = design(choose({.block = 3, .horizon = 4, .batch = 9}, target));
    CHECK(made.lowered.members == 16);
    CHECK(made.kernels[0].shape.members_per_task == 8);
    CHECK_THROWS_AS(generate({.block = 33, .horizon = 4, .batch = 8}, target, {.variant = "lanes"}), SpecError);
}

TEST_CASE("lanes: every schedule solves") {
    int k = 0;
    for (const std::string schedule :
         {"sequential", "single-stage", "multi-stage", "partitioned:3", "twisted:2", "twisted:4", "recursive:2:3", "segments:3,2"})
        check_one({.block = 5, .horizon = 31, .rhs = 3, .batch = 11}, schedule, k++);
}

TEST_CASE("lanes: every block size solves") {
    const std::string schedules[] = {"twisted:2", "partitioned:3", "multi-stage"};
    int k = 0;
    for (const std::int64_t n : {1, 2, 3, 4, 6, 7, 8, 9, 12, 13, 16, 24, 31}) {
        const Spec spec{.block = n, .horizon = 6, .rhs = k % 4 == 3 ? 8 : 1, .batch = 5 + k % 5};
        check_one(spec, schedules[k % 3], k);
        if (n < 9) check_one(spec, schedules[k % 3], k + 1);
        ++k;
    }
}

TEST_CASE("lanes: short and odd horizons solve") {
    int k = 0;
    for (const std::int64_t horizon : {1, 2, 3, 4, 8, 16}) {
        check_one({.block = 3, .horizon = horizon, .batch = 17}, "twisted:3", k++);
        check_one({.block = 3, .horizon = horizon, .batch = 17}, "recursive:2:2", k);
    }
}

TEST_CASE("lanes: narrower targets solve") {
    int k = 0;
    for (const std::string arch : {"x86-64", "x86-64-v3"}) {
        if (arch == "x86-64-v3" && host_target().arch == "x86-64") continue;
        for (const std::int64_t n : {1, 6, 11})
            check_one({.block = n, .horizon = 5, .rhs = 2, .batch = 5}, "partitioned:2", k++, {Backend::cpu, arch});
    }
}

TEST_CASE("lanes: any layout solves") {
    Spec spec{.block = 5, .horizon = 7, .rhs = 2, .batch = 9};
    spec.order = Order::column_major;
    check_one(spec, "twisted:2", 0);
    spec.coupling = Coupling::upper;
    spec.rhs_layout = RhsLayout::stacked;
    check_one(spec, "partitioned:2", 1);
    spec.d.leading = 8;
    spec.e.leading = 6;
    check_one(spec, "multi-stage", 0);
    spec.order = Order::row_major;
    check_one(spec, "twisted:3", 1);
}

TEST_CASE("lanes: one block shared by all stages and members") {
    Spec spec{.block = 4, .horizon = 5, .batch = 10};
    spec.d.stage = spec.e.stage = spec.d.member = spec.e.member = 0;
    const CompiledProgram unit(choose(spec, host_target(), {.schedule = "twisted:2", .variant = "lanes"}));
    auto system = random_system(4, 5, 1, 3);
    const Matrix shared = system.d[0] + Matrix::Identity(4, 4) * 20;
    for (auto& d : system.d) d = shared;
    for (auto& e : system.e) e = system.e[0];
    Batch<double> batch(unit, std::vector<System>(10, system));
    unit.run(Operation::factor_solve, batch.args);
    for (std::int64_t m = 0; m < 10; ++m)
        CHECK(relative_residual(system.dense(), gather(spec, batch.x, m, 1), system.b) <= tolerance<double>);
}

namespace {

/// Every member's solution, its outcome and its share of the factor's results.
template <class Real>
std::vector<Real> solutions(const Spec& spec, const std::string& schedule, const std::vector<System>& systems) {
    const CompiledProgram unit(choose(spec, host_target(), {.schedule = schedule, .variant = "lanes"}));
    const bool far = static_cast<std::int64_t>(systems.size()) > 64;
    CHECK((unit.program().units.front().source.find(far ? "#define TRIFOLD_FAR 1" : "#define TRIFOLD_FAR 0") != std::string::npos));
    Batch<Real> batch(unit, systems);
    unit.run(Operation::factor_solve, batch.args);
    auto result = batch.x;
    for (std::size_t m = 0; m < systems.size(); ++m) {
        CHECK(status(unit, batch.workspace, static_cast<std::int64_t>(m)).block == -1);
        result.push_back(static_cast<Real>(batch.workspace.template buffer<double>(unit.program(), "log_determinant")[m]));
    }
    return result;
}

/// A batch whose arrays are fetched ahead, beyond a size, has the bits of its first systems alone.
template <class Real>
void check_far(std::int64_t block, std::int64_t horizon, const std::string& schedule, Order order) {
    CAPTURE(block);
    CAPTURE(schedule);
    const auto spec = with_precision<Real>({.block = block, .horizon = horizon, .batch = 19, .order = order});
    const auto few = random_systems(spec, 1, 5);
    auto far_spec = spec;
    const auto block_bytes = block * block * static_cast<std::int64_t>(sizeof(Real));
    far_spec.batch = (13 << 20) / (4 * block_bytes * horizon) + 70;
    auto many = few;
    while (static_cast<std::int64_t>(many.size()) < far_spec.batch) many.push_back(few[many.size() % few.size()]);
    const auto alone = solutions<Real>(spec, schedule, few), together = solutions<Real>(far_spec, schedule, many);
    const auto rows = static_cast<std::size_t>(block * horizon);
    for (std::size_t m = 0; m < many.size(); ++m) {
        const auto one = m % few.size();
        CHECK(std::memcmp(&together[m * rows], &alone[one * rows], rows * sizeof(Real)) == 0);
        CHECK(together[many.size() * rows + m] == alone[few.size() * rows + one]);
    }
}

}  // namespace

TEST_CASE("lanes: a batch far larger than the caches has the bits of a small one") {
    check_far<double>(4, 31, "sequential", Order::row_major);
    check_far<double>(7, 33, "twisted:2", Order::column_major);
    check_far<double>(12, 16, "sequential", Order::row_major);
    check_far<float>(6, 64, "partitioned:3", Order::row_major);
    check_far<float>(16, 17, "sequential", Order::column_major);
}

TEST_CASE("lanes: fewer columns than the capacity") {
    for (const auto layout : {RhsLayout::staged, RhsLayout::stacked}) {
        check_solves<double>({.block = 4, .horizon = 5, .rhs = 3, .batch = 9, .rhs_layout = layout}, "twisted:2", host_target(), 2);
        check_solves<float>({.block = 4, .horizon = 5, .rhs = 8, .batch = 3, .rhs_layout = layout}, "partitioned:2", host_target(), 1);
    }
}

namespace {

const Spec batch_spec{.block = 5, .horizon = 9, .batch = 19, .operations = all_operations()};

const CompiledProgram& batch_unit() {
    static const CompiledProgram unit(choose(batch_spec, host_target(), {.schedule = "partitioned:3", .variant = "lanes"}));
    return unit;
}

/// Everything a batch can be asked for, with outputs that start as NaN.
struct FullBatch : Batch<double> {
    explicit FullBatch(const std::vector<System>& systems) : Batch(batch_unit(), systems) {
        const auto blocks = batch_spec.batch * batch_spec.horizon, area = batch_spec.block * batch_spec.block;
        diagonal.assign(static_cast<std::size_t>(blocks * area), std::numeric_limits<double>::quiet_NaN());
        coupling.assign(static_cast<std::size_t>((blocks - batch_spec.batch) * area), std::numeric_limits<double>::quiet_NaN());
        args.inverse_diagonal = diagonal.data();
        args.inverse_coupling = coupling.data();
    }
    void run(const Split& split = {}) {
        batch_unit().run(Operation::factor_solve, args, split);
        batch_unit().run(Operation::inverse, args, split);
    }
    /// The bits of everything that belongs to one member.
    std::vector<std::uint64_t> bits(std::int64_t member) const {
        std::vector<std::uint64_t> all;
        const auto add = [&](const double* values, std::int64_t count) {
            for (std::int64_t k = 0; k < count; ++k) all.push_back(std::bit_cast<std::uint64_t>(values[member * count + k]));
        };
        const auto n = batch_spec.block, horizon = batch_spec.horizon;
        add(x.data(), n * horizon);
        add(diagonal.data(), n * n * horizon);
        add(coupling.data(), n * n * (horizon - 1));
        add(workspace.buffer<double>(batch_unit().program(), "log_determinant"), 1);
        add(workspace.buffer<double>(batch_unit().program(), "quadratic"), 1);
        add(reinterpret_cast<const double*>(workspace.buffer<trifold_status>(batch_unit().program(), "status")), 5);
        return all;
    }
    bool untouched(std::int64_t member) const {
        const auto values = bits(member);
        const auto outputs = values.size() - 7;
        for (std::size_t k = 0; k < outputs; ++k)
            if (values[k] != std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN())) return false;
        for (std::size_t k = outputs; k < values.size(); ++k)
            if (values[k] != ~std::uint64_t{0}) return false;
        return true;
    }
    std::vector<double> diagonal, coupling;
};

}  // namespace

TEST_CASE("lanes: a member's bits do not depend on its place, its neighbours or the cut of the work") {
    auto systems = random_systems(batch_spec, 1, 23);
    FullBatch batch(systems);
    batch.run();
    FullBatch cut(systems);
    cut.run({.tasks_per_call = 1, .backwards = true});
    std::vector<System> rotated(systems.begin() + 5, systems.end());
    rotated.insert(rotated.end(), systems.begin(), systems.begin() + 5);
    FullBatch moved(rotated);
    moved.run();
    for (std::int64_t m = 0; m < 19; ++m) {
        CHECK(batch.bits(m) == cut.bits(m));
        CHECK(batch.bits((m + 5) % 19) == moved.bits(m));
    }
}

TEST_CASE("lanes: members that are idle are not written") {
    const auto systems = random_systems(batch_spec, 1, 29);
    FullBatch whole(systems);
    whole.run();
    // Every third member is off, and the call has fewer members than the capacity.
    std::vector<int> active(19, 1);
    for (std::size_t m = 0; m < 19; m += 3) active[m] = 0;
    FullBatch some(systems);
    some.args.active = active.data();
    some.args.members = 14;
    some.run();
    for (std::int64_t m = 0; m < 19; ++m) {
        CAPTURE(m);
        if (m < 14 && m % 3 != 0)
            CHECK(some.bits(m) == whole.bits(m));
        else
            CHECK(some.untouched(m));
    }
    // Now the others: the factor of the first ones must have stayed, also where they share vectors.
    for (auto& flag : active) flag = 1 - flag;
    for (std::size_t k = 0; k < some.user.d.size(); ++k) some.user.d[k] *= 4;
    for (std::size_t k = 0; k < some.user.e.size(); ++k) some.user.e[k] *= 4;
    batch_unit().run(Operation::factor, some.args);
    for (auto& flag : active) flag = 1 - flag;
    const auto first = some.x;
    std::fill(some.x.begin(), some.x.end(), 0.0);
    batch_unit().run(Operation::solve, some.args);
    for (std::size_t k = 0; k < some.x.size(); ++k)
        if (const auto m = static_cast<std::int64_t>(k) / 45; m < 14 && m % 3 != 0) CHECK(some.x[k] == first[k]);
    for (auto& flag : active) flag = 0;
    FullBatch none(systems);
    none.args.active = active.data();
    none.run();
    for (std::int64_t m = 0; m < 19; ++m) CHECK(none.untouched(m));
}

TEST_CASE("lanes: a failing member in any lane, the others to the bit") {
    const auto systems = random_systems(batch_spec, 1, 37);
    FullBatch sound(systems);
    sound.run();
    for (std::int64_t bad = 0; bad < 19; bad += 3) {
        for (const std::int64_t block : {0, 2, 3, 8}) {  // a chain's first and last, a separator, the last
            CAPTURE(bad);
            CAPTURE(block);
            auto broken = systems;
            const auto row = (bad + block) % 5;
            broken[static_cast<std::size_t>(bad)].d[static_cast<std::size_t>(block)](row, row) = -1;
            FullBatch batch(broken);
            batch.run();
            const auto& outcome = status(batch_unit(), batch.workspace, bad);
            CHECK(outcome.block == block);
            CHECK(outcome.row == row);
            CHECK(std::isnan(batch.workspace.buffer<double>(batch_unit().program(), "log_determinant")[bad]));
            for (std::int64_t k = 0; k < 45; ++k) CHECK(std::isnan(batch.x[static_cast<std::size_t>(bad * 45 + k)]));
            for (std::int64_t k = 0; k < 225; ++k) CHECK(std::isnan(batch.diagonal[static_cast<std::size_t>(bad * 225 + k)]));
            for (std::int64_t m = 0; m < 19; ++m)
                if (m != bad) CHECK(batch.bits(m) == sound.bits(m));
        }
    }
}

TEST_CASE("lanes: pivots of zero, infinity and NaN fail, diagonal, shift and floor count by member") {
    auto systems = random_systems(batch_spec, 1, 41);
    const auto infinity = std::numeric_limits<double>::infinity();
    systems[1].d[0](0, 0) = 0;
    systems[2].d[0](0, 0) = infinity;
    systems[3].d[4](1, 1) = std::numeric_limits<double>::quiet_NaN();
    FullBatch batch(systems);
    batch.run();
    CHECK(status(batch_unit(), batch.workspace, 1).block == 0);
    CHECK(status(batch_unit(), batch.workspace, 2).block == 0);
    CHECK(status(batch_unit(), batch.workspace, 3).block == 4);
    CHECK(status(batch_unit(), batch.workspace, 3).row == 1);

    systems = random_systems(batch_spec, 1, 43);
    std::vector<double> diagonal(19 * 45), shift(19);
    for (std::size_t k = 0; k < diagonal.size(); ++k) diagonal[k] = static_cast<double>(k % 7);
    for (std::size_t m = 0; m < 19; ++m) shift[m] = static_cast<double>(m) / 4;
    FullBatch added(systems);
    added.args.diagonal = diagonal.data();
    added.args.shift = shift.data();
    added.run();
    for (std::int64_t m = 0; m < 19; ++m) {
        auto a = systems[static_cast<std::size_t>(m)].dense();
        for (std::int64_t k = 0; k < 45; ++k)
            a(k, k) += diagonal[static_cast<std::size_t>(m * 45 + k)] + shift[static_cast<std::size_t>(m)];
        CHECK(relative_residual(a, gather(batch_spec, added.x, m, 1), systems[static_cast<std::size_t>(m)].b) <= tolerance<double>);
    }

    // A member whose first pivot is below the floor solves the system with that pivot raised.
    systems[6].d[0](0, 0) = 1e-30;
    systems[6].d[0].col(0).tail(4).setZero();
    systems[6].d[0].row(0).tail(4).setZero();
    systems[6].e[0].col(0).setZero();
    FullBatch floored(systems);
    floored.args.pivot_floor = 1e-8;
    floored.run();
    const auto largest = systems[6].d[0].diagonal().maxCoeff();
    auto raised = systems[6];
    raised.d[0](0, 0) = 1e-8 * largest;
    for (std::int64_t m = 0; m < 19; ++m) {
        CHECK(status(batch_unit(), floored.workspace, m).block == -1);
        CHECK(status(batch_unit(), floored.workspace, m).floors == (m == 6 ? 1 : 0));
    }
    CHECK(relative_residual(raised.dense(), gather(batch_spec, floored.x, 6, 1), raised.b) <= tolerance<double>);
}
