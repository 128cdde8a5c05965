// Every variant, by every way to its results, against dense algebra.
#include <cstring>
#include <trifold/error.hpp>

#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/variant.hpp"
#include "tests/kernels/cpu/solves.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

constexpr auto f64 = Precision::f64, f32 = Precision::f32;
const std::string schedules[] = {"sequential", "single-stage", "multi-stage",   "partitioned:3",
                                 "twisted:2",  "twisted:4",    "recursive:2:3", "segments:3,2"};
const Target x86_64{Backend::cpu, "x86-64"}, x86_64_v3{Backend::cpu, "x86-64-v3"}, x86_64_v4{Backend::cpu, "x86-64-v4"},
    znver4{Backend::cpu, "znver4"};

std::vector<Target> narrower_targets() { return host_target().arch == "x86-64" ? std::vector{x86_64} : std::vector{x86_64, x86_64_v3}; }

std::string choice_of(const Spec& spec, const Target& target, int workers = 1) {
    const auto chosen = choose(spec, target, {.workers = workers});
    return chosen.schedule.name + " " + chosen.variant;
}

/// Every member's solution, its outcome and its share of the factor's results.
template <class Real>
std::vector<Real> solutions(const Spec& spec, const std::string& schedule, std::vector<System> systems) {
    const auto count = static_cast<std::int64_t>(systems.size());
    const Call<Real> call(spec, schedule, std::move(systems), host_target(), "lanes");
    CHECK((call.unit.program().units.front().source.find(count > 64 ? "#define TRIFOLD_FAR 1" : "#define TRIFOLD_FAR 0") !=
           std::string::npos));
    call.run(Operation::factor_solve);
    auto result = call.x;
    for (std::int64_t m = 0; m < count; ++m) {
        CHECK(call.status(m).block == -1);
        result.push_back(static_cast<Real>(call.template buffer<double>("log_determinant")[m]));
    }
    return result;
}

/// A batch whose arrays are fetched ahead, beyond a size, has the bits of its first systems alone.
template <class Real>
void check_far(std::int64_t block, std::int64_t horizon, const std::string& schedule, Order order) {
    INFO(block, " ", schedule);
    auto spec = Call<Real>::with_precision({.block = block, .horizon = horizon, .batch = 19, .order = order});
    const auto few = random_systems(spec, 1, 5);
    const auto alone = solutions<Real>(spec, schedule, few);
    spec.batch = (13 << 20) / (4 * block * block * static_cast<std::int64_t>(sizeof(Real)) * horizon) + 70;
    const auto count = static_cast<std::size_t>(spec.batch), rows = static_cast<std::size_t>(block * horizon);
    auto many = few;
    while (many.size() < count) many.push_back(few[many.size() % few.size()]);
    const auto together = solutions<Real>(spec, schedule, many);
    for (std::size_t m = 0; m < count; ++m) {
        const auto one = m % few.size();
        CHECK(std::memcmp(&together[m * rows], &alone[one * rows], rows * sizeof(Real)) == 0);
        CHECK(together[count * rows + m] == alone[few.size() * rows + one]);
    }
}

}  // namespace

TEST_CASE("every schedule solves") {
    for (const auto& schedule : schedules) {
        check_both({.block = 5, .horizon = 31, .rhs = 3, .batch = 2}, schedule);
        check_both({.block = 5, .horizon = 31, .rhs = 3, .batch = 11}, schedule, "lanes");
    }
    check_one({.block = 3, .horizon = 16, .batch = 19}, f32, "recursive:2:3", "lanes");
    for (const std::string schedule : {"sequential", "segments:1", "segments:2", "segments:3", "segments:4", "segments:7", "segments:30"}) {
        // Fewer and more chains than lanes, a separator at the end, a short last chain.
        check_both({.block = 2, .horizon = 44, .rhs = 2}, schedule, intervals);
        check_both({.block = 1, .horizon = 59, .rhs = 2}, schedule, intervals);
        check_one({.block = 5, .horizon = 37, .batch = 2}, f64, schedule, intervals);
        check_one({.block = 3, .horizon = 59}, f32, schedule, intervals);
    }
}

