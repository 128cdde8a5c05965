#include "runtime/compile/entry.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <trifold/error.hpp>

#include "generator/program/sha256.hpp"
#include "runtime/base/limits.hpp"

namespace trifold {
namespace {

using nlohmann::json;

constexpr int format_version = 1;
constexpr auto meta_file = "meta.json";
constexpr auto kernels_alone = "kernels";

json kernel_json(const KernelResources& kernel) {
    return {{"kernel", kernel.kernel},
            {"registers", kernel.registers},
            {"shared_bytes", kernel.shared_bytes},
            {"spill_bytes", kernel.spill_bytes},
            {"code_bytes", kernel.code_bytes},
            {"scalar_registers", kernel.scalar_registers},
            {"matrix_registers", kernel.matrix_registers},
            {"warp_lanes", kernel.warp_lanes}};
}

KernelResources kernel_of(const json& text) {
    return {text.at("kernel"),
            text.at("registers"),
            text.at("shared_bytes"),
            text.at("spill_bytes"),
            text.at("code_bytes"),
            text.value("scalar_registers", std::int64_t{-1}),  // older entries do without
            text.value("matrix_registers", std::int64_t{-1}),
            text.value("warp_lanes", std::int64_t{-1})};
}

/// The text carries its own checksum, so that a changed byte of it shows.
std::string sealed(json meta) {
    meta.erase("sha256");
    meta["sha256"] = sha256(meta.dump());
    return meta.dump(2) + "\n";
}

EntryMeta meta_of(const json& text) {
    EntryMeta meta{text.at("key"), text.at("name"), text.at("target"), text.at("compiler"), {}};
    for (const auto& kernel : text.at("kernels")) meta.kernels.push_back(kernel_of(kernel));
    return meta;
}

void set_problem(EntryContent& content, EntryState state, std::string problem) {
    if (content.state == EntryState::damaged) return;
    content.state = state;
    content.problem = std::move(problem);
}

/// Whether a file that was read with this error is none that was written there. All others may be a passing trouble of the system.
bool proves_damage(int error) { return error == ENOENT || error == ELOOP || error == ENXIO || error == EISDIR || error == EFBIG; }

/// The bytes of a file; nothing, and the content's problem, where it cannot be read.
std::optional<std::string> entry_file(const Descriptor& directory, const std::string& name, EntryContent& content) {
    int error = 0;
    auto bytes = read_file(directory, name, error);
    if (!bytes)
        set_problem(content, proves_damage(error) ? EntryState::damaged : EntryState::unreadable,
                    fmt::format("{} cannot be read: {}", name, why_refused(error)));
    return bytes;
}

/// The file's bytes when they are as meta.json says.
std::string checked_file(const Descriptor& directory, const std::string& name, const json& meta, EntryContent& content) {
    auto bytes = entry_file(directory, name, content);
    if (!bytes) return {};
    if (sha256(*bytes) != meta.at("files").at(name).get<std::string>())
        set_problem(content, EntryState::damaged, name + " does not have the checksum it was written with");
    return std::move(*bytes);
}

/// One that the kernels run without: only damage counts. Layers do not have them.
std::string optional_file(const Descriptor& directory, const std::string& name, const json& meta, EntryContent& content) {
    if (meta.value("parts", "") == kernels_alone) return {};
    EntryContent apart;
    auto bytes = checked_file(directory, name, meta, apart);
    if (apart.state == EntryState::damaged) set_problem(content, apart.state, apart.problem);
    return bytes;
}

json parse_meta(const Descriptor& directory, const std::string& key, EntryContent& content) {
    const auto text = entry_file(directory, meta_file, content);
    if (!text) return {};
    auto meta = json::parse(*text, nullptr, false);
    if (!meta.is_object() || sealed(meta) != *text) {
        set_problem(content, EntryState::damaged, "meta.json is damaged");
    } else if (meta.value("format", 0) != format_version || meta.value("key", "") != key) {
        set_problem(content, EntryState::damaged, "meta.json belongs to another entry or format");
    }
    return meta;
}

bool unlinked(const Descriptor& directory) {
    struct stat about{};
    return ::fstat(directory.get(), &about) == 0 && about.st_nlink == 0;
}

template <class Fill>
EntryContent read_with(const Descriptor& directory, const std::string& key, Fill fill) {
    EntryContent content;
    try {
        const auto meta = parse_meta(directory, key, content);
        if (content.state == EntryState::sound) {
            content.meta = meta_of(meta);
            fill(content, meta);
        }
    } catch (const json::exception& error) {  // meta.json of an unexpected shape
        set_problem(content, EntryState::damaged, error.what());
    } catch (const SpecError& error) {  // likewise
        set_problem(content, EntryState::damaged, error.what());
    } catch (const std::exception& error) {  // no memory
        set_problem(content, EntryState::unreadable, error.what());
    }
    if (content.state != EntryState::sound && unlinked(directory)) content.state = EntryState::absent;
    return content;
}

std::string_view choose(Backend backend, std::string_view cpu, std::string_view cuda, std::string_view hip) {
    return backend == Backend::cpu ? cpu : backend == Backend::cuda ? cuda : hip;
}

}  // namespace

std::string source_extension(Backend backend) { return std::string(choose(backend, ".c", ".cu", ".hip")); }
std::string binary_extension(Backend backend) { return std::string(choose(backend, ".so", ".cubin", ".hsaco")); }
std::string source_file(Backend backend) { return "kernel" + source_extension(backend); }
std::string binary_file(Backend backend) { return "kernel" + binary_extension(backend); }

void write_entry(const std::filesystem::path& directory, const Binary& binary, const Unit& unit, Parts parts) {
    const auto backend = unit.target.backend;
    json files;
    const auto add = [&](const std::string& name, const std::string& text) {
        write_file(directory / name, text);
        files[name] = sha256(text);
    };
    add(binary_file(backend), binary.code);
    if (parts == Parts::all) {
        add(source_file(backend), unit.source);
        add("log.txt", binary.log);
    }
    auto kernels = json::array();
    for (const auto& kernel : binary.kernels) kernels.push_back(kernel_json(kernel));
    json meta{{"format", format_version}, {"key", binary.key},           {"name", unit.id},    {"target", to_string(unit.target)},
              {"options", unit.options},  {"compiler", binary.compiler}, {"kernels", kernels}, {"files", files}};
    if (parts == Parts::kernels) meta["parts"] = kernels_alone;
    write_file(directory / meta_file, sealed(std::move(meta)));
}

EntryContent read_entry(const Descriptor& directory, const std::string& key) {
    return read_with(directory, key, [&](EntryContent& content, const json& meta) {
        const auto backend = parse_target(content.meta.target).backend;
        auto& binary = content.binary;
        (void)optional_file(directory, source_file(backend), meta, content);
        binary.code = checked_file(directory, binary_file(backend), meta, content);
        binary.log = optional_file(directory, "log.txt", meta, content);
        binary.compiler = content.meta.compiler;
        binary.kernels = content.meta.kernels;
        binary.key = key;
        binary.cache_hit = true;
    });
}

EntryContent read_entry_meta(const Descriptor& directory, const std::string& key) {
    return read_with(directory, key, [](EntryContent&, const json&) {});
}

}  // namespace trifold
