#include "tools/formats/grid.hpp"

#include "tests/tools/cli/command.hpp"
#include "tools/problems/problems.hpp"

using namespace trifold;
using namespace trifold::formats;

namespace {

void write_image(const Scratch& scratch, const GridSystem& system) {
    scratch.write("A.mtx", format_matrix_market(to_sparse(system)));
    scratch.write("b.mtx", format_matrix_market(DenseMatrix{system.width * system.height, system.rhs, system.b}));
}

/// ||A x - b|| / (||A|| ||x|| + ||b||) from the files' sparse matrix, entry by entry.
double residual_of(const GridSystem& system, const std::vector<double>& x) {
    std::vector<double> left(system.b), sums(left.size());
    for (auto& value : left) value = -value;
    for (const auto& [row, column, value] : to_sparse(system).entries) {
        left[static_cast<std::size_t>(row)] += value * x[static_cast<std::size_t>(column)];
        sums[static_cast<std::size_t>(row)] += std::abs(value);
    }
    const auto most = [](const std::vector<double>& values) {
        double result = 0;
        for (const auto value : values) result = std::max(result, std::abs(value));
        return result;
    };
    return most(left) / (most(sums) * most(x) + most(system.b));
}

}  // namespace

TEST_CASE_FIXTURE(Scratch, "solve --grid: arrays of stencils, batches, right-hand sides") {
    REQUIRE(run("problem grid-anisotropic --grid 13x21 --rhs 2 --batch 3").status == 0);
    CHECK(parse_npy(read("A.npy"), "A").shape == std::vector<std::int64_t>{3, 21, 13, 9});
    const auto json = well("solve A.npy b.npy --grid 13x21 --matrix symmetric -o x.npy --device cpu --json").json();
    check_json(json, {{"status", "ok"}, {"batch", 3}, {"matrix", "symmetric"}});
    CHECK(json.at("relative_residual").get<double>() <= 1e-14);
    CHECK(json.at("sign") == std::vector{1, 1, 1});
    CHECK(parse_npy(read("x.npy"), "x").shape == std::vector<std::int64_t>{3, 21, 13, 2});
}

TEST_CASE_FIXTURE(Scratch, "solve --grid: Matrix Market, checked against the matrix itself") {
    for (const auto name : problems::grid_names) {
        CAPTURE(name);
        const auto system = problems::make_grid(name, 17, 12, 1, 1, 3);
        write_image(*this, system);
        const auto ran = well("solve A.mtx b.mtx --grid 17x12 -o x.npy --device cpu --tolerance 1e-12");
        CHECK(says(ran.out, "width 17, height 12, precision"));
        CHECK(residual_of(system, parse_npy(read("x.npy"), "x").values) <= 1e-12);
    }
    REQUIRE(run("solve A.mtx b.mtx --grid 17x12 --boundary fixed --precision f32 -o x.mtx --device cpu").status == 0);
    const auto x = std::get<DenseMatrix>(parse_matrix_market(read("x.mtx"), "x"));
    const auto b = std::get<DenseMatrix>(parse_matrix_market(read("b.mtx"), "b"));
    CHECK(x.values[5] == doctest::Approx(b.values[5]).epsilon(1e-7));         // of the ring
    write_image(*this, problems::make_grid("grid-poisson", 3, 40, 1, 1, 3));  // blocks in a row too, which take fewer flops
    CHECK(well("solve A.mtx b.mtx --device cpu --json").json().at("family") == "tridiagonal");
    CHECK(well("solve A.mtx b.mtx --device cpu --json --refine 1").json().at("family") == "grid");
}

TEST_CASE_FIXTURE(Scratch, "solve --grid --refine: what f32 leaves") {
    REQUIRE(run("problem grid-helmholtz --grid 61x53").status == 0);
    const auto residual = [&](const char* more) {
        return run(fmt::format("solve A.npy b.npy --grid 61x53 --precision f32 --tolerance 1 --device cpu --json {}", more))
            .json()
            .at("relative_residual")
            .get<double>();
    };
    const auto refined = residual("--refine 2");
    CHECK(refined <= 1e-7);
    CHECK(refined <= std::max(residual(""), 0x1p-24));  // rough factors are refined in any case, to the rounding unit
}

