#include "runtime/dump.hpp"

#include <fmt/format.h>

#include <map>

#include "runtime/cache.hpp"
#include "runtime/entry.hpp"
#include "runtime/files.hpp"
#include "runtime/log.hpp"
#include "runtime/switches.hpp"

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

std::string disassemble(const Program& program, const std::string& image) {
    const PrivateDirectory directory;
    const auto file = directory.path() / "kernel";
    write_file(file, image);
    using Commands = std::vector<std::vector<std::string>>;
    const std::map<Backend, Commands> commands{{Backend::cpu, {{"objdump", "-d", "--no-show-raw-insn"}, {"llvm-objdump-19", "-d"}}},
                                               {Backend::cuda, {{"nvdisasm", "-c"}, {"cuobjdump", "-sass"}}},
                                               {Backend::hip, {{"llvm-objdump-19", "-d"}, {"/opt/rocm/llvm/bin/llvm-objdump", "-d"}}}};
    std::string tried;
    for (auto command : commands.at(program.target.backend)) {
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

void dump_text(std::string_view what, const Program& program, std::string_view extension, std::string_view text) noexcept try {
    if (!dumped(what) || text.empty()) return;
    const auto path = write_dump(unit_name(program) + std::string(extension), text);
    log_once(LogLevel::warning, fmt::format("TRIFOLD_DUMP writes to {}", path.parent_path().string()));
} catch (const std::exception& error) {
    log_once(LogLevel::warning, fmt::format("TRIFOLD_DUMP: {}", error.what()));
}

void dump(const Program& program, const Binary& binary) noexcept try {
    dump_text("source", program, source_extension(program.target.backend), program.source);
    dump_text("log", program, ".log", binary.log.empty() ? "(the compiler said nothing)\n" : binary.log);
    dump_text("keys", program, ".key",
              fmt::format("{} {} {} {}\n", binary.key, to_string(program.target), binary.compiler, binary.cache_hit ? "hit" : "miss"));
    for (std::size_t image = 0; dumped("sass") && image < binary.images.size(); ++image)
        dump_text("sass", program, numbered(".sass", image), disassemble(program, binary.images[image]));
} catch (const std::exception& error) {
    log_once(LogLevel::warning, fmt::format("TRIFOLD_DUMP: {}", error.what()));
}

std::string keep_failed_source(const Program& program) try {
    const auto name = unit_name(program) + source_extension(program.target.backend);
    if (!switch_value("TRIFOLD_DUMP_DIR").empty() || !Cache::from_environment().path().empty())
        return write_dump(name, program.source).string();
    PrivateDirectory directory;
    const auto path = directory.path() / name;
    write_file(path, program.source);
    directory.keep();
    return path.string();
} catch (const std::exception& error) {
    return fmt::format("could not be kept ({})", error.what());
}

}  // namespace trifold
