#pragma once
#include <string>

namespace trifold {

/// Names the micro-architecture of this machine's processor: "AuthenticAMD family 25 model 1" on x86-64, by what the processor says of
/// itself; "AArch64 part 0x410fd0c0" on Linux for ARM, or "AArch64 part unknown" where that is not told; "unknown processor" elsewhere.
/// Wisdom of one says little of another.
std::string processor_name();

}  // namespace trifold
