// What bad input gets: a message that says what is wrong, the right exit status, nothing lost.
#include <unistd.h>

#include "tests/tools/cli/command.hpp"
#include "tools/problems/problems.hpp"

using namespace trifold;
using namespace trifold::formats;

namespace {

const std::string head = "%%MatrixMarket matrix coordinate real symmetric\n";

/// A sound system of both kinds, to be poisoned.
struct Files : Scratch {
    Files() {
        const auto system = problems::socu({3, 4}, 1);
        write("D.npy", format_npy({{4, 3, 3}, Precision::f64, system.d}));
        write("E.npy", format_npy({{3, 3, 3}, Precision::f64, system.e}));
        write("b.npy", format_npy({{4, 3}, Precision::f64, system.b}));
        write("A.mtx", format_matrix_market(to_sparse(system)));
        write("b.mtx", format_matrix_market(DenseMatrix{12, 1, system.b}));
    }
};

/// Spoils one file of a sound solve.
void check_spoiled(const std::string& name, const std::string& bytes, int status, const std::string& message) {
    const Files files;
    files.write(name, bytes);
    const bool arrays = name.ends_with(".npy");
    files.check(std::string(arrays ? "solve D.npy E.npy b.npy -o x.npy" : "solve A.mtx b.mtx -o x.mtx") + " --device cpu", status, message);
    if (status == 2) CHECK_FALSE((files.has("x.npy") || files.has("x.mtx")));
}

std::string filled(std::vector<std::int64_t> shape, double value) {
    std::int64_t count = 1;
    for (const auto extent : shape) count *= extent;
    return format_npy({std::move(shape), Precision::f64, std::vector<double>(static_cast<std::size_t>(count), value)});
}

}  // namespace

TEST_CASE_FIXTURE(Files, "bad input: the unspoiled files solve") {
    check("solve D.npy E.npy b.npy --device cpu", 0, "");
    check("solve A.mtx b.mtx --device cpu", 0, "");
}

TEST_CASE_FIXTURE(Files, "bad input: usage") {
    check_refused("", {{"", "Usage"}, {"conquer", "not expected"}, {"solve", "files"}, {"solve A.mtx", "files"}, {"cache", "subcommand"}});
    check_refused("solve A.mtx b.mtx ", {{"D.npy E.npy", "'A.mtx' is not a NumPy array; give two files"},
                                         {"D.npy E.npy b.npy F.npy", "files: At Most 5"},
                                         {"--frobnicate", "--frobnicate"},
                                         {"--block three", "--block"},
                                         {"--block 99999999999999999999", "out of range"},
                                         {"--workers 0", "--workers"},
                                         {"--workers 99999999", "--workers"},
                                         {"--tolerance -1", "--rtol"},
                                         {"--inverse one.npy", "--inverse"},
                                         {"--precision f16", "unknown precision 'f16'; give f32, f64 or mixed"}});
    for (const auto* verb : {"solve A.mtx b.mtx", "generate --block 4 --horizon 4", "explain --block 4 --horizon 4", "bench block"})
        check(fmt::format("{} --workers 1025", verb), 2, "--workers: Value 1025 not in range 1 to 1024");
}

