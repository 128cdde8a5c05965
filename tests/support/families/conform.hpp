#pragma once
#include <string>
#include <vector>

#include "tests/support/families/case.hpp"
#include "tests/support/families/runner.hpp"

namespace trifold::test {

/// A problem with what is wrong; empty: it conforms.
using Faults = std::vector<std::string>;

/// Every operation against the dense matrix, and what holds for all families: nothing is written next to an array, nor into inputs; X may
/// stand in the place of B where the table says so; workers, places in a batch and earlier calls change no bit; a member that cannot be
/// factored leaves the others alone.
Faults conform(const AnyRunner& runner, const AnyCase& one);
/// Whatever the tables forbid is refused by its name, and calls go on working.
Faults refuse(const AnyRunner& runner, const AnyCase& one);
/// Whether the runner makes a solver of it.
bool accepts(const AnyRunner& runner, const AnyCase& one);

/// The number in an environment variable, which says how many cases are drawn.
std::uint64_t asked_number(const char* variable, std::uint64_t usual);
/// Checks drawn cases of a family, or the one of TRIFOLD_TEST_CASE. What fails is printed in its smallest form.
void check_cases(const Family& family, std::uint64_t seeds, const AnyRunner& runner, Faults (*judge)(const AnyRunner&, const AnyCase&),
                 std::uint64_t first = 1);

}  // namespace trifold::test
