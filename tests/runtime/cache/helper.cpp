// A process of its own for the cache's tests: obtains cpu_unit(NUMBER), runs it, and prints "hit" or "miss", the result and the key.
//   cache_helper obtain NUMBER      the whole path
//   cache_helper full NUMBER        no file may grow beyond 64 bytes: publishing must fail quietly
//   cache_helper stranger DIRECTORY as a user without rights (when started by root), with DIRECTORY read-only
//   cache_helper descriptors NUMBER the whole path with ever more file descriptors, until it works; prints how often it failed. Every
//                                   failure must be an Error that names the limit
//   cache_helper again NUMBER       the same, once the compiler has been opened and has compiled something else
//   cache_helper find NUMBER        looks for the entry, and publishes another, with ever more file descriptors
//   cache_helper errors NUMBER      looks for the entry while files of it cannot be opened; prints which of them hid it
//   cache_helper memory NUMBER      looks for the entry with little memory
//   cache_helper c NUMBER           as descriptors, through the C interface
//   cache_helper processes NUMBER   as a user without rights, who may start no thread and no process: prints the errors
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <trifold/trifold.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <trifold/device.hpp>
#include <trifold/error.hpp>

#include "runtime/compile/cache.hpp"
#include "runtime/device/pool.hpp"
#include "tests/runtime/cache/failing_open.hpp"
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

void allow_descriptors(int count) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = static_cast<rlim_t>(count);
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

constexpr int first_free = 3, enough = 64;

/// Calls with 0, 1, 2 ... free descriptors until it returns true, and prints the number of failures. A failure must name the limit.
template <class Attempt>
int with_ever_more_descriptors(Attempt attempt) {
    for (int count = first_free; count < enough; ++count) {
        allow_descriptors(count);
        const std::string said = attempt();
        allow_descriptors(enough);
        if (said.empty()) return std::puts(fmt::format("failures {}", count - first_free).c_str()) < 0;
        if (said.find(fmt::format("the limit is {} (ulimit -n)", count)) != std::string::npos) continue;
        std::puts(fmt::format("with {} descriptors: {}", count, said).c_str());
        return 1;
    }
    return 2;
}

int obtain_with_few_descriptors(int number) {
    return with_ever_more_descriptors([&]() -> std::string {
        try {
            const auto unit = test::cpu_unit(number);
            (void)HostModule(obtain(unit)).symbol(unit.kernels[0].name);
            return {};
        } catch (const Error& error) {  // any other ends this process
            return error.what();
        }
    });
}

int find_with_few_descriptors(int number) {
    const auto unit = test::cpu_unit(number);
    const auto cache = Cache::from_environment();
    const Binary rival{"other bytes", cache.find(cache_key(unit))->compiler, "", {}, cache_key(unit)};
    for (int count = first_free; count < first_free + 12; ++count) {
        allow_descriptors(count);
        (void)cache.find(rival.key);
        cache.publish(rival, unit);
        (void)cache.verify();
    }
    allow_descriptors(enough);
    std::puts(cache.find(rival.key) ? "found" : "lost");
    return 0;
}

int find_with_errors(int number) {
    const auto cache = Cache::from_environment();
    for (const auto* file : {"kernel.c", "kernel.so", "log.txt", "meta.json"}) {
        for (const int error : {EIO, ESTALE, EACCES, ENOMEM, EMFILE, ENFILE}) {
            test::fail_to_open(file, error);
            std::string problem;
            const bool found = cache.find(cache_key(test::cpu_unit(number)), &problem).has_value();
            (void)cache.verify();
            if (!found && error == EIO) std::puts(fmt::format("{} {}", file, problem.substr(problem.find(file))).c_str());
        }
    }
    test::fail_to_open("", 0);
    std::puts(cache.find(cache_key(test::cpu_unit(number))) ? "found" : "lost");
    return 0;
}

int find_with_little_memory(int number) {
    const auto cache = Cache::from_environment();
    const rlimit limit{rlim_t{256} << 20, RLIM_INFINITY};
    ::setrlimit(RLIMIT_AS, &limit);
    std::string problem;
    std::puts(cache.find(cache_key(test::cpu_unit(number)), &problem) ? "found" : problem.c_str());
    return 0;
}

int plan_in_c_with_few_descriptors() {
    return with_ever_more_descriptors([]() -> std::string {
        trifold_spec spec;
        trifold_spec_init(&spec, 2, 3);
        trifold_plan* plan = nullptr;
        const auto code = trifold_plan_create(&spec, "cpu", nullptr, &plan);
        trifold_plan_destroy(plan);
        return code == TRIFOLD_OK ? "" : code == TRIFOLD_INTERNAL_ERROR ? "internal error" : trifold_last_error();
    });
}

int without_processes(int number) {
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0 && ::setuid(nobody) != 0) return 2;
    const rlimit limit{1, 1};
    ::setrlimit(RLIMIT_NPROC, &limit);
    try {
        (void)obtain(test::cpu_unit(number));
    } catch (const DeviceError& error) {
        std::puts(error.what());
    }
    try {
        const Pool pool(3, 3);
    } catch (const DeviceError& error) {
        std::puts(error.what());
    }
    return 0;
}

}  // namespace

int main(int count, char** arguments) try {
    if (count != 3) return 64;
    const std::string verb = arguments[1];
    if (verb == "obtain") return obtain_and_run(std::stoi(arguments[2]));
    if (verb == "full") return publish_to_full_disk(std::stoi(arguments[2]));
    if (verb == "stranger") return as_nobody(arguments[2]);
    if (verb == "descriptors") return obtain_with_few_descriptors(std::stoi(arguments[2]));
    if (verb == "again") return obtain_and_run(std::stoi(arguments[2]) + 1) + obtain_with_few_descriptors(std::stoi(arguments[2]));
    if (verb == "find") return find_with_few_descriptors(std::stoi(arguments[2]));
    if (verb == "errors") return find_with_errors(std::stoi(arguments[2]));
    if (verb == "memory") return find_with_little_memory(std::stoi(arguments[2]));
    if (verb == "c") return plan_in_c_with_few_descriptors();
    if (verb == "processes") return without_processes(std::stoi(arguments[2]));
    return 64;
} catch (const Error& error) {
    std::puts(error.what());
    return 1;
} catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
}
