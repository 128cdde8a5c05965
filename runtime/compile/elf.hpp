#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace trifold {

/// Defined functions of a 64-bit little-endian ELF file (shared object or cubin) and the bytes of code of each. Empty when
/// `bytes` is not one, or is cut short.
std::map<std::string, std::int64_t> elf_functions(std::string_view bytes);

/// The content of the first note of this owner and type; empty when there is none.
std::string_view elf_note(std::string_view bytes, std::string_view owner, std::uint32_t type);

}  // namespace trifold
