#include "runtime/compile/resources.hpp"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "runtime/compile/compiler.hpp"

namespace trifold {
namespace {

/// The number that stands before `unit`, as in "Used 40 registers"; `otherwise` when there is none.
std::int64_t number(std::string_view line, std::string_view unit, std::int64_t otherwise) {
    const auto end = line.find(unit);
    if (end == std::string_view::npos) return otherwise;
    const auto before = line.find_last_not_of("0123456789", end == 0 ? 0 : end - 1);
    const auto start = before == std::string_view::npos ? 0 : before + 1;
    std::int64_t value = otherwise;
    std::from_chars(line.data() + start, line.data() + end, value);
    return value;
}

std::vector<KernelResources> said_of(Backend backend, const Compiled& compiled) {
    if (backend == Backend::cuda) return parse_ptxas(compiled.log);
    if (backend == Backend::hip) return parse_code_object(compiled.bytes);
    return {};
}

/// The kernel that a line of ptxas starts to speak of; empty when it does not.
std::string_view entry_function(std::string_view line) {
    constexpr std::string_view words = "Compiling entry function '";
    const auto start = line.find(words);
    if (start == std::string_view::npos) return {};
    line.remove_prefix(start + words.size());
    return line.substr(0, line.find('\''));
}

/// Bytes of the text of each kernel.
std::map<std::string, std::int64_t> ptx_functions(std::string_view ptx) {
    constexpr std::string_view word = ".entry ";
    std::map<std::string, std::int64_t> result;
    for (auto start = ptx.find(word); start != std::string_view::npos;) {
        const auto next = ptx.find(word, start + word.size());
        const auto text = ptx.substr(start + word.size(), next == std::string_view::npos ? next : next - start);
        result.emplace(text.substr(0, text.find_first_of("( \n")), static_cast<std::int64_t>(text.size()));
        start = next;
    }
    return result;
}

}  // namespace

std::vector<KernelResources> parse_ptxas(const std::string& log) {
    std::vector<KernelResources> result;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
        if (const auto name = entry_function(line); !name.empty()) {
            result.push_back({std::string(name), -1, 0, 0, -1});
        } else if (!result.empty()) {
            auto& kernel = result.back();
            kernel.spill_bytes += number(line, " bytes spill stores", 0) + number(line, " bytes spill loads", 0);
            kernel.registers = number(line, " registers", kernel.registers);
            kernel.shared_bytes = number(line, " bytes smem", kernel.shared_bytes);
        }
    }
    return result;
}

std::vector<KernelResources> parse_code_object(std::string_view bytes) try {
    constexpr std::uint32_t metadata = 32;  // NT_AMDGPU_METADATA: a map in MessagePack, see LLVM's AMDGPUUsage, "Code Object V3 Metadata"
    const auto note = elf_note(bytes, "AMDGPU", metadata);
    const auto map = nlohmann::json::from_msgpack(note, true, false);
    std::vector<KernelResources> result;
    if (!map.is_object()) return result;
    for (const auto& kernel : map.value("amdhsa.kernels", nlohmann::json::array())) {
        const auto number = [&](const char* name) { return kernel.value(name, std::int64_t{-1}); };
        result.push_back({kernel.value(".name", ""), number(".vgpr_count"), number(".group_segment_fixed_size"),
                          number(".private_segment_fixed_size"), -1, number(".sgpr_count"), number(".agpr_count"),
                          number(".wavefront_size")});
    }
    return result;
} catch (const nlohmann::json::exception&) {  // not of the form it should have
    return {};
}

std::vector<KernelResources> resources_of(const Unit& unit, const Compiled& compiled) {
    const auto functions = is_ptx(unit) ? ptx_functions(compiled.bytes) : elf_functions(compiled.bytes);
    const auto said = said_of(unit.target.backend, compiled);
    std::vector<KernelResources> result;
    for (const auto& kernel : unit.kernels) {
        const auto found = std::ranges::find(said, kernel.name, &KernelResources::kernel);
        result.push_back(found != said.end() ? *found : KernelResources{kernel.name});
        if (const auto code = functions.find(kernel.name); code != functions.end()) result.back().code_bytes = code->second;
    }
    return result;
}

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
