#include <elf.h>

#include <cstring>
#include <optional>

#include "runtime/compile/resources.hpp"

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

std::optional<Elf64_Ehdr> header_of(std::string_view bytes) {
    const auto header = at<Elf64_Ehdr>(bytes, 0);
    const bool is_elf = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64;
    return is_elf ? header : std::nullopt;
}

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

}  // namespace

std::string_view elf_note(std::string_view bytes, std::string_view owner, std::uint32_t type) {
    const auto header = header_of(bytes);
    for (unsigned k = 0; header && k < header->e_shnum; ++k) {
        const auto section = at<Elf64_Shdr>(bytes, header->e_shoff + k * sizeof(Elf64_Shdr));
        if (!section || section->sh_type != SHT_NOTE || section->sh_offset > bytes.size()) continue;
        auto rest = bytes.substr(section->sh_offset, section->sh_size);
        while (const auto note = at<Elf64_Nhdr>(rest, 0)) {
            const auto content = sizeof(Elf64_Nhdr) + padded(note->n_namesz), end = content + padded(note->n_descsz);
            if (end > rest.size()) break;
            const auto name = rest.substr(sizeof(Elf64_Nhdr), note->n_namesz);
            if (note->n_type == type && name.substr(0, name.find('\0')) == owner) return rest.substr(content, note->n_descsz);
            rest.remove_prefix(end);
        }
    }
    return {};
}

std::map<std::string, std::int64_t> elf_functions(std::string_view bytes) {
    std::map<std::string, std::int64_t> result;
    const auto header = header_of(bytes);
    if (!header) return result;
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
