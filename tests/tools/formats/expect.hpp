#pragma once
#include "tests/support/test.hpp"
#include "tools/formats/file.hpp"

/// The text of the InputError that `action` throws, or "" when it does not throw.
template <class Action>
std::string input_error(Action&& action) {
    try {
        action();
    } catch (const trifold::formats::InputError& error) {
        return error.what();
    }
    return "";
}

#define CHECK_INPUT_ERROR(text, ...)                                    \
    do {                                                                \
        const auto message = input_error([&] { (void)(__VA_ARGS__); }); \
        INFO("message: ", message);                                     \
        CHECK(message.find(text) != std::string::npos);                 \
    } while (false)
