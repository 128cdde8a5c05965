// How many threads can run at a time: affinity masks, and the quotas that the kernel shows of groups of processes.
#include "runtime/base/processors.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <cmath>
#include <thread>

#include "runtime/base/files.hpp"

using namespace trifold;
namespace fs = std::filesystem;

namespace {

const std::string version2 = "36 25 0:30 / /sys/fs/cgroup rw,nosuid,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
                  version1 =
                      "31 25 0:27 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
                      "33 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                      "34 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:15 - cgroup cgroup rw,cpu,cpuacct\n";

/// A machine as /proc and /sys show it.
struct Machine {
    PrivateDirectory root;
    Machine(const std::string& mounts, const std::string& groups) {
        write("proc/self/mountinfo", mounts);
        write("proc/self/cgroup", groups);
    }
    void write(const fs::path& name, const std::string& text) const {
        fs::create_directories((root.path() / name).parent_path());
        write_file(root.path() / name, text);
    }
    double quota() const { return quota_of_processors(root.path()); }
};

}  // namespace

TEST_CASE("quota of version 2: the least of the group and those around it") {
    const Machine machine(version2, "0::/user.slice/job.scope\n");
    CHECK(std::isinf(machine.quota()));
    machine.write("sys/fs/cgroup/user.slice/job.scope/cpu.max", "max 100000\n");
    CHECK(std::isinf(machine.quota()));
    machine.write("sys/fs/cgroup/user.slice/cpu.max", "400000 100000\n");
    CHECK(machine.quota() == 4);
    machine.write("sys/fs/cgroup/user.slice/job.scope/cpu.max", "150000 100000\n");
    CHECK(machine.quota() == 1.5);
    machine.write("sys/fs/cgroup/other.slice/cpu.max", "10000 100000\n");
    CHECK(machine.quota() == 1.5);
    machine.write("sys/fs/cgroup/user.slice/job.scope/cpu.max", "5000 10000\n");
    CHECK(machine.quota() == 0.5);
}

TEST_CASE("quota in a container, which sees its own group as the mount") {
    const Machine second(version2, "0::/\n");
    second.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
    CHECK(second.quota() == 2);
    const Machine outside(version2, "0::/../../other\n");
    outside.write("sys/fs/cgroup/cpu.max", "300000 100000\n");
    CHECK(outside.quota() == 3);
    const Machine first("34 31 0:30 /docker/1a2b /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n",
                        "4:cpu,cpuacct:/docker/1a2b/inner\n");
    first.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    first.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "800000\n");
    CHECK(first.quota() == 8);
    first.write("sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_period_us", "50000\n");
    first.write("sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us", "125000\n");
    CHECK(first.quota() == 2.5);
}

TEST_CASE("quota of version 1, and of both at once") {
    const Machine machine(version1, "5:cpuset:/\n4:cpu,cpuacct:/batch/job\n0::/elsewhere\n");
    machine.write("sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_period_us", "100000\n");
    machine.write("sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_quota_us", "-1\n");
    CHECK(std::isinf(machine.quota()));
    machine.write("sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_quota_us", "350000\n");
    CHECK(machine.quota() == 3.5);
    const Machine both(version1 + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "1:cpu:/\n0::/\n");
    both.write("sys/fs/cgroup/unified/cpu.max", "700000 100000\n");
    CHECK(both.quota() == 7);
}

TEST_CASE("what is not there or makes no sense is no quota") {
    CHECK(std::isinf(Machine("", "").quota()));
    CHECK(std::isinf(Machine("a b c\n- - -\n1 2 3 4 5 6 - cgroup2\n", "0::/\n").quota()));
    const Machine machine(version2, ":\n0:\n0::\n");
    for (const auto* text : {"", "\n", "max", "100000", "x y", "0 100000", "-5 100000", "100000 0", "100000 100000 1"}) {
        machine.write("sys/fs/cgroup/cpu.max", text);
        CAPTURE(text);
        CHECK(std::isinf(machine.quota()));
    }
    CHECK(std::isinf(quota_of_processors("/nonexistent")));
}

TEST_CASE("the affinity mask bounds the processors that may be used") {
    const int before = usable_processors();
    CHECK(before >= 1);
    cpu_set_t mask;
    REQUIRE(::sched_getaffinity(0, sizeof mask, &mask) == 0);
    CHECK(before <= CPU_COUNT(&mask));
    int within = 0;
    std::thread([&] {  // the mask of one thread
        int first = 0;
        while (!CPU_ISSET(first, &mask)) ++first;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        if (::sched_setaffinity(0, sizeof one, &one) == 0) within = usable_processors();
    })
        .join();
    CHECK(within == 1);
    CHECK(usable_processors() == before);
}
