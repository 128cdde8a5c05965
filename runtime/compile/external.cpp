#include "runtime/compile/external.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "runtime/base/files.hpp"
#include "runtime/base/switches.hpp"
#include "runtime/compile/entry.hpp"

namespace trifold {

std::string external_source(const Unit& unit) {
    const auto path = switch_value("TRIFOLD_EXTERNAL_SOURCE");
    if (path.empty()) return {};
    std::error_code missing;
    const std::filesystem::path file =
        std::filesystem::is_directory(path, missing) ? path + "/" + unit.id + source_extension(unit.target.backend) : path;
    if (file != path && !std::filesystem::exists(file, missing)) return {};
    auto text = read_file(file);
    if (!text) throw SpecError(fmt::format("TRIFOLD_EXTERNAL_SOURCE names '{}', which cannot be read", file.string()));
    const auto named = [&](const Kernel& kernel) { return text->find(kernel.name) != std::string::npos; };
    return std::ranges::all_of(unit.kernels, named) ? std::move(*text) : std::string();
}

void check_external_source(const Program& program) {
    const auto path = switch_value("TRIFOLD_EXTERNAL_SOURCE");
    if (path.empty()) return;
    const auto replaced = [](const Unit& unit) { return !external_source(unit).empty(); };
    if (std::ranges::any_of(program.units, replaced)) return;
    std::string ids;
    for (const auto& unit : program.units) ids += (ids.empty() ? "" : ", ") + unit.id;
    throw SpecError(
        fmt::format("TRIFOLD_EXTERNAL_SOURCE names '{}', which has the kernels of no unit of this Program; its units are {}. Start from "
                    "what TRIFOLD_DUMP=source writes",
                    path, ids));
}

}  // namespace trifold
