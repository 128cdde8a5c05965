#include "tools/tune/points.hpp"

#include <trifold/trifold.hpp>

#include "generator/sparse/fields.hpp"
#include "tests/support/capture_file.hpp"
#include "tests/tools/tune/records.hpp"
#include "tools/formats/file.hpp"

using namespace trifold;
using namespace trifold::tune;
using trifold::formats::InputError;

namespace {

using Numbers = std::vector<std::int64_t>;

std::vector<Point> read_points(const std::string& text) {
    PointFiles files;
    files.read(text, "specs.jsonl");
    CHECK(files.warnings().empty());
    return files.points();
}

/// A line as a captured program writes it. `operations`: the JSON of its object.
std::string captured(const std::string& id, const Point& point, const nlohmann::json& operations) {
    return nlohmann::json{{"trifold_capture", 1},      {"id", id},          {"spec", point.spec},
                          {"target", "cpu:x86-64-v3"}, {"device", "Fake"},  {"workers", point.workers},
                          {"schedule", "auto"},        {"variant", "auto"}, {"operations", operations}}
               .dump() +
           "\n";
}

nlohmann::json used(const char* operation, int calls, double seconds, int recorded = 0) {
    return {{operation, {{"calls", calls}, {"recorded", recorded}, {"members", calls}, {"timed", 1}, {"seconds", seconds}}}};
}

std::vector<Point> of_command(std::vector<std::string> words, std::vector<std::string>* warnings = nullptr) {
    CLI::App app;
    PointOptions options;
    options.add_to(app);
    std::ranges::reverse(words);
    app.parse(words);
    std::vector<std::string> ignored;
    return options.points(warnings == nullptr ? ignored : *warnings);
}

std::vector<std::string> names(const std::vector<Point>& points) {
    std::vector<std::string> result;
    for (const auto& point : points) result.push_back(to_string(point));
    return result;
}

const Point first_point = test::blocks(12, 20), second_point = test::blocks(4, 50, 8), of_two_workers = test::blocks(12, 20, 1, 2);

}  // namespace

TEST_CASE("ranges: both ends, lists, mixtures, each size once") {
    CHECK(parse_range("4:12:4", "--block") == Numbers{4, 8, 12});
    CHECK(parse_range("4:11:4", "--block") == Numbers{4, 8});
    CHECK(parse_range("2:4", "--block") == Numbers{2, 3, 4});
    CHECK(parse_range("4:8:2,24,6,32", "--block") == Numbers{4, 6, 8, 24, 32});
    CHECK(parse_range("9223372036854775806:9223372036854775807:5", "--block") == Numbers{9223372036854775806});
    for (const auto* text : {"", "x", "4:", ":4", "4:8:2:1", "0", "-4", "4,,8", "4:8:0", "1e3", " 4", "4.5", "99999999999999999999"})
        CHECK_REFUSED("--block '", parse_range(text, "--block"));
    CHECK_REFUSED("goes from 8 down to 4", parse_range("8:4", "--batch"));
    CHECK_REFUSED("more than 10000", parse_range("1:9223372036854775807", "--batch"));
}

TEST_CASE("points of options: every combination once, the last fastest, of all three families") {
    const auto points = names(of_command({"--block", "4:8:4", "--horizon", "16,32", "--batch", "1,256", "--precision", "f32,f64,f32",
                                          "--operation", "factor_solve,factor+3*solve"}));
    REQUIRE(points.size() == 2 * 2 * 2 * 2 * 2);
    CHECK(std::vector(points.begin(), points.begin() + 3) == std::vector<std::string>{"16x4 f32", "16x4 f32 factor+3*solve", "16x4 f64"});
    CHECK((points[4] == "16x4x256 f32" && points[8] == "32x4 f32" && points.back() == "32x8x256 f64 factor+3*solve"));
    const auto inverse = of_command({"--block", "4", "--horizon", "16", "--rhs", "2", "--operation", "inverse", "--workers", "1:2"});
    REQUIRE(inverse.size() == 2);
    CHECK((has_operation(inverse[1].spec, "inverse") && has_operation(inverse[1].spec, "factor")));
    CHECK((inverse[1].workers == 2 && number_in(inverse[1], "rhs") == 2));
    CHECK(names(of_command({"--grid", "33x17,65x65", "--matrix", "general,symmetric", "--precision", "f32"})) ==
          std::vector<std::string>{"33x17 f32", "33x17 f32 symmetric", "65x65 f32", "65x65 f32 symmetric"});
    CHECK(names(of_command({"--grid", "9x9", "--pivoting", "none", "--boundary", "fixed", "--operation", "factor+3*solve"})) ==
          std::vector<std::string>{"9x9 f64 factor+3*solve pivoting none fixed"});
    CHECK(names(of_command({"--block", "4", "--horizon", "16", "--order", "row-major,column-major", "--coupling", "upper"})) ==
          std::vector<std::string>{"16x4 f64 upper", "16x4 f64 column-major upper"});
    const auto sparse = of_command({"--sparse", "12x10x8,20x30", "--block", "1,3", "--precision", "f32"});
    CHECK(names(sparse) ==
          std::vector<std::string>{"960x1 f32 12x10x8", "600x1 f32 20x30x1 5 points", "960x3 f32 12x10x8", "600x3 f32 20x30x1 5 points"});
    CHECK(sparse[0].objective == Objective{{"update", 1}, {"solve", 1}});
    CHECK(names(of_command({"--sparse", "9x9x9", "--points", "27", "--preconditioner", "ic0", "--method", "cg", "--operation", "solve"})) ==
          std::vector<std::string>{"729x1 f64 solve ic0 cg 9x9x9 27 points"});
    CHECK(of_command({"--grid", "9x9", "--sparse", "5x5x5", "--block", "3"}).size() == 2);
}

