#include "tests/tools/cli/command.hpp"
#include "tools/formats/npy.hpp"
#include "tools/formats/residual.hpp"
#include "tools/problems/problems.hpp"

using namespace trifold::formats;

namespace {

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

/// A with ones for b.
void write_system(const Scratch& scratch, const SparseMatrix& a) {
    scratch.write("A.mtx", format_matrix_market(a));
    scratch.write("b.mtx", format_matrix_market(DenseMatrix{a.rows, 1, std::vector<double>(static_cast<std::size_t>(a.rows), 1)}));
}

/// Rows that couple with the one `reach` further on, and back with half of that.
SparseMatrix far_pairs(std::int64_t rows, std::int64_t reach) {
    SparseMatrix a{rows, rows, false, {}};
    for (std::int64_t row = 0; row < rows; ++row) {
        a.entries.push_back({row, row, 4});
        if (row + reach < rows) {
            a.entries.push_back({row, row + reach, -1});
            a.entries.push_back({row + reach, row, -0.5});
        }
    }
    return a;
}

SparseMatrix image(std::int64_t width, std::int64_t height, const char* name = "grid-poisson") {
    return to_sparse(trifold::problems::make_grid(name, width, height, 1, 1, 1));
}

}  // namespace

TEST_CASE_FIXTURE(Scratch, "solve --iterative: Matrix Market, checked against the matrix itself") {
    write_flow(*this, 3);
    const auto b = std::get<DenseMatrix>(parse_matrix_market(read("b.mtx"), "b"));
    for (const auto* more : {"--block 2", "", "--block 2 --mesh 23x19 --partition 8x8", "--block 2 --partition whole --method gmres",
                             "--block 2 --preconditioner ildu1 --subdomain 40 --partition greedy"}) {
        CAPTURE(more);
        const auto json = well(fmt::format("solve A.mtx b.mtx --iterative {} -o x.npy --device cpu --json", more)).json();
        CHECK(json.at("status") == "ok");
        const auto x = parse_npy(read("x.npy"), "x");
        CHECK(x.shape == std::vector<std::int64_t>{2 * 23 * 19, 3});
        const auto a = to_block_rows(flow(23, 19), 2);
        for (std::int64_t column = 0; column < 3; ++column) CHECK(relative_residual(a, x.values, b.values, 3, column) <= 1.01e-8);
    }
}

TEST_CASE_FIXTURE(Scratch, "solve --iterative: ranks share the iteration, with the bits of one") {
    write_flow(*this, 3);
    const auto solve = [&](const std::string& more) {
        const auto json = well("solve A.mtx b.mtx --block 2 --partition greedy --subdomain 40 -o x.npy --json " + more).json();
        return std::pair{json, read("x.npy")};
    };
    const auto [one, x] = solve("--iterative --device cpu");
    CHECK(one["ranks"] == 1);
    for (const auto* more : {"--ranks 2", "--ranks 3 --workers 2", "--ranks 4 --device cpu"}) {
        CAPTURE(more);
        const auto [json, shared] = solve(std::string("--iterative ") + more);
        check_json(json, {{"ranks", more[8] - '0'}, {"systems", one["systems"]}, {"history", one["history"]}});
        CHECK(shared == x);
    }
    const auto refused = [&](const std::string& arguments, const char* words) {
        check("solve A.mtx b.mtx --block 2 --iterative " + arguments, 2, words);
    };
    refused("--ranks 2 --partition whole", "2 ranks need a subdomain each, and the partition has 1; give subdomains of about 218 rows");
    refused("--ranks 2 --subdomain 40 --method gmres", "bicgstab and cg; take one of them in place of gmres");
    refused("--ranks 2 --device cuda:0", "2 ranks need a GPU each; give --device cuda or hip in place of cuda:0");
    refused("--ranks 0", "--ranks");
}

