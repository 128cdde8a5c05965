#pragma once
#include <cstddef>

namespace trifold::test {

/// Cases between those that a sweep takes: 1 is all. Sanitizers make code ten times slower, and the release build takes all cases.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t thinning = 7;
#else
constexpr std::size_t thinning = 1;
#endif

}  // namespace trifold::test
