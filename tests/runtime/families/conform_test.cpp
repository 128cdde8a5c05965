// Every family in its tables against its dense matrix, on a processor.
#include "tests/support/families/conform.hpp"

#include "runtime/grid/family.hpp"
#include "runtime/sparse/family.hpp"
#include "runtime/tridiagonal/family.hpp"
#include "tests/family/lower.hpp"
#include "tests/support/test.hpp"
#include "tests/support/thinning.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

constexpr std::uint64_t seeds = 25 / thinning;

}  // namespace

TEST_CASE("families conform to their tables: chains of blocks") { check_cases(tridiagonal_family, seeds, cpp_runner(), conform); }
TEST_CASE("families conform to their tables: images") { check_cases(grid_family, seeds, cpp_runner(), conform); }
TEST_CASE("families conform to their tables: sparse systems") { check_cases(sparse_family, seeds, cpp_runner(), conform); }
TEST_CASE("families conform to their tables: one that has nothing but its table") {
    check_cases(lower_family, seeds, cpp_runner(), conform);
}
TEST_CASE("families conform to their tables: through C") {
    for (const auto* family : families()) check_cases(*family, seeds / 5, c_runner(), conform);
}
