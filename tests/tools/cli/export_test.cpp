// The verb `export`: what it writes, and what bad input gets.
#include "tests/tools/cli/command.hpp"
#include "tools/problems/problems.hpp"

using namespace trifold;
using namespace trifold::formats;

namespace {

void refuse(const Scratch& scratch, const std::string& arguments, const std::string& message) {
    scratch.check("export " + arguments, 2, message);
}

int shell(const Scratch& scratch, const std::string& command) {
    return std::system(("cd '" + scratch.path.string() + "' && " + command).c_str());
}

void write_problem(const Scratch& scratch, std::int64_t rhs) {
    const auto system = problems::socu({.block = 3, .horizon = 4, .rhs = rhs}, 1);
    scratch.write("D.npy", format_npy({{4, 3, 3}, Precision::f64, system.d}));
    scratch.write("E.npy", format_npy({{3, 3, 3}, Precision::f64, system.e}));
    scratch.write("b.npy", format_npy({{4, 3, rhs}, Precision::f64, system.b}));
}

}  // namespace

TEST_CASE_FIXTURE(Scratch, "export: a project that builds and runs, and the command in it that makes it again") {
    const auto ran = well("export --block 12 --horizon 20 --precision f32 --target c99:cortex-m7 --prefix mpc -o out/deep --json");
    const auto files = ran.json()["files"];
    for (const auto& name : files) CHECK(has("out/deep/" + name.get<std::string>()));
    CHECK(files.size() == 10);
    CHECK(shell(*this, "make -s -C out/deep example") == 0);
    const auto header = read("out/deep/mpc_solver.h");
    const auto start = header.find("trifold export");
    REQUIRE(start != std::string::npos);
    const auto again = well(header.substr(start + 8, header.find('\n', start) - start - 8) + " -o again");
    CHECK(says(again.out, "again/mpc_solver.c"));
    for (const auto& name : files) CHECK(read("again/" + name.get<std::string>()) == read("out/deep/" + name.get<std::string>()));
    CHECK(!says(header, path.string()));
}

TEST_CASE("export: a problem baked in is the one that the example solves") {
    for (const std::string precision : {"f32", "f64"}) {
        const Scratch scratch;
        write_problem(scratch, 2);
        const auto ran = scratch.well("export --data D.npy E.npy b.npy --precision " + precision + " -o out");
        CHECK(scratch.has("out/btd_data.c"));
        CHECK(scratch.run("solve D.npy E.npy b.npy --device cpu -o x.npy").status == 0);
        const auto x = parse_npy(scratch.read("x.npy"), "x.npy");
        REQUIRE(shell(scratch, "make -s -C out run CFLAGS='-O2 -Wconversion -Werror' > printed") == 0);
        const auto printed = scratch.read("printed");
        INFO(printed);
        const auto at = printed.find("x[0] = ");
        REQUIRE(at != std::string::npos);
        CHECK(std::stod(printed.substr(at + 7)) == doctest::Approx(x.values[0]).epsilon(precision == "f32" ? 1e-4 : 1e-8));
    }
}

TEST_CASE_FIXTURE(Scratch, "export: one block, for which E is empty") {
    write("D.npy", format_npy({{1, 2, 2}, Precision::f64, {4, 1, 1, 3}}));
    write("E.npy", format_npy({{0, 2, 2}, Precision::f64, {}}));
    write("b.npy", format_npy({{1, 2}, Precision::f64, {1, 2}}));
    const auto ran = well("export --data D.npy E.npy b.npy -o out");
    CHECK(shell(*this, "make -s -C out run > printed") == 0);
    CHECK(says(read("printed"), "x[0] = 0.0909090909"));
}

TEST_CASE_FIXTURE(Scratch, "export: a matrix factored ahead, for several shifts") {
    write_problem(*this, 1);
    const auto ran = well("export --prefactored D.npy E.npy --shift 0.1,1,10 --precision f32 --prefix admm -o out");
    CHECK(shell(*this, "make -s -C out run report > printed") == 0);
    CHECK(says(read("printed"), "instructions_per_flop"));
    check("export --prefactored D.npy E.npy --shift 1,-5000 -o other", 1,
          "A + -5000 I is not positive definite: the pivot of block 0, row 0");
    CHECK(!has("other"));
    refuse(*this, "--prefactored D.npy", "--prefactored");
    refuse(*this, "--prefactored D.npy b.npy", "E must be (3, 3, 3)");
    refuse(*this, "--prefactored D.npy E.npy --shift 1,x", "--shift 1,x holds 'x' where a number belongs");
    for (const std::string gap : {"0,,1", ",1", "0,1,", ","})
        refuse(*this, "--prefactored D.npy E.npy --shift " + gap,
               "--shift " + gap + " holds '' where a number belongs; write numbers with");
    refuse(*this, "--prefactored D.npy E.npy --shift nan", "shift nan is not finite");
    refuse(*this, "--prefactored D.npy E.npy --block 4", "the matrix to factor has 36 elements of D");
    refuse(*this, "--block 3 --horizon 4 --shift 1", "--shift was given without --prefactored");
    refuse(*this, "--block 3 --horizon 4 --accept-nearly-singular", "--accept-nearly-singular was given without --prefactored");
    refuse(*this, "--prefactored D.npy E.npy --data D.npy E.npy b.npy", "give one of them");
}