TEST_CASE_FIXTURE(Scratch, "solve --iterative: what cannot be solved, and what cannot be asked") {
    write_flow(*this, 1);
    check("solve A.mtx b.mtx --iterative --block 2 --iterations 2 --device cpu", 1, "limit: after 2 iterations |b - A x| = ");
    check("solve A.mtx b.mtx --iterative --block 2 --method cg --device cpu", 1, "it is not symmetric");
    // Block 3 has no neighbours, and is singular: a shift makes its factor sound, and the system stays without a solution.
    auto lone = flow(23, 19);
    std::erase_if(lone.entries, [](const Entry& entry) { return entry.row / 2 == 3 || entry.column / 2 == 3; });
    for (const std::int64_t row : {6, 7})
        for (const std::int64_t column : {6, 7}) lone.entries.push_back({row, column, 1});
    write("lone.mtx", format_matrix_market(lone));
    const auto singular = ends(1, "solve lone.mtx b.mtx --iterative --block 2 --device cpu");
    CHECK(says(singular.err, "1 pivot blocks are singular to the precision, the first in row 3; give a shift, or preconditioner jacobi"));
    check("solve lone.mtx b.mtx --iterative --block 2 --device cpu --shift 0.1 --iterations 50", 1, "|b - A x| = ");
    // Each file holds one mistake. Messages count rows from 0, those of files as the files do.
    const auto with = [&](const char* name, const char* size, const char* entries) {
        write(name, fmt::format("%%MatrixMarket matrix coordinate real general\n{}\n{}", size, entries));
    };
    with("no_diagonal.mtx", "3 3 4", "1 1 2\n2 1 1\n2 3 1\n3 3 1\n");
    with("empty.mtx", "3 3 2", "1 1 2\n3 3 1\n");
    with("wide.mtx", "3 4 3", "1 1 2\n2 2 1\n3 3 1\n");
    with("nan.mtx", "3 3 3", "1 1 2\n2 2 nan\n3 3 1\n");
    with("far.mtx", "3 3 3", "1 1 2\n2 3000000000 1\n3 3 1\n");
    with("twice.mtx", "3 3 5", "3 3 1\n2 2 1\n1 1 2\n1 1 2\n3 1 0\n");
    write("three.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n1\n1\n");
    for (const auto& [file, message] : {std::pair{"empty.mtx", "row 1 is empty"},
                                        {"wide.mtx", "A has 3 rows and 4 columns; it must be square"},
                                        {"nan.mtx", "the value at (2, 2) is 'nan'"},
                                        {"far.mtx", "entry (2, 3000000000) is outside the 3 by 3 matrix"}}) {
        check(fmt::format("solve {} three.mtx --iterative --device cpu", file), 2, message);
    }
    const auto no_diagonal = ends(1, "solve no_diagonal.mtx three.mtx --iterative --device cpu");
    CHECK(says(no_diagonal.err, "1 pivot blocks are singular to the precision, the first in row 1"));
    const auto twice =
        well("solve twice.mtx three.mtx --iterative --device cpu -o -");  // unsorted, an entry twice, which is added up, and a zero
    CHECK(says(twice.out, "0.25"));
    check_refused(
        "solve A.mtx b.mtx --device cpu ",
        {{"--iterative --block 4", "A has 874 rows, which is no multiple of blocks of 4"},
         {"--iterative --block 9", "block = 9 is out of range"},
         {"--iterative --partition 8x8", "say how many cells there are by --mesh"},
         {"--iterative --partition none.txt", "none.txt"},
         {"--iterative --partition three.mtx", "'three.mtx' holds more than whole numbers"},
         {"--iterative --shift -1", "shift = -1 is out of range; give a number from 0 on"},
         {"--iterative --sparse-variant sweeps:tile_scalars=5", "knob tile_scalars of variant 'sweeps' cannot be 5; give one of"},
         {"--iterative --preconditioner ilut", "--preconditioner is \"ilut\"; give none, jacobi"},
         {"--iterative --grid 23x19", "name two kinds of matrices"},
         {"--method cg --grid 23x19", "--method is for sparse systems; leave it out, or give --iterative too"},
         {"--method cg --schedule auto", "--schedule is for blocks; leave it out, or leave out --method"},
         {"--method gmres --mesh 23x19", "--mesh 23x19 has 437 cells, and A has 874 rows of 1; give A's own mesh, or leave it out"}});
}