TEST_CASE_FIXTURE(Files, "bad input: unknown options and verbs are named, with the nearest that there is") {
    for (const auto& [arguments, message] : {
             std::pair{"solve D.npy E.npy b.npy --tolerence 1e-9",
                       "trifold solve has no option '--tolerence'; did you mean --tolerance?\n"},
             {"solve --tolerence=1e-9 D.npy E.npy b.npy", "trifold solve has no option '--tolerence'; did you mean --tolerance?\n"},
             {"solve D.npy E.npy b.npy --tol 1e-9", "trifold solve has no option '--tol'; did you mean --tolerance?\n"},
             {"solve D.npy E.npy b.npy --frobnicate 1",
              "trifold solve has no option '--frobnicate'; trifold solve --help lists what it has\n"},
             {"solve --frobnicate", "trifold solve has no option '--frobnicate'; "},
             {"solve A.mtx b.mtx -p f32", "trifold solve has no option '-p'; did you mean --precision?\n"},
             {"cache prune --too 5", "trifold cache prune has no option '--too'; did you mean --to?\n"},
             {"--block 4 solve A.mtx b.mtx", "trifold has no option '--block'; "},
             {"sovle A.mtx b.mtx", "'sovle' was not expected; did you mean solve?\n"},
             {"slove --block 3 A.mtx b.mtx", "'slove' was not expected; did you mean solve?\n"},
             {"conquer", "'conquer' was not expected; give a verb of trifold: solve, problem, "},
             {"cache lst", "'lst' was not expected; did you mean list?\n"},
             {"cache --jsn list", "trifold cache list has no option '--jsn'; did you mean --json?\n"},
         }) {
        check(arguments, 2, message);
        const auto json = run(fmt::format("{} --json", arguments)).json();
        CHECK(json["message"].get<std::string>() + "\n" == run(arguments).err);
    }
}

TEST_CASE_FIXTURE(Files, "bad input: standard input and output, where they cannot serve") {
    write("nothing", "");
    check_refused("solve ", {{"- - <A.mtx", "'-' was given more than once"},
                             {"A.mtx - <&-", "standard input is closed, or a directory; pipe a file into it"},
                             {"A.mtx -", "standard input is a terminal or a device; pipe a file into it"},
                             {"A.mtx - <nothing", "standard input is empty"},
                             {"A.mtx - <D.npy", "'standard input' has shape (4, 3, 3); next to an A.mtx give (rows,)"},
                             {"A.mtx - <A.mtx", "'standard input' is symmetric; give right-hand sides as a general matrix"}});
    const std::string solve = "solve D.npy E.npy b.npy --device cpu ";
    check_refused(solve, {{"--format npy", "--format requires --output"},
                          {"-o - --format csv", "--format"},
                          {"-o x.npy --format mtx", "the name 'x.npy' says one format and --format mtx another"},
                          {"--inverse - j.npy", "standard output takes x alone"}});
    check(solve + "-o - >/dev/full", 3, "cannot write to standard output: No space left on device");
    for (const std::string broken : {"missing.npy E.npy b.npy", "D.npy E.npy b.npy --block 5", "D.npy E.npy b.npy --tolerence 1"}) {
        const auto ran = run("solve " + broken + " -o - --json --device cpu");
        CHECK((ran.status == 2 && ran.out.empty() && ran.err.find("\"exit\": 2") != std::string::npos));
    }
    CHECK_FALSE(has("-"));
}

TEST_CASE_FIXTURE(Files, "bad input: files of other kinds are named, with what to do") {
    check_spoiled("A.mtx", "\x1F\x8B\x08", 2,
                  "'A.mtx' is not a usable Matrix Market file: line 1: it is compressed by gzip; unpack it first");
    check_spoiled("D.npy", "PK\x03\x04", 2, "'D.npy' cannot be read: it is a zip archive, as .npz files are");
    write("b.npy", "\x1F\x8B\x08");
    check("solve A.mtx b.npy --grid 4x3", 2, "it is compressed by gzip");
}

TEST_CASE_FIXTURE(Files, "bad input: a number out of range is told in few digits, and usage is JSON too") {
    for (const std::string arguments :
         {"solve A.mtx b.mtx --tolerance -1", "solve A.mtx b.mtx --tolerance nan", "bench block --tolerance -1", "bench block --seconds 0",
          "cache prune --to -1", "export --block 4 --horizon 4 --rhs 0", "solve A.mtx b.mtx --ranks 0",
          "solve A.mtx b.mtx --iterative --subdomain -1"}) {
        const auto ran = ends(2, arguments + " --json");
        CHECK(says(ran.err, "is out of range; give a number "));
        CHECK(ran.err.size() < 200);
        CHECK(ran.json()["exit"] == 2);
        CHECK(says(ran.json()["message"].get<std::string>(), "is out of range"));
    }
}

