#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <trifold/binary.hpp>
#include <vector>

#include "runtime/compile/compiler.hpp"

namespace trifold {

/// One entry a kernel of the Unit, in its order. code_bytes stays -1 where the kernel is missing.
std::vector<KernelResources> resources_of(const Unit& unit, const Compiled& compiled);

/// Resources of each kernel from the output of `--ptxas-options=-v`, which has no code_bytes.
std::vector<KernelResources> parse_ptxas(const std::string& log);

/// Resources of each kernel from the metadata of an AMD code object; empty when there are none that can be read.
std::vector<KernelResources> parse_code_object(std::string_view bytes);

/// Defined functions of a 64-bit little-endian ELF file (shared object or cubin) and the bytes of code of each. Empty when
/// `bytes` is not one, or is cut short.
std::map<std::string, std::int64_t> elf_functions(std::string_view bytes);

/// The content of the first note of this owner and type; empty when there is none.
std::string_view elf_note(std::string_view bytes, std::string_view owner, std::uint32_t type);

}  // namespace trifold
