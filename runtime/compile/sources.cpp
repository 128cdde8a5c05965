#include "runtime/compile/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <trifold/error.hpp>

#include "generator/program/templates.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/process.hpp"
#include "runtime/base/switches.hpp"
#include "runtime/compile/cache.hpp"
#include "runtime/compile/entry.hpp"

namespace trifold {
namespace fs = std::filesystem;
namespace {

fs::path dump_directory() {
    if (const auto named = switch_value("TRIFOLD_DUMP_DIR"); !named.empty()) return named;
    const auto cache = Cache::from_environment();
    return cache.path().empty() ? fs::path("trifold-dump") : cache.path() / "dump";
}

fs::path write_dump(const std::string& name, std::string_view text) {
    const auto directory = dump_directory();
    fs::create_directories(directory);
    write_file(directory / name, text);
    return directory / name;
}

std::string disassemble(const Unit& unit, const std::string& code) {
    const PrivateDirectory directory;
    const auto file = directory.path() / "kernel";
    write_file(file, code);
    using Commands = std::vector<std::vector<std::string>>;
    const std::map<Backend, Commands> commands{{Backend::cpu, {{"objdump", "-d", "--no-show-raw-insn"}, {"llvm-objdump-19", "-d"}}},
                                               {Backend::cuda, {{"nvdisasm", "-c"}, {"cuobjdump", "-sass"}}},
                                               {Backend::hip, {{"llvm-objdump-19", "-d"}, {"/opt/rocm/llvm/bin/llvm-objdump", "-d"}}}};
    std::string tried;
    for (auto command : commands.at(unit.target.backend)) {
        tried += (tried.empty() ? "" : " or ") + command.front();
        command.front() = find_executable(command.front());
        command.push_back(file);
        if (command.front().empty()) continue;
        if (auto outcome = run_process(command); outcome.started && outcome.status == 0) return outcome.output;
    }
    log_once(LogLevel::warning, fmt::format("TRIFOLD_DUMP=sass needs {} in PATH", tried));
    return {};
}

/// The line of the unit that a line of the log names first, from 1; 0: none. All compilers are given the unit as kernel.c, .cu or .hip, and
/// write kernel.c:12:3 or kernel.cu(12).
std::size_t named_line(std::string_view text) {
    constexpr std::string_view file = "kernel.";
    for (auto at = text.find(file); at != text.npos; at = text.find(file, at + 1)) {
        const auto end = text.find_first_of(":(", at);
        if (end == text.npos) return 0;
        const auto suffix = text.substr(at + file.size(), end - at - file.size());
        std::size_t line = 0;
        const auto digits = text.substr(end + 1);
        const bool is_unit = suffix == "c" || suffix == "cu" || suffix == "hip";
        if (is_unit && std::from_chars(digits.data(), digits.data() + digits.size(), line).ec == std::errc()) return line;
    }
    return 0;
}

}  // namespace

void dump_text(std::string_view what, const Unit& unit, std::string_view extension, std::string_view text) noexcept try {
    if (!dumped(what) || text.empty()) return;
    const auto path = write_dump(unit.id + std::string(extension), text);
    log_once(LogLevel::warning, fmt::format("TRIFOLD_DUMP writes to {}", path.parent_path().string()));
} catch (const std::exception& error) {
    log_once(LogLevel::warning, fmt::format("TRIFOLD_DUMP: {}", error.what()));
}

void dump(const Unit& unit, const Binary& binary) noexcept try {
    dump_text("source", unit, source_extension(unit.target.backend), unit.source);
    dump_text("log", unit, ".log", binary.log.empty() ? "(the compiler said nothing)\n" : binary.log);
    dump_text("keys", unit, ".key",
              fmt::format("{} {} {} {}\n", binary.key, to_string(unit.target), binary.compiler, binary.cache_hit ? "hit" : "miss"));
    if (dumped("sass")) dump_text("sass", unit, ".sass", disassemble(unit, binary.code));
} catch (const std::exception& error) {
    log_once(LogLevel::warning, fmt::format("TRIFOLD_DUMP: {}", error.what()));
}

std::string keep_failed_source(const Unit& unit) try {
    const auto name = unit.id + source_extension(unit.target.backend);
    if (!switch_value("TRIFOLD_DUMP_DIR").empty() || !Cache::from_environment().path().empty())
        return write_dump(name, unit.source).string();
    PrivateDirectory directory;
    const auto path = directory.path() / name;
    write_file(path, unit.source);
    directory.keep();
    return path.string();
} catch (const std::exception& error) {
    return fmt::format("could not be kept ({})", error.what());
}

std::string external_source(const Unit& unit) {
    const auto path = switch_value("TRIFOLD_EXTERNAL_SOURCE");
    if (path.empty()) return {};
    std::error_code missing;
    const fs::path file = fs::is_directory(path, missing) ? path + "/" + unit.id + source_extension(unit.target.backend) : path;
    if (file != path && !fs::exists(file, missing)) return {};
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

std::string with_template_lines(std::string_view log, std::string_view unit) {
    const auto places = places_of(unit);
    std::string result;
    while (!log.empty()) {
        const auto end = log.find('\n');
        const auto text = log.substr(0, end);
        result += text;
        const auto line = named_line(text);
        if (line >= 1 && line <= places.size() && !places[line - 1].file.empty())
            result += fmt::format(" [{}:{}]", template_path(places[line - 1].file), places[line - 1].line);
        if (end == log.npos) break;
        result += '\n';
        log.remove_prefix(end + 1);
    }
    return result;
}

}  // namespace trifold
