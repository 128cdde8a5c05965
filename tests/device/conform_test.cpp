// Every family in its tables on a real GPU. TRIFOLD_TEST_SEEDS says how many cases are drawn of each.
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
    const char* text = std::getenv("TRIFOLD_TEST_SEEDS");
    const auto seeds = text == nullptr ? 8 : std::stoull(text);
    for (auto runner : {cpp_runner(), c_runner()}) {
        runner.device = gpu->name();
        runner.memory = {.allocate = [&](std::int64_t bytes) { return tools.allocate(bytes); },
                         .upload = [&](void* to, const void* from, std::int64_t bytes) { tools.upload(to, from, bytes); },
                         .download = [&](void* to, const void* from, std::int64_t bytes) { tools.download(to, from, bytes); }};
        check_cases(family_named(name), seeds, runner, conform);
        check_cases(family_named(name), 2, runner, refuse);
    }
}

}  // namespace

TEST_CASE("gpu: families conform to their tables: chains of blocks") { check_family("tridiagonal"); }
TEST_CASE("gpu: families conform to their tables: images") { check_family("grid"); }
TEST_CASE("gpu: families conform to their tables: sparse systems") { check_family("sparse"); }
