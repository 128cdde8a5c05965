#include <sys/stat.h>
#include <sys/wait.h>
#include <trifold/trifold.h>
#include <unistd.h>

#include <csignal>
#include <trifold/trifold.hpp>

#include "generator/tridiagonal/fields.hpp"
#include "runtime/base/files.hpp"
#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/capture_file.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

const Spec small_spec{.block = 3, .horizon = 5, .batch = 2};

/// Calls factor_solve that often by one Solver.
std::vector<double> solve_often(const Plan& plan, int calls) {
    Problem<double> problem(small_spec, 1, 1);
    Solver solver(plan);
    for (int k = 0; k < calls; ++k)
        solver.factor_solve(problem.input.d.data(), problem.input.e.data(), problem.input.b.data(), problem.x.data());
    CHECK(problem.residual() < 1e-14);
    return problem.x;
}

Plan small_plan() { return Plan(small_spec, Device::cpu(), tuning("sequential")); }

/// Runs it in a child of this process, which ends without cleaning up. Its exit status, or minus the signal that ended it.
template <class Body>
int in_child(Body body) {
    const auto child = ::fork();
    if (child == 0) ::_exit(body());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("a captured Solver says what it was used for: Spec, place, operations with their calls and times") {
    const CaptureFile file;
    const Spec spec{.block = 3, .horizon = 5, .rhs = 2, .batch = 4, .d = {.leading = 4}};
    Problem<double> problem(spec, 3, 1);
    {
        Solver solver(Plan(spec, Device::cpu(), tuning("sequential", 2)));
        SweepOptions sweep;
        sweep.members = 3;
        sweep.columns = 3;  // two panels
        solver.factor(problem.input.d.data(), problem.input.e.data());
        for (int k = 0; k < 5; ++k) solver.solve(problem.input.b.data(), problem.x.data(), {}, sweep);
        CHECK_THROWS_AS(solver.solve<double>(nullptr, nullptr), SpecError);  // which is no call
    }
    const auto line = file.only();
    CHECK(line.at("trifold_capture") == 1);
    CHECK(parse_spec_json(line.at("spec")) == spec);
    check_json(
        line,
        {{"target", to_string(Device::cpu().target())}, {"device", Device::cpu().name()}, {"workers", 2}, {"schedule", "sequential"}});
    const auto& operations = line.at("operations");
    CHECK(operations.size() == 2);
    check_json(operations.at("factor"), {{"calls", 1}, {"members", 4}, {"timed", 1}});
    const auto& solve = operations.at("solve");
    CHECK(solve.at("calls") == 10);  // one of each panel
    check_json(solve, {{"members", 30}, {"recorded", 0}});
    CHECK(solve.at("timed") == 4);  // calls 1, 2, 4, 8
    CHECK(solve.at("seconds") > 0);
    CHECK(solve.at("seconds") < 1);
    for (const auto& each : file.lines()) CHECK(each.dump().size() < 4096);
}

TEST_CASE("nothing is captured without the switch, of Solvers made before it, and of Solvers that nothing calls") {
    Problem<double> problem(small_spec, 1, 1);
    const auto plan = small_plan();
    {
        Solver early(plan);
        const CaptureFile file;
        early.factor(problem.input.d.data(), problem.input.e.data());
        const Solver unused(plan);
        CHECK(!std::filesystem::exists(file.path()));
    }
    CHECK(::getenv("TRIFOLD_CAPTURE") == nullptr);
}

TEST_CASE("capture changes no bit, and moved Solvers go on") {
    const auto plan = small_plan();
    const auto plain = solve_often(plan, 3);
    const CaptureFile file;
    CHECK(solve_often(plan, 3) == plain);
    Problem<double> problem(small_spec, 1, 1);
    Solver first(plan);
    first.factor(problem.input.d.data(), problem.input.e.data());
    Solver second(std::move(first));
    second.factor(problem.input.d.data(), problem.input.e.data());
    second = Solver(plan);
    CHECK(file.last().size() == 2);
    bool is_found = false;
    for (const auto& [id, line] : file.last())
        is_found = is_found || (line.at("operations").contains("factor") && line.at("operations").at("factor").at("calls") == 2);
    CHECK(is_found);
}

TEST_CASE("several threads and several processes append to one file: whole lines, nothing lost") {
    const CaptureFile file;
    const auto plan = small_plan();
    const auto several = [&] {
        std::vector<std::thread> threads;
        for (int k = 0; k < 4; ++k)
            threads.emplace_back([&] {
                for (int solver = 0; solver < 10; ++solver) solve_often(plan, 100);
            });
        for (auto& thread : threads) thread.join();
        return 0;
    };
    std::vector<pid_t> children;
    for (int k = 0; k < 3; ++k) {
        children.push_back(::fork());
        if (children.back() == 0) ::_exit(several());
    }
    several();
    for (const auto child : children) {
        int status = -1;
        ::waitpid(child, &status, 0);
        CHECK(status == 0);
    }
    const auto all = file.last();  // throws where a line is torn
    CHECK(all.size() == 4 * 4 * 10);
    for (const auto& [id, line] : all) CHECK(line.at("operations").at("factor_solve").at("calls") == 100);
}

TEST_CASE("a killed process leaves what it had counted, at least half of it") {
    const CaptureFile file;
    const auto plan = small_plan();
    Problem<double> problem(small_spec, 1, 1);
    const auto ended = in_child([&] {
        Solver solver(plan);
        for (int k = 0; k < 100; ++k) solver.factor(problem.input.d.data(), problem.input.e.data());
        return ::raise(SIGKILL);
    });
    CHECK(ended == -SIGKILL);
    CHECK(file.only().at("operations").at("factor").at("calls") == 64);
}

TEST_CASE("a Solver that is never destroyed is written at the end of its process") {
    const CaptureFile file;
    const auto plan = small_plan();
    Problem<double> problem(small_spec, 1, 1);
    const auto ended = in_child([&] {
        auto* leaked = new Solver(plan);
        for (int k = 0; k < 100; ++k) leaked->factor(problem.input.d.data(), problem.input.e.data());
        std::exit(0);
        return 1;
    });
    CHECK(ended == 0);
    CHECK(file.only().at("operations").at("factor").at("calls") == 100);
}

TEST_CASE("a child of a fork counts from zero under an id of its own") {
    const CaptureFile file;
    Problem<double> problem(small_spec, 1, 1);
    {
        Solver solver(small_plan());
        for (int k = 0; k < 5; ++k) solver.factor(problem.input.d.data(), problem.input.e.data());
        const auto idle = in_child([&] {
            solver = Solver(small_plan());  // ends the copy, which has called nothing here
            return 0;
        });
        CHECK(idle == 0);
        CHECK(file.last().size() == 1);
        const auto busy = in_child([&] {
            for (int k = 0; k < 2; ++k) solver.factor(problem.input.d.data(), problem.input.e.data());
            return 0;
        });
        CHECK(busy == 0);
        CHECK(file.last().size() == 2);
        solver.factor(problem.input.d.data(), problem.input.e.data());
    }
    std::multiset<int> calls;
    for (const auto& [id, line] : file.last()) calls.insert(line.at("operations").at("factor").at("calls").get<int>());
    CHECK(calls == std::multiset<int>{2, 6});
}

TEST_CASE("a file that cannot be written is said once, and solves go on") {
    const CaptureFile file;
    const auto directory = file.path().parent_path();
    const auto read_only = directory / "read_only", pipe = directory / "pipe", log = directory / "log";
    write_file(read_only, "");
    std::filesystem::permissions(read_only, std::filesystem::perms::owner_read);
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const bool is_root = ::geteuid() == 0;  // who may write to everything
    for (const auto& path : {std::filesystem::path("/dev/full"), read_only, pipe, directory, directory / "none" / "file"}) {
        if (path == read_only && is_root) continue;
        CAPTURE(path.string());
        std::filesystem::remove(log);
        CaptureFile::name(path.string());
        const auto ended = in_child([&] {
            ::setenv("TRIFOLD_LOG", ("warning:" + log.string()).c_str(), 1);
            const auto plan = small_plan();
            solve_often(plan, 20);
            solve_often(plan, 20);
            return 0;
        });
        CHECK(ended == 0);
        const auto said = read_text(log);
        CHECK(says(said, "TRIFOLD_CAPTURE names '" + path.string() + "', which cannot be written: "));
        CHECK(std::count(said.begin(), said.end(), '\n') == 1);
    }
}

TEST_CASE("a relative name stays where the Solver was made") {
    const CaptureFile file;
    const auto here = std::filesystem::current_path();
    std::filesystem::current_path(file.path().parent_path());
    CaptureFile::name("specs.jsonl");
    Problem<double> problem(small_spec, 1, 1);
    {
        Solver solver(small_plan());
        std::filesystem::current_path("/");
        solver.factor(problem.input.d.data(), problem.input.e.data());
    }
    std::filesystem::current_path(here);
    CHECK(file.only().at("operations").at("factor").at("calls") == 1);
}

TEST_CASE("the C interface and Factors are captured too") {
    const CaptureFile file;
    trifold_spec spec;
    trifold_spec_init(&spec, 2, 1);
    trifold_plan* plan = nullptr;
    trifold_solver* solver = nullptr;
    REQUIRE(trifold_plan_create(&spec, "cpu", nullptr, &plan) == TRIFOLD_OK);
    REQUIRE(trifold_solver_create(plan, nullptr, 0, &solver) == TRIFOLD_OK);
    const double d[] = {4, 0, 1, 3}, b[] = {1, 2};
    double x[2] = {};
    CHECK(trifold_factor_solve_f64(solver, d, nullptr, b, x, nullptr, nullptr) == TRIFOLD_OK);
    trifold_solver_destroy(solver);
    trifold_plan_destroy(plan);
    CHECK(file.only().at("operations").at("factor_solve").at("calls") == 1);
    {
        Problem<double> problem(small_spec, 1, 1);
        Factors factors(small_plan());
        alignas(64) static char value[1 << 16];
        REQUIRE(factors.bytes() <= static_cast<std::int64_t>(sizeof value));
        factors.fresh(value)->factor(problem.input.d.data(), problem.input.e.data());
    }
    CHECK(file.last().size() == 2);
}
