// Plans of any family share loaded code, and compilers work in the background.
#include <sys/wait.h>
#include <unistd.h>

#include <trifold/process.hpp>

#include "runtime/base/files.hpp"
#include "tests/family/solver.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

TriangularSpec spec_of(std::int64_t n, std::int64_t batch = 1) { return {n, batch, std::vector<double>(static_cast<std::size_t>(n), 2.0)}; }

/// An empty cache on disk, and texts that no other test has: one line of each tells whose they are.
struct Fresh {
    Fresh() { ::setenv("TRIFOLD_CACHE_DIR", directory.path().c_str(), 1); }
    ~Fresh() {
        if (before.empty())
            ::unsetenv("TRIFOLD_CACHE_DIR");
        else
            ::setenv("TRIFOLD_CACHE_DIR", before.c_str(), 1);
    }
    Fresh(const Fresh&) = delete;
    Fresh& operator=(const Fresh&) = delete;

    std::shared_ptr<const Prepared> prepare(const TriangularSpec& spec, const std::string& first, const std::string& last_line = "") const {
        return trifold::prepare(Device::cpu(), triangular_words, [&] {
            auto program = generate_triangular(spec, Device::cpu().target());
            for (auto& unit : program.units) unit.source += "/* " + directory.path().string() + " */\n";
            program.units.back().source += last_line;
            return Preparation{.program = std::move(program), .members = spec.batch, .spin_microseconds = 0, .first = first};
        });
    }
    std::string before = std::getenv("TRIFOLD_CACHE_DIR") == nullptr ? "" : std::getenv("TRIFOLD_CACHE_DIR");
    PrivateDirectory directory;
};

/// y = L' (w .* (L x)) and y = 3/2 x of ones, which both are sums of few numbers.
void check_results(const TriangularSpec& spec, const std::shared_ptr<const Prepared>& prepared, bool shrinks = true) {
    const auto n = static_cast<std::size_t>(spec.block), members = static_cast<std::size_t>(spec.batch);
    const std::vector<double> l(members * n * n, 1.0), x(members * n, 1.0 / 1024);
    std::vector<double> y(x.size());
    TriangularSolver solver(spec, prepared);
    solver.apply(l.data(), x.data(), y.data(), spec.batch);
    CHECK(y.back() == 2.0 * static_cast<double>(n) / 1024);
    if (!shrinks) return;
    solver.shrink(l.data(), x.data(), y.data(), spec.batch);
    CHECK(y.back() == 1.5 / 1024);
}

