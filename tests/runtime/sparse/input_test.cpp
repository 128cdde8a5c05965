#include "generator/sparse/generate.hpp"
#include "runtime/base/files.hpp"
#include "runtime/compile/cache.hpp"
#include "runtime/sparse/plan.hpp"
#include "tests/runtime/cache/unit.hpp"
#include "tests/runtime/sparse/shared.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

SparsePattern rows(std::vector<std::int64_t> starts, std::vector<std::int64_t> columns) { return {std::span(starts), std::span(columns)}; }

}  // namespace

TEST_CASE("sparse: a pattern says which row and column is wrong") {
    CHECK_THROWS_WITH_AS(rows({0, 2, 3}, {0, 1, 0}),
                         "row 1 has no entry at column 1; a factorization needs the diagonal, if only as a zero", SpecError);
    CHECK_THROWS_WITH_AS(rows({0, 1, 1}, {0}), "row 1 is empty; every row needs its diagonal, so the matrix is singular", SpecError);
    CHECK_THROWS_WITH_AS(rows({0, 2, 3}, {1, 0, 1}), "row 0 has the column 0 behind 1; sort the columns of each row", SpecError);
    CHECK_THROWS_WITH_AS(rows({0, 2, 3}, {0, 0, 1}), "row 0 has the column 0 twice; add up what stands there", SpecError);
    CHECK_THROWS_WITH_AS(rows({0, 2, 3}, {0, 5, 1}), "row 0 has the column 5, but there are 2 rows; the matrix must be square", SpecError);
    CHECK_THROWS_WITH_AS(rows({0, 1, 2}, {-1, 1}), "row 0 has the column -1; columns count from 0", SpecError);
    CHECK_THROWS_WITH_AS(rows({1, 2, 3}, {0, 1, 1}), "a pattern's starts begin with 1, not 0", SpecError);
    CHECK_THROWS_WITH_AS(rows({0, 1, 3}, {0, 1}), "a pattern's starts end with 3, but there are 2 columns", SpecError);
    CHECK_THROWS_WITH_AS(rows({0, 3, 2}, {0, 1}), "row 0 ends at 3, before it begins at 0", SpecError);
    CHECK_THROWS_AS(rows({0}, {}), SpecError);
    CHECK_THROWS_WITH_AS(SparsePattern(SparseMesh{4, 4, 2, 5}), "a mesh of depth 2 with 5 points a row; give 7, 19 or 27", SpecError);
    CHECK_THROWS_AS(SparsePattern(SparseMesh{4, 4, 4, 8}), SpecError);
    CHECK_THROWS_AS(SparsePattern(SparseMesh{0, 4, 4, 7}), SpecError);
    CHECK_THROWS_AS(SparsePattern(SparseMesh{1 << 20, 1 << 20, 1, 5}), SpecError);
}

