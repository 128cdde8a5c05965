#include "runtime/resources.hpp"

#include <algorithm>
#include <regex>
#include <sstream>

#include "runtime/elf.hpp"

namespace trifold {
namespace {

std::int64_t number(const std::string& line, const std::regex& pattern, std::int64_t otherwise) {
    std::smatch match;
    return std::regex_search(line, match, pattern) ? std::stoll(match[1]) : otherwise;
}

}  // namespace

std::vector<KernelResources> parse_ptxas(const std::string& log) {
    static const std::regex entry("Compiling entry function '([^']+)'"), stores("([0-9]+) bytes spill stores"),
        loads("([0-9]+) bytes spill loads"), registers("Used ([0-9]+) registers"), shared("([0-9]+) bytes smem");
    std::vector<KernelResources> result;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        if (std::regex_search(line, match, entry)) {
            result.push_back({match[1], -1, 0, 0, -1});
        } else if (!result.empty()) {
            auto& kernel = result.back();
            kernel.spill_bytes += number(line, stores, 0) + number(line, loads, 0);
            kernel.registers = number(line, registers, kernel.registers);
            kernel.shared_bytes = number(line, shared, kernel.shared_bytes);
        }
    }
    return result;
}

std::vector<KernelResources> resources_of(const Program& program, const Compiled& compiled) {
    const auto functions = elf_functions(compiled.bytes);
    const auto said = program.target.backend == Backend::cuda ? parse_ptxas(compiled.log) : std::vector<KernelResources>{};
    std::vector<KernelResources> result;
    for (const auto& kernel : program.kernels) {
        const auto found = std::ranges::find(said, kernel.name, &KernelResources::kernel);
        auto& resources = result.emplace_back(found == said.end() ? KernelResources{kernel.name} : *found);
        if (const auto code = functions.find(kernel.name); code != functions.end()) resources.code_bytes = code->second;
    }
    return result;
}

}  // namespace trifold
