#pragma once
#include <trifold/device.hpp>

#include "tests/support/test.hpp"

namespace trifold::test {

/// TRIFOLD_TEST_DEVICE=cpu tries the tests themselves where there is no GPU.
inline std::optional<Device> device() {
    const char* name = std::getenv("TRIFOLD_TEST_DEVICE");
    try {
        return Device::parse(name == nullptr ? "cuda" : name);
    } catch (const DeviceError&) {
        MESSAGE("skipped: no CUDA device");
        return std::nullopt;
    }
}

}  // namespace trifold::test