TEST_CASE("points of options: rings and bands, and a border that has the points of its chain") {
    CHECK(names(of_command({"--block", "4", "--horizon", "20", "--ring", "true,false"})) ==
          std::vector<std::string>{"20x4 f64 ring", "20x4 f64"});
    CHECK(names(of_command({"--block", "4", "--horizon", "20", "--bandwidth", "1,3"})) ==
          std::vector<std::string>{"20x4 f64", "20x4 f64 bandwidth 3"});
    CHECK(names(of_command({"--block", "4", "--horizon", "20", "--lengths", "true", "--sizes", "true,false"})) ==
          std::vector<std::string>{"20x4 f64 lengths sizes", "20x4 f64 lengths"});
    CHECK(names(read_points(R"({"block": 4, "horizon": 20, "border": 3, "lengths": true})"
                            "\n")) == std::vector<std::string>{"20x4 f64 lengths"});
    CHECK_THROWS_WITH(of_command({"--block", "4", "--horizon", "20", "--ring", "yes"}), doctest::Contains("give true or false"));
}

TEST_CASE("points of options: what is no problem is named, and there may be too many") {
    for (const auto& [words, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"--block", "4,5000", "--horizon", "16"}, "cannot be tuned: block = 5000"},
             {{"--block", "4", "--horizon", "16", "--precision", "mixed", "--operation", "inverse"}, "mixed"},
             {{"--block", "4", "--horizon", "16", "--precision", "f16"}, "f16"},
             {{"--block", "4", "--horizon", "16", "--operation", "fly"}, "fly"},
             {{"--block", "4", "--horizon", "16", "--workers", "5000"}, "--workers 5000"},
             {{"--block", "4"}, "give a file of specs or a capture, or sizes: --block and --horizon"},
             {{}, "nothing to tune; give a file"},
             {{"--batch", "4"}, "nothing to tune; give a file"},
             {{"--horizon", "4"}, "--horizon needs the sizes of blocks; give --block"},
             {{"--block", "1:200", "--horizon", "1:200"}, "make 40000 points"},
             {{"--grid", "9"}, "--grid '9' is no size of an image"},
             {{"--grid", "1x9"}, "the image's width"},
             {{"--grid", "9x9", "--matrix", "round"}, "round"},
             {{"--grid", "9x9", "--operation", "inverse"}, "'inverse' is no operation of grid; give some of factor, solve"},
             {{"--grid", "9x9", "--block", "3"}, "nothing that has blocks; give --horizon or --sparse"},
             {{"--sparse", "9"}, "'9' is no mesh"},
             {{"--sparse", "9x9x9", "--block", "9"}, "block = 9"},
             {{"--sparse", "9x9x9", "--preconditioner", "ic0"}, "for symmetric matrices"}}) {
        INFO(message);
        CHECK_REFUSED(message.c_str(), of_command(words));
    }
    CHECK_THROWS_AS(of_command({"--matrix", "symmetric"}), CLI::Error);
    CHECK_THROWS_AS(of_command({"--method", "cg"}), CLI::Error);
}

