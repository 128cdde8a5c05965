#include "tools/tune/compile.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <trifold/error.hpp>

#include "runtime/compile/cache.hpp"
#include "tools/tune/process.hpp"
#include "tools/tune/space.hpp"
#include "tools/tune/tridiagonal/spec.hpp"

namespace fs = std::filesystem;
using namespace trifold;
using namespace trifold::tune;

namespace {

const Target processor{Backend::cpu, "x86-64-v3"};
const Point small = tune::tridiagonal::point_of({.block = 3, .horizon = 4, .operations = {Operation::factor_solve}});
const Candidate one_chain{"sequential", "tile"};

/// A directory with a cache and a compiler of a test's own, as the environment names them.
class Place {
  public:
    explicit Place(const std::string& compiler = "") {
        fs::create_directories(path_);
        ::setenv("TRIFOLD_CACHE_DIR", (path_ / "cache").c_str(), 1);
        if (compiler.empty()) return;
        const auto script = path_ / "compiler";
        std::ofstream(script) << "#!/bin/sh\nif [ \"$1\" = --version ]; then echo a compiler of a test; exit 0; fi\n" << compiler << "\n";
        fs::permissions(script, fs::perms::owner_all);
        ::setenv("TRIFOLD_CC", script.c_str(), 1);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
        ::unsetenv("TRIFOLD_CC");
        ::unsetenv("TRIFOLD_CACHE_DIR");
        fs::remove_all(path_);
    }

  private:
    const fs::path path_ = fs::temp_directory_path() / ("trifold-compile-test-" + std::to_string(::getpid()));
};

CompilePool::Options worker(double seconds = 60) { return {{TRIFOLD_COMMAND, "tune", "compile-unit"}, 2, seconds}; }

double since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("compile: workers put a candidate's units into the cache") {
    const Place place;
    CompilePool pool(worker());
    const auto result = pool.wait(small, processor, one_chain);
    INFO(result.why);
    CHECK(result.verdict == Verdict::sound);
    for (const auto& unit : generate(tune::tridiagonal::choice_of(small, processor, one_chain.schedule, one_chain.variant)).units)
        CHECK(Cache::from_environment().find(cache_key(unit)).has_value());
}

TEST_CASE("compile: a compiler that crashes is a verdict with its last words, and the next candidate is compiled") {
    const Place place("case \"$*\" in *) echo before the end >&2; kill -SEGV $$;; esac");
    CompilePool pool(worker());
    const auto result = pool.wait(small, processor, one_chain);
    CHECK(result.verdict == Verdict::does_not_compile);
    CHECK(result.why.find("signal 11") != std::string::npos);
    ::unsetenv("TRIFOLD_CC");
    CHECK(pool.wait(small, processor, {"twisted:2", "tile"}).verdict == Verdict::sound);
}

TEST_CASE("compile: a worker that crashes itself is a verdict too") {
    const Place place;
    CompilePool pool({{"/bin/sh", "-c", "echo last words; kill -ABRT $$"}, 1, 60});
    const auto result = pool.wait(small, processor, one_chain);
    CHECK(result.verdict == Verdict::does_not_compile);
    CHECK(result.why.find("was killed by signal 6: last words") != std::string::npos);
}

TEST_CASE("compile: a compiler that hangs is ended with all that it started") {
    const Place place("sleep 1000");
    const auto begin = std::chrono::steady_clock::now();
    CompilePool pool(worker(1));
    const auto result = pool.wait(small, processor, one_chain);
    CHECK(result.verdict == Verdict::times_out);
    CHECK(since(begin) < 30);
}

TEST_CASE("compile: a refused candidate needs no worker, and a pool that is stopped leaves nobody waiting") {
    const Place place("sleep 1000");
    CompilePool pool(worker());
    CHECK(pool.wait(small, processor, {"sequential", "no-such-variant"}).verdict == Verdict::refused);
    pool.begin(small, processor, {one_chain});
    std::jthread stopping([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        pool.stop();
    });
    CHECK_THROWS_AS(pool.wait(small, processor, one_chain), CompilePool::Stopped);
}

TEST_CASE("compile: without a cache nothing begins, and the message says what to set") {
    ::setenv("TRIFOLD_CACHE_DIR", "/proc/no/such/place", 1);
    CHECK_THROWS_WITH_AS(CompilePool{worker()}, doctest::Contains("TRIFOLD_CACHE_DIR"), CacheError);
    ::unsetenv("TRIFOLD_CACHE_DIR");
}

TEST_CASE("compile: what is given to a worker is checked") {
    CHECK_THROWS_WITH(compile_unit("{}", 60), doctest::Contains("is no unit to compile"));
    CHECK_THROWS_WITH(compile_unit("nonsense", 60), doctest::Contains("is no unit to compile"));
}

TEST_CASE("process: output, status, and what cannot be started") {
    const auto good = run_limited({"/bin/sh", "-c", "echo out; echo err >&2"}, 10);
    CHECK(good.succeeded());
    CHECK(good.output.find("out") != std::string::npos);
    CHECK(good.output.find("err") != std::string::npos);
    CHECK(run_limited({"/bin/sh", "-c", "exit 3"}, 10).describe() == "exited with status 3");
    CHECK(!run_limited({"/no/such/program"}, 10).started);
    const auto begin = std::chrono::steady_clock::now();
    CHECK(run_limited({"/bin/sh", "-c", "sleep 100 & sleep 100"}, 0.2).timed_out);
    CHECK(run_limited({"/bin/sh", "-c", "exec >/dev/null 2>&1; sleep 100"}, 0.2).timed_out);
    CHECK(run_limited({"/bin/sh", "-c", "yes"}, 0.2).output.size() <= 4096);
    CHECK(since(begin) < 20);
}