TEST_CASE_FIXTURE(Scratch, "solve: without a word on it the matrix says its family, and the report why") {
    struct Case {
        const char* family;
        const char* why;
        SparseMatrix a;
    };
    SparseMatrix dense{2400, 2400, false, {}};  // in blocks of 4 that are full
    for (std::int64_t row = 0; row < dense.rows; ++row)
        for (std::int64_t column = 0; column < dense.rows; ++column)
            if (row / 4 == column / 4 || (row / 4 + 300) % 600 == column / 4)
                dense.entries.push_back({row, column, row == column ? 20 : row < column ? -1.0 : -0.75});
    for (const auto& [family, why, a] :
         {Case{"tridiagonal", "A is solved as blocks: symmetric, and blocks of 3 in a row hold it; not as images: there is no image",
               to_sparse(trifold::problems::socu({3, 5}, 1))},
          Case{"tridiagonal", "blocks of 2 in a row (a band of 2 blocks of 1) hold it",
               image(2, 40)},  // an image as well, which takes more flops
          Case{"grid", "A is solved as images: each row couples a pixel of 40x50 with its neighbours", image(40, 50, "grid-anisotropic")},
          Case{"grid", "each row couples a pixel of 40x50 with its neighbours", image(40, 50, "grid-convection")},
          Case{"tridiagonal", "not symmetric, and blocks of 7 in a row", far_pairs(40, 7)},
          Case{"sparse", "not as blocks: ", far_pairs(3000, 1400)},
          Case{"sparse", "any pattern, with dense blocks of 4; not as blocks: ", dense}}) {
        CAPTURE(why);
        write_system(*this, a);
        const auto ran = well("solve A.mtx b.mtx -o x.npy --device cpu --json");
        CHECK(ran.json().at("family") == family);
        CHECK(says(ran.json().at("why").get<std::string>(), why));
        const auto rows = to_block_rows(a, 1);
        CHECK(relative_residual(rows, parse_npy(read("x.npy"), "x").values, std::vector<double>(static_cast<std::size_t>(a.rows), 1), 1,
                                0) <= 1.01e-8);
        CHECK(run("solve A.mtx b.mtx --device cpu").out.starts_with("A is solved as "));
        const auto piped = well("solve - b.mtx -o - --format npy --device cpu < A.mtx");
        CHECK(piped.out == read("x.npy"));
        CHECK(says("\n" + piped.err, "\nA is solved as "));  // a line before it may say what shape was found
        write("b.npy", format_npy({{a.rows}, trifold::Precision::f64, std::vector<double>(static_cast<std::size_t>(a.rows), 1)}));
        well("solve A.mtx b.npy -o y --device cpu");
        const auto y = parse_npy(read("y"), "y");
        CHECK(y.shape == std::vector<std::int64_t>{a.rows});
        CHECK(y.values == parse_npy(read("x.npy"), "x").values);
    }
}

TEST_CASE_FIXTURE(Scratch, "solve: a saddle point problem stores no zeros on its diagonal, and needs none") {
    constexpr std::int64_t speeds = 60, pressures = 20;
    SparseMatrix a{speeds + pressures, speeds + pressures, false, {}};
    for (std::int64_t k = 0; k < speeds; ++k) {
        a.entries.push_back({k, k, 3});
        if (k > 0) a.entries.push_back({k, k - 1, -1.3});
        if (k + 1 < speeds) a.entries.push_back({k, k + 1, -0.7});
    }
    for (std::int64_t k = 0; k < pressures; ++k)
        for (const auto& [column, value] : {std::pair{3 * k, 1.0}, std::pair{3 * k + 1, -1.0}}) {
            a.entries.push_back({speeds + k, column, value});
            a.entries.push_back({column, speeds + k, value});
        }
    DenseMatrix b{a.rows, 1, std::vector<double>(static_cast<std::size_t>(a.rows), 0)};
    for (const auto& entry : a.entries) b.values[static_cast<std::size_t>(entry.row)] += entry.value;  // x is all ones
    write("A.mtx", format_matrix_market(a));
    write("b.mtx", format_matrix_market(b));
    for (const auto* more : {"", "--iterative --method gmres --tolerance 1e-13"}) {
        CAPTURE(more);
        const auto ran = well(fmt::format("solve A.mtx b.mtx {} -o x.npy --device cpu", more));
        for (const auto x : parse_npy(read("x.npy"), "x").values) CHECK(x == doctest::Approx(1).epsilon(1e-10));
    }
}