/// The value of `run()` in a child of a fork, which must end within a minute.
template <class Run>
int in_child(Run run) {
    const auto child = ::fork();
    if (child == 0) {
        ::alarm(60);
        ::_exit(run());
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

std::int64_t resident_bytes() {
    std::ifstream numbers("/proc/self/statm");
    std::int64_t all = 0, resident = 0;
    numbers >> all >> resident;
    return resident * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

TEST_CASE("plans of the same texts share loaded code, and compile nothing") {
    const Fresh fresh;
    const auto before = process_report();
    auto first = fresh.prepare(spec_of(5, 1), "");
    const auto made = process_report();
    const auto units = static_cast<std::int64_t>(first->program.units.size());
    CHECK(made.compilations == before.compilations + units);
    CHECK(made.compile_seconds > before.compile_seconds);
    CHECK(made.modules == before.modules + units);
    CHECK(made.module_bytes > before.module_bytes);
    CHECK(made.plans == before.plans + 1);
    CHECK_FALSE(first->report().cache_hit);
    for (const auto& unit : first->program.units) CHECK(unit.source.empty());
    auto second = fresh.prepare(spec_of(5, 2), "");
    CHECK(second->report().cache_hit);
    CHECK(second->report().kernels == first->report().kernels);
    CHECK(second->units.function(0, 0) == first->units.function(0, 0));
    CHECK(process_report().compilations == made.compilations);
    CHECK(process_report().modules == made.modules);
    first.reset();
    check_results(spec_of(5, 2), second);
    CHECK(process_report().modules == made.modules);
    second.reset();
    CHECK(process_report().modules == before.modules);
    CHECK(process_report().plans == before.plans);
    CHECK(fresh.prepare(spec_of(5, 3), "")->report().cache_hit);
    CHECK(process_report().compilations == made.compilations);
}

TEST_CASE("a plan that finds its code loaded costs a fraction of a millisecond") {
    const Fresh fresh;
    const auto first = fresh.prepare(spec_of(6, 1), "");
    double least = 1;
    for (std::int64_t batch = 2; batch < 20; ++batch) {
        const auto plan = fresh.prepare(spec_of(6, batch), "");
        least = std::min(least, plan->generate_seconds + plan->compile_seconds + plan->load_seconds);
    }
    CHECK(least < 2e-3);
}

TEST_CASE("300 plans of one set of units take the memory of their arrays and little more") {
    const Fresh fresh;
    std::vector<std::shared_ptr<const Prepared>> plans{fresh.prepare(spec_of(7, 1), "")};
    std::vector<std::unique_ptr<TriangularSolver>> solvers;
    const auto before = process_report();
    const auto resident = resident_bytes();
    for (std::int64_t batch = 2; batch <= 301; ++batch) {
        plans.push_back(fresh.prepare(spec_of(7, batch), ""));
        solvers.push_back(std::make_unique<TriangularSolver>(spec_of(7, batch), plans.back()));
    }
    const auto after = process_report();
    CHECK(after.plans == before.plans + 300);
    CHECK(after.solvers == before.solvers + 300);
    CHECK(after.workspace_bytes > before.workspace_bytes);
    CHECK(after.modules == before.modules);
    CHECK(after.binary_bytes == before.binary_bytes);
    CHECK(resident_bytes() - resident - (after.workspace_bytes - before.workspace_bytes) < std::int64_t{20} << 20);
}

TEST_CASE("what is not wanted first is compiled beside the caller, who waits where it is needed earlier") {
    const Fresh fresh;
    const auto before = process_report().compilations;
    const auto prepared = fresh.prepare(spec_of(8), "apply");
    CHECK(prepared->is_there(0));  // apply
    check_results(spec_of(8), prepared);
    CHECK(prepared->is_there(1));  // shrink
    CHECK(process_report().compilations == before + static_cast<std::int64_t>(prepared->program.units.size()));
    CHECK(prepared->report().kernels.size() == prepared->program.units.size());
    // Now all of it is in the cache, and there from the start.
    const auto again = fresh.prepare(spec_of(8, 2), "apply");
    CHECK(again->is_there(1));
}

TEST_CASE("a plan whose code other threads compiled was not found in the cache") {
    const Fresh fresh;
    fresh.prepare(spec_of(12), "");
    const auto before = process_report().compilations;
    const auto prepared = fresh.prepare(spec_of(12), "apply", "/* a text that is compiled beside */\n");
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (process_report().compilations == before && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    CHECK_FALSE(prepared->report().cache_hit);
}

TEST_CASE("an operation whose code does not compile fails when it is called, each time in the same words, and others do not") {
    const Fresh fresh;
    const auto text_of = [](const auto& call) {
        try {
            call();
        } catch (const CompileError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const auto expected = text_of([&] { fresh.prepare(spec_of(9), "", "#error broken\n"); });
    CHECK(says(expected, "#error broken"));
    const auto prepared = fresh.prepare(spec_of(9), "apply", "#error broken\n");
    check_results(spec_of(9), prepared, false);
    TriangularSolver solver(spec_of(9), prepared);
    const std::vector<double> l(81), x(9);
    std::vector<double> y(9);
    for (int call = 0; call < 2; ++call) CHECK(text_of([&] { solver.shrink(l.data(), x.data(), y.data(), 1); }) == expected);
    CHECK(text_of([&] { solver.session().prepare(); }) == expected);
    CHECK(text_of([&] { prepared->report(); }) == expected);
    solver.apply(l.data(), x.data(), y.data(), 1);
}

TEST_CASE("where nothing may be compiled, what is missing is told at once") {
    const Fresh fresh;
    ::setenv("TRIFOLD_DISABLE", "jit", 1);
    CHECK_THROWS_AS(fresh.prepare(spec_of(10), "apply"), CacheError);
    ::unsetenv("TRIFOLD_DISABLE");
    const auto prepared = fresh.prepare(spec_of(10), "");
    ::setenv("TRIFOLD_DISABLE", "jit", 1);
    CHECK(fresh.prepare(spec_of(10, 2), "apply")->is_there(1));
    ::unsetenv("TRIFOLD_DISABLE");
}

TEST_CASE("a child of a fork compiles itself what its parent was compiling") {
    const Fresh fresh;
    const auto prepared = fresh.prepare(spec_of(11), "apply");
    CHECK(in_child([&] {
              check_results(spec_of(11), prepared);
              const auto another = fresh.prepare(spec_of(11, 2), "apply");
              check_results(spec_of(11, 2), another);
              return prepared->is_there(1) && another->is_there(0) ? 0 : 1;
          }) == 0);
    check_results(spec_of(11), prepared);
}

TEST_CASE("a process may end, and a plan may go, while its code is being compiled") {
    const Fresh fresh;
    CHECK(in_child([&] {
              fresh.prepare(spec_of(12), "apply").reset();
              std::exit(7);  // with all that is done at the end of a process
              return 0;
          }) == 7);
    fresh.prepare(spec_of(13), "apply").reset();
    check_results(spec_of(13), fresh.prepare(spec_of(13), "apply"));
}
