#pragma once
#include <memory>
#include <string>
#include <trifold/program.hpp>
#include <vector>

#include "runtime/compile/environment.hpp"

namespace trifold {

/// The result of a compilation.
struct Compiled {
    std::string bytes;  ///< an ELF shared object (CPU), a cubin or PTX (CUDA) or a code object (HIP)
    std::string log;
    std::string ptx;  ///< NVRTC only
};

/// Turns one unit of C, CUDA C++ or HIP into machine code. Safe to use from many threads.
class Compiler {
  public:
    virtual ~Compiler() = default;
    /// Name and exact version, such as "clang 19.1.7". Cheap.
    virtual const std::string& identity() const = 0;
    /// Whether it can really compile here: loads what identity() did not need.
    virtual bool usable() const { return true; }
    /// Whether it knows the architecture.
    virtual bool compiles(const Target&) const { return true; }
    /// `options` are the Unit's. Throws CompileError (the reason, and the log), or DeviceError when it is not usable.
    virtual Compiled compile(const std::string& source, const std::vector<std::string>& options) const = 0;
};

/// The compiler for a kernel that is in no cache: for a CPU, TRIFOLD_CC, else Clang in process, else the system's C compiler; for CUDA,
/// NVRTC; for HIP, hiprtc where it knows the architecture, else Clang in process. Throws DeviceError saying what to install when there is
/// none.
std::shared_ptr<const Compiler> find_compiler(const Target& target);
/// The compiler that find_compiler would most likely return, without loading anything large; null when there is none.
std::shared_ptr<const Compiler> expect_compiler(const Target& target);

/// One each; null when it is not there, and then `report` says what to do.
std::shared_ptr<const Compiler> find_clang(ToolReport& report);
std::shared_ptr<const Compiler> find_cc(ToolReport& report);
std::shared_ptr<const Compiler> find_nvrtc(ToolReport& report);
std::shared_ptr<const Compiler> find_hiprtc(ToolReport& report);

/// The unit with options that make PTX of it, the assembly that drivers of newer GPUs compile on. Any other unit than one for CUDA stays.
Unit as_ptx(Unit unit);
Program as_ptx(Program program);
bool is_ptx(const Unit& unit);

/// The architecture that a CUDA unit's options name: "sm_90", or "compute_90" where it becomes PTX.
std::string code_name(const Unit& unit);

}  // namespace trifold
