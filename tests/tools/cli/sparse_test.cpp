#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/tools/cli/command.hpp"
#include "tools/formats/block_rows.hpp"
#include "tools/formats/npy.hpp"

using namespace trifold::formats;

namespace {

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// -Laplace with convection on cells, in blocks of 2.
SparseMatrix flow(std::int64_t width, std::int64_t height) {
    SparseMatrix a{2 * width * height, 2 * width * height, false, {}};
    const auto add = [&](std::int64_t row, std::int64_t column, double value) {
        a.entries.push_back({2 * row, 2 * column, value});
        a.entries.push_back({2 * row + 1, 2 * column + 1, value});
        if (row == column) a.entries.push_back({2 * row, 2 * row + 1, 0.25});
    };
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
            const auto row = y * width + x;
            add(row, row, 4.5);
            if (x > 0) add(row, row - 1, -1.3);
            if (x + 1 < width) add(row, row + 1, -0.7);
            if (y > 0) add(row, row - width, -1);
            if (y + 1 < height) add(row, row + width, -1);
        }
    return a;
}

void write_flow(const Scratch& scratch, std::int64_t columns) {
    const auto a = flow(23, 19);
    DenseMatrix b{a.rows, columns, {}};
    for (std::int64_t k = 0; k < a.rows * columns; ++k) b.values.push_back(static_cast<double>(k * 37 % 101) / 50 - 1);
    scratch.write("A.mtx", format_matrix_market(a));
    scratch.write("b.mtx", format_matrix_market(b));
}

}  // namespace

TEST_CASE("solve --iterative: Matrix Market, checked against the matrix itself") {
    const Scratch scratch;
    write_flow(scratch, 3);
    const auto b = std::get<DenseMatrix>(parse_matrix_market(scratch.read("b.mtx"), "b"));
    for (const auto* more : {"--block 2", "", "--block 2 --mesh 23x19 --partition 8x8", "--block 2 --partition whole --method gmres",
                             "--block 2 --preconditioner ildu1 --subdomain 40 --partition greedy"}) {
        CAPTURE(more);
        const auto ran = run_trifold(scratch.path, fmt::format("solve A.mtx b.mtx --iterative {} -o x.npy --device cpu --json", more));
        INFO(ran.err);
        REQUIRE(ran.status == 0);
        const auto json = ran.json();
        CHECK(json.at("status") == "ok");
        const auto x = parse_npy(scratch.read("x.npy"), "x");
        CHECK(x.shape == std::vector<std::int64_t>{2 * 23 * 19, 3});
        const auto a = to_block_rows(flow(23, 19), 2);
        for (std::int64_t column = 0; column < 3; ++column) CHECK(relative_residual(a, x.values, b.values, 3, column) <= 1.01e-8);
    }
}

TEST_CASE("solve --iterative: what cannot be solved, and what cannot be asked") {
    const Scratch scratch;
    write_flow(scratch, 1);
    const auto limited = run_trifold(scratch.path, "solve A.mtx b.mtx --iterative --block 2 --iterations 2 --device cpu");
    CHECK(limited.status == 1);
    CHECK(contains(limited.err, "limit: after 2 iterations |b - A x| = "));
    const auto unequal = run_trifold(scratch.path, "solve A.mtx b.mtx --iterative --block 2 --method cg --device cpu");
    CHECK(unequal.status == 1);
    CHECK(contains(unequal.err, "it is not symmetric"));
    for (const auto& [arguments, message] :
         {std::pair{"--iterative --block 4", "A has 874 rows, which is no multiple of blocks of 4"},
          {"--iterative --block 9", "block = 9 is out of range"},
          {"--iterative --partition 8x8", "say how many cells there are by --mesh"},
          {"--iterative --partition none.txt", "none.txt"},
          {"--iterative --preconditioner ilut", "unknown preconditioner 'ilut'; give one of none, jacobi"},
          {"--iterative --grid 23x19", "excludes"},
          {"--method cg", "requires --iterative"}}) {
        CAPTURE(arguments);
        const auto ran = run_trifold(scratch.path, fmt::format("solve A.mtx b.mtx {} --device cpu", arguments));
        CHECK(ran.status == 2);
        CHECK(contains(ran.err, message));
    }
}

TEST_CASE("explain --iterative: subdomains, levels and what they drop") {
    const Scratch scratch;
    const auto ran = run_trifold(scratch.path, "explain --iterative --mesh 32x32x32 --partition 16x16x8 --block 3 --json");
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    CHECK(ran.json().at("subdomains") == 16);
    CHECK(ran.json().at("patterns") == 1);
    CHECK(ran.json().at("dropped") == 2 * (1 + 1 + 3) * 32 * 32);  // both ways across the planes between them
    CHECK(run_trifold(scratch.path, "explain --iterative").status == 2);
    for (const auto* target : {"cuda:sm_90", "hip:gfx942"})
        CHECK(run_trifold(scratch.path, fmt::format("explain --iterative --mesh 32x32x32 --block 3 --target {}", target)).status == 0);
}