TEST_CASE_FIXTURE(Scratch, "solve: ranks share what A looks like, but for images") {
    write_system(*this, far_pairs(40, 7));
    const auto small = ends(2, "solve A.mtx b.mtx --ranks 2");
    CHECK(says(small.err, "A is solved as sparse systems"));
    CHECK(says(small.err, "2 ranks need a subdomain each"));
    write_system(*this, image(13, 9, "grid-convection"));
    check("solve A.mtx b.mtx --ranks 2", 2, "ranks share blocks or sparse systems, and this is solved as images; leave --ranks out");
}

TEST_CASE_FIXTURE(Scratch, "solve: blocks that need too many flops are taken only where they are asked for") {
    SparseMatrix wide{400, 400, false, {}};  // the diagonal, and one pair far from it
    for (std::int64_t row = 0; row < 400; ++row) wide.entries.push_back({row, row, 2});
    wide.entries.push_back({250, 20, -1});
    wide.entries.push_back({20, 250, -1});
    write_system(*this, wide);
    const auto ran = well("solve A.mtx b.mtx --device cpu --json");
    CHECK(ran.json().at("family") == "sparse");
    CHECK(says(ran.json().at("why").get<std::string>(), "not as blocks: blocks of 1 in a row and a border of 150 need "));
    CHECK(says(ran.json().at("why").get<std::string>(), ", and --block 1 --border 150 takes them"));
    check_json(well("solve A.mtx b.mtx --device cpu --block 1 --border 150 --json").json(), {{"block", 1}, {"border", 150}});
    CHECK(run("solve A.mtx b.mtx --device cpu --block 126 --json").json().at("block") == 126);
}

TEST_CASE_FIXTURE(Scratch, "solve --iterative: the history, and a picture of it") {
    write_flow(*this, 9);  // two panels
    const auto json = well("solve A.mtx b.mtx --iterative --block 2 --subdomain 40 --plot history.svg --device cpu --json").json();
    REQUIRE(json.at("history").size() == 1);
    const auto& history = json.at("history")[0];
    const auto iterations = json.at("systems")[8].at("iterations").get<std::size_t>();
    CHECK(iterations > 2);
    CHECK(history.size() == iterations + 1);
    CHECK(history[0] == 1);
    CHECK(history[iterations].get<double>() <= 1e-8);
    const auto svg = read("history.svg");
    CHECK(svg.starts_with("<svg "));
    CHECK(svg.ends_with("</svg>\n"));
    const auto points = svg.substr(svg.find("points=\"") + 8);
    CHECK(static_cast<std::size_t>(std::ranges::count(points.substr(0, points.find('"')), ',')) == iterations + 1);
    check_refused("solve A.mtx b.mtx --iterative --device cpu ",
                  {{"--plot A.mtx", "'A.mtx' is an input"},
                   {"--plot x.svg -o x.svg", "is to be written twice"},
                   {"--plot -", "give --plot the name of a file"},
                   {"--condition", "--condition says nothing about sparse systems; leave it out"}});
}