TEST_CASE("sparse: a Spec, a partition and options that cannot be served") {
    const auto pattern = rows({0, 1, 2, 3}, {0, 1, 2});
    const auto plan = [&](const SparseSpec& spec, const SparsePartition& partition = {}) {
        return SparsePlan(spec, pattern, Device::cpu(), partition);
    };
    CHECK_THROWS_WITH_AS(plan({.block = 9}), "block = 9 is out of range; give 1 to 8", SpecError);
    CHECK_THROWS_WITH_AS(plan({.rhs = 9}), "rhs = 9 is out of range; give 1 to 8", SpecError);
    CHECK_THROWS_WITH_AS(plan({.restart = 33}), "restart = 33 is out of range; give 1 to 32", SpecError);
    CHECK_THROWS_AS(plan({.preconditioner = SparsePreconditioner::ic0}), SpecError);
    CHECK_THROWS_AS(plan({.operations = {}}), SpecError);
    CHECK_THROWS_WITH_AS(plan({}, {.by = SparsePartitioning::given, .parts = {0, 0}}), "the partition has 2 numbers; the matrix has 3 rows",
                         SpecError);
    CHECK_THROWS_WITH_AS(plan({}, {.by = SparsePartitioning::given, .parts = {0, 2, 2}}),
                         "subdomain 1 has no rows; number subdomains from 0 without gaps", SpecError);
    CHECK_THROWS_WITH_AS(plan({}, {.by = SparsePartitioning::given, .parts = {0, -1, 2}}), "row 1 is in subdomain -1; give 0 to 2",
                         SpecError);
    CHECK_THROWS_AS(plan({}, {.by = SparsePartitioning::box}), SpecError);
    CHECK_THROWS_AS(plan({}, {.rows = -1}), SpecError);
    CHECK_REFUSED("the workspace is a null pointer", SparseSolver(plan({}), nullptr, std::int64_t{1} << 30));
    SparseSolver solver(plan({.operations = {SparseOperation::apply}}));
    std::vector<double> three(3, 1.0), two(2, 1.0);
    CHECK_THROWS_WITH_AS(solver.apply(three, three), "apply for 1 sets of values, but 0 have been factored; call update first", SpecError);
    CHECK_THROWS_AS(solver.values(), SpecError);
    CHECK_THROWS_WITH_AS(solver.update(two), "the values has 2 elements; 1 sets of values with 3 each need 3", SpecError);
    CHECK_THROWS_WITH_AS(solver.update(std::vector<float>(3)), "the values is f32 and the SparsePlan is specialized for arrays in f64",
                         SpecError);
    solver.update(three);
    CHECK_THROWS_WITH_AS(solver.apply(three, two), "X has 2 elements; 1 sets of values with 3 each need 3", SpecError);
    CHECK_THROWS_WITH_AS(solver.multiply(three, three), "this SparsePlan was made without multiply; add it to the SparseSpec's operations",
                         SpecError);
    CHECK_THROWS_AS(solver.apply(three, three, {.rtol = -1}), SpecError);
    CHECK_THROWS_AS(solver.outcomes(), SpecError);
    CHECK_THROWS_AS(parse_sparse_preconditioner("ilut"), SpecError);
    CHECK_THROWS_AS(parse_sparse_method("minres"), SpecError);
    CHECK(parse_sparse_preconditioner("ildu1") == SparsePreconditioner::ildu1);
}

TEST_CASE("sparse: 64-bit row pointers and columns are taken, and columns beyond 2^31 refused with their row") {
    const std::int64_t huge = std::int64_t{1} << 32;
    CHECK(rows({0, 2, 4}, {0, 1, 0, 1}).entries() == 4);
    CHECK_THROWS_WITH_AS(rows({0, 2, 3}, {0, huge, 1}), "row 0 has the column 4294967296, but there are 2 rows; the matrix must be square",
                         SpecError);
    CHECK_THROWS_WITH_AS(rows({0, huge, huge + 1}, {0, 1, 1}), "a pattern's starts end with 4294967297, but there are 3 columns",
                         SpecError);
}

