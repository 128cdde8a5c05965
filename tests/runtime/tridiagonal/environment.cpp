#include <cstdlib>

namespace {

// Compiled kernels go to a directory of the tests, so that a run neither reads nor fills the user's cache. Nor is the user's wisdom read.
const int cache_directory = ::setenv("TRIFOLD_CACHE_DIR", TEST_CACHE, 1);
const int wisdom_directory = ::setenv("XDG_DATA_HOME", "/nowhere", 1);
const int wisdom_file = ::unsetenv("TRIFOLD_WISDOM");

}  // namespace
