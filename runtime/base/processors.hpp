#pragma once
#include <filesystem>

namespace trifold {

/// How many threads of this process can run at a time: the processors of its affinity mask, or fewer where its cgroup has a quota of
/// processor time, rounded down, but at least 1. Looks each time, since both can change; that takes some 100 us.
int usable_processors();

/// The processors that the quota of this process's cgroup and of those around it pays for, such as 1.5; infinite where there is none.
/// Version 2 and version 1 are read as the kernel shows them below `root`.
double quota_of_processors(const std::filesystem::path& root = "/");

}  // namespace trifold