TEST_CASE_FIXTURE(Files, "bad input: a wrong word of TRIFOLD_DISABLE") {
    for (const std::string arguments : {"solve A.mtx b.mtx --device cpu", "explain --block 4 --horizon 4", "cache path"}) {
        check(arguments, 2, "TRIFOLD_DISABLE='JIT' holds 'JIT', which is not known; give some of jit, cache,", "TRIFOLD_DISABLE=JIT");
        CHECK(run(arguments + " --json", "TRIFOLD_DISABLE='jit cache'").json()["exit"] == 2);
    }
    check("solve A.mtx b.mtx --device cpu", 0, "did you mean TRIFOLD_DISABLE?", "TRIFOLD_DISABEL=jit");
}

TEST_CASE_FIXTURE(Files, "bad input: wrong shapes") {
    check_spoiled("D.npy", filled({4, 3}, 1), 2, "D has shape (4, 3), E (3, 3, 3), b (4, 3): D must be (N, n, n)");
    check_spoiled("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n2\n", 2, "b has 2 rows, A has 12");
    check_refused(
        "", {{"solve E.npy D.npy b.npy",
              "D has shape (3, 3, 3), E (4, 3, 3), b (4, 3): E must be (2, 3, 3); they look swapped, give D before E"},
             {"export --block 3 --horizon 4 --prefactored E.npy D.npy -o out",
              "D has shape (3, 3, 3), E (4, 3, 3): E must be (2, 3, 3); they look swapped, give D before E"},
             {"export --block 3 --horizon 4 --prefactored D.npy D.npy -o out", "D has shape (4, 3, 3), E (4, 3, 3): E must be (3, 3, 3)\n"},
             {"export --block 3 --horizon 4 --prefactored b.npy E.npy -o out", "D has shape (4, 3), E (3, 3, 3): D must be"}});
}

TEST_CASE_FIXTURE(Files, "bad input: sizes of zero, and absurd ones") {
    check_spoiled("D.npy", filled({0, 3, 3}, 1), 2, "at least one block");
    check_spoiled("A.mtx", head + "0 0 0\n", 2, "0 by 0");
    check_refused(
        "solve A.mtx b.mtx --block ",
        {{"0", "n = 0 is out of range"}, {"-1", "n = -1 is out of range"}, {"1000000000000", "n = 1000000000000 is out of range"}});
    for (const std::string verb : {"generate -o out ", "explain "})
        check_refused(verb, {{"--horizon 4", "block = 0 is out of range; give 1 to 4096"},
                             {"--block 4097 --horizon 4", "block = 4097 is out of range"},
                             {"--block 4", "horizon = 0 is out of range"},
                             {"--block 4 --horizon -1", "horizon = -1 is out of range"},
                             {"--block 1024 --horizon 9223372036854775807", "too large for a 64-bit size"},
                             {"--block 4 --horizon 4 --batch 9223372036854775807", "too large for a 64-bit size"},
                             {"--block 4 --horizon 4 --rhs 0", "rhs = 0 is out of range"}});
    check_refused("problem socu --block ", {{"1024 --horizon 9223372036854775807", "too large"}, {"0 --horizon 4", "out of range"}});
    check("problem socu --block 1024 --horizon 1000000000000", 3, "memory");
}

TEST_CASE_FIXTURE(Files, "bad input: entries outside the band, and a matrix that is not symmetric") {
    check("solve A.mtx b.mtx --block 2", 2, "is outside the block-tridiagonal band of block size 2");
    write("A.mtx", "%%MatrixMarket matrix coordinate real general\n12 12 2\n1 1 1\n5 4 2\n");
    for (const auto* asked : {"--matrix positive-definite", "--matrix symmetric", "--precision mixed", "--ranks 2", "--border 1"})
        check(fmt::format("solve A.mtx b.mtx --block 3 --device cpu {}", asked), 2, "A is not symmetric: A(5, 4) = 2 but A(4, 5) = 0");
    auto d = problems::socu({3, 4}, 1).d;
    d[9 + 1] += 0.5;
    check_spoiled("D.npy", format_npy({{4, 3, 3}, Precision::f64, d}), 2, "D is not symmetric: member 0, block 1: D(1, 0)");
}

