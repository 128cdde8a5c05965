// Identities that hold whatever the method: levels, factors of one subdomain, orders of rows, shapes of meshes, the range of numbers.
#include <Eigen/LU>

#include "generator/sparse/generate.hpp"
#include "generator/sparse/threads.hpp"
#include "tests/runtime/sparse/shared.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

SparsePartition by_parts(std::vector<std::int32_t> parts) { return {.by = SparsePartitioning::given, .parts = std::move(parts)}; }

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

/// Levels by their definition: a row may be at level n if all that it needs are below n. Each is raised until nothing changes.
std::vector<std::int32_t> levels_by_force(const sparse::Shape& shape, bool upper) {
    std::vector<std::int32_t> level(at(shape.rows()), 0);
    for (bool changes = true; changes;) {
        changes = false;
        for (std::int64_t row = 0; row < shape.rows(); ++row)
            for (auto k = shape.starts[at(row)]; k < shape.starts[at(row) + 1]; ++k) {
                const auto other = shape.columns[at(k)];
                const bool is_needed = upper ? other > row : other < row;
                if (!is_needed || level[at(row)] > level[at(other)]) continue;
                level[at(row)] = level[at(other)] + 1;
                changes = true;
            }
    }
    return level;
}

void check_levels(const sparse::Arrangement& a) {
    for (const auto& shape : a.shapes)
        for (const bool upper : {false, true}) {
            const auto levels = sparse::levels_of(shape, upper);
            CHECK(levels.of_row == levels_by_force(shape, upper));
            CHECK(levels.count == *std::ranges::max_element(levels.of_row) + 1);
        }
}

/// The system with row k at place[k].
BlockMatrix permuted(const BlockMatrix& a, const std::vector<std::int64_t>& place) {
    std::vector<std::int64_t> from(place.size());
    for (std::size_t k = 0; k < place.size(); ++k) from[at(place[k])] = static_cast<std::int64_t>(k);
    const auto square = a.block * a.block;
    BlockMatrix result{a.block, {0}, {}, {}};
    for (const auto row : from) {
        std::vector<std::pair<std::int64_t, std::int64_t>> entries;
        for (auto k = a.starts[at(row)]; k < a.starts[at(row) + 1]; ++k) entries.emplace_back(place[at(a.columns[at(k)])], k);
        std::ranges::sort(entries);
        for (const auto& [column, k] : entries) {
            result.columns.push_back(column);
            const auto first = a.values.begin() + static_cast<std::ptrdiff_t>(k * square);
            result.values.insert(result.values.end(), first, first + static_cast<std::ptrdiff_t>(square));
        }
        result.starts.push_back(static_cast<std::int64_t>(result.columns.size()));
    }
    return result;
}

/// Incomplete factorization of a matrix of numbers, row by row as textbooks have it: L below the diagonal, U from it on.
std::vector<double> textbook_ilu0(const BlockMatrix& a) {
    auto lu = a.values;
    const auto place = [&](std::int64_t row, std::int64_t column) {
        const auto first = a.columns.begin() + static_cast<std::ptrdiff_t>(a.starts[at(row)]),
                   end = a.columns.begin() + static_cast<std::ptrdiff_t>(a.starts[at(row) + 1]);
        const auto found = std::lower_bound(first, end, column);
        return found != end && *found == column ? found - a.columns.begin() : std::ptrdiff_t{-1};
    };
    for (std::int64_t i = 0; i < a.rows(); ++i)
        for (auto e = a.starts[at(i)]; a.columns[at(e)] < i; ++e) {
            const auto k = a.columns[at(e)];
            lu[at(e)] /= lu[at(place(k, k))];
            for (auto q = place(k, k) + 1; q < a.starts[at(k) + 1]; ++q)
                if (const auto to = place(i, a.columns[at(q)]); to >= 0) lu[at(to)] -= lu[at(e)] * lu[at(q)];
        }
    return lu;
}
std::vector<double> textbook_solve(const BlockMatrix& a, const std::vector<double>& lu, std::vector<double> x) {
    for (std::int64_t i = 0; i < a.rows(); ++i)
        for (auto e = a.starts[at(i)]; a.columns[at(e)] < i; ++e) x[at(i)] -= lu[at(e)] * x[at(a.columns[at(e)])];
    for (auto i = a.rows() - 1; i >= 0; --i) {
        double diagonal = 0;
        for (auto e = a.starts[at(i)]; e < a.starts[at(i) + 1]; ++e) {
            if (a.columns[at(e)] > i) x[at(i)] -= lu[at(e)] * x[at(a.columns[at(e)])];
            if (a.columns[at(e)] == i) diagonal = lu[at(e)];
        }
        x[at(i)] /= diagonal;
    }
    return x;
}