TEST_CASE("sparse: a subdomain that a device has no room for names the size that fits") {
    const SparsePattern pattern(SparseMesh{30, 30, 30, 7});
    const Target h100{Backend::cuda, "sm_90"}, rdna{Backend::hip, "gfx1100"};
    const auto whole = sparse::arrange(pattern, sparse::whole(pattern), SparsePreconditioner::ildu0);
    CHECK_THROWS_WITH_AS(sparse::generate({.block = 3}, h100, {}, pattern, whole),
                         "a subdomain has 27000 rows of 3 in f64, and the shared memory of cuda:sm_90 holds 9685; give subdomains of at "
                         "most 9685 rows",
                         SpecError);
    CHECK_THROWS_WITH_AS(sparse::generate({.precision = Precision::f32}, rdna, {}, pattern, whole),
                         "a subdomain has 27000 rows of 1 in f32, and the shared memory of hip:gfx1100 holds 16384; give subdomains of at "
                         "most 16384 rows",
                         SpecError);
    CHECK_NOTHROW(sparse::generate({.block = 1}, h100, {}, pattern, whole));
    // A dense matrix of 8 x 8 blocks: no row of it fits.
    std::vector<std::int64_t> starts{0}, columns;
    for (std::int64_t row = 0; row < 500; ++row) {
        for (std::int64_t column = 0; column < 500; ++column) columns.push_back(column);
        starts.push_back(static_cast<std::int64_t>(columns.size()));
    }
    const auto dense = rows(starts, columns);
    CHECK_THROWS_WITH_AS(
        sparse::generate({.block = 8}, h100, {}, dense, sparse::arrange(dense, sparse::whole(dense), SparsePreconditioner::ildu0)),
        "a row has 500 entries of 8 rows in f64 within its subdomain, and the shared memory of cuda:sm_90 holds 453; give smaller "
        "subdomains, or preconditioner jacobi or none",
        SpecError);
}

TEST_CASE("sparse: a pattern that has changed under a plan is told with its row") {
    const SparsePlan plan({}, rows({0, 2, 3}, {0, 1, 1}), Device::cpu());
    CHECK_NOTHROW(plan.expect(rows({0, 2, 3}, {0, 1, 1})));
    CHECK_THROWS_WITH_AS(plan.expect(rows({0, 2, 4}, {0, 1, 0, 1})),
                         "the pattern has changed in row 1 since the SparsePlan was made; make a new SparsePlan for the new pattern",
                         SpecError);
    CHECK_THROWS_WITH_AS(plan.expect(rows({0, 1}, {0})),
                         "the matrix has 1 rows, and 2 when the SparsePlan was made; make a new SparsePlan for the new pattern", SpecError);
    const SparsePattern mesh(SparseMesh{3, 2, 1, 5});
    CHECK_REFUSED("the values come in another order", SparsePlan({}, mesh, Device::cpu()).expect(random_on(mesh, 1, 1).pattern()));
}

TEST_CASE("sparse: entries that are zero count as entries, and change no solution") {
    const auto a = scattered(80, 3, 2, 7);
    // Each row gets zero blocks in addition to its own: those of the rows before and behind it.
    BlockMatrix padded{2, {0}, {}, {}};
    for (std::int64_t row = 0; row < a.rows(); ++row) {
        std::map<std::int64_t, std::int64_t> sources;
        for (const auto column : {row - 1, row + 1})
            if (column >= 0 && column < a.rows()) sources[column] = -1;
        for (auto k = a.starts[static_cast<std::size_t>(row)]; k < a.starts[static_cast<std::size_t>(row) + 1]; ++k)
            sources[a.columns[static_cast<std::size_t>(k)]] = k;
        for (const auto& [column, k] : sources) {
            padded.columns.push_back(column);
            for (std::int64_t n = 0; n < 4; ++n) padded.values.push_back(k < 0 ? 0 : a.values[static_cast<std::size_t>(4 * k + n)]);
        }
        padded.starts.push_back(static_cast<std::int64_t>(padded.columns.size()));
    }
    CHECK(padded.columns.size() > a.columns.size());
    const auto b = random_vector(a.size(), 1);
    std::vector<double> x(b.size()), y(b.size());
    SparseSolver one(SparsePlan({.block = 2}, a.pattern(), Device::cpu())),
        other(SparsePlan({.block = 2}, padded.pattern(), Device::cpu()));
    one.update(a.values);
    other.update(padded.values);
    one.multiply(b, x);
    other.multiply(b, y);
    CHECK(x == y);
    one.solve(b, x, {.rtol = 1e-13});
    other.solve(b, y, {.rtol = 1e-13});
    CHECK((as_vector(x) - as_vector(y)).norm() <= 1e-11 * as_vector(x).norm());
}