TEST_CASE_FIXTURE(Scratch, "export: a matrix factored ahead that is singular to the precision is refused unless that is accepted") {
    write("D.npy", format_npy({{3, 1, 1}, Precision::f64, {0.1, 0.2, 0.1 * (1 + 1e-9)}}));
    write("E.npy", format_npy({{2, 1, 1}, Precision::f64, {-0.1, -0.1}}));
    const std::string command = "export --prefactored D.npy E.npy --precision f32 -o out";
    const auto refused = ends(1, command);
    CHECK(says(refused.err, "A + 0 I is nearly singular: the pivot of block 2, row 0 (from 0) is 1.0e-09 of the diagonal entry"));
    CHECK(!has("out"));
    CHECK(run(command + " --accept-nearly-singular").status == 0);
}

TEST_CASE_FIXTURE(Scratch, "export: bad input") {
    write_problem(*this, 1);
    refuse(*this, "", "block = 0 is out of range");
    refuse(*this, "--block 12", "horizon = 0 is out of range");
    refuse(*this, "--block 65 --horizon 2", "n = 65 is out of range for export; give 1 to 64");
    refuse(*this, "--block 12 --horizon -3", "horizon = -3");
    refuse(*this, "--block 64 --horizon 1000000", "D reaches over 4096000000 elements");
    refuse(*this, "--block 64 --horizon 40000",
           "the workspace takes 2621407264 bytes; an exported solver has at most 2147483647; give fewer");
    refuse(*this, "--block 64 --horizon 99999999999999999", "too large");
    refuse(*this, "--block 4 --horizon 4 --rhs 0", "--rhs");
    refuse(*this, "--block 1 --horizon 4 --rhs 999999999",
           "B reaches over 3999999996 elements; the indices of an exported solver are ints");
    const std::string small = "--block 12 --horizon 20 --d-leading 12 ", most = "at most 2147483647; give fewer blocks, or a smaller --";
    refuse(*this, small + "--d-stage 1500000000",
           "D reaches over 28500000144 elements; the indices of an exported solver are ints, " + most + "d");
    refuse(*this, small + "--e-stage 1500000000",
           "E reaches over 27000000144 elements; the indices of an exported solver are ints, " + most + "e");
    refuse(*this, small + "--d-stage 113025456", most + "d");
    refuse(*this, "--block 12 --horizon 20 --target c99:avx2 --e-leading 200000000 --e-stage 0", most + "e");
    refuse(*this, "--block 12 --horizon 20 --d-leading 900000000000000000 --d-stage 0", "too large");
    refuse(*this, "--block 1 --horizon 9000000000000000000 --d-stage 0 --e-stage 0", "too large");
    refuse(*this, "--block 1 --horizon 1000000000000000000 --d-stage 0 --e-stage 0", "B reaches over 1000000000000000000 elements");
    refuse(*this, "--block 4 --horizon 4 --precision f16", "--precision");
    refuse(*this, "--block 4 --horizon 4 --target cpu:x86-64-v3", "target 'cpu:x86-64-v3' cannot be exported; give c99:generic");
    refuse(*this, "--block 4 --horizon 4 --schedule recursive:2", "give sequential, partitioned:p or twisted:p");
    refuse(*this, "--block 4 --horizon 4 --target c99:cortex-m0", "give one of c99:generic, c99:cortex-m4, c99:cortex-m7");
    for (const std::string prefix : {"''", "9lives", "a-b", "_x", "a/b", "naïve", "abcdefghijklmnopqrstuvwxyzabcdefg"})
        refuse(*this, "--block 4 --horizon 4 --prefix " + prefix, "cannot begin the names");
    refuse(*this, "--data D.npy E.npy", "NumPy array");
    refuse(*this, "--data D.npy E.npy missing.npy", "missing.npy");
    refuse(*this, "--data D.npy E.npy b.npy --block 4", "--block 4 was given");
    refuse(*this, "--data D.npy E.npy b.npy --horizon 5", "the problem to bake in has 36 elements of D");
    refuse(*this, "--data D.npy E.npy b.npy --rhs 2", "the problem to bake in has 12 elements of B");
    refuse(*this, "--block 4 --horizon 4 -o D.npy", "cannot make the directory 'D.npy'");
    refuse(*this, "--block 4 --horizon 4 --batch 3", "--batch");
    CHECK(says(run("generate --block 4 --horizon 4 --target c99:generic").err, "run trifold export"));
    CHECK(names() == std::vector<std::string>{"D.npy", "E.npy", "b.npy"});
}
