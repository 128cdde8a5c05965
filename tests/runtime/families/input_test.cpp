// Whatever the tables of families forbid is refused by its name.
#include "tests/support/families/conform.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

TEST_CASE("families refuse what their tables forbid, in C++ and through C") {
    for (const auto& runner : {cpp_runner(), c_runner()})
        for (const auto* family : families()) check_cases(*family, 4, runner, refuse);
}