/// A and b times powers of two: x has the same digits, and the iteration the same steps.
template <class Real>
void check_range(const SparseSpec& spec, const std::vector<std::pair<int, int>>& powers, double relative) {
    INFO(to_string(spec.method), " ", to_string(spec.preconditioner), " ", to_string(spec.precision));
    const auto a = scattered(120, 4, spec.block, 9, spec.method == SparseMethod::cg);
    const auto numbers = random_vector(a.size(), 2);
    SparseSolver solver(SparsePlan(spec, a.pattern(), Device::cpu(), {.rows = 40}));
    const auto solve = [&](int of_a, int of_b, std::vector<double>& history) {
        std::vector<Real> values, b, x(numbers.size());
        for (const auto value : a.values) values.push_back(std::ldexp(static_cast<Real>(value), of_a));
        for (const auto number : numbers) b.push_back(std::ldexp(static_cast<Real>(number), of_b));
        solver.update(values);
        solver.solve(b, x, {.rtol = relative});
        solver.check();
        history = solver.history();
        for (auto& norm : history) norm = std::ldexp(norm, -of_b);
        for (auto& number : x) number = std::ldexp(number, of_a - of_b);
        return x;
    };
    std::vector<double> usual, history;
    const auto expected = solve(0, 0, usual);
    for (const auto& [of_a, of_b] : powers) {
        INFO(of_a, " ", of_b);
        CHECK(solve(of_a, of_b, history) == expected);
        CHECK(history == usual);
    }
}

}  // namespace

TEST_CASE("sparse: levels are those of their definition") {
    for (const auto preconditioner : {SparsePreconditioner::ildu0, SparsePreconditioner::ildu1, SparsePreconditioner::jacobi}) {
        for (const auto& mesh : {SparseMesh{16, 16, 8, 7}, SparseMesh{7, 1, 13, 7}, SparseMesh{11, 13, 1, 9}, SparseMesh{6, 5, 7, 27},
                                 SparseMesh{1, 1, 1, 5}}) {
            const SparsePattern pattern(mesh);
            check_levels(sparse::arrange(pattern, sparse::whole(pattern), preconditioner));
            check_levels(sparse::arrange(pattern, sparse::parts_of_boxes(mesh, {4, 3, 5}), preconditioner));
        }
        const auto a = scattered(300, 4, 1, 17);
        check_levels(sparse::arrange(a.pattern(), sparse::greedy_parts(a.pattern(), 60), preconditioner));
    }
    // The levels of a box of a 7-point mesh are its diagonal planes.
    const SparsePattern box(SparseMesh{16, 16, 8, 7});
    const auto a = sparse::arrange(box, sparse::whole(box), SparsePreconditioner::ildu0);
    CHECK(sparse::levels_of(a.shapes.front(), false).count == 38);
}

TEST_CASE("sparse: costs are those of the entries and vectors that operations move") {
    const SparsePattern mesh(SparseMesh{4, 4, 4, 7});
    const auto a = sparse::arrange(mesh, sparse::whole(mesh), SparsePreconditioner::ildu0);
    const auto costs = sparse::costs_of({}, {Backend::cuda, "sm_90"}, a);
    REQUIRE(costs.size() == 4);
    constexpr std::int64_t entries = 64 * 7 - 6 * 16, vector = 64 * 8;
    CHECK(costs[1].operation == "apply");
    CHECK(costs[1].bytes == entries * (8 + 2) + 2 * vector);
    CHECK(costs[2].bytes == entries * (8 + 4) + 2 * vector);
    CHECK(costs[3].bytes > 2 * (costs[1].bytes + costs[2].bytes));
    CHECK(costs[1].seconds == doctest::Approx(static_cast<double>(costs[1].bytes) / 4.27e12));
}

TEST_CASE("sparse: one subdomain has the factors of the whole matrix") {
    for (const auto& mesh : {SparseMesh{13, 11, 9, 7}, SparseMesh{9, 8, 7, 27}, SparseMesh{53, 47, 1, 9}, SparseMesh{7, 1, 13, 19}}) {
        CAPTURE(mesh.points);
        const auto a = random_on(SparsePattern(mesh), 1, 3, 1.02);
        const auto b = random_vector(a.size(), 4), expected = textbook_solve(a, textbook_ilu0(a), b);
        auto solver = updated({}, a, {.by = SparsePartitioning::whole});
        std::vector<double> x(b.size());
        solver.apply(b, x);
        CHECK((as_vector(x) - as_vector(expected)).norm() <= 1e-13 * as_vector(expected).norm());
    }
}

TEST_CASE("sparse: subdomains of one row are the blocks of the diagonal") {
    for (const std::int64_t block : {1, 3, 8}) {
        const auto a = random_on(SparsePattern(SparseMesh{7, 1, 13, 7}), block, 5);
        const auto b = random_vector(a.size(), 4);
        std::vector<std::int32_t> each(at(a.rows()));
        std::iota(each.begin(), each.end(), 0);
        std::vector<std::vector<double>> applied;
        for (const auto preconditioner : {SparsePreconditioner::ildu0, SparsePreconditioner::ildu2, SparsePreconditioner::dilu}) {
            SparseSolver solver(SparsePlan({.block = block, .preconditioner = preconditioner}, a.pattern(), Device::cpu(), by_parts(each)));
            CHECK(solver.plan().summary().levels == 2);
            solver.update(a.values);
            applied.emplace_back(b.size());
            solver.apply(b, applied.back());
        }
        auto jacobi = updated({.block = block, .preconditioner = SparsePreconditioner::jacobi}, a);
        std::vector<double> x(b.size());
        jacobi.apply(b, x);
        for (const auto& other : applied) CHECK(other == x);
    }
}

