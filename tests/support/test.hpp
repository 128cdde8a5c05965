#pragma once
// Headers that most tests need, precompiled for all of them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <trifold/error.hpp>
#include <tuple>
#include <utility>
#include <vector>

/// A call that has to throw a SpecError with these words.
#define CHECK_REFUSED(words, ...) CHECK_THROWS_WITH_AS((void)(__VA_ARGS__), doctest::Contains(words), trifold::SpecError)

/// Whether a text has all of these parts.
bool says(std::string_view text, const auto&... parts) { return ((text.find(parts) != text.npos) && ...); }

/// Checks that JSON has these values; it may have more.
inline void check_json(const nlohmann::json& found, const nlohmann::json& expected) {
    for (const auto& [key, value] : expected.items()) CHECK_MESSAGE(found.value(key, nlohmann::json()) == value, key, ": ", found.dump());
}

/// A file's bytes; empty where it cannot be read.
inline std::string read_text(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}
