#include "runtime/elf.hpp"

#include <elf.h>

#include <cstring>
#include <optional>

namespace trifold {
namespace {

/// A copy of the T at `offset`; nothing when it does not lie within the file.
template <class T>
std::optional<T> at(std::string_view bytes, std::uint64_t offset) {
    T value;
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

std::string_view name_at(std::string_view bytes, const Elf64_Shdr& strings, std::uint32_t offset) {
    if (strings.sh_offset >= bytes.size() || offset >= strings.sh_size) return {};
    auto table = bytes.substr(strings.sh_offset, strings.sh_size);
    if (offset >= table.size()) return {};
    table.remove_prefix(offset);
    return table.substr(0, table.find('\0'));
}

}  // namespace

std::map<std::string, std::int64_t> elf_functions(std::string_view bytes) {
    std::map<std::string, std::int64_t> result;
    const auto header = at<Elf64_Ehdr>(bytes, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) return result;
    const auto section = [&](std::uint64_t index) { return at<Elf64_Shdr>(bytes, header->e_shoff + index * sizeof(Elf64_Shdr)); };
    for (unsigned k = 0; k < header->e_shnum; ++k) {
        const auto symbols = section(k);
        if (!symbols || (symbols->sh_type != SHT_SYMTAB && symbols->sh_type != SHT_DYNSYM)) continue;
        const auto strings = section(symbols->sh_link);
        if (!strings) continue;
        for (std::uint64_t offset = 0; offset + sizeof(Elf64_Sym) <= symbols->sh_size; offset += sizeof(Elf64_Sym)) {
            const auto symbol = at<Elf64_Sym>(bytes, symbols->sh_offset + offset);
            if (!symbol) break;
            if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF) continue;
            const auto name = name_at(bytes, *strings, symbol->st_name);
            if (!name.empty()) result.emplace(name, static_cast<std::int64_t>(symbol->st_size));
        }
    }
    return result;
}

}  // namespace trifold