TEST_CASE("every block size solves") {
    int k = 0;
    for (const std::int64_t n : {1, 2, 3, 4, 6, 7, 8, 12, 16, 24, 31, 32, 33, 48, 64, 65})
        check_both({.block = n, .horizon = 7, .rhs = k % 4 == 3 ? 8 : 1}, schedules[k++ % 8]);
    for (const std::int64_t n : {1, 2, 3, 4, 6, 7, 8, 9, 12, 13, 16, 24, 31}) {
        check_both({.block = n, .horizon = 6, .rhs = k % 4 == 3 ? 8 : 1, .batch = 5 + k % 5}, schedules[k % 8], "lanes");
        ++k;
    }
    for (const std::int64_t n : {1, 2, 3, 4}) check_both({.block = n, .horizon = 41, .rhs = n < 3 ? 2 : 1}, "auto", intervals);
    for (const std::int64_t n : {5, 6, 7, 8, 9, 13, 16}) check_one({.block = n, .horizon = 34}, f64, "auto", intervals);
    for (const std::int64_t n : {6, 8, 12, 16}) check_one({.block = n, .horizon = 34}, f32, "auto", intervals);
}

TEST_CASE("short and odd horizons solve") {
    int k = 0;
    for (const std::int64_t horizon : {1, 2, 3, 4, 5, 7, 8, 17, 64})
        for (const std::string schedule : {"twisted:3", "recursive:2:2", "partitioned:3", "multi-stage"}) {
            check_one({.block = 3, .horizon = horizon, .batch = horizon < 5 ? 5 : 1}, k % 2 == 0 ? f64 : f32, schedule);
            check_one({.block = 3, .horizon = horizon, .batch = 17}, k++ % 2 == 0 ? f32 : f64, schedule, "lanes");
        }
    for (const std::int64_t horizon : {1, 2, 3, 4, 15, 16, 17, 57, 63, 64, 65}) {
        check_one({.block = 3, .horizon = horizon, .batch = 2}, k++ % 2 == 0 ? f64 : f32, "auto", intervals);
        check_one({.block = 1, .horizon = horizon}, f64, "auto", intervals);
    }
}

TEST_CASE("narrower targets solve") {
    int k = 0;
    for (const auto& target : narrower_targets()) {
        for (const std::int64_t n : {1, 6, 21}) check_both({.block = n, .horizon = 5, .rhs = 2}, "partitioned:2", "tile", target);
        for (const std::int64_t n : {3, 10}) check_both({.block = n, .horizon = 6, .rhs = 21}, "partitioned:2", "tile", target);
        for (const std::int64_t n : {1, 6, 7, 11})
            check_one({.block = n, .horizon = 5, .rhs = 2, .batch = 5}, k++ % 2 == 0 ? f64 : f32, "partitioned:2", "lanes", target);
    }
    for (const std::int64_t n : {1, 6}) check_one({.block = n, .horizon = 22, .rhs = 2}, f64, "auto", intervals, x86_64);
    check_one({.block = 3, .horizon = 22, .rhs = 2}, f32, "auto", intervals, x86_64);
    check_one({.block = 10, .horizon = 22, .rhs = 5}, f32, "auto", intervals, x86_64);
    if (host_target().arch == "x86-64") return;
    for (const std::int64_t n : {1, 6}) check_one({.block = n, .horizon = 22, .rhs = 2}, f64, "auto", intervals, x86_64_v3);
    check_one({.block = 13, .horizon = 22, .rhs = 8}, f64, "auto", intervals, x86_64_v3);
    for (const std::int64_t n : {3, 9}) check_one({.block = n, .horizon = 22, .rhs = 2}, f32, "auto", intervals, x86_64_v3);
}

TEST_CASE("halves of wide vectors solve") {
    if (host_target().arch != "x86-64-v4") return;
    for (const std::int64_t n : {5, 12, 15, 20, 33})
        for (const auto& target : {x86_64_v4, znver4}) check_both({.block = n, .horizon = 6}, "twisted:2", "tile", target);
}

TEST_CASE("blocks that are fetched ahead solve, and large ones") {
    for (const auto order : {Order::row_major, Order::column_major})
        for (const std::string schedule : {"sequential", "partitioned:3"})
            check_both({.block = 49, .horizon = 20, .order = order}, schedule);
    check_both({.block = 120, .horizon = 4, .batch = 2}, "twisted:2");
    check_both({.block = 129, .horizon = 3, .rhs = 3}, "twisted:2");
    check_both({.block = 200, .horizon = 3}, "partitioned:2");
}

