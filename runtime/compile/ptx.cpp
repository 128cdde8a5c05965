#include "runtime/compile/ptx.hpp"

#include <algorithm>

namespace trifold {
namespace {

constexpr std::string_view arch_option = "-arch=", machine_code = "-arch=sm_", virtual_code = "-arch=compute_";

}  // namespace

Unit as_ptx(Unit unit) {
    if (unit.target.backend != Backend::cuda || is_ptx(unit)) return unit;
    std::erase_if(unit.options, [](const std::string& option) { return option.starts_with("--ptxas-options"); });  // there is no ptxas
    for (auto& option : unit.options)
        if (option.starts_with(machine_code)) option.replace(0, machine_code.size(), virtual_code);
    unit.id += "_ptx";
    return unit;
}

Program as_ptx(Program program) {
    for (auto& unit : program.units) unit = as_ptx(std::move(unit));
    return program;
}

bool is_ptx(const Unit& unit) {
    return std::ranges::any_of(unit.options, [](const std::string& option) { return option.starts_with(virtual_code); });
}

std::string code_name(const Unit& unit) {
    const auto found = std::ranges::find_if(unit.options, [](const std::string& option) { return option.starts_with(arch_option); });
    return found == unit.options.end() ? std::string() : found->substr(arch_option.size());
}

}  // namespace trifold
