#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "generator/program/sha256.hpp"
#include "generator/program/template_folder.hpp"
#include "generator/program/templates.hpp"
#include "generator/sparse/fields.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/switches.hpp"
#include "runtime/compile/cache.hpp"
#include "runtime/sparse/plan.hpp"

namespace trifold::sparse {
namespace {

constexpr std::int64_t min_entries = 1 << 17;  // smaller patterns take less time than a file does

/// One walk over values writes and reads them: `Archive` is a Writer or a Reader.
class Writer {
  public:
    std::string bytes;
    static constexpr bool reads = false;
    void raw(const void* from, std::size_t count) { bytes.append(static_cast<const char*>(from), count); }
};

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
    static constexpr bool reads = true;
    void raw(void* to, std::size_t count) {
        if (count > left_.size()) throw std::runtime_error("a kept plan ends early");
        std::memcpy(to, left_.data(), count);
        left_ = left_.subspan(count);
    }

  private:
    std::span<const std::byte> left_;
};

template <class Archive, class... Values>
void walk(Archive& archive, Values&... values) {
    (value(archive, values), ...);
}

template <class Archive, class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Piece>
void value(Archive& archive, T& number) {
    archive.raw(&number, sizeof number);
}
/// Texts and lists: how many, and each.
template <class Archive, class List>
    requires requires(List& list) { list.resize(1); }
void value(Archive& archive, List& list) {
    auto count = list.size();
    archive.raw(&count, sizeof count);
    if constexpr (Archive::reads) list.resize(count);
    for (auto& one : list) value(archive, one);
}
template <class Archive, class T>
void value(Archive& archive, std::map<std::string, T>& map) {
    std::vector<std::string> names;
    for (const auto& [name, one] : map) names.push_back(name);
    value(archive, names);
    for (const auto& name : names) value(archive, map[name]);
}
// All fields by name, so that a new one that is forgotten here does not compile.
template <class Archive>
void value(Archive& archive, Target& target) {
    auto& [backend, arch] = target;
    walk(archive, backend, arch);
}
template <class Archive>
void value(Archive& archive, trifold::Kernel& kernel) {
    auto& [name, threads, shared_bytes] = kernel;
    walk(archive, name, threads, shared_bytes);
}
template <class Archive>
void value(Archive& archive, Unit& unit) {
    auto& [target, id, kernels, options, source] = unit;
    walk(archive, target, id, kernels, options, source);
}
template <class Archive>
void value(Archive& archive, LaunchGrid& grid) {
    auto& [groups, members_per_group] = grid;
    walk(archive, groups, members_per_group);
}
template <class Archive>
void value(Archive& archive, Message& message) {
    auto& [peer, pieces] = message;
    walk(archive, peer, pieces);
}
template <class Archive>
void value(Archive& archive, Launch& launch) {
    auto& [unit, kernel, grid, constants, operands, after, early, together, what, work, message, first_task, beside] = launch;
    walk(archive, unit, kernel, grid, constants, operands, after, early, together, what, work, message, first_task, beside);
}
template <class Archive>
void value(Archive& archive, Repeat& repeat) {
    auto& [first, count, most, look, flag, unit] = repeat;
    walk(archive, first, count, most, look, flag, unit);
}
template <class Archive>
void value(Archive& archive, Buffer& buffer) {
    auto& [name, offset, bytes, zeroed, contents] = buffer;
    walk(archive, name, offset, bytes, zeroed, contents);
}
template <class Archive>
void value(Archive& archive, Program& program) {
    auto& [id, name, units, buffers, workspace, scratch, workers, operations, repeats, sizes, rank, ranks, about] = program;
    walk(archive, id, name, units, buffers, workspace, scratch, workers, operations, repeats, sizes, rank, ranks, about);
}
/// All but the seconds, and where it was found.
template <class Archive>
void value(Archive& archive, SparseSummary& summary) {
    auto& [partition, tiles, largest_tile, shapes, entries, dropped, factored, levels, seconds, kept] = summary;
    walk(archive, partition, tiles, largest_tile, shapes, entries, dropped, factored, levels);
}

}  // namespace

std::string kept_name(const SparseChoice& choice, const SparsePattern& pattern, const Parts& parts) {
    if (pattern.entries() < min_entries) return {};
    if (reads_template_folder() && !switch_value(templates_switch).empty()) return {};
    return sha256(fmt::format("plan {} {} {} {} {} {} {} {}", generator_hash(), to_json({choice.spec, sizes_of(pattern)}).dump(),
                              to_string(choice.target), choice.tuning.workers, choice.tuning.variant, pattern.hash(),
                              sha256(bytes_of(parts.of_row)), parts.how));
}

std::optional<Made> find_made(const std::string& name) {
    if (name.empty()) return std::nullopt;
    auto data = Cache::from_environment().find_data(name);
    if (!data) return std::nullopt;
    Made made;
    Reader reader(data->pieces.front());
    std::vector<std::string> buffers;
    walk(reader, made.generated.program, made.summary, buffers);
    for (std::size_t k = 0; k < buffers.size(); ++k)
        made.generated.contents.push_back({buffers[k], ListBytes(data->pieces.at(k + 1), data->memory)});
    made.summary.kept = true;
    log(LogLevel::info, fmt::format("the plan of {} blocks is taken from disk", made.summary.entries));
    return made;
}

void keep_made(const std::string& name, const Made& made) {
    if (name.empty()) return;
    std::vector<std::string> buffers;
    std::vector<std::span<const std::byte>> pieces{{}};
    for (const auto& [buffer, bytes] : made.generated.contents) {
        buffers.push_back(buffer);
        pieces.push_back(bytes.get());
    }
    Writer writer;
    auto program = made.generated.program;  // a walk may write to what it walks over
    auto summary = made.summary;
    walk(writer, program, summary, buffers);
    pieces.front() = std::as_bytes(std::span(writer.bytes));
    Cache::from_environment().publish_data(name, pieces);
}

}  // namespace trifold::sparse
