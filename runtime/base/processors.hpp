#pragma once
#include <filesystem>
#include <string>

namespace trifold {

/// How many threads of this process can run at a time: the processors of its affinity mask, or fewer where its cgroup has a quota of
/// processor time, rounded down, but at least 1. Looks each time, since both can change; that takes some 100 us.
int usable_processors();

/// The processors that the quota of this process's cgroup and of those around it pays for, such as 1.5; infinite where there is none.
/// Version 2 and version 1 are read as the kernel shows them below `root`.
double quota_of_processors(const std::filesystem::path& root = "/");

/// Names the micro-architecture of this machine's processor: "AuthenticAMD family 25 model 1" on x86-64, by what the processor says of
/// itself; "AArch64 part 0x410fd0c0" on Linux for ARM, or "AArch64 part unknown" where that is not told; "unknown processor" elsewhere.
/// Wisdom of one says little of another.
std::string processor_name();

}  // namespace trifold