TEST_CASE("a file of specs: objective and workers with the Spec, empty lines, each once, of any family") {
    const auto points = read_points(
        "{\"block\": 12, \"horizon\": 20}\n\n  \r\n"
        "{\"block\": 4, \"horizon\": 50, \"batch\": 8, \"objective\": \"factor+3*solve\", \"workers\": 2}\n"
        "{\"horizon\": 20, \"block\": 12}\n"
        "{\"block\": 6, \"horizon\": 5, \"objective\": \"inverse\"}\n"
        "{\"family\": \"grid\", \"width\": 9, \"height\": 5, \"objective\": \"solve\"}\n"
        "{\"family\": \"sparse\", \"rows\": 1000, \"entries\": 6400, \"block\": 2}\n"
        "{\"block\": 6, \"horizon\": 5, \"operations\": [\"factor\"]}");  // no line feed
    CHECK(names(points) == std::vector<std::string>{"20x12 f64", "50x4x8 f64 workers=2 factor+3*solve", "5x6 f64 inverse inverse",
                                                    "9x5 f64 solve", "1000x2 f64", "5x6 f64 factor"});
    CHECK((points[0].spec == first_point.spec && points[1].workers == 2));
}

TEST_CASE("what is wrong with a line of a spec, and where") {
    for (const auto& [line, what] :
         {std::pair{"{\"block\": 12", "parse error"},
          {"[]", "no JSON object"},
          {"{}", "block = "},
          {"{\"block\": 12, \"horizon\": 20, \"size\": 1}", "a spec has no 'size'"},
          {"{\"block\": 12, \"horizon\": 20, \"objective\": \"fly\"}", "fly"},
          {"{\"block\": 12, \"horizon\": 20, \"objective\": 3}", "no text"},
          {"{\"block\": 12, \"horizon\": 20, \"workers\": 18446744073709551615}", "'workers' is 18446744073709551615"},
          {"{\"block\": 12, \"horizon\": 20, \"operations\": [\"factor\"], \"objective\": \"solve\"}", "not among the spec's operations"},
          {"{\"family\": \"torus\"}", "of no family that can be tuned"},
          {"{\"family\": \"sparse\", \"rows\": 10, \"entries\": 9}", "at least as many 'entries'"},
          {"{\"family\": \"sparse\", \"cells\": 10}", "has no 'cells'"},
          {"\xff\xfe", "parse error"}}) {
        CAPTURE(line);
        CHECK_THROWS_WITH_AS(read_points(std::string("{\"block\": 12, \"horizon\": 20}\n\n") + line), doctest::Contains("specs.jsonl:3: "),
                             InputError);
        CHECK_THROWS_WITH_AS(read_points(line), doctest::Contains(what), InputError);
    }
}

TEST_CASE("a capture: the last line of an id counts, then Specs are merged, and the costly ones come first") {
    auto both = used("factor", 1, 2.0);
    both.update(used("solve", 0, 0.5, 3));
    const auto points = read_points(captured("a", first_point, used("factor_solve", 1, 1e-3)) +   //
                                    captured("b", second_point, both) +                           //
                                    captured("a", first_point, used("factor_solve", 10, 1e-3)) +  // of the same Solver, later
                                    captured("c", first_point, used("factor_solve", 20, 2e-3)) +  //
                                    captured("d", of_two_workers, used("factor_solve", 5, 1e-3)));
    REQUIRE(points.size() == 3);
    CHECK(points[0].spec == second_point.spec);
    CHECK(points[0].seconds == doctest::Approx(2));  // calls that a graph recorded have weight and no time
    CHECK(points[0].objective == Objective{{"factor", 0.25}, {"solve", 0.75}});
    CHECK((points[1].spec == first_point.spec && points[1].workers == 1 && points[1].seconds == doctest::Approx(0.05)));
    CHECK((points[2].workers == 2 && points[2].seconds == doctest::Approx(0.005)));
}

TEST_CASE("captures and specs in one file: damaged lines are left out and said, one that was cut off is left out") {
    const auto good = captured("a", first_point, used("factor", 2, 1e-3));
    PointFiles files;
    files.read(good + good.substr(0, 100) + "\n" + "{\"block\": 4, \"horizon\": 50, \"batch\": 8}\n" + good.substr(30) +
                   captured("b", second_point, used("inverse", 2, 1e-3)) + captured("b", second_point, used("factor", -2, 1e-3)) +
                   captured("c", second_point, used("solve", 1, 1)).substr(0, 200),
               "specs.jsonl");
    CHECK(names(files.points()) == std::vector<std::string>{"20x12 f64 factor", "50x4x8 f64"});
    REQUIRE(files.warnings().size() == 4);
    CHECK(files.warnings()[0].starts_with("specs.jsonl:2: this line is left out: "));
    CHECK(files.warnings()[1].starts_with("specs.jsonl:4: "));
    CHECK(says(files.warnings()[2], "'inverse' is no operation of its spec"));
    CHECK(says(files.warnings()[3], "'calls' is -2"));
    // Specs in such a file are still checked.
    CHECK_THROWS_WITH_AS(files.read(good + "{\"block\": 4}\n", "other.jsonl"), doctest::Contains("other.jsonl:2: "), InputError);
    auto newer = nlohmann::json::parse(good);
    newer["trifold_capture"] = 2;
    PointFiles future;
    future.read(newer.dump() + "\n", "specs.jsonl");
    CHECK((future.points().empty() && future.warnings().at(0).find("another version") != std::string::npos));
}

