#pragma once
#include <cstdint>
#include <string>

namespace trifold::tune {

/// The process that has claimed a point, named among all that ever ran. Its number alone would name another one later. The time when it
/// began, in the kernel's ticks since the machine was started, tells the two apart, and no wall clock has a part in it.
struct Owner {
    std::string host;      ///< for people
    std::string machine;   ///< one start of one kernel, and the space of process numbers: a container has its own
    std::int64_t pid = 0;  ///< within that space
    std::int64_t begun = 0;
    bool operator==(const Owner&) const = default;
};

/// This process.
Owner this_owner();
/// False where the process has surely ended: it is of this machine and no longer there, or of a start of this host before the last.
/// Of another host nobody can tell from here: true.
bool may_live(const Owner& owner);

}  // namespace trifold::tune