TEST_CASE("sparse: what failed says how far it came, why it ended and what to try") {
    const auto message = [](SparseSolver& solver) {
        try {
            solver.check();
        } catch (const SparseFailed& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    auto a = random_on(SparsePattern(SparseMesh{12, 12, 12, 7}), 1, 3, 1.0);
    const auto b = random_vector(a.size(), 1);
    std::vector<double> x(b.size());
    auto solver = updated({}, a, {.rows = 100});
    solver.solve(b, x, {.maxiter = 1});
    CHECK(says(message(solver), "limit: after 1 iterations |b - A x| = "));
    CHECK(says(message(solver), "the most that were allowed; allow more, or take larger subdomains or a stronger preconditioner"));
    solver.solve(b, x, {.rtol = 1e-17});
    CHECK(says(message(solver), "stagnated: "));
    CHECK(says(message(solver), "give a larger tolerance, or a stronger preconditioner such as ildu1"));
    auto bad = b;
    bad[3] = std::numeric_limits<double>::infinity();
    solver.solve(bad, x);
    CHECK(says(message(solver), "b, the first guess or an intermediate result is infinite or NaN"));
    a.values[static_cast<std::size_t>(a.starts[5])] = std::nan("");
    solver.update(a.values);
    CHECK(message(solver) == fmt::format("1 of the systems cannot be solved as asked. matrix 0: 1 blocks of its values hold infinities or "
                                         "NaN, the first at row 5, column {}.",
                                         a.columns[static_cast<std::size_t>(a.starts[5])]));
    SparseSolver symmetric(SparsePlan({.method = SparseMethod::cg}, a.pattern(), Device::cpu()));
    symmetric.update(random_on(a.pattern(), 1, 3).values);
    CHECK(says(message(symmetric), "it is not symmetric: "));
    CHECK(says(message(symmetric), "blocks differ from their counterparts, the first at row 0, column 1; take method bicgstab"));
}

TEST_CASE("sparse: a row that couples all others fills a factor with fill-in, which is refused, and not where it comes last") {
    constexpr std::int64_t count = 3000;
    const auto arrow = [](std::int64_t head) {
        std::vector<std::int64_t> starts{0}, columns;
        for (std::int64_t row = 0; row < count; ++row) {
            for (std::int64_t column = 0; column < count; ++column)
                if (row == head || column == head || column == row) columns.push_back(column);
            starts.push_back(std::ssize(columns));
        }
        return rows(starts, columns);
    };
    const auto plan = [](const SparsePattern& pattern, SparsePreconditioner preconditioner) {
        return SparsePlan({.preconditioner = preconditioner}, pattern, Device::cpu(), {.by = SparsePartitioning::whole});
    };
    for (const auto preconditioner : {SparsePreconditioner::ildu1, SparsePreconditioner::ildu2}) {
        const auto message = fmt::format(
            "preconditioner {} would make more than 1048576 entries of the 8998 that 3000 rows of a subdomain have: eliminating a row "
            "couples "
            "all that it has entries of, and row 0 has 3000. Give ildu0, which adds none, or smaller subdomains",
            to_string(preconditioner));
        CHECK_THROWS_WITH_AS(plan(arrow(0), preconditioner), message.c_str(), SpecError);
        CHECK(plan(arrow(count - 1), preconditioner).summary().factored == 2 * (count - 1) + count);
    }
    CHECK_NOTHROW(plan(arrow(0), SparsePreconditioner::ildu0));
}

TEST_CASE("sparse: a partition by METIS is kept on disk, by the pattern's hash") {
    const PrivateDirectory place;
    const WithEnvironment here{{"TRIFOLD_CACHE_DIR", place.path().c_str()}, {"TRIFOLD_DISABLE", nullptr}};
    const auto a = random_on(SparsePattern(SparseMesh{20, 20, 3, 7}), 1, 1);
    const SparsePartition by_metis{.by = SparsePartitioning::metis, .rows = 100};
    const auto first = SparsePlan({}, a.pattern(), Device::cpu(), by_metis).summary();
    REQUIRE(first.partition == "METIS");  // which tools/setup installs
    const auto kept = children(place.path() / "data");
    REQUIRE(kept.size() == 1);
    const SparsePlan again({}, a.pattern(), Device::cpu(), by_metis);
    CHECK(again.summary().partition == "METIS, kept on disk");
    CHECK(again.summary().tiles == first.tiles);
    CHECK(again.summary().dropped == first.dropped);
    CHECK(SparsePlan({}, a.pattern(), Device::cpu(), {.by = SparsePartitioning::metis, .rows = 90}).summary().partition == "METIS");
    // A damaged file is not used, and made again.
    auto bytes = *read_file(kept.front());
    bytes.back() ^= 1;
    write_file(kept.front(), bytes);
    CHECK(SparsePlan({}, a.pattern(), Device::cpu(), by_metis).summary().partition == "METIS");
    CHECK(SparsePlan({}, a.pattern(), Device::cpu(), by_metis).summary().partition == "METIS, kept on disk");
    const auto cache = Cache::from_environment();
    CHECK(cache.size() >= static_cast<std::int64_t>(2 * bytes.size()));
    CHECK(cache.clear() > 0);
    CHECK(children(place.path() / "data").empty());
}

TEST_CASE("sparse: partitions cover all rows in subdomains of about the size that was asked for") {
    const SparsePattern mesh(SparseMesh{30, 30, 5, 7});
    const auto a = random_on(mesh, 1, 1);
    for (const auto by : {SparsePartitioning::automatic, SparsePartitioning::greedy, SparsePartitioning::metis, SparsePartitioning::box}) {
        CAPTURE(to_string(by));
        const auto& pattern = by == SparsePartitioning::box ? mesh : a.pattern();
        const auto summary = SparsePlan({}, pattern, Device::cpu(), {.by = by, .rows = 200}).summary();
        CAPTURE(summary.partition);
        CHECK(summary.tiles >= 23);
        CHECK(summary.tiles <= 46);
        CHECK(summary.largest_tile <= 210);
        CHECK(summary.dropped < summary.entries / 3);
    }
}

TEST_CASE("sparse: rows that are the cells of a mesh are taken for one, and no others") {
    const auto by_rows = [](const SparseMesh& mesh) {
        const SparsePattern pattern(mesh);
        return SparsePattern(pattern.starts(), pattern.columns());
    };
    for (const SparseMesh& mesh :
         {SparseMesh{7, 1, 1, 5}, SparseMesh{2, 2, 1, 5}, SparseMesh{9, 5, 1, 5}, SparseMesh{2, 9, 1, 9}, SparseMesh{8, 3, 1, 9},
          SparseMesh{2, 2, 2, 7}, SparseMesh{5, 2, 7, 7}, SparseMesh{3, 4, 5, 19}, SparseMesh{2, 3, 2, 27}, SparseMesh{4, 4, 4, 27}}) {
        INFO(mesh.width, " ", mesh.points);
        const auto pattern = by_rows(mesh);
        CHECK(pattern.mesh() == nullptr);
        CHECK(mesh_of(pattern) == mesh);
        CHECK(mesh_of(SparsePattern(mesh)) == mesh);
    }
    // Some look the same from another side: they are taken for another mesh of the same cells.
    CHECK(mesh_of(by_rows({1, 9, 1, 5})) == SparseMesh{9, 1, 1, 5});
    CHECK(mesh_of(by_rows({9, 1, 5, 7})) == SparseMesh{9, 5, 1, 5});
    const SparseMesh boxed{30, 30, 5, 7};
    CHECK(SparsePlan({}, by_rows(boxed), Device::cpu()).summary().partition ==
          SparsePlan({}, SparsePattern(boxed), Device::cpu()).summary().partition);

    const SparsePattern mesh(SparseMesh{6, 5, 4, 7});
    const auto without = [&](std::int64_t row, std::int64_t column) {
        std::vector<std::int64_t> starts{0};
        std::vector<std::int32_t> columns;
        for (std::int64_t i = 0; i < mesh.rows(); ++i) {
            for (auto k = mesh.starts()[static_cast<std::size_t>(i)]; k < mesh.starts()[static_cast<std::size_t>(i) + 1]; ++k)
                if (const auto j = mesh.columns()[static_cast<std::size_t>(k)]; i != row || j != column) columns.push_back(j);
            starts.push_back(static_cast<std::int64_t>(columns.size()));
        }
        return SparsePattern(starts, columns);
    };
    for (const auto& pattern : {without(0, 1), without(0, 30), without(119, 118), without(60, 61)}) CHECK(!mesh_of(pattern));
    const std::int64_t ring_starts[]{0, 3, 6, 9, 12};
    const std::int32_t ring[]{0, 1, 3, 0, 1, 2, 1, 2, 3, 0, 2, 3};
    CHECK(!mesh_of(SparsePattern(ring_starts, ring)));
    CHECK(!mesh_of(SparsePattern(std::vector<std::int64_t>{0, 1}, std::vector<std::int64_t>{0})));
    CHECK_REFUSED("not the cells of a mesh", SparsePlan({}, without(60, 61), Device::cpu(), {.by = SparsePartitioning::box}));
}

TEST_CASE("sparse: plans of large patterns are kept on disk, and made anew where a file is damaged or another plan's") {
    const PrivateDirectory place;
    const WithEnvironment here{{"TRIFOLD_CACHE_DIR", place.path().c_str()}, {"TRIFOLD_DISABLE", nullptr}, {"TRIFOLD_TEMPLATES", nullptr}};
    const auto data = [&] { return children(place.path() / "data"); };
    const auto a = random_on(SparsePattern(SparseMesh{29, 28, 27, 7}), 1, 1);
    const auto b = random_vector(a.size(), 2);
    const SparsePartition greedy{.by = SparsePartitioning::greedy, .rows = 500};
    const auto solve = [&](const SparseSpec& spec, bool kept) {
        const SparsePlan plan(spec, a.pattern(), Device::cpu(), greedy, {.workers = 2});
        CHECK(plan.summary().kept == kept);
        SparseSolver solver(plan);
        solver.update(a.values);
        std::vector<double> x(b.size());
        solver.solve(b, x);
        solver.check();
        return std::pair(x, plan.summary());
    };
    const auto [x, summary] = solve({}, false);
    REQUIRE(data().size() == 1);
    const auto [y, again] = solve({}, true);
    CHECK(x == y);
    CHECK(again.partition == summary.partition);
    CHECK(std::tuple(again.tiles, again.shapes, again.dropped, again.factored, again.levels) ==
          std::tuple(summary.tiles, summary.shapes, summary.dropped, summary.factored, summary.levels));
    const auto file = data().front();
    auto bytes = *read_file(file);
    for (const auto at : {std::size_t{7}, bytes.size() / 2, bytes.size() - 70, bytes.size() - 3}) {
        CAPTURE(at);
        auto damaged = bytes;
        damaged[at] ^= 1;
        write_file(file, damaged);
        CHECK(solve({}, false).first == x);
        CHECK(*read_file(file) == bytes);
    }
    write_file(file, bytes.substr(0, bytes.size() / 3));
    CHECK(solve({}, false).first == x);
    // Another Spec has a file of its own, and is not fooled by this one's.
    const SparseSpec other{.method = SparseMethod::gmres};
    solve(other, false);
    REQUIRE(data().size() == 2);
    for (const auto& each : data()) write_file(each, bytes);
    solve({}, true);
    solve(other, false);
    // So has a pattern with as many rows and entries, and the same subdomains.
    SparsePartition given{.by = SparsePartitioning::given};
    for (std::int64_t row = 0; row < a.rows(); ++row) given.parts.push_back(static_cast<std::int32_t>(row / 500));
    for (const auto& mesh : {SparseMesh{29, 28, 27, 7}, SparseMesh{28, 29, 27, 7}})
        CHECK_FALSE(SparsePlan({}, random_on(SparsePattern(mesh), 1, 1).pattern(), Device::cpu(), given).summary().kept);
    // A cache that a plan would fill is left as it is.
    Cache::from_environment().clear();
    const WithEnvironment small{{"TRIFOLD_CACHE_SIZE", "2M"}};
    solve({}, false);
    CHECK(data().empty());
    // Small patterns have no file.
    CHECK_FALSE(SparsePlan({}, SparsePattern(SparseMesh{9, 9, 9, 7}), Device::cpu()).summary().kept);
    CHECK(data().empty());
}

TEST_CASE("sparse: a Program comes back from disk as it was, of each kind of device") {
    const PrivateDirectory place;
    const WithEnvironment here{{"TRIFOLD_CACHE_DIR", place.path().c_str()}, {"TRIFOLD_DISABLE", nullptr}};
    const SparsePattern mesh(SparseMesh{29, 28, 27, 7});
    const auto parts = sparse::parts_of_boxes(*mesh.mesh(), {8, 8, 8});
    for (const Target& target : {Target{Backend::cpu, "x86-64-v3"}, Target{Backend::cuda, "sm_90"}, Target{Backend::hip, "gfx942"}}) {
        CAPTURE(to_string(target));
        const auto choice = choose(SparseSpec{.block = 2, .batch = 2}, target);
        const auto name = sparse::kept_name(choice, mesh, parts);
        CHECK_FALSE(sparse::find_made(name));
        const auto arrangement = sparse::arrange(mesh, parts, choice.spec.preconditioner, sparse::order_for(target));
        const sparse::Made made{sparse::generate(choice.spec, target, choice.tuning, mesh, arrangement),
                                {.partition = "boxes", .tiles = 64}};
        sparse::keep_made(name, made);
        const auto found = sparse::find_made(name);
        REQUIRE(found);
        CHECK(found->summary.kept);
        CHECK(found->summary.tiles == 64);
        const auto &mine = found->generated.program, &theirs = made.generated.program;
        CHECK(to_json(mine) == to_json(theirs));
        CHECK(mine.buffers == theirs.buffers);
        REQUIRE(mine.units.size() == theirs.units.size());
        for (std::size_t k = 0; k < mine.units.size(); ++k) CHECK(cache_key(mine.units[k]) == cache_key(theirs.units[k]));
        for (const auto& [operation, launches] : theirs.operations)
            for (std::size_t k = 0; k < launches.size(); ++k) {
                const auto &one = mine.operations.at(operation)[k], &other = launches[k];
                CHECK(std::tie(one.constants, one.grid, one.after, one.early, one.together, one.work, one.first_task, one.beside) ==
                      std::tie(other.constants, other.grid, other.after, other.early, other.together, other.work, other.first_task,
                               other.beside));
            }
        for (const auto& [operation, repeats] : theirs.repeats)
            for (std::size_t k = 0; k < repeats.size(); ++k) {
                const auto &one = mine.repeats.at(operation)[k], &other = repeats[k];
                CHECK(std::tie(one.first, one.count, one.most, one.look, one.flag, one.unit) ==
                      std::tie(other.first, other.count, other.most, other.look, other.flag, other.unit));
            }
        REQUIRE(found->generated.contents.size() == made.generated.contents.size());
        for (std::size_t k = 0; k < made.generated.contents.size(); ++k) {
            const auto &one = found->generated.contents[k], &other = made.generated.contents[k];
            CHECK(one.buffer == other.buffer);
            CHECK(std::ranges::equal(one.bytes.get(), other.bytes.get()));
        }
    }
    CHECK(children(place.path() / "data").size() == 3);
}
