// Rings, bands, chains with a border, and chains of unequal length or block size on a device, against a dense factorization.
#include "tests/support/shapes.hpp"

#include "tests/device/device.hpp"
#include "tests/device/on_device.hpp"
#include "tests/support/cpu/problem.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// Seconds of a factor_solve in f64 in a graph, the median of 30.
double seconds_of(DeviceTools& tools, const Device& where, const Spec& spec, const Tuning& tuning = {}) {
    const auto count = [](std::int64_t elements) { return std::vector<double>(static_cast<std::size_t>(elements)); };
    auto d = count(diagonal_extent(spec, spec.batch)), e = count(coupling_extent(spec, spec.batch)),
         b = count(rhs_extent(spec, spec.batch, 1)), f = count(spec.batch * spec.horizon * spec.border * spec.block),
         c = count(spec.batch * spec.border * spec.border), tip = count(spec.batch * spec.border);
    std::mt19937 random(1);
    std::uniform_real_distribution<double> number(-1, 1);
    for (auto* array : {&d, &e, &b, &f, &tip})
        for (auto& value : *array) value = number(random);
    const auto n = spec.block, all = 3 * n + spec.border;
    for (std::int64_t k = 0; k < spec.batch * spec.horizon; ++k)
        for (std::int64_t r = 0; r < n; ++r)
            d[static_cast<std::size_t>((k * n + r) * n + r)] = static_cast<double>(has_signs(spec) && (k + r) % 2 == 1 ? -all : all);
    for (std::int64_t m = 0; m < spec.batch; ++m)
        for (std::int64_t r = 0; r < spec.border; ++r)
            c[static_cast<std::size_t>((m * spec.border + r) * spec.border + r)] = static_cast<double>(n * spec.horizon);
    const OnDevice<double> dd(tools, d), de(tools, e), db(tools, b), df(tools, f), dc(tools, c), dt(tools, tip), dx(tools, b),
        dtx(tools, tip);
    std::vector<int> lengths;
    for (std::int64_t m = 0; m < spec.batch; ++m) lengths.push_back(1 + static_cast<int>(random() % static_cast<unsigned>(spec.horizon)));
    std::vector<int> sizes(static_cast<std::size_t>(spec.batch * spec.horizon), static_cast<int>(spec.block));
    for (std::int64_t m = 0; m < spec.batch; ++m) sizes[static_cast<std::size_t>((m + 1) * spec.horizon - 1)] = 1;
    const OnDevice<int> dl(tools, lengths), ds(tools, sizes);
    Solver solver{Plan(spec, where, tuning)};
    solver.prepare();
    FactorOptions<double> options;
    if (spec.lengths) options.lengths = dl.get();
    if (spec.sizes) options.sizes = ds.get();
    if (spec.border > 0) options = {.f = df.get(), .c = dc.get(), .tip_b = dt.get(), .tip_x = dtx.get()};
    const auto once = tools.capture_timed(
        [&] { solver.factor_solve(const_cast<const double*>(dd.get()), de.get(), db.get(), dx.get(), {tools.stream()}, options); });
    std::vector<double> times;
    for (int k = 0; k < 30; ++k) times.push_back(once());
    CHECK(solver.ok());
    std::ranges::sort(times);
    return times[times.size() / 2];
}

}  // namespace

TEST_CASE("device: a border agrees with a dense factorization") {
    const auto where = device();
    if (!where) return;
    const std::int64_t borders[]{1, 2, 3, 7, 8, 16, 33, 64, 200, 512}, blocks[]{1, 3, 8, 17, 32, 48, 97}, horizons[]{1, 2, 3, 7, 64, 129};
    std::size_t k = 0;
    for (const auto a : borders)
        for (const auto n : blocks) {
            const auto horizon = horizons[k++ % std::size(horizons)];
            if (n * horizon > 1100 || k % 2 == 0) continue;
            const Spec spec{.block = n, .horizon = horizon, .rhs = k % 3 == 0 ? 3 : 1, .batch = k % 4 == 1 ? 3 : 1, .border = a};
            if (k % 5 == 0)
                check_shape<float>(spec, *where, {}, static_cast<unsigned>(k));
            else
                check_shape<double>(spec, *where, {}, static_cast<unsigned>(k));
        }
}

