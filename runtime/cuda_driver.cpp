#ifdef TRIFOLD_HAS_CUDA
#include "runtime/cuda_driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "runtime/cuda.hpp"
#include "runtime/error.hpp"

namespace trifold::cuda {
namespace {

#define TRIFOLD_STRING(text) #text
#define TRIFOLD_EXPANDED_STRING(macro) TRIFOLD_STRING(macro)

constexpr const char* advice =
    "install the NVIDIA driver (version 525 or newer, for CUDA 12) and see that nvidia-smi lists a device, or use the CPU";

void resolve(Driver& result, void* library) {
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
        if (function == nullptr && result.problem.empty())
            result.problem = fmt::format("the driver in libcuda.so.1 is too old, it has no {}; {}", name, advice);
    };
#define TRIFOLD_RESOLVE(name) find(result.name, TRIFOLD_EXPANDED_STRING(name));
    TRIFOLD_CUDA_FUNCTIONS(TRIFOLD_RESOLVE)
#undef TRIFOLD_RESOLVE
}

std::string reason(const Driver& functions, CUresult result) {
    const char *name = nullptr, *text = nullptr;
    functions.cuGetErrorName(result, &name);
    functions.cuGetErrorString(result, &text);
    return fmt::format("{} ({})", name == nullptr ? "an unknown error" : name,
                       text == nullptr ? fmt::format("code {}", static_cast<int>(result)) : text);
}

Driver open() {
    Driver result;
    // Never closed: static destructors of others may still call into it.
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        result.problem = fmt::format("libcuda.so.1 was not found ({}); {}", ::dlerror(), advice);
        return result;
    }
    resolve(result, library);
    if (!result.problem.empty()) return result;
    if (const auto code = result.cuInit(0); code != CUDA_SUCCESS)
        result.problem = fmt::format("the driver does not start: cuInit failed with {}; {}", reason(result, code), advice);
    else
        result.cuDriverGetVersion(&result.version);
    return result;
}

DeviceInfo describe_device(int ordinal) {
    CUdevice device = 0;
    TRIFOLD_CU(cuDeviceGet, &device, ordinal);
    std::size_t memory = 0;
    TRIFOLD_CU(cuDeviceTotalMem, &memory, device);
    const auto major = device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    const auto minor = device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    return {device_name(device), 10 * major + minor, static_cast<std::int64_t>(memory)};
}

}  // namespace

const Driver& opened_driver() {
    static const Driver& instance = *new Driver(open());  // never destroyed, as the library is never closed
    return instance;
}

const Driver& driver() {
    const auto& instance = opened_driver();
    if (!instance.problem.empty()) throw DeviceError("no CUDA device: " + instance.problem);
    return instance;
}

std::string describe(CUresult result) { return reason(driver(), result); }

void check(CUresult result, const char* call) {
    if (result == CUDA_SUCCESS) return;
    const auto text = fmt::format("{} failed: {}", call, describe(result));
    if (result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_INVALID_DEVICE)
        throw DeviceError(text);
    throw LaunchError(text);
}

Context::Context(int ordinal) {
    TRIFOLD_CU(cuDeviceGet, &device_, ordinal);
    TRIFOLD_CU(cuDevicePrimaryCtxRetain, &context_, device_);
}

Context::~Context() { driver().cuDevicePrimaryCtxRelease(device_); }

int device_attribute(CUdevice device, CUdevice_attribute attribute) {
    int value = 0;
    TRIFOLD_CU(cuDeviceGetAttribute, &value, attribute, device);
    return value;
}

std::string device_name(CUdevice device) {
    std::array<char, 256> name{};
    TRIFOLD_CU(cuDeviceGetName, name.data(), static_cast<int>(name.size()), device);
    return name.data();
}

Report report() {
    Report result;
    const auto& functions = opened_driver();
    result.problem = functions.problem;
    if (!result.problem.empty()) return result;
    result.driver = fmt::format("{}.{}", functions.version / 1000, functions.version % 1000 / 10);
    try {
        int count = 0;
        TRIFOLD_CU(cuDeviceGetCount, &count);
        for (int ordinal = 0; ordinal < count; ++ordinal) result.devices.push_back(describe_device(ordinal));
        if (count == 0)
            result.problem = fmt::format("the driver (CUDA {}) lists no device; check CUDA_VISIBLE_DEVICES and nvidia-smi", result.driver);
    } catch (const Error& error) {
        result.problem = error.what();
    }
    return result;
}

}  // namespace trifold::cuda
#endif