TEST_CASE_FIXTURE(Files, "bad input: NaN and infinity, with their place") {
    check_spoiled("A.mtx", head + "12 12 1\n3 2 nan\n", 2, "line 3: the value at (3, 2) is 'nan'; every value must be finite");
    auto [b, d] = std::pair(problems::socu({3, 4}, 1).b, problems::socu({3, 4}, 1).d);
    d[10] = std::numeric_limits<double>::quiet_NaN();
    check_spoiled("D.npy", format_npy({{4, 3, 3}, Precision::f64, d}), 2, "D(0, 1, 0, 1) is nan");
    b[4] = 1e39;
    write("b.npy", format_npy({{4, 3}, Precision::f64, b}));
    check("solve D.npy E.npy b.npy --precision f32", 2, "b(0, 1, 1, 0) is 1e+39, which is not a finite f32 number");
}

TEST_CASE_FIXTURE(Files, "bad input: truncated, empty, foreign and garbage files") {
    for (const std::string name : {"D.npy", "E.npy", "b.npy"}) {
        const auto bytes = read(name);
        check_spoiled(name, bytes.substr(0, bytes.size() - 1), 2, "bytes of data");
        check_spoiled(name, bytes.substr(0, 30), 2, "the header announces");
        check_spoiled(name, "", 2, "is empty");
        check_spoiled(name, "garbage", 2, "is not a NumPy array");
    }
    check_spoiled("A.mtx", read("A.mtx").substr(0, 300), 2, "are announced");
    check_spoiled("A.mtx", "", 2, "is empty");
    check_spoiled("A.mtx", read("D.npy"), 2, "is a NumPy array; give two files (A.mtx b.mtx, or A.mtx b.npy)");
    check_spoiled("A.mtx", read("b.mtx"), 2, "is an array (dense) file; A must be a coordinate file");
    check_spoiled("A.mtx", head + "1000000000000 1000000000000 1\n1 1 1\n", 2, "b has 12 rows, A has 1000000000000");
}

TEST_CASE_FIXTURE(Files, "bad input: files that are missing, directories, or not to be read") {
    check_refused("", {{"solve missing.mtx b.mtx", "cannot read 'missing.mtx': No such file or directory"},
                       {"solve . b.mtx", "'.' is a directory; give a file"},
                       {"solve A.mtx /dev/zero", "neither a file nor a pipe"},
                       {"explain missing.mtx b.mtx", "cannot read"}});
    if (::geteuid() == 0) return;  // the super-user may read everything
    std::filesystem::permissions(path / "A.mtx", std::filesystem::perms::none);
    check("solve A.mtx b.mtx", 2, "Permission denied");
}

TEST_CASE("bad input: outputs that cannot be written, and inputs that would be lost") {
    const Files files;
    const auto names = files.names();
    std::filesystem::create_symlink("D.npy", files.path / "link");
    files.check_refused("", {{"solve A.mtx b.mtx -o no/such/x.mtx", "there is no directory 'no/such'"},
                             {"solve A.mtx b.mtx -o .", "is a directory"},
                             {"solve A.mtx b.mtx -o A.mtx", "'A.mtx' is an input"},
                             {"solve A.mtx b.mtx -o ./b.mtx", "is an input"},
                             {"solve D.npy E.npy b.npy -o link", "'link' is an input"},
                             {"solve D.npy E.npy b.npy -o x.npy --inverse x.npy y.npy --device cpu", "is to be written twice"},
                             {"generate --block 4 --horizon 4 --target cpu:x86-64-v2 -o A.mtx", "cannot make the directory 'A.mtx'"},
                             {"explain --block 4 --horizon 4 --svg no/x.svg", "there is no directory 'no'"},
                             {"explain A.mtx b.mtx --svg A.mtx", "is an input"},
                             {"problem socu --block 3 --horizon 3 -o no", "'no' is not a directory"}});
    files.check("solve A.mtx b.mtx -o /dev/full --device cpu", 3, "cannot write '/dev/full': No space left on device");
    files.check("solve A.mtx b.mtx --device cpu >/dev/full", 3, "cannot write to standard output");
    std::filesystem::remove(files.path / "link");
    CHECK(files.names() == names);
}