TEST_CASE_FIXTURE(Scratch, "solve --grid: entries that are not read may hold anything") {
    const auto system = problems::make_grid("grid-poisson", 9, 7, 1, 1, 3);
    write("b.npy", format_npy({{7, 9}, Precision::f64, system.b}));
    for (const std::string boundary : {"natural", "fixed"}) {
        const auto solve = [&](const std::vector<double>& stencil) {
            write("A.npy", format_npy({{7, 9, 9}, Precision::f64, stencil}));
            const auto ran =
                well("solve A.npy b.npy --grid 9x7 --matrix symmetric --refine 1 --device cpu -o x.npy --boundary " + boundary);
            return read("x.npy");
        };
        auto poisoned = system.stencil;
        for (std::size_t k = 0; k < poisoned.size(); ++k) {
            const auto pixel = k / 9, x = pixel % 9, y = pixel / 9;
            const bool ring = x == 0 || y == 0 || x == 8 || y == 6, beside = x == 1 || y == 1 || x == 7 || y == 5;
            if (boundary == "natural" ? k % 9 > 4 : ring || (!beside && k % 9 > 4)) poisoned[k] = std::nan("");
        }
        CHECK(solve(poisoned) == solve(system.stencil));
    }
}

#ifdef FAKE_DRIVER
TEST_CASE_FIXTURE(Scratch, "solve: the device 'auto' is the first of CUDA, of images too") {
    write_image(*this, problems::make_grid("grid-poisson", 9, 7, 1, 1, 3));
    // The driver stands in for CUDA's. Without a compiler the device's first kernel is missing, and the message names its target.
    const auto environment = std::string("TRIFOLD_DISABLE=jit TRIFOLD_CACHE_DIR=empty LD_PRELOAD='" FAKE_DRIVER "'") +
                             " ASAN_OPTIONS=\"$ASAN_OPTIONS:verify_asan_link_order=0\"";
    for (const std::string more : {"", "--grid 9x7"})
        for (const std::string device : {"", "--device auto", "--device cuda"}) {
            check(fmt::format("solve A.mtx b.mtx {} {}", more, device), 3, "sm_90", environment);
        }
    write_image(*this, problems::make_grid("grid-convection", 120, 17, 1, 1, 3));
    check("solve A.mtx b.mtx", 3, "not as blocks: no variant for cuda:sm_90 takes general matrices with blocks of n = ", environment);
    check("solve A.mtx b.mtx --device cuda --block 120", 2, "takes general matrices with blocks of n = 120", environment);
}
#endif

TEST_CASE_FIXTURE(Scratch, "solve --grid: standard input and output") {
    write_image(*this, problems::make_grid("grid-poisson", 9, 7, 1, 1, 3));
    const std::string solve = "solve --grid 9x7 --device cpu ";
    REQUIRE(run(solve + "A.mtx b.mtx -o x.npy").status == 0);
    const auto ran = well(solve + "A.mtx - -o - --format npy <b.mtx");
    CHECK(ran.out == read("x.npy"));
    CHECK(says(ran.err, "relative residual"));
    CHECK(says(run(solve + "A.mtx b.mtx -o x.npy --format mtx").err, "says one format"));
}

TEST_CASE_FIXTURE(Scratch, "solve --grid: what is wrong is named") {
    const auto system = problems::make_grid("grid-poisson", 9, 7, 1, 1, 3);
    write_image(*this, system);
    const auto refused = [&](const std::string& arguments, const char* reason) { check(arguments, 2, reason); };
    refused("solve A.mtx b.mtx --grid 7x9 --device cpu", "entry (1, 10) of A (from 1) couples pixel (0, 0) with (2, 1)");
    refused("solve A.mtx b.mtx --grid 8x7", "A is 63 by 63, and an image of 8x7 has 56 pixels");
    refused("solve A.mtx b.mtx --grid 9by7", "give WIDTHxHEIGHT");
    refused("solve A.mtx b.mtx b.mtx --grid 9x7", "3 files were given");
    refused("solve A.mtx b.mtx --grid 9x7 --schedule sequential", "--schedule is for blocks; leave it out, or leave out --grid");
    refused("solve A.mtx b.mtx b.mtx --boundary fixed", "--boundary is for images; leave it out, or give --grid too");
    refused("problem grid-poisson --grid 1x9", "1 pixel");
    refused("problem grid-lines --grid 9x9", "give one of grid-poisson");
    refused("problem socu", "needs --block and --horizon");
    refused("problem grid-poisson --grid 9x9 --block 3", "--block is for blocks");
    refused("explain --grid 9x9 --schedule sequential", "--schedule is for blocks; leave it out, or leave out --grid");
    refused("explain --block 3 --horizon 4 --boundary fixed", "--grid");
    refused("export --grid 9x9", "export has no images yet; it takes blocks");
    auto singular = system;
    for (std::size_t k = 4; k < singular.stencil.size(); k += 9) singular.stencil[k] -= 0.01;
    write_image(*this, singular);
    const auto ran = ends(1, "solve A.mtx b.mtx --grid 9x7 --device cpu --json");
    CHECK(ran.json().at("status") == "failed");
    CHECK(says(ran.err, "add a little to the diagonal"));
    singular.stencil[40] = std::nan("");
    write("A.npy", format_npy({{7, 9, 9}, Precision::f64, singular.stencil}));
    write("b.npy", format_npy({{7, 9}, Precision::f64, singular.b}));
    refused("solve A.npy b.npy --grid 9x7", "at pixel (4, 0)");
    write("b.npy", format_npy({{9, 7}, Precision::f64, singular.b}));
    refused("solve A.npy b.npy --grid 9x7", "it must be (7, 9)");
}

