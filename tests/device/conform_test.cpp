// Every family in its tables on a real GPU. TRIFOLD_TEST_SEEDS says how many cases are drawn of each, TRIFOLD_TEST_FIRST the first seed.
#include "tests/support/families/conform.hpp"

#include "tests/device/device.hpp"
#include "tools/bench/device_tools.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

void check_family(std::string_view name) {
    const auto gpu = device();
    if (!gpu) return;
    const DeviceTools tools(*gpu);
    const auto first = asked_number("TRIFOLD_TEST_FIRST", 1), seeds = asked_number("TRIFOLD_TEST_SEEDS", 8);
    for (auto runner : {cpp_runner(), c_runner()}) {
        runner.device = gpu->backend() == Backend::cpu ? "cpu" : fmt::format("cuda:{}", gpu->ordinal());
        runner.memory = {.allocate = [&](std::int64_t bytes) { return tools.allocate(bytes); },
                         .upload = [&](void* to, const void* from, std::int64_t bytes) { tools.upload(to, from, bytes); },
                         .download = [&](void* to, const void* from, std::int64_t bytes) { tools.download(to, from, bytes); }};
        check_cases(family_named(name), seeds, runner, conform, first);
        check_cases(family_named(name), 2, runner, refuse, first);
    }
}

}  // namespace

TEST_CASE("gpu: families conform to their tables: chains of blocks") { check_family("tridiagonal"); }
TEST_CASE("gpu: families conform to their tables: images") { check_family("grid"); }
TEST_CASE("gpu: families conform to their tables: sparse systems") { check_family("sparse"); }