TEST_CASE("a capture of all three families, as programs write it, then files and options, each once") {
    const test::CaptureFile file;
    const GridSpec image{.width = 9, .height = 5};
    {
        GridSolver grid{GridPlan(image, Device::cpu())};
        std::vector<double> stencil(9 * 45), b(45, 1.0), x(45);
        for (std::size_t pixel = 0; pixel < 45; ++pixel) stencil[9 * pixel + 4] = 2;
        grid.factor(stencil);
        for (int k = 0; k < 3; ++k) grid.solve(b, x);
        SparseSolver sparse{SparsePlan({}, SparsePattern(SparseMesh{6, 5, 4}), Device::cpu())};
        std::vector<double> values(static_cast<std::size_t>(sparse.plan().pattern().values()), 0.0), c(120, 1.0), y(120);
        const auto& pattern = sparse.plan().pattern();
        for (std::int64_t row = 0; row < 120; ++row)
            for (auto k = static_cast<std::size_t>(pattern.starts()[static_cast<std::size_t>(row)]); pattern.columns()[k] <= row; ++k)
                if (pattern.columns()[k] == row) values[pattern.sources().empty() ? k : static_cast<std::size_t>(pattern.sources()[k])] = 2;
        sparse.update(values);
        sparse.solve(c, y);
        Solver blocks{Plan({.block = 1, .horizon = 2}, Device::cpu())};
        std::vector<double> d(2, 2.0), e(1, 0.5), f(2, 1.0), z(2);
        blocks.factor_solve(d, e, f, z);
    }
    const test::Folder folder;
    formats::write_file(folder.path / "specs", "{\"block\": 6, \"horizon\": 5}\n");
    std::vector<std::string> warnings;
    const auto points = of_command({file.path().string(), (folder.path / "specs").string(), "--block", "6", "--horizon", "5,2"}, &warnings);
    CHECK(warnings.empty());
    REQUIRE(points.size() == 5);
    std::set<std::string> programs;
    for (std::size_t k = 0; k < 3; ++k) programs.insert(fmt::format("{}, {}", to_string(points[k]), to_string(points[k].objective)));
    CHECK(programs == std::set<std::string>{"9x5 f64 0.25*factor+0.75*solve, 0.25*factor+0.75*solve",
                                            "120x1 f64 0.5*update+0.5*solve 6x5x4, 0.5*update+0.5*solve", "2x1 f64, factor_solve"});
    CHECK((to_string(points[3]) == "5x6 f64" && to_string(points[4]) == "2x6 f64"));
    CHECK_THROWS_AS(of_command({"/none/such"}), InputError);
}

TEST_CASE("sparse keys: a row of wisdom says a mesh or sizes, and nothing else is one") {
    using trifold::sparse::key_of, trifold::sparse::problem_of;
    const Target h200{Backend::cuda, "sm_90"};
    for (const auto& problem : {trifold::sparse::Problem{{.method = SparseMethod::gmres, .restart = 7}, {1000, 6400, {}}},
                                trifold::sparse::Problem{{.block = 3, .rhs = 2}, trifold::sparse::sizes_of(SparseMesh{7, 6, 5, 19})}}) {
        const auto key = key_of(problem, h200, 4);
        CHECK(key.workers == 1);
        CHECK((problem_of(key).spec == problem.spec && problem_of(key).sizes == problem.sizes));
        CHECK(family_of(key).spec(key) == trifold::sparse::to_json(problem));
    }
    const auto key = key_of({{}, {1000, 6400, {}}}, h200, 1);
    CHECK(key.layout == "b1,ildu0,bicgstab,rows");
    for (const auto& [field, text] : {std::pair{&ProblemKey::layout, "b1,ildu0,bicgstab"},
                                      {&ProblemKey::layout, "b1,ildu0,bicgstab,mesh"},
                                      {&ProblemKey::layout, "b01,ildu0,bicgstab,rows"},
                                      {&ProblemKey::size, "10x20x30"},
                                      {&ProblemKey::operations, "factor"}}) {
        auto other = key;
        other.*field = text;
        CHECK_THROWS_AS(problem_of(other), SpecError);
    }
}