TEST_CASE("bad input: files whose names the command chooses are not replaced") {
    const Files files;
    const auto old = files.read("E.npy");
    std::filesystem::remove(files.path / "D.npy");
    std::filesystem::remove(files.path / "b.npy");
    const auto names = files.names();
    files.check("problem socu --block 5 --horizon 4", 2, "'./E.npy' is there already; give --force to replace it");
    CHECK(files.names() == names);  // nor is a part of it written
    CHECK(files.read("E.npy") == old);
    std::filesystem::create_symlink("nowhere", files.path / "b.npy");
    std::filesystem::remove(files.path / "E.npy");
    files.check("problem socu --block 5 --horizon 4", 2, "'./b.npy' is there already");
    CHECK_FALSE(files.has("nowhere"));
    std::filesystem::create_directory(files.path / "E.npy");
    files.check("problem socu --block 5 --horizon 4 --force", 2, "'./E.npy' is a directory");
    CHECK_FALSE(files.has("D.npy"));
    files.check("problem socu --block 5 --horizon 4 --format mtx --force", 0, "");
    files.check("solve A.mtx b.mtx --block 5 --device cpu", 0, "");
}

TEST_CASE_FIXTURE(Files, "bad input: outputs that cannot hold what is asked for") {
    check("solve D.npy E.npy b.npy --inverse i.mtx j.npy --device cpu", 2, "'i.mtx': blocks of the inverse are written as NumPy arrays");
    write("D.npy", filled({2, 1, 1, 1}, 1));
    write("E.npy", filled({0, 1, 1}, 1));
    write("b.npy", filled({2, 1, 1}, 1));
    check("solve D.npy E.npy b.npy -o x.mtx --device cpu", 2, "holds one system, and there are 2; give a name that ends in .npy");
    CHECK_FALSE(has("x.mtx"));
}

TEST_CASE_FIXTURE(Files, "bad input: standard streams that are closed or full change no exit status, but results that are lost do") {
    for (const std::string lost : {"2>&-", "2>/dev/full", "0<&- 2>&-"}) {
        const auto missing = run("solve missing.mtx b.mtx --json " + lost);
        INFO(lost, " ", missing.status);
        CHECK(missing.status == 2);
        REQUIRE(!missing.out.empty());
        CHECK(missing.json()["message"] == "cannot read 'missing.mtx': No such file or directory");
        const auto inaccurate = ends(1, "solve D.npy E.npy b.npy -o x.npy --device cpu --tolerance 0 --json " + lost, "TRIFOLD_LOG=debug");
        REQUIRE(!inaccurate.out.empty());
        CHECK(inaccurate.json()["status"] == "inaccurate");
        CHECK(parse_npy(read("x.npy"), "x").shape == std::vector<std::int64_t>{4, 3});
        CHECK(run("conquer " + lost).status == 2);
        CHECK(run(lost).status == 2);
    }
    for (const std::string lost : {">/dev/full", ">&-"}) {
        for (const std::string arguments :
             {"--help", "solve --help", "cache path", "problem socu --block 2 --horizon 2 --force", "doctor --json"})
            check(arguments + " " + lost, 3, "cannot write to standard output: ");
        check("solve missing.mtx b.mtx --json " + lost, 2, "cannot read 'missing.mtx'");
    }
    CHECK(run("solve A.mtx b.mtx --device cpu 0<&- >&- 2>&-").status == 3);
    CHECK(run("solve missing.mtx b.mtx --json >/dev/full 2>/dev/full").status == 2);
}

