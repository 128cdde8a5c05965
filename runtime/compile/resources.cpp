#include "runtime/compile/resources.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
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

}  // namespace trifold
