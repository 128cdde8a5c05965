#pragma once
#include <cstdint>
#include <set>
#include <trifold/program.hpp>
#include <vector>

#include "tests/support/emulator/runner.hpp"

namespace trifold::test {

/// Tells the detector to ignore a unit's own data.
void ignore_image(void* library, Detector& detector);
/// The launches that have ended before each one of an operation begins.
std::vector<std::set<std::uint32_t>> all_before(const std::vector<Launch>& launches);
/// An order in which the launches may run.
std::vector<std::size_t> choose_order(const std::vector<Launch>& launches, const Running& running);

}  // namespace trifold::test