TEST_CASE_FIXTURE(Scratch, "explain --iterative: subdomains, levels and what they drop") {
    const auto ran = well("explain --iterative --mesh 32x32x32 --partition 16x16x8 --block 3 --json");
    check_json(ran.json(), {{"subdomains", 16}, {"patterns", 1}});
    CHECK(ran.json().at("dropped") == 2 * (1 + 1 + 3) * 32 * 32);  // both ways across the planes between them
    CHECK(run("explain --iterative").status == 2);
    const auto metis = well("explain --iterative --mesh 32x32x32 --partition metis --json");
    CHECK(says(metis.json().at("partition").get<std::string>(), "METIS"));
    for (const auto* target : {"cuda:sm_90", "hip:gfx942"})
        CHECK(run(fmt::format("explain --iterative --mesh 32x32x32 --block 3 --target {}", target)).status == 0);
}

TEST_CASE_FIXTURE(Scratch, "problem --iterative: files that solve finds to be sparse, and solves") {
    for (const auto& [name, block, more] : {std::tuple{"sparse-laplacian --mesh 9x8x7 --block 4", 4, "--subdomain 100"},
                                            {"sparse-convection --mesh 30x20", 1, ""},
                                            {"sparse-rock --mesh 12x11x10 --rhs 2", 1, "--iterations 2000"},
                                            {"sparse-reaction --mesh 8x7x6", 3, ""},
                                            {"sparse-elasticity --mesh 7x6x5", 3, "--method cg --preconditioner ic0"}}) {
        CAPTURE(name);
        const auto made = well(fmt::format("problem {} --iterative --seed 3 --force --json", name));
        CHECK(made.json().at("files") == std::vector<std::string>{"./A.mtx", "./b.mtx"});
        const auto ran = well(fmt::format("solve A.mtx b.mtx --iterative --block {} {} --device cpu --json", block, more));
        CHECK(ran.json().at("relative_residual").get<double>() <= 1.01e-8);
    }
    const std::vector first{read("A.mtx"), read("b.mtx")};
    CHECK(run("problem sparse-elasticity --mesh 7x6x5 --iterative --seed 3 --force").status == 0);
    CHECK(first == std::vector{read("A.mtx"), read("b.mtx")});
    check_refused("problem --force ", {{"sparse-rock --iterative", "give --mesh, such as 60x220x85"},
                                       {"sparse-rock --mesh 3x3 --block 2 --horizon 3", "--horizon is for blocks"},
                                       {"sparse-wood --iterative --mesh 3x3", "unknown problem 'sparse-wood'; give one of sparse-lap"},
                                       {"sparse-rock --iterative --mesh 3", "'3' is no number of cells"},
                                       {"sparse-rock --iterative --mesh 3x3 --batch 2", "hold one system"},
                                       {"sparse-rock --iterative --mesh 3x3 --format npy", "leave --format out"},
                                       {"sparse-laplacian --iterative --mesh 3x3 --block 9", "block = 9 is out of range"},
                                       {"sparse-elasticity --iterative --mesh 3x3", "give at least 2x2x2"},
                                       {"sparse-convection --iterative --mesh 3x3x3", "lies in a plane"}});
}

TEST_CASE_FIXTURE(Scratch, "generate --iterative: sources that do not depend on the number of subdomains, and a program that does") {
    const auto generate = [&](const char* arguments) {
        const auto ran = well(fmt::format("generate --iterative --block 3 {} --json", arguments));
        return ran.json();
    };
    const auto small = generate("--mesh 8x8x8 --partition 8x8x8 --target cuda:sm_90 -o small"),
               large = generate("--mesh 40x30x20 --partition 8x8x8 --target cuda:sm_90 -o large");
    check_json(small, {{"rows", 512}, {"block", 3}});
    CHECK(large.at("rows") == 24000);
    CHECK(large.at("subdomains").get<int>() > 1);
    for (const std::string name : small.at("files").at("source")) CHECK(read("small/" + name) == read("large/" + name));
    CHECK(read("small/program.json") != read("large/program.json"));
    CHECK(generate("--mesh 8x8x8 --binaries -o cpu").at("files").at("binary").size() == 1);
    check_refused("generate --iterative ", {{"", "give --mesh, such as 128x128x128"},
                                            {"--mesh 8x8 --rhs 9", "rhs = 9"},
                                            {"--mesh 8x8 --horizon 4", "--horizon is for blocks"}});
}

