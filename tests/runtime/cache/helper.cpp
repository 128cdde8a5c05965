// A process of its own for the cache's tests: obtains cpu_unit(NUMBER), runs it, and prints "hit" or "miss", the result and the key.
//   cache_helper obtain NUMBER      the whole path
//   cache_helper full NUMBER        no file may grow beyond 64 bytes: publishing must fail quietly
//   cache_helper nobody DIRECTORY   as user nobody (when started by root), with DIRECTORY read-only
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <trifold/error.hpp>

#include "runtime/compile/cache.hpp"
#include "tests/runtime/cache/unit.hpp"

using namespace trifold;

namespace {

int obtain_and_run(int number) {
    const auto unit = test::cpu_unit(number);
    const auto binary = obtain(unit);
    const HostModule module(binary);
    double sum = 0;
    reinterpret_cast<void (*)(double*)>(module.symbol(unit.kernels[0].name))(&sum);
    std::puts(fmt::format("{} {} {}", binary.cache_hit ? "hit" : "miss", sum, binary.key).c_str());
    return 0;
}

int publish_to_full_disk(int number) {
    const auto unit = test::cpu_unit(number);
    const Binary binary{std::string(5000, 'x'), "toy 1.0", "", {}, cache_key(unit)};
    const auto cache = Cache::from_environment();
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{64, 64};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    cache.publish(binary, unit);
    return cache.find(binary.key) || !cache.list().empty() || cache.size() != 0 ? 1 : 0;
}

int as_nobody(const char* directory) {
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0 && (::chown(directory, nobody, nobody) != 0 || ::setuid(nobody) != 0)) return 2;
    if (::chmod(directory, 0500) != 0) return 3;
    const auto status = obtain_and_run(1);
    ::chmod(directory, 0700);
    return status;
}

}  // namespace

int main(int count, char** arguments) try {
    if (count != 3) return 64;
    const std::string verb = arguments[1];
    if (verb == "obtain") return obtain_and_run(std::stoi(arguments[2]));
    if (verb == "full") return publish_to_full_disk(std::stoi(arguments[2]));
    if (verb == "nobody") return as_nobody(arguments[2]);
    return 64;
} catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
}