TEST_CASE("knobs solve") {
    for (const auto* variant : variants_of(Backend::cpu)) {
        if (!variant->abilities.definite) continue;  // general_test.cpp has its knobs
        const auto largest = variant->abilities.largest_block, block = largest == 0 ? 19 : std::min<std::int64_t>(19, largest);
        const auto* schedule = variant->schedules == nullptr ? "twisted:2" : "auto";
        for (const auto& knob : variant->knobs)
            for (const auto value : {*knob.candidates.begin(), *(knob.candidates.end() - 1)})
                check_both({.block = block, .horizon = 7, .batch = 3}, schedule, fmt::format("{}:{}={}", variant->name, knob.name, value));
    }
}

TEST_CASE("many right-hand sides solve, in any number") {
    int k = 0;
    for (const std::int64_t rhs : {3, 8, 16, 64})
        for (const std::int64_t n : {1, 5, 8, 20, 33}) {
            const auto layout = k % 3 == 1 ? RhsLayout::stacked : RhsLayout::staged;
            const std::string schedule =
                std::array{"twisted:2", "partitioned:3", "multi-stage", "sequential"}[static_cast<std::size_t>(k++ % 4)];
            for (const std::int64_t columns : {1, 2, 3, 7, 8, 9, 15, 17, 33, 64})
                for (const auto precision : {f64, f32})
                    if (columns <= rhs && (precision == f64 || n % 4 == 0))
                        check_solves({.block = n, .horizon = 7, .precision = precision, .rhs = rhs, .batch = 2, .rhs_layout = layout},
                                     schedule, "tile", host_target(), {.columns = columns, .every_way = false});
        }
    check_solves({.block = 10, .horizon = 5, .rhs = 8, .batch = 4}, "twisted:2", "tile", host_target(), {.members = 2, .columns = 3});
}

TEST_CASE("lanes and intervals solve for fewer columns than the Spec's, in slices, some of which are not full") {
    const auto solve = [](const Spec& spec, const std::string& schedule, const std::string& variant, std::int64_t columns) {
        check_solves(spec, schedule, variant, host_target(), {.columns = columns});
    };
    for (const std::int64_t columns : {3, 4, 2}) solve({.block = 1, .horizon = 39, .rhs = 4}, "auto", intervals, columns);
    for (const auto layout : {RhsLayout::staged, RhsLayout::stacked}) {
        solve({.block = 4, .horizon = 5, .rhs = 3, .batch = 9, .rhs_layout = layout}, "twisted:2", "lanes", 2);
        solve({.block = 4, .horizon = 5, .precision = f32, .rhs = 8, .batch = 3, .rhs_layout = layout}, "partitioned:2", "lanes", 1);
        for (const std::int64_t columns : {64, 37, 3, 2, 1})
            solve({.block = 3, .horizon = 39, .rhs = 64, .batch = 2, .rhs_layout = layout}, "segments:4", intervals, columns);
    }
    for (const std::string schedule : {"sequential", "segments:1", "segments:7", "segments:30"})
        for (const std::int64_t columns : {16, 6})
            solve({.block = 12, .horizon = 39, .precision = f32, .rhs = 16, .batch = 2}, schedule, intervals, columns);
}