TEST_CASE("device: a ring agrees with a dense factorization") {
    const auto where = device();
    if (!where) return;
    const std::int64_t horizons[]{1, 2, 3, 4, 5, 64, 65}, blocks[]{3, 8, 17, 33, 97, 130};
    std::size_t k = 0;
    for (const auto horizon : horizons)
        for (const auto n : blocks) {
            if (n * horizon > 1200 || ++k % 2 == 0) continue;
            const Spec spec{.block = n,
                            .horizon = horizon,
                            .rhs = k % 3 == 0 ? 3 : 1,
                            .batch = k % 5 == 1 ? 3 : 1,
                            .ring = true,
                            .border = k % 7 == 0 ? 2 : 0};
            if (k % 5 == 0)
                check_shape<float>(spec, *where, {}, static_cast<unsigned>(k));
            else
                check_shape<double>(spec, *where, {}, static_cast<unsigned>(k));
        }
}

TEST_CASE("device: members of unequal length agree with a dense factorization") {
    const auto where = device();
    if (!where) return;
    const std::int64_t horizons[]{1, 2, 7, 50, 65}, blocks[]{3, 12, 17, 32, 64, 97};
    std::size_t k = 0;
    for (const auto horizon : horizons)
        for (const auto n : blocks)
            for (const std::int64_t batch : {1, 5, 40}) {
                if (n * horizon > 1200 || n * horizon * batch > 8000 || ++k % 2 == 0) continue;
                const Spec spec{.block = n, .horizon = horizon, .rhs = k % 3 == 0 ? 3 : 1, .batch = batch, .lengths = true};
                if (k % 5 == 0)
                    check_shape<float>(spec, *where, {}, static_cast<unsigned>(k));
                else
                    check_shape<double>(spec, *where, {}, static_cast<unsigned>(k));
            }
}

TEST_CASE("device: blocks of unequal size and bands agree with a dense factorization") {
    const auto where = device();
    if (!where) return;
    struct Case {
        const char* variant;
        std::int64_t n, horizon, batch;
    };
    unsigned k = 0;
    for (const auto& [variant, n, horizon, batch] : {Case{"fused", 1, 7, 3},
                                                     {"fused", 17, 9, 5},
                                                     {"team", 3, 33, 9},
                                                     {"team", 6, 2, 40},
                                                     {"team", 12, 16, 1},
                                                     {"chains", 24, 33, 3},
                                                     {"chains", 33, 5, 1},
                                                     {"chains", 64, 8, 1},
                                                     {"dataflow", 5, 65, 3},
                                                     {"dataflow", 16, 64, 1},
                                                     {"dataflow", 32, 20, 1},
                                                     {"dataflow", 48, 7, 2},
                                                     {"dataflow", 96, 4, 1},
                                                     {"tiled", 97, 5, 2},
                                                     {"tile-dataflow", 97, 5, 2},
                                                     {"tile-dataflow", 130, 4, 1},
                                                     {"auto", 4, 100, 30},
                                                     {"auto", 32, 31, 1},
                                                     {"auto", 100, 5, 1}})
        for (const std::int64_t bandwidth : {1, 2, 3}) {
            const auto block = (n + bandwidth - 1) / bandwidth;
            const Spec spec{.block = block,
                            .horizon = bandwidth == 1 ? horizon : bandwidth * horizon - 1,
                            .rhs = ++k % 3 == 0 ? 3 : 1,
                            .batch = batch,
                            .sizes = bandwidth == 1,
                            .bandwidth = bandwidth};
            if (k % 5 == 0)
                check_shape<float>(spec, *where, {.variant = variant}, k);
            else
                check_shape<double>(spec, *where, {.variant = variant}, k);
            if (k % 3 != 1) continue;
            auto other = spec;
            other.border = 3;
            check_shape<double>(other, *where, {.variant = variant}, k);
        }
}

TEST_CASE("device: an odd size fails its member") {
    const auto where = device();
    if (!where) return;
    const DeviceTools tools(*where);
    for (const auto& variant : {"fused", "team", "chains", "dataflow", "tiled", "tile-dataflow"}) {
        const std::int64_t n = variant == std::string("chains") ? 24 : 6;
        const Spec spec{.block = n, .horizon = 8, .batch = 3, .sizes = true};
        ShapedProblem<double> problem(spec, 7);
        problem.sizes.assign(problem.sizes.size(), static_cast<int>(n));
        problem.store();
        problem.sizes[8 + 5] = static_cast<int>(n) + 1;
        const OnDevice<double> d(tools, problem.d), e(tools, problem.e), b(tools, problem.b), x(tools, problem.x);
        const OnDevice<int> sizes(tools, problem.sizes);
        Solver solver{Plan(spec, *where, {.variant = variant})};
        FactorOptions<double> options{.sizes = sizes.get()};
        solver.factor_solve(const_cast<const double*>(d.get()), e.get(), b.get(), x.get(), {tools.stream()}, options);
        CHECK((solver.status()[1].block == 5 && solver.status()[1].row == -2));
        CHECK((solver.status()[0].ok() && solver.status()[2].ok()));
        CHECK_REFUSED("sizes are not from 0 to n: [1][5]", solver.check());
    }
}

