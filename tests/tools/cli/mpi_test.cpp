#include "tests/tools/cli/command.hpp"
#include "tools/formats/npy.hpp"
#include "tools/formats/residual.hpp"
#include "tools/problems/problems.hpp"

using namespace trifold;
using namespace trifold::formats;

namespace {

/// Open MPI refuses to start more processes than there are processors, or as root, unless it is told to.
Ran run_processes(const Scratch& scratch, int processes, const std::string& arguments) {
    return run_shell(scratch.path,
                     fmt::format("env TRIFOLD_CACHE_DIR='{}' XDG_DATA_HOME=/nowhere OMPI_ALLOW_RUN_AS_ROOT=1 "
                                 "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 "
                                 "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe timeout 60 '{}' {} {} '{}' {}",
                                 TEST_CACHE, MPI_START, MPI_NUMBER, processes, TRIFOLD_COMMAND, arguments));
}

void write_arrays(const Scratch& scratch, const System& system, Precision precision) {
    const auto n = system.block, horizon = system.horizon;
    scratch.write("D.npy", format_npy({{horizon, n, n}, precision, system.d}));
    scratch.write("E.npy", format_npy({{horizon - 1, n, n}, precision, system.e}));
    scratch.write("b.npy", format_npy({{horizon, n, system.rhs}, precision, system.b}));
}

}  // namespace

TEST_CASE("solve: processes of MPI each read and write their part of the files") {
    for (const auto precision : {Precision::f64, Precision::f32})
        for (const int processes : {2, 3, 4}) {
            CAPTURE(processes);
            const Scratch scratch;
            const auto system = problems::socu({5, 13}, 3);
            write_arrays(scratch, system, precision);
            const auto ran = run_processes(scratch, processes, "solve D.npy E.npy b.npy -o x.npy");
            INFO(ran.err);
            REQUIRE(ran.status == 0);
            CHECK(says(ran.out, fmt::format("{} ranks", processes)));
            const auto x = parse_npy(scratch.read("x.npy"), "x.npy");
            CHECK(x.shape == std::vector{system.horizon, system.block, system.rhs});
            CHECK(x.precision == precision);
            CHECK(relative_residuals(system, x.values).front() < (precision == Precision::f64 ? 1e-14 : 1e-5));
        }
}

TEST_CASE_FIXTURE(Scratch, "solve --iterative: processes of MPI share the iteration, with the bits of one process") {
    const auto a = to_sparse(problems::make_grid("grid-convection", 20, 15, 1, 1, 1));
    DenseMatrix b{a.rows, 1, {}};
    for (std::int64_t k = 0; k < a.rows; ++k) b.values.push_back(static_cast<double>(k * 37 % 101) / 50 - 1);
    write("A.mtx", format_matrix_market(a));
    write("b.mtx", format_matrix_market(b));
    const std::string arguments = "solve A.mtx b.mtx --iterative --partition greedy --subdomain 40 -o x.npy --device cpu ";
    const auto alone = run_processes(*this, 2, arguments + "--ranks 1");
    INFO(alone.err);
    REQUIRE(alone.status == 0);
    const auto x = read("x.npy");
    for (const int processes : {2, 3}) {
        CAPTURE(processes);
        write("x.npy", "");
        const auto ran = run_processes(*this, processes, arguments + "--json");
        INFO(ran.err);
        REQUIRE(ran.status == 0);
        check_json(ran.json(), {{"ranks", processes}, {"status", "ok"}});
        CHECK(read("x.npy") == x);
    }
    const auto refused = [&](const char* more, const char* words) {
        const auto ran = run_processes(*this, 2, arguments + more);
        CHECK(ran.status != 0);
        INFO(ran.err);
        CHECK(says(ran.err, words));
    };
    refused("--method gmres", "bicgstab and cg");
    refused("--block 7", "no multiple of blocks of 7");
    refused("--schedule sequential", "--schedule");
    CHECK(says(run_processes(*this, 2, "solve - b.mtx --iterative").err, "give their names"));
    CHECK(says(run_processes(*this, 2, arguments + "--iterations 2").err, "limit"));
}

TEST_CASE_FIXTURE(Scratch, "solve: processes of MPI name the row, the file or the number of ranks that is wrong") {
    auto system = problems::socu({4, 9}, 1);
    system.d[6 * 16 + 5] = -1;
    write_arrays(*this, system, Precision::f64);
    const auto failed = run_processes(*this, 3, "solve D.npy E.npy b.npy");
    CHECK(failed.status != 0);
    CHECK(says(failed.err, "not positive definite: block 6, row 1"));
    CHECK(says(run_processes(*this, 3, "solve D.npy D.npy b.npy").err, "so it should be (8, 4, 4)"));
    CHECK(says(run_processes(*this, 2, "solve D.npy E.npy none.npy").err, "'none.npy' cannot be opened"));
    CHECK(says(run_processes(*this, 10, "solve D.npy E.npy b.npy").err, "give at most 9 ranks"));
    // Each process is for itself.
    const auto alone = run_processes(*this, 2, "solve D.npy E.npy b.npy --ranks 1 --matrix positive-definite");
    CHECK(says(alone.err, "member 0, block 6, row 1"));
}

TEST_CASE_FIXTURE(Scratch, "bench: processes of MPI share a chain, and the first one prints") {
    for (const auto* what : {"block --size 12x4", "sparse --size 8x7x6 --partition 4x7x6 --quick"}) {
        CAPTURE(what);
        const auto ran = run_processes(*this, 2, fmt::format("bench {} --precision f64 --seconds 0.002 --json", what));
        INFO(ran.err);
        REQUIRE(ran.status == 0);
        const auto all = ran.json();
        CHECK(all["failures"].empty());
        REQUIRE(all["results"].size() == 3);
        for (const auto& result : all["results"]) {
            CHECK(result["solver"] == "trifold, 2 ranks");
            CHECK(result["relative_residual"].get<double>() < 1e-8);
        }
    }
}