TEST_CASE_FIXTURE(Scratch, "bench sparse: operations as parts of what copies reach in the same run") {
    const auto all = well("bench sparse --size 12x11x10 9x9 --quick --device cpu --workers 1 --seed 4 --samples --json -o all.json").json();
    CHECK(all.at("failures").empty());
    CHECK(all == nlohmann::json::parse(read("all.json")));
    std::map<std::string, int> seen;
    for (const auto& result : all.at("results")) {
        const auto operation = result.at("operation").get<std::string>();
        ++seen[operation];
        CAPTURE(operation);
        const bool is_counted = operation != "tables" && operation != "solve";
        CHECK(result.at("floor_fraction").is_null() == !is_counted);
        if (is_counted) CHECK(result.at("floor_fraction").get<double>() > 0);
        CHECK(result.at("samples").size() == result.at("runs"));
        CHECK(result.at("points") == (result.at("depth") == 1 ? 5 : 7));
        if (operation == "solve") {
            CHECK(result.at("end") == "converged");
            CHECK(result.at("iterations").get<int>() > 2);
            CHECK(result.at("relative_residual").get<double>() <= (result.at("precision") == "f64" ? 2e-8 : 2e-5));
        }
    }
    CHECK(seen == std::map<std::string, int>{{"tables", 4},
                                             {"update", 4},
                                             {"apply", 4},
                                             {"apply_transposed", 4},
                                             {"multiply", 4},
                                             {"multiply_transposed", 4},
                                             {"solve", 4},
                                             {"iteration", 4}});
    const auto strict = ends(1, "bench sparse --size 6x6x6 --quick --precision f64 --device cpu --forward --block 1 --tolerance 0");
    CHECK(says(strict.out, "the floor is that of copies"));
    CHECK(says(strict.err, "above the tolerance"));
    // A problem and a file of it: the same matrix.
    REQUIRE(run("problem sparse-rock --iterative --mesh 6x5x4 --seed 1 --force").status == 0);
    std::vector<int> iterations;
    for (const auto* which : {"--problem sparse-rock --size 6x5x4 --partition whole", "--file A.mtx --partition whole"}) {
        const auto kept =
            well(fmt::format("bench sparse {} --block 1 --seed 1 --quick --forward --precision f64 --device cpu --json", which)).json();
        for (const auto& result : kept.at("results"))
            if (result.at("operation") == "solve") iterations.push_back(result.at("iterations").get<int>());
    }
    REQUIRE(iterations.size() == 2);
    CHECK(iterations[0] == iterations[1]);
    const auto shuffled = well("bench sparse --size 6x6x6 --random-rows --partition 3x3x3 --seed 1 --quick --precision f64 --device cpu");
    CHECK(says(shuffled.out, "in random order"));
    CHECK(says(shuffled.out, "8 subdomains of at most 27 rows"));
    check_refused("bench --device cpu --seconds 0.001 ",
                  {{"sparse --size 9", "'9' is no number of cells"},
                   {"sparse grid", "run it alone"},
                   {"sparse --matrix general", "--matrix says nothing about sparse systems"},
                   {"sparse --rhs 2", "leave --rhs out"},
                   {"sparse --peers cudss", "there is no peer 'cudss' here; give some of eigen, dune, all or none"},
                   {"sparse --file /nowhere/A.mtx", "/nowhere/A.mtx"},
                   {"sparse --file A.mtx --size 4x4", "leave --size and --problem out"},
                   {"sparse --problem sparse-milk --size 4x4", "unknown problem 'sparse-milk'"},
                   {"sparse --size 4x4x4 --partition 2x", "'2x' is no number of cells"},
                   {"sparse --method qmr", "unknown method 'qmr'"},
                   {"horizon --by-rows", "belongs to suite sparse"}});
}
