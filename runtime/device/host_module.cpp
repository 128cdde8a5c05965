#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <trifold/binary.hpp>
#include <trifold/error.hpp>

#include "runtime/base/files.hpp"
#include "runtime/base/limits.hpp"

namespace trifold {
namespace {

struct Loaded {
    void* handle = nullptr;
    // Kept open while loaded: the loader takes two files of one name for the same library, and the name holds the number.
    Descriptor memory;
    ~Loaded() {
        if (handle != nullptr) ::dlclose(handle);
    }
};

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto count = ::write(fd, bytes.data(), bytes.size());
        if (count <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

/// From memory, so that what was validated is what runs and no directory has to allow execution.
void load_from_memory(Loaded& loaded, const Binary& binary) {
    loaded.memory = Descriptor(::memfd_create("trifold-kernels", MFD_CLOEXEC));
    if (!loaded.memory || !write_all(loaded.memory.get(), binary.code)) return;
    loaded.handle = ::dlopen(fmt::format("/proc/self/fd/{}", loaded.memory.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// Loads from a file, for systems whose memory may not hold executable files, or where /proc is not mounted.
void load_from_file(Loaded& loaded, const Binary& binary) {
    loaded.memory = Descriptor();
    const PrivateDirectory directory;
    const auto path = directory.path() / "kernel.so";
    write_file(path, binary.code);
    loaded.handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

HostModule::HostModule(const Binary& binary) {
    auto loaded = std::make_shared<Loaded>();
    load_from_memory(*loaded, binary);
    if (loaded->handle == nullptr) load_from_file(*loaded, binary);
    if (loaded->handle == nullptr) {
        const char* reason = ::dlerror();
        const std::string said = reason == nullptr ? "unknown reason" : reason;
        check_descriptors("load the compiled kernels");
        throw CompileError(fmt::format("the kernels compiled by {} cannot be loaded: {}", binary.compiler, said), binary.log);
    }
    handle_ = std::shared_ptr<void>(loaded, loaded->handle);
}

void* HostModule::symbol(const std::string& name) const {
    void* address = ::dlsym(handle_.get(), name.c_str());
    if (address == nullptr) throw CompileError(fmt::format("the loaded kernels have no symbol '{}'", name), {});
    return address;
}

}  // namespace trifold