TEST_CASE("sparse: the rows of a mesh in random order have the factors of that order, and the same solution") {
    const SparseMesh mesh{9, 8, 5, 7};
    const auto a = random_on(SparsePattern(mesh), 2, 6);
    std::vector<std::int64_t> place(at(a.rows()));
    std::iota(place.begin(), place.end(), 0);
    std::mt19937 random(5);
    std::ranges::shuffle(place, random);
    const auto other = permuted(a, place);
    const auto boxes = sparse::parts_of_boxes(mesh, {3, 4, 5}).of_row;
    std::vector<std::int32_t> parts(boxes.size());
    for (std::size_t k = 0; k < boxes.size(); ++k) parts[at(place[k])] = boxes[k];
    const auto b = random_vector(a.size(), 2);
    auto solver = updated({.block = 2}, other, by_parts(parts));
    std::vector<double> x(b.size()), y(b.size());
    solver.apply(b, x);
    const Eigen::VectorXd expected = DenseIldu(other, parts).matrix().partialPivLu().solve(as_vector(b));
    CHECK((as_vector(x) - expected).norm() <= 1e-13 * expected.norm());
    solver.solve(b, x, {.rtol = 1e-12});
    solver.check();
    CHECK(residual_of(other, x, b) <= 1.01e-12);
    const auto reordered = permuted(other, place);
    CHECK(reordered.columns != a.columns);  // the order is no involution, so the test above saw another matrix
}

TEST_CASE("sparse: meshes with sides of one cell or a prime number of them, cut where they do not divide") {
    for (const auto& mesh : {SparseMesh{7, 1, 13, 7}, SparseMesh{1, 31, 1, 5}, SparseMesh{101, 1, 1, 9}, SparseMesh{13, 11, 7, 27},
                             SparseMesh{17, 5, 3, 19}, SparseMesh{1, 1, 1, 7}, SparseMesh{2, 1, 1, 5}})
        for (const auto& box : {std::array<std::int64_t, 3>{1, 1, 1}, {4, 3, 5}, {1, 5, 2}, {128, 128, 128}}) {
            INFO(mesh.width, " ", box[0]);
            const SparsePattern pattern(mesh);
            const auto a = random_on(pattern, 3, 8);
            std::vector<double> all(at(pattern.values() * 9), std::nan(""));
            for (std::size_t k = 0; k < pattern.sources().size(); ++k)
                std::copy_n(a.values.begin() + static_cast<std::ptrdiff_t>(9 * k), 9,
                            all.begin() + static_cast<std::ptrdiff_t>(9 * at(pattern.sources()[k])));
            SparseSolver solver(SparsePlan({.block = 3}, pattern, Device::cpu(), {.by = SparsePartitioning::box, .box = box}));
            solver.update(all);
            const auto b = random_vector(a.size(), 1);
            std::vector<double> x(b.size());
            solver.solve(b, x, {.rtol = 1e-10});
            solver.check();
            CHECK(residual_of(a, x, b) <= 1.01e-10);
        }
}

TEST_CASE("sparse: the whole range of numbers, with the same digits") {
    const std::vector<std::pair<int, int>> wide{{900, 0},  {-900, 0},  {0, 1000},  {0, -960},    {900, 900},
                                                {500, 40}, {500, -40}, {-500, 20}, {-900, -900}, {300, -600}};
    for (const auto method : {SparseMethod::bicgstab, SparseMethod::cg, SparseMethod::gmres})
        for (const auto preconditioner : {SparsePreconditioner::none, SparsePreconditioner::jacobi, SparsePreconditioner::ildu0}) {
            check_range<double>({.block = 3, .preconditioner = preconditioner, .method = method}, wide, 1e-9);
            check_range<double>({.block = 2, .precision = Precision::mixed, .preconditioner = preconditioner, .method = method}, wide,
                                1e-9);
            check_range<float>({.block = 2, .precision = Precision::f32, .preconditioner = preconditioner, .method = method},
                               {{90, 0}, {-90, 0}, {0, 110}, {0, -90}, {60, 60}, {-60, -60}}, 1e-4);
        }
}

TEST_CASE("work of all cores: each number once and in order, and an error of the first part that has one") {
    for (const std::int64_t count : {0, 1, 5, 1000}) {
        std::vector<std::int64_t> all;
        for (const auto& part :
             sparse::results_of_ranges(count, std::vector<std::int64_t>(), [](auto& some, std::int64_t first, std::int64_t end) {
                 for (auto k = first; k < end; ++k) some.push_back(k);
             }))
            all.insert(all.end(), part.begin(), part.end());
        std::vector<std::int64_t> expected(static_cast<std::size_t>(count));
        std::iota(expected.begin(), expected.end(), 0);
        CHECK(all == expected);
    }
    CHECK_THROWS_WITH_AS(sparse::for_ranges(1000, 1, [](std::int64_t first, std::int64_t) { throw SpecError(std::to_string(first)); }), "0",
                         SpecError);
}