TEST_CASE_FIXTURE(Scratch, "explain --grid: levels, launches and memory") {
    const auto ran = well("explain --grid 129x65 --target cpu:x86-64-v3");
    CHECK(says(ran.out, "pivot blocks of level", "width 129, height 65, precision f64, matrix general"));
    const auto json = run("explain --grid 129x65 --precision f32 --matrix symmetric --target cpu:x86-64 --json").json();
    CHECK(json.at("program").at("levels").size() == 10);
    CHECK(json.at("program").at("levels").back().at("eliminated") == 65);
    CHECK(run("explain --grid 129x65 --block 4").status == 2);
    CHECK(says(run("explain --grid 129x65 --target cuda:sm_90").out, "batch 1, target cuda:sm_90"));
}

TEST_CASE_FIXTURE(Scratch, "bench grid: every matrix and precision, phases, checked solutions") {
    const auto all = well("bench grid --device cpu --workers 1 --size 23x17 9x12x3 --seconds 0.002 --json --samples -o out.json").json();
    CHECK(nlohmann::json::parse(read("out.json")) == all);
    CHECK(all["peers"].empty());
    CHECK(all["failures"].empty());
    REQUIRE(all["results"].size() == 2 * 2 * 2 * 3);
    std::set<std::string> seen;
    for (const auto& result : all["results"]) {
        const auto text = [&](const char* key) { return result[key].get<std::string>(); };
        seen.insert(fmt::format("{} {} {} {}", text("matrix"), text("precision"), text("operation"), result["batch"].get<int>()));
        check_json(result, {{"suite", "grid"},
                            {"solver", "trifold"},
                            {"problem", (text("matrix") == "general" ? "grid-convection" : "grid-anisotropic")},
                            {"accurate", true}});
        CHECK(result["relative_residual"].get<double>() <= (text("precision") == "f64" ? 1e-14 : 1e-6));
        CHECK(result["relative_residual"].get<double>() > 0);
        const auto samples = result["samples"].get<std::vector<double>>();
        CHECK(samples.size() >= 5);
        CHECK(std::ranges::is_sorted(samples));
        CHECK(result["seconds"]["minimum"] == samples.front());
        CHECK(result["gigaflops_per_second"].is_null() == (text("operation") != "factor"));
    }
    CHECK(seen.size() == all["results"].size());
}

TEST_CASE_FIXTURE(Scratch, "bench grid: one matrix, new data each time, and the table") {
    const auto first =
        well("bench grid --device cpu --size 9x8 --matrix symmetric --precision f32 --seconds 0.001 --rhs 2 --json --peers none");
    CHECK(first.json()["results"].size() == 3);
    CHECK(first.json()["results"][0]["rhs"] == 2);
    const auto second = well("bench grid --device cpu --size 9x8 --seconds 0.001 --seed 7");
    CHECK(says(second.out, "9x8 f64 general          trifold            factor_solve"));
    CHECK(run("bench grid --device cpu --size 9x8 --seconds 0.001 --json").json()["seed"] != 7);
    check("bench grid --device cpu --size 33x8 --seconds 0.001 --tolerance 0", 1, "above the tolerance");
}

TEST_CASE_FIXTURE(Scratch, "bench grid: what is wrong is named") {
    for (const auto& [arguments, reason] :
         {std::pair{"bench grid --size 9", "WIDTHxHEIGHTxIMAGES"},
          {"bench grid --size 1x9", "1 pixel"},
          {"bench grid horizon", "run it alone"},
          {"bench grid --schedule sequential", "--schedule says nothing about images"},
          {"bench grid --precision mixed", "no mixed precision"},
          {"bench grid --peers lapack", "give some of umfpack, cholmod, umfpack-metis, cholmod-metis, all or none"},
          {"bench grid --matrix square", "--matrix"},
          {"bench horizon --matrix square", "give positive-definite, symmetric or general"}}) {
        check(fmt::format("{} --device cpu --seconds 0.001", arguments), 2, reason);
    }
}