TEST_CASE_FIXTURE(Files, "bad input: schedules, targets, devices and variants") {
    for (const std::string begin : {"solve A.mtx b.mtx --device cpu --schedule ", "explain --block 4 --horizon 4 --schedule "})
        for (const std::string schedule : {"fast", "twisted", "twisted:0", "twisted:x", "partitioned:-1", "recursive:", "recursive:1:2:3",
                                           "segments:1,,2", "sequential:1", "''"})
            check(begin + schedule, 2, "schedule");
    check_refused(
        "generate --block 4 --horizon 4 ",
        {{"--target cpu:z80", "z80"}, {"--target cuda:sm_1", "sm_1"}, {"--target abacus", "abacus"}, {"--variant magic", "magic"}});
    check_refused("solve A.mtx b.mtx --device cpu --variant ",
                  {{"magic", "magic"}, {"tile:magic=1", "magic"}, {"tile:halves=7", "give one of 0, 1"}});
    check("explain --block 4 --horizon 4 --variant tile:halves", 2, "write a name");
    check("solve A.mtx b.mtx --device abacus", 2, "abacus");
    check("solve A.mtx b.mtx --device hip", 3, "no HIP device: ");
}

TEST_CASE_FIXTURE(Files, "bad input: no driver, no NVRTC, no compiler") {
    const auto cuda = ends(3, "solve A.mtx b.mtx --device cuda:99 --json");
    check_json(cuda.json(), {{"status", "error"}, {"exit", 3}});
    CHECK(cuda.json()["message"].get<std::string>().size() > 10);
    check("generate --block 4 --horizon 4 --target cuda:sm_90 --binaries -o out", 3, "VRTC",
          "TRIFOLD_NVRTC=/nowhere TRIFOLD_DISABLE=cache");
    check("solve A.mtx b.mtx --device cpu", 3, "", "TRIFOLD_DISABLE=cache,clang TRIFOLD_CC=/nowhere/cc");
    check("solve A.mtx b.mtx --device cpu --workers 3", 3, "jit", "TRIFOLD_DISABLE=jit,cache");
}

TEST_CASE_FIXTURE(Files, "bad input: not positive definite, or a zero pivot, is exit status 1, with the place") {
    for (const auto* words : {"diagonal entry 0 of block 2 is -1", "a pivot is zero: member 0, block 3, row 0 (from 0)",
                              "make A quasi-definite by a little on the diagonal, or take --iterative --method gmres"})
        check_spoiled("A.mtx", head + "12 12 3\n1 1 1\n2 2 1\n3 3 -1\n", 1, words);
    check_spoiled("D.npy", filled({4, 3, 3}, 0), 1, "a pivot is zero: member 0, block 0, row 0 (from 0)");
    write("A.mtx", head + "12 12 3\n1 1 1\n2 2 1\n3 3 -1\n");
    for (const auto* words :
         {"not positive definite: member 0, block 2, row 0 (from 0)", "an indefinite A is for --iterative --method gmres"})
        check("solve A.mtx b.mtx --device cpu --matrix positive-definite", 1, words);
}

TEST_CASE_FIXTURE(Files, "bad input: a cache that cannot be used does not keep a solve from ending well") {
    check("solve A.mtx b.mtx --device cpu", 0, "", "TRIFOLD_CACHE_DIR=/proc/no/such");
    check("cache list", 3, "no cache directory", "TRIFOLD_CACHE_DIR=/proc/no/such");
}

TEST_CASE("bad input: ranks that cannot be") {
    Files().check_refused("solve D.npy E.npy b.npy --ranks ", {{"5", "give at most 4 ranks"},
                                                               {"0", "--ranks"},
                                                               {"2 --precision mixed", "precision f64"},
                                                               {"2 --condition", "leave --condition or --ranks out"},
                                                               {"2 --schedule twisted:2", "multi-stage or segments"}});
}
