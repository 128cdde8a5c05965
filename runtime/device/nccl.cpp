#include "runtime/device/nccl.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <trifold/error.hpp>

#include "runtime/base/switches.hpp"

namespace trifold::nccl {
namespace {

// Messages in a graph, and communicators that can be aborted, are sound from here on.
constexpr int least_version = 21100;

std::string version_text(int version) {
    constexpr int major = 10000, minor = 100;
    return fmt::format("{}.{}.{}", version / major, version % major / minor, version % minor);
}

constexpr const char* plain_name(Backend backend) { return backend == Backend::hip ? "librccl.so.1" : "libnccl.so.2"; }
constexpr const char* people_call_it(Backend backend) { return backend == Backend::hip ? "RCCL" : "NCCL"; }

/// A library's handle, and how it was asked for.
struct Found {
    void* handle;
    std::string asked;
};

Found open(Backend backend, const std::string& file) {
    const auto* name = plain_name(backend);
    // Two of them in one process do not know of one another's communicators.
    if (void* loaded = ::dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return {loaded, name};
    if (::dlsym(RTLD_DEFAULT, "ncclGetVersion") != nullptr) return {::dlopen(nullptr, RTLD_NOW), "the program itself"};
    auto asked = !file.empty() ? file : switch_value("TRIFOLD_NCCL");
    if (asked.empty()) asked = name;
    if (void* opened = ::dlopen(asked.c_str(), RTLD_NOW | RTLD_LOCAL)) return {opened, asked};
    const std::string why = ::dlerror();
    throw DeviceError(
        fmt::format("ranks on GPUs need {}, and '{}' cannot be opened ({}); install it{}, name its file in TRIFOLD_NCCL, or load it before",
                    people_call_it(backend), asked, why, backend == Backend::hip ? "" : " (pip install nvidia-nccl-cu13, for one)"));
}

std::string file_of(const void* function, const std::string& asked) {
    Dl_info info{};
    return ::dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : asked;
}

Library load(Backend backend, const std::string& file) {
    const auto [handle, asked] = open(backend, file);
    Library result;
    std::string missing;
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
        if (function == nullptr && missing.empty()) missing = name;
    };
    auto& functions = result.functions;
    find(functions.version, "ncclGetVersion");
    find(functions.unique_id, "ncclGetUniqueId");
    find(functions.init_rank, "ncclCommInitRank");
    find(functions.destroy, "ncclCommDestroy");
    find(functions.abort, "ncclCommAbort");
    find(functions.async_error, "ncclCommGetAsyncError");
    find(functions.count, "ncclCommCount");
    find(functions.user_rank, "ncclCommUserRank");
    find(functions.device, "ncclCommCuDevice");
    find(functions.error_string, "ncclGetErrorString");
    find(functions.send, "ncclSend");
    find(functions.receive, "ncclRecv");
    find(functions.group_start, "ncclGroupStart");
    find(functions.group_end, "ncclGroupEnd");
    int version = 0;
    if (functions.version != nullptr) functions.version(&version);
    result.file = functions.version != nullptr ? file_of(reinterpret_cast<const void*>(functions.version), asked) : asked;
    result.version = version_text(version);
    if (!missing.empty() || version < least_version)
        throw DeviceError(
            fmt::format("the {} in {} is version {}{}; ranks on GPUs need {} or newer, so install one, and see that the process "
                        "loads no older one first",
                        people_call_it(backend), result.file, result.version, missing.empty() ? "" : " and has no " + missing,
                        version_text(least_version)));
    return result;
}

}  // namespace

const Library& library(Backend backend, const std::string& file) {
    static std::mutex mutex;
    static std::unique_ptr<const Library> known[2];
    const std::scoped_lock lock(mutex);
    auto& mine = known[backend == Backend::hip ? 1 : 0];
    if (mine == nullptr) mine = std::make_unique<const Library>(load(backend, file));
    return *mine;
}

}  // namespace trifold::nccl