TEST_CASE("device: symmetric matrices agree with a dense factorization") {
    const auto where = device();
    if (!where) return;
    unsigned k = 0;
    for (const std::string variant : {"fused", "tiled", "team", "dataflow", "tile-dataflow", "chains", "auto"})
        for (const std::int64_t n : {1, 2, 3, 5, 8, 12, 16, 17, 32, 33, 48, 64, 96, 97, 130})
            for (const std::int64_t horizon : {1, 2, 7, 33, 65}) {
                const bool is_chain = variant == "chains", flows = variant == "dataflow" || variant == "tile-dataflow";
                if ((variant == "team" && n > 16) || (is_chain && (n < 17 || n > 64)) || (variant == "dataflow" && n > 96)) continue;
                const bool is_tall = variant == "fused" && n > 48;
                if (n * horizon > 1100 || is_tall || ++k % 2 == 0) continue;
                Spec spec{
                    .block = n, .horizon = horizon, .matrix = MatrixKind::symmetric, .rhs = k % 3 == 0 ? 3 : 1, .batch = 1 + k % 4 * 2};
                spec.ring = k % 7 == 3 && variant != "team" && !is_chain;
                spec.lengths = k % 11 == 5 && !spec.ring && !flows;
                spec.sizes = k % 13 == 5 && !spec.ring;
                if (k % 5 == 0)
                    check_shape<float>(spec, *where, {.variant = variant}, k);
                else
                    check_shape<double>(spec, *where, {.variant = variant}, k);
            }
}

TEST_CASE("device: refinement and rings with a band agree with a dense factorization") {
    const auto where = device();
    if (!where) return;
    constexpr unsigned refines = 4;
    struct Case {
        const char* variant;
        std::int64_t n, horizon, batch;
    };
    for (const auto& [variant, n, horizon, batch] : {Case{"dataflow", 12, 33, 1},
                                                     {"tile-dataflow", 97, 5, 1},
                                                     {"chains", 20, 20, 5},
                                                     {"team", 5, 33, 9},
                                                     {"fused", 17, 9, 3},
                                                     {"tiled", 33, 7, 2}}) {
        check_shape<double>({.block = n, .horizon = horizon, .rhs = 2, .batch = batch}, *where, {.variant = variant}, refines);
        check_shape<float>({.block = n, .horizon = horizon, .batch = batch}, *where, {.variant = variant}, refines);
    }
    for (const std::int64_t n : {2, 5, 40})
        for (const std::int64_t w : {2, 3}) {
            const Spec ring{.block = n, .horizon = 4 * w, .batch = n < 10 ? 3 : 1, .ring = true, .bandwidth = w};
            check_shape<double>(ring, *where, {}, refines);
            auto with_border = ring;
            with_border.border = 2;
            check_shape<double>(with_border, *where, {}, 1);
        }
}

// Run it by test_gpu -tc="*what signs cost*" --no-skip
TEST_CASE("device: what signs cost" * doctest::skip()) {
    const auto where = device();
    if (!where) return;
    DeviceTools tools(*where);
    for (const auto& [n, horizon, batch] : {std::tuple{4, 512, 1},
                                            {8, 512, 1},
                                            {17, 512, 1},
                                            {32, 512, 1},
                                            {64, 512, 1},
                                            {128, 512, 1},
                                            {128, 2048, 1},
                                            {12, 50, 1024},
                                            {28, 50, 1024},
                                            {48, 50, 1024},
                                            {5, 50, 4096}}) {
        const Spec definite{.block = n, .horizon = horizon, .batch = batch};
        auto symmetric = definite;
        symmetric.matrix = MatrixKind::symmetric;
        const Plan plan(symmetric, *where);
        const auto with = seconds_of(tools, *where, symmetric), usual = seconds_of(tools, *where, definite);
        const auto same = seconds_of(tools, *where, definite, {.schedule = plan.choice().schedule.name, .variant = plan.choice().variant});
        MESSAGE(fmt::format("signs {} x {} x {}, {} {}: {:.1f} us, {:.1f} without: {:.2f}; by auto {:.1f}: {:.2f}", horizon, n, batch,
                            plan.choice().schedule.name, plan.choice().variant, 1e3 * with, 1e3 * same, with / same, 1e3 * usual,
                            with / usual));
    }
}

