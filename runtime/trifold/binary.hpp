#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <trifold/program.hpp>
#include <vector>

namespace [[gnu::visibility("default")]] trifold {

/// A compiled Unit, for exactly its architecture.
struct Binary {
    std::string code;                      ///< an ELF shared object (CPU), a cubin (CUDA) or a code object (HIP)
    std::string compiler;                  ///< name and exact version of what made it
    std::string log;                       ///< messages of the compiler
    std::vector<KernelResources> kernels;  ///< in the Unit's order
    std::string key;                       ///< key of the cache: 64 hex digits
    bool cache_hit = false;
    bool prebuilt = false;       ///< from a layer of kernels, whichever compiler made them
    double compile_seconds = 0;  ///< spent by this call; 0 on a hit
};

/// The Unit's binary, from the cache if it is there, else compiled, validated and published. Safe to call from many threads and processes
/// at once. Throws CompileError; CacheError when compiling is disabled and the binary is missing; DeviceError when the compiler is not
/// installed.
Binary obtain(const Unit& unit);
/// Binaries of all units, in their order. Units that have to be compiled are, all at the same time. Throws as obtain() of a Unit does.
std::vector<Binary> obtain_all(const Program& program);

/// Adds a layer: a directory of kernels that `trifold pack` made, which is only read. Layers come before the cache, those of
/// TRIFOLD_BINARIES first. One that is there already is not added again; one that cannot be used is reported once in the log.
void add_layer(const std::filesystem::path& directory);

/// A CPU Binary in this process. Its symbols live as long as it does.
class HostModule {
  public:
    /// Throws CompileError when the binary cannot be loaded here.
    explicit HostModule(const Binary& binary);
    /// Throws CompileError when the binary has no such symbol.
    void* symbol(const std::string& name) const;

  private:
    std::shared_ptr<void> handle_;
};

}  // namespace trifold