TEST_CASE("every layout solves") {
    struct Case {
        std::int64_t n, horizon, batch;
        const char *schedule, *variant;
    };
    int k = 0;
    for (const auto& [n, horizon, batch, schedule, variant] : {Case{3, 6, 2, "partitioned:2", "tile"},
                                                               {11, 6, 2, "multi-stage", "tile"},
                                                               {5, 7, 9, "twisted:3", "lanes"},
                                                               {10, 37, 2, "auto", intervals.c_str()}}) {
        for (const auto order : {Order::row_major, Order::column_major})
            for (const auto coupling : {Coupling::lower, Coupling::upper}) {
                Spec spec{.block = n, .horizon = horizon, .rhs = 2, .batch = batch, .order = order, .coupling = coupling};
                if (k % 2 == 0) spec.d.leading = n + 3, spec.e.leading = n + 1;
                if (k % 4 >= 2) spec.rhs_layout = RhsLayout::stacked;
                check_one(spec, k % 3 == 0 ? f32 : f64, schedule, variant);
                ++k;
            }
        check_one({.block = n,
                   .horizon = horizon,
                   .batch = batch,
                   .d = {.leading = n + 1, .stage = n * n + 16, .member = horizon * (n * n + 20)},
                   .e = {.leading = n, .stage = n * n + 5, .member = horizon * (n * n + 7)}},
                  f64, schedule, variant);
    }
    check_one({.block = 18, .horizon = 5, .order = Order::column_major}, f32, "twisted:2");
    check_one({.block = 66, .horizon = 4, .order = Order::column_major}, f64, "twisted:2");
    check_one({.block = 16, .horizon = 5, .rhs = 8, .rhs_layout = RhsLayout::stacked}, f64, "multi-stage");
}

TEST_CASE("blocks shared by all stages and members") {
    for (const auto& [n, variant] : {std::pair{4, "tile"}, {9, "tile"}, {4, "lanes"}}) {
        const Spec spec{.block = n, .horizon = 5, .batch = 10, .d = {.stage = 0, .member = 0}, .e = {.stage = 0, .member = 0}};
        auto systems = random_systems(spec, 1, 3);
        const Matrix d = systems[0].d[1] * 2, e = systems[0].e[0];
        for (auto& system : systems) {
            std::fill(system.d.begin(), system.d.end(), d);
            std::fill(system.e.begin(), system.e.end(), e);
        }
        Call<double> call(spec, "twisted:2", systems, host_target(), variant);
        call.run(Operation::factor_solve);
        for (std::int64_t m = 0; m < spec.batch; ++m) CHECK(call.residual(m) <= tolerance<double>);
    }
}

TEST_CASE("lanes: a batch far larger than the caches has the bits of a small one") {
    check_far<double>(4, 31, "sequential", Order::row_major);
    check_far<double>(7, 33, "twisted:2", Order::column_major);
    check_far<double>(12, 16, "sequential", Order::row_major);
    check_far<float>(6, 64, "partitioned:3", Order::row_major);
    check_far<float>(16, 17, "sequential", Order::column_major);
}

TEST_CASE("intervals: sizes may be literals or not, with the same bits") {
    const Spec spec{.block = 4, .horizon = 70, .rhs = 1, .batch = 2};
    Call<double> open(spec, "auto", 7, host_target(), intervals), literal(spec, "auto", 7, host_target(), "intervals:bake=1");
    open.run(Operation::factor_solve);
    literal.run(Operation::factor_solve);
    CHECK(open.x == literal.x);
}

TEST_CASE("intervals: right-hand sides of zero, and so small that their squares vanish") {
    const Spec spec{.block = 3, .horizon = 40};
    auto systems = random_systems(spec, 1, 5);
    systems[0].b.setZero();
    Call<double> zero(spec, "auto", systems, host_target(), intervals);
    zero.run(Operation::factor_solve);
    CHECK(zero.buffer<double>("quadratic")[0] == 0);
    CHECK((zero.solution(0).array() == 0).all());
    systems[0].b(70, 0) = 1e-200;
    Call<double> tiny(spec, "auto", systems, host_target(), intervals);
    tiny.run(Operation::factor_solve);
    CHECK(std::isnan(tiny.buffer<double>("quadratic")[0]));
}

TEST_CASE("auto takes lanes for batches that fill the lanes of all workers, or most of them where blocks are small") {
    struct Case {
        std::int64_t block, batch;  // the block is the largest that takes lanes
        Precision precision;
        int workers;
    };
    for (const auto& [block, batch, precision, workers] :
         {Case{32, 8, f64, 1}, Case{32, 64, f64, 2}, Case{32, 16, f32, 1}, Case{20, 7, f64, 1}, Case{16, 8, f64, 2}, Case{13, 4, f64, 1},
          Case{20, 8, f32, 1}}) {
        INFO(batch, " ", workers);
        Spec spec{.block = block, .horizon = 4, .precision = precision, .batch = batch};
        CHECK(choose(spec, x86_64_v4, {.workers = workers}).variant == "lanes");
        ++spec.block;
        CHECK(choose(spec, x86_64_v4, {.workers = workers}).variant == "tile");
    }
    CHECK(choose({.block = 4, .horizon = 4, .batch = 3}, x86_64_v4).variant == "tile");
    CHECK(choose({.block = 4, .horizon = 4, .precision = f32, .batch = 8}, x86_64_v4, {.workers = 2}).variant == "tile");
    const auto made = design(choose({.block = 3, .horizon = 4, .batch = 9}, x86_64_v4));
    CHECK(made.lowered.members == 16);
    CHECK(made.kernels[0].shape.members_per_task == 8);
    CHECK_THROWS_AS(generate({.block = 33, .horizon = 4, .batch = 8}, x86_64_v4, {.variant = "lanes"}), SpecError);
}