// Run it by test_gpu -tc="*what a shape costs*" --no-skip
TEST_CASE("device: what a shape costs" * doctest::skip()) {
    const auto where = device();
    if (!where) return;
    DeviceTools tools(*where);
    const auto seconds = [&](const Spec& spec) { return seconds_of(tools, *where, spec); };
    struct Case {
        std::int64_t n, horizon, batch, border;
        bool ring = false, lengths = false, sizes = false;
        std::int64_t bandwidth = 1;
    };
    for (const auto& [n, horizon, batch, border, ring, lengths, sizes, bandwidth] : {Case{12, 50, 1024, 0, false, true},
                                                                                     {32, 50, 1024, 0, false, true},
                                                                                     {6, 200, 4096, 0, false, true},
                                                                                     {64, 100, 256, 0, false, true},
                                                                                     {12, 50, 8192, 0, false, true},
                                                                                     {12, 50, 1024, 0, false, false, true},
                                                                                     {32, 50, 1024, 0, false, false, true},
                                                                                     {32, 512, 1, 0, false, false, true},
                                                                                     {64, 4096, 1, 0, false, false, true},
                                                                                     {256, 100, 1, 0, false, false, true},
                                                                                     {32, 2048, 1, 0, false, false, false, 2},
                                                                                     {8, 4096, 1, 0, false, false, false, 4},
                                                                                     {6, 100, 1024, 0, false, false, false, 2},
                                                                                     {32, 512, 1, 0, true},
                                                                                     {64, 4096, 1, 0, true},
                                                                                     {12, 50, 1024, 0, true},
                                                                                     {256, 1024, 1, 0, true},
                                                                                     {32, 512, 1, 2},
                                                                                     {32, 512, 1, 8},
                                                                                     {64, 4096, 1, 8},
                                                                                     {256, 100, 1, 8},
                                                                                     {12, 50, 1024, 2},
                                                                                     {12, 50, 1024, 8},
                                                                                     {32, 50, 1024, 4},
                                                                                     {32, 512, 1, 512},
                                                                                     {128, 365, 1, 4},
                                                                                     {216, 48, 1, 3},
                                                                                     {846, 48, 1, 3},
                                                                                     {812, 100, 1, 6},
                                                                                     {2865, 16, 1, 4}}) {
        // A ring can also be folded to a chain of blocks of twice the size.
        if (ring) MESSAGE(fmt::format("folded: {:.1f} us", 1e3 * seconds({.block = 2 * n, .horizon = horizon / 2, .batch = batch})));
        const auto plain = seconds({.block = n * bandwidth, .horizon = horizon / bandwidth, .batch = batch});
        const auto with = seconds({.block = n,
                                   .horizon = horizon,
                                   .batch = batch,
                                   .ring = ring,
                                   .border = border,
                                   .lengths = lengths,
                                   .sizes = sizes,
                                   .bandwidth = bandwidth});
        MESSAGE(fmt::format("{}{} x {} x {} + {}: {:.1f} us, {:.1f} without: {:.2f}",
                            ring            ? "ring "
                            : lengths       ? "lengths "
                            : sizes         ? "sizes "
                            : bandwidth > 1 ? "band "
                                            : "",
                            horizon, n, batch, border, 1e3 * with, 1e3 * plain, with / plain));
    }
}

