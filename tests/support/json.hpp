#pragma once
#include "tests/support/test.hpp"

/// Checks that JSON has these values; it may have more.
inline void check_json(const nlohmann::json& found, const nlohmann::json& expected) {
    for (const auto& [key, value] : expected.items()) CHECK_MESSAGE(found.value(key, nlohmann::json()) == value, key, ": ", found.dump());
}