TEST_CASE_FIXTURE(Scratch, "generate --grid: sources and kernels, which serve every size") {
    const auto generate = [&](const char* arguments) {
        const auto ran = well(fmt::format("generate --target cpu:x86-64-v3 --json {}", arguments));
        return ran.json();
    };
    const auto first = generate("--grid 129x65 --matrix symmetric --precision f32 --binaries -o first");
    CHECK(first["matrix"] == "symmetric");
    CHECK(first["files"]["source"] == std::vector<std::string>{"grid_symmetric_f32.c"});
    CHECK(read("first/grid_symmetric_f32.so")
              .starts_with("\x7f"
                           "ELF"));
    CHECK(has("first/grid_symmetric_f32.log"));
    const auto program = nlohmann::json::parse(read("first/program.json"));
    CHECK(program["width"] == 129);
    const auto second = generate("--grid 40x30 --matrix symmetric --precision f32 --rhs 3 --batch 2 --boundary fixed --binaries -o second");
    CHECK(read("second/grid_symmetric_f32.c") == read("first/grid_symmetric_f32.c"));
    CHECK(second["cache"] == "hit");
    CHECK(read("second/program.json") != read("first/program.json"));
    CHECK(!says(read("first/grid_symmetric_f32.c"), path.string()));
    for (const auto* wrong :
         {"--grid 129x65 --block 4", "--grid 129x65 --schedule sequential", "--grid 129x65 --operations factor", "--grid 129x65 --together",
          "--grid 1x65", "--grid 129", "--grid 9x9 --precision mixed", "--block 4 --horizon 8 --matrix indefinite"}) {
        CAPTURE(wrong);
        CHECK(run(fmt::format("generate {} -o wrong", wrong)).status == 2);
    }
    CHECK(!has("wrong"));
    REQUIRE(run("generate --grid 129x65 --target cuda:sm_90 -o cuda").status == 0);
    const auto units = nlohmann::json::parse(read("cuda/program.json"))["units"];
    REQUIRE(!units.empty());
    for (const auto& unit : units) CHECK(has("cuda/" + unit["id"].get<std::string>() + ".cu"));
}

TEST_CASE("solve --grid: singular images, what they are accepted for, and what leaves the range") {
    const Scratch scratch;
    // Convection in conservation form: columns sum to zero, rows do not.
    std::vector<double> stencil(3 * 2 * 9);
    constexpr double a[6][6] = {{1.2, -1.2, 0, -.5, 0, 0}, {-.7, 2.5, -1.3, 0, -.5, 0}, {0, -.8, 1.9, 0, 0, -.6},
                                {-.5, 0, 0, .6, -.6, 0},   {0, -.5, 0, -.1, 1.9, -1.3}, {0, 0, -.6, 0, -.8, 1.9}};
    for (std::size_t row = 0; row < 6; ++row)
        for (std::size_t to = 0; to < 6; ++to)
            if (a[row][to] != 0) stencil[row * 9 + (to / 3 + 1 - row / 3) * 3 + to % 3 + 1 - row % 3] = a[row][to];
    const auto write = [&](double sink, double b) {
        auto values = stencil;
        for (std::size_t p = 0; p < 6; ++p) values[p * 9 + 4] += sink;
        scratch.write("A.npy", format_npy({{2, 3, 9}, Precision::f64, values}));
        scratch.write("b.npy", format_npy({{2, 3}, Precision::f64, {b, 0, 0, 0, 0, 0}}));
    };
    const auto solve = [&](const char* more) {
        return scratch.run(fmt::format("solve A.npy b.npy --grid 3x2 --device cpu --json -o x.npy {}", more));
    };
    write(0, 1);
    for (const char* more : {"", "--condition"}) {
        const auto ran = solve(more);
        CHECK(ran.status == 1);
        CHECK(ran.json().at("status") == "failed");
        CHECK(ran.json().at("failed").at(0).at("problem") == "nearly_singular");
        CHECK(!ran.json().at("failed").at(0).contains("pixel"));
        CHECK(says(ran.err, "A is singular to this precision"));
        CHECK(std::isnan(parse_npy(scratch.read("x.npy"), "x").values[0]));
    }
    CHECK(solve("--condition").json().at("reciprocal_condition").at(0).get<double>() < 1e-15);
    CHECK(solve("--accept-nearly-singular --tolerance 1").status == 0);
    write(1e-14, 1);  // the least pivot is small, and the condition tells that it is no rounding
    CHECK(solve("").status == 1);
    CHECK(solve("--condition").status == 0);
    write(1e-2, 1);
    CHECK(solve("--condition").status == 0);
    write(1e-2, 1e308);
    const auto ran = solve("");
    CHECK(ran.status == 1);
    CHECK(ran.json().at("status") == "range");
    CHECK(ran.json().at("failed").at(0).at("problem") == "range");
    CHECK(says(ran.err, "X is out of range in 1 of 1 images"));
    CHECK(!says(ran.err, "residual"));
}
