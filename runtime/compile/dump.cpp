#include "runtime/compile/dump.hpp"

#include <fmt/format.h>

#include <map>

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

}  // namespace trifold