TEST_CASE("device: blocks that are loaded ahead give the bits of those that are read") {
    const auto where = device();
    if (!where) return;
    DeviceTools tools(*where);
    for (const auto& spec :
         {Spec{.block = 97, .horizon = 9}, Spec{.block = 64, .horizon = 5, .batch = 2}, Spec{.block = 200, .horizon = 1},
          Spec{.block = 130, .horizon = 12, .precision = Precision::f32}, Spec{.block = 130, .horizon = 7, .ring = true}})
        for (const auto* schedule : {"sequential", "partitioned:3", "multi-stage"}) {
            if (std::string(schedule) == "partitioned:3" && spec.horizon < 5) continue;
            INFO(spec.block, " ", spec.horizon, " ", schedule);
            const auto check = [&]<class Real>(Real) {
                std::mt19937 random(1);
                std::uniform_real_distribution<Real> number(-1, 1);
                const auto fill = [&](std::int64_t count) {
                    std::vector<Real> values(static_cast<std::size_t>(count));
                    for (auto& value : values) value = number(random);
                    return values;
                };
                auto d = fill(diagonal_extent(spec, spec.batch)), e = fill(coupling_extent(spec, spec.batch)),
                     b = fill(rhs_extent(spec, spec.batch, 1));
                for (std::int64_t k = 0; k < spec.batch * spec.horizon; ++k)
                    for (std::int64_t r = 0; r < spec.block; ++r)
                        d[static_cast<std::size_t>((k * spec.block + r) * spec.block + r)] = static_cast<Real>(4 * spec.block);
                const OnDevice<Real> dd(tools, d), de(tools, e), db(tools, b), dx(tools, b), dy(tools, b);
                const Tuning tuning{.schedule = schedule, .variant = "tile-dataflow"};
                Solver plain{Plan(spec, *where, tuning)}, solver{Plan(that_loads(spec), *where, tuning)};
                plain.factor_solve<Real>(dd.get(), de.get(), db.get(), dx.get());
                const std::int64_t area = spec.block * spec.block, step = spec.batch > 1 ? spec.horizon : 2;
                for (auto first = (spec.horizon - 1) / step * step; first >= 0; first -= step)
                    solver.load<Real>(dd.get() + first * area, first < couplings_of(spec) ? de.get() + first * area : nullptr, first,
                                      std::min(step, spec.horizon - first));
                solver.factor_solve<Real>(nullptr, nullptr, db.get(), dy.get());
                CHECK(solver.ok());
                CHECK(dx.host() == dy.host());
            };
            if (spec.precision == Precision::f32)
                check(float{});
            else
                check(double{});
        }
}

TEST_CASE("device: what loading costs, and blocks that fill the memory" * doctest::skip()) {
    const auto where = device();
    if (!where) return;
    DeviceTools tools(*where);
    for (const auto& [block, horizon] : {std::pair{256, 100}, {512, 64}, {1024, 48}, {2865, 16}, {2865, 365}}) {
        // All blocks are alike, so that the host need not make 48 GB of them.
        const Spec spec{.block = block, .horizon = horizon};
        const auto area = static_cast<std::size_t>(block) * static_cast<std::size_t>(block),
                   rows = static_cast<std::size_t>(block * horizon);
        std::mt19937 random(1);
        std::uniform_real_distribution<double> number(-1, 1);
        std::vector<double> d(area), e(area), b(rows);
        for (auto* array : {&d, &e, &b})
            for (auto& value : *array) value = number(random);
        for (std::size_t r = 0; r < area; r += static_cast<std::size_t>(block) + 1) d[r] = 4 * block;
        const OnDevice<double> dd(tools, d), de(tools, e), db(tools, b), dx(tools, b);
        const Plan plan(that_loads(spec), *where);
        Solver solver{plan};
        const auto load = [&] {
            for (std::int64_t k = 0; k < horizon; ++k) solver.load<double>(dd.get(), de.get(), k, 1, {tools.stream()});
        };
        const auto seconds = [&](const auto& body) {
            tools.synchronize();
            const auto start = std::chrono::steady_clock::now();
            body();
            tools.synchronize();
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        };
        double loaded = 0, solved = 0;
        for (int k = 0; k < 3; ++k) {
            loaded = seconds(load);
            solved = seconds([&] { solver.factor_solve<double>(nullptr, nullptr, db.get(), dx.get(), {tools.stream()}); });
        }
        CHECK(solver.ok());
        const auto x = dx.host();
        const auto matrix = [&](const std::vector<double>& from) {
            return Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(from.data(), block, block);
        };
        const Eigen::MatrixXd lower = matrix(d).triangularView<Eigen::Lower>(), own = lower.selfadjointView<Eigen::Lower>(),
                              next = matrix(e);
        const auto piece = [&](const std::vector<double>& of, std::int64_t k) {
            return Eigen::Map<const Eigen::VectorXd>(of.data() + k * block, block);
        };
        double worst = 0;
        for (std::int64_t k = 0; k < horizon; k += k % 7 + 1) {
            Eigen::VectorXd r = piece(b, k) - own * piece(x, k);
            if (k > 0) r -= next * piece(x, k - 1);
            if (k + 1 < horizon) r -= next.transpose() * piece(x, k + 1);
            worst = std::max(worst, r.cwiseAbs().maxCoeff());
        }
        CHECK(worst < 1e-11);
        const double factor_reads = horizon * block < 100000 ? seconds_of(tools, *where, spec) : 0;
        MESSAGE(horizon, " x ", block, ": load ", 1e3 * loaded, " ms, factor_solve ", 1e3 * solved, " ms, where D and E are read ",
                factor_reads, " ms; workspace ", static_cast<double>(Solver::workspace_bytes(plan)) / 0x1p30, " GiB; residual ", worst);
    }
}
