#include <cstdlib>

namespace {

// Compiled kernels go to a directory of the tests, so that a run neither reads nor fills the user's cache.
const int cache_directory = ::setenv("TRIFOLD_CACHE_DIR", TEST_CACHE, 1);

}  // namespace