TEST_CASE("auto takes intervals for few systems of small blocks with long horizons, and other schedules are refused") {
    struct Case {
        Spec spec;
        Target target;
        const char* choice;
        int workers = 1;
    };
    for (const auto& [spec, target, choice, workers] : {
             Case{{.block = 4, .horizon = 48}, x86_64_v4, "segments:6 intervals"},
             Case{{.block = 4, .horizon = 47}, x86_64_v4, "sequential tile"},
             Case{{.block = 4, .horizon = 64, .precision = f32}, x86_64_v4, "segments:4 intervals"},
             Case{{.block = 1, .horizon = 64, .precision = f32}, x86_64_v4, "sequential tile"},
             Case{{.block = 8, .horizon = 127}, x86_64_v4, "sequential tile"},
             Case{{.block = 8, .horizon = 128}, x86_64_v4, "segments:16 intervals"},
             Case{{.block = 11, .horizon = 256}, x86_64_v4, "segments:32 intervals"},
             Case{{.block = 11, .horizon = 256}, znver4, "sequential tile"},
             Case{{.block = 4, .horizon = 127}, znver4, "sequential tile"},
             Case{{.block = 12, .horizon = 9999}, x86_64_v4, "sequential tile"},
             Case{{.block = 4, .horizon = 256, .batch = 3}, x86_64_v4, "segments:32 intervals"},
             Case{{.block = 4, .horizon = 256, .batch = 4}, x86_64_v4, "sequential lanes"},
             Case{{.block = 7, .horizon = 48}, x86_64_v3, "segments:12 intervals"},
             Case{{.block = 7, .horizon = 47}, x86_64_v3, "sequential tile"},
             Case{{.block = 8, .horizon = 9999}, x86_64_v3, "sequential tile"},
             Case{{.block = 4, .horizon = 9999}, x86_64, "sequential lanes"},
             Case{{.block = 4, .horizon = 8192}, x86_64_v4, "segments:512 intervals", 2},  // twice as many chains
             Case{{.block = 4, .horizon = 127}, x86_64_v4, "twisted:2 tile", 2},
             Case{{.block = 3, .horizon = 256, .operations = all_operations()}, x86_64_v4, "segments:32 intervals"},
             Case{{.block = 4, .horizon = 256, .operations = all_operations()}, x86_64_v4, "sequential tile"},
             Case{{.block = 5, .horizon = 256, .rhs = 2}, x86_64_v4, "segments:32 intervals"},
             Case{{.block = 5, .horizon = 256, .rhs = 3}, x86_64_v4, "sequential tile"},
             Case{{.block = 4, .horizon = 256, .rhs = 300}, x86_64_v4, "segments:32 intervals"},
             Case{{.block = 4, .horizon = 64, .rhs = 300}, x86_64_v3, "segments:16 intervals"},
         }) {
        INFO(spec.block, " ", spec.horizon, " ", to_string(target));
        CHECK(choice_of(spec, target, workers) == choice);
    }
    CHECK(choose({.block = 4, .horizon = 256}, x86_64_v4, {.schedule = "sequential"}).variant == "tile");
    for (const std::string schedule : {"twisted:2", "multi-stage", "segments:3,2", "partitioned:3"})
        CHECK_THROWS_AS(choose({.block = 3, .horizon = 40}, host_target(), {.schedule = schedule, .variant = intervals}), SpecError);
    CHECK_THROWS_AS(choose({.block = 17, .horizon = 40}, host_target(), {.variant = intervals}), SpecError);
}
