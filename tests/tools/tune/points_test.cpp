#include "tools/tune/points.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <trifold/error.hpp>

#include "generator/tridiagonal/spec_json.hpp"
#include "tools/formats/file.hpp"
#include "tools/tune/tridiagonal/spec.hpp"

using namespace trifold;
using namespace trifold::tune;
using trifold::formats::InputError;
using trifold::tune::tridiagonal::spec_of;

namespace {

using Numbers = std::vector<std::int64_t>;

std::vector<Point> read_points(const std::string& text) {
    PointFiles files;
    files.read(text, "specs.jsonl");
    CHECK(files.warnings().empty());
    return files.points();
}

/// A line as a captured program writes it. `operations`: the JSON of its object.
std::string captured(const std::string& id, const Spec& spec, const std::string& operations, int workers = 1) {
    return nlohmann::json{{"trifold_capture", 1},      {"id", id},          {"spec", to_json(spec)},
                          {"target", "cpu:x86-64-v3"}, {"device", "Fake"},  {"workers", workers},
                          {"schedule", "auto"},        {"variant", "auto"}, {"operations", nlohmann::json::parse(operations)}}
               .dump() +
           "\n";
}

std::string used(const char* operation, int calls, double seconds) {
    return nlohmann::json{{operation, {{"calls", calls}, {"recorded", 0}, {"members", calls}, {"timed", 1}, {"seconds", seconds}}}}.dump();
}

/// The points of a command line.
std::vector<Point> of_command(std::vector<std::string> words, std::vector<std::string>* warnings = nullptr) {
    CLI::App app;
    PointOptions options;
    options.add_to(app);
    std::ranges::reverse(words);
    app.parse(words);
    std::vector<std::string> ignored;
    return options.points(warnings == nullptr ? ignored : *warnings);
}

double weight_of(const Point& point, std::string_view operation) {
    const auto found = std::ranges::find(point.objective, operation, &Objective::value_type::first);
    return found == point.objective.end() ? 0 : found->second;
}

class File {
  public:
    explicit File(const std::string& text) : path_(std::filesystem::temp_directory_path() / "trifold-points-XXXXXX") {
        auto name = path_.string();
        ::close(::mkstemp(name.data()));
        path_ = name;
        std::ofstream(path_) << text;
    }
    ~File() { std::filesystem::remove(path_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    std::string name() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

const Spec first_spec{.block = 12, .horizon = 20}, second_spec{.block = 4, .horizon = 50, .batch = 8};

}  // namespace

TEST_CASE("ranges: both ends, lists, mixtures, each size once") {
    CHECK(parse_range("16", "--block") == Numbers{16});
    CHECK(parse_range("4:12:4", "--block") == Numbers{4, 8, 12});
    CHECK(parse_range("4:11:4", "--block") == Numbers{4, 8});
    CHECK(parse_range("2:4", "--block") == Numbers{2, 3, 4});
    CHECK(parse_range("16,32,8", "--block") == Numbers{16, 32, 8});
    CHECK(parse_range("4:8:2,24,6,32", "--block") == Numbers{4, 6, 8, 24, 32});
    CHECK(parse_range("9223372036854775806:9223372036854775807:5", "--block") == Numbers{9223372036854775806});
    for (const auto* text :
         {"", "x", "4:", ":4", "4:8:", "4:8:2:1", "0", "-4", "4,,8", "4:8:0", "4:8:-1", "1e3", " 4", "4.5", "99999999999999999999"})
        CHECK_THROWS_WITH_AS(parse_range(text, "--block"), doctest::Contains("--block '"), SpecError);
    CHECK_THROWS_WITH_AS(parse_range("8:4", "--batch"), doctest::Contains("goes from 8 down to 4"), SpecError);
    CHECK_THROWS_WITH_AS(parse_range("1:9223372036854775807", "--batch"), doctest::Contains("more than 10000"), SpecError);
}

TEST_CASE("every combination once, the last options fastest") {
    const auto points = of_command({"--block", "4:8:4", "--horizon", "16,32", "--batch", "1,256", "--precision", "f32,f64,f32",
                                    "--operation", "factor_solve,factor+3*solve"});
    CHECK(points.size() == 2 * 2 * 2 * 2 * 2);
    CHECK(to_string(points[0]) == "16x4 f32");
    CHECK(to_string(points[1]) == "16x4 f32 factor+3*solve");
    CHECK(to_string(points[2]) == "16x4 f64");
    CHECK(to_string(points[4]) == "16x4x256 f32");
    CHECK(to_string(points[8]) == "32x4 f32");
    CHECK(to_string(points.back()) == "32x8x256 f64 factor+3*solve");
    for (const auto& point : points) CHECK((spec_of(point).operations == usual_operations() && point.seconds == 0));
    const auto inverse = of_command({"--block", "4", "--horizon", "16", "--rhs", "2", "--operation", "inverse", "--workers", "1:2"});
    CHECK(inverse.size() == 2);
    CHECK(spec_of(inverse[1]).operations == all_operations());
    CHECK(inverse[1].workers == 2);
    CHECK(spec_of(inverse[1]).rhs == 2);
}

TEST_CASE("combinations that are no problems are named, and there may be too many") {
    CHECK_THROWS_WITH_AS(of_command({"--block", "4,2000", "--horizon", "16"}), doctest::Contains("16x2000 f64 cannot be tuned: block size"),
                         SpecError);
    CHECK_THROWS_WITH_AS(of_command({"--block", "4", "--horizon", "16", "--precision", "mixed", "--operation", "inverse"}),
                         doctest::Contains("mixed"), SpecError);
    CHECK_THROWS_WITH_AS(of_command({"--block", "4", "--horizon", "16", "--precision", "f16"}), doctest::Contains("f16"), SpecError);
    CHECK_THROWS_WITH_AS(of_command({"--block", "4", "--horizon", "16", "--operation", "fly"}), doctest::Contains("fly"), SpecError);
    CHECK_THROWS_WITH_AS(of_command({"--block", "4", "--horizon", "16", "--workers", "5000"}), doctest::Contains("--workers 5000"),
                         SpecError);
    CHECK_THROWS_WITH_AS(of_command({"--block", "4"}),
                         doctest::Contains("give a file of specs or a capture, or sizes: --block and --horizon"), SpecError);
    CHECK_THROWS_WITH_AS(of_command({"--horizon", "4"}), doctest::Contains("--horizon needs the sizes of blocks; give --block"), SpecError);
    CHECK_THROWS_WITH_AS(of_command({"--block", "1:200", "--horizon", "1:200"}), doctest::Contains("make 40000 points"), SpecError);
}

TEST_CASE("a file of specs: objective and workers beside the Spec, empty lines, each once") {
    const auto points = read_points(
        "{\"block\": 12, \"horizon\": 20}\n\n  \r\n"
        "{\"block\": 4, \"horizon\": 50, \"batch\": 8, \"objective\": \"factor+3*solve\", \"workers\": 2}\n"
        "{\"horizon\": 20, \"block\": 12}\n"
        "{\"block\": 6, \"horizon\": 5, \"objective\": \"inverse\"}\n"
        "{\"block\": 6, \"horizon\": 5, \"operations\": [\"factor\"]}");  // no line feed
    REQUIRE(points.size() == 4);
    CHECK(spec_of(points[0]) == first_spec);
    CHECK(spec_of(points[1]) == second_spec);
    CHECK((points[1].workers == 2 && to_string(points[1].objective) == "factor+3*solve"));
    CHECK(spec_of(points[2]).operations == all_operations());
    CHECK(to_string(points[3].objective) == "factor");
}

TEST_CASE("what is wrong with a line of a spec, and where") {
    const auto expect = [](const std::string& line, const char* what) {
        CAPTURE(line);
        CHECK_THROWS_WITH_AS(read_points("{\"block\": 12, \"horizon\": 20}\n\n" + line), doctest::Contains("specs.jsonl:3: "), InputError);
        CHECK_THROWS_WITH_AS(read_points(line), doctest::Contains(what), InputError);
    };
    expect("{\"block\": 12", "parse error");
    expect("12", "no JSON object");
    expect("[]", "no JSON object");
    expect("{}", "block size");
    expect("{\"block\": 12}", "horizon");
    expect("{\"block\": 12, \"horizon\": 20, \"size\": 1}", "a spec has no 'size'");
    expect("{\"block\": \"12\", \"horizon\": 20}", "no whole number");
    expect("{\"block\": 12, \"horizon\": 20, \"objective\": \"fly\"}", "fly");
    expect("{\"block\": 12, \"horizon\": 20, \"objective\": 3}", "no text");
    expect("{\"block\": 12, \"horizon\": 20, \"workers\": 0}", "'workers' is 0");
    expect("{\"block\": 12, \"horizon\": 20, \"workers\": 18446744073709551615}", "'workers' is 18446744073709551615");
    expect("{\"block\": 12, \"horizon\": 20, \"operations\": [\"factor\"], \"objective\": \"solve\"}", "not among the spec's operations");
    expect("\xff\xfe", "parse error");
}

TEST_CASE("a capture: the last line of an id counts, then Specs are merged, and the costly ones come first") {
    const auto both = R"({"factor":{"calls":1,"recorded":0,"members":1,"timed":1,"seconds":2.0},
                          "solve":{"calls":3,"recorded":0,"members":3,"timed":2,"seconds":0.5}})";
    const auto points = read_points(captured("a", first_spec, used("factor_solve", 1, 1e-3)) +   //
                                    captured("b", second_spec, both) +                           //
                                    captured("a", first_spec, used("factor_solve", 10, 1e-3)) +  // of the same Solver, later
                                    captured("c", first_spec, used("factor_solve", 20, 2e-3)) +  //
                                    captured("d", first_spec, used("factor_solve", 5, 1e-3), 2));
    REQUIRE(points.size() == 3);
    CHECK(spec_of(points[0]) == second_spec);
    CHECK(points[0].seconds == doctest::Approx(3.5));
    CHECK(weight_of(points[0], "factor") == doctest::Approx(0.25));
    CHECK(weight_of(points[0], "solve") == doctest::Approx(0.75));
    CHECK((spec_of(points[1]) == first_spec && points[1].workers == 1));
    CHECK(points[1].seconds == doctest::Approx(0.05));
    CHECK(points[1].objective == Objective{{"factor_solve", 1}});
    CHECK((points[2].workers == 2 && points[2].seconds == doctest::Approx(0.005)));
}

TEST_CASE("calls recorded into graphs have weight and no time") {
    const auto points = read_points(captured("a", first_spec, R"({"factor":{"calls":0,"recorded":2,"members":2,"timed":0},
                                                                  "solve":{"calls":0,"recorded":6,"members":6,"timed":0}})"));
    REQUIRE(points.size() == 1);
    CHECK(points[0].seconds == 0);
    CHECK(weight_of(points[0], "solve") == doctest::Approx(0.75));
}

TEST_CASE("captures and specs in one file, damaged lines are left out and said, one that was cut off is left out") {
    const auto good = captured("a", first_spec, used("factor", 2, 1e-3));
    PointFiles files;
    files.read(good + good.substr(0, 100) + "\n" + "{\"block\": 4, \"horizon\": 50, \"batch\": 8}\n" + good.substr(30) +
                   captured("b", second_spec, used("inverse", 2, 1e-3)) + captured("b", second_spec, used("factor", -2, 1e-3)) +
                   captured("c", second_spec, used("solve", 1, 1)).substr(0, 200),
               "specs.jsonl");
    const auto points = files.points();
    REQUIRE(points.size() == 2);
    CHECK((spec_of(points[0]) == first_spec && points[0].seconds == doctest::Approx(2e-3)));
    CHECK((spec_of(points[1]) == second_spec && points[1].seconds == 0));
    REQUIRE(files.warnings().size() == 4);
    CHECK(files.warnings()[0].starts_with("specs.jsonl:2: this line is left out: "));
    CHECK(files.warnings()[1].starts_with("specs.jsonl:4: "));
    CHECK(files.warnings()[2].find("'inverse' is no operation of its spec") != std::string::npos);
    CHECK(files.warnings()[3].find("'calls' is -2") != std::string::npos);
    // What is asked for in such a file is still checked.
    CHECK_THROWS_WITH_AS(files.read(good + "{\"block\": 4}\n", "other.jsonl"), doctest::Contains("other.jsonl:2: "), InputError);
    auto newer = nlohmann::json::parse(good);
    newer["trifold_capture"] = 2;
    PointFiles future;
    future.read(newer.dump() + "\n", "specs.jsonl");
    CHECK(future.points().empty());
    REQUIRE(future.warnings().size() == 1);
    CHECK(future.warnings()[0].find("another version") != std::string::npos);
}

TEST_CASE("the command line: files, then ranges, each once") {
    const File capture(captured("a", first_spec, used("factor_solve", 2, 1e-3)) + "damaged\n" +
                       captured("b", second_spec, used("factor", 4, 1)));
    const File specs("{\"block\": 6, \"horizon\": 5}\n");
    std::vector<std::string> warnings;
    const auto points = of_command({capture.name(), specs.name(), "--block", "6,12", "--horizon", "5,20"}, &warnings);
    REQUIRE(points.size() == 5);
    CHECK(to_string(points[0]) == "50x4x8 f64 factor");
    CHECK(to_string(points[1]) == "20x12 f64");
    CHECK(to_string(points[2]) == "5x6 f64");
    CHECK(to_string(points[3]) == "20x6 f64");
    CHECK(to_string(points[4]) == "5x12 f64");
    CHECK(warnings.size() == 1);
    CHECK_THROWS_WITH_AS(of_command({}), doctest::Contains("nothing to tune; give a file"), SpecError);
    CHECK_THROWS_WITH_AS(of_command({"--batch", "4"}), doctest::Contains("nothing to tune; give a file"), SpecError);
    CHECK_THROWS_AS(of_command({"/none/such"}), InputError);
    const File empty("\n");
    CHECK_THROWS_WITH_AS(of_command({empty.name()}), doctest::Contains("nothing to tune in "), SpecError);
}
