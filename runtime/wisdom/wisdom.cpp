#include "runtime/wisdom/wisdom.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <trifold/error.hpp>

#include "runtime/base/files.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/processors.hpp"
#include "runtime/base/switches.hpp"

namespace trifold {
namespace {

namespace fs = std::filesystem;

/// A file that was read, for as long as the process lives: rows point into its text.
struct OpenedWisdom {
    std::string text, problem;
    std::unique_ptr<const Wisdom> wisdom;
};

/// More than a million rows: a larger file is not one of ours, and reading it would hold up the first Plan.
constexpr std::uintmax_t largest_wisdom_file = std::uintmax_t{256} << 20;

std::string read_wisdom_file(const fs::path& path) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (!fs::exists(status)) throw SpecError("there is no such file");
    if (!fs::is_regular_file(status)) throw SpecError("it is no file");  // a pipe would wait for a writer
    if (fs::file_size(path, error) > largest_wisdom_file || error) throw SpecError("it is too large for wisdom");
    auto text = read_file(path);
    if (!text) throw SpecError("it cannot be read");
    return std::move(*text);
}

std::unique_ptr<const OpenedWisdom> open_wisdom(const std::string& path) {
    auto opened = std::make_unique<OpenedWisdom>();  // here from the start, since the Wisdom keeps views of the text
    try {
        opened->text = read_wisdom_file(path);
        opened->wisdom = std::make_unique<const Wisdom>(path, opened->text);
    } catch (const std::exception& error) {
        opened->problem = error.what();
    }
    return opened;
}

/// Each path is read once, by whoever comes first.
const OpenedWisdom& opened_once(const std::string& path) {
    static std::mutex mutex;
    static std::map<std::string, std::unique_ptr<const OpenedWisdom>> all;
    const std::lock_guard lock(mutex);
    auto& place = all[path];
    if (!place) place = open_wisdom(path);
    return *place;
}

/// Place of the user's wisdom, and the variable that says so; without TRIFOLD_WISDOM, as the XDG rules have it.
std::optional<WisdomSource> users_place() {
    constexpr const char* variables[] = {"TRIFOLD_WISDOM", "XDG_DATA_HOME", "HOME"};
    for (const std::string name : variables) {
        const fs::path value = switch_value(name.c_str());
        if (value.empty() || (name != "TRIFOLD_WISDOM" && value.is_relative())) continue;
        if (name == "TRIFOLD_WISDOM") return WisdomSource{value.string(), name, {}};
        const auto data = name == "HOME" ? value / ".local" / "share" : value;
        return WisdomSource{(data / "trifold" / "wisdom").string(), name, {}};
    }
    return {};
}

bool is_named(const WisdomSource& source) { return source.from == "TRIFOLD_WISDOM"; }

std::optional<WisdomSource> users_source() {
    auto source = users_place();
    std::error_code ignored;
    if (!source || (!is_named(*source) && !fs::exists(fs::status(source->name, ignored)))) return {};
    const auto& opened = opened_once(source->name);
    source->problem = opened.problem;
    source->wisdom = opened.wisdom.get();
    return source;
}

/// Built-in rows are tested, so a problem with them is ours.
std::vector<WisdomSource> built_in_sources() try {
    std::vector<WisdomSource> result;
    for (const auto* wisdom : shipped_wisdom()) result.push_back({wisdom->name(), {}, {}, wisdom});
    return result;
} catch (const std::exception& error) {
    return {{"the built-in wisdom", {}, error.what()}};
}

/// A file that somebody named, or that has rows for such devices, should not go unused without a word. Rows for a GPU say nothing to one
/// who solves on the processor.
void report_use(const WisdomSource& source, const Target& target, std::string_view device) {
    if (!source.problem.empty()) {
        log_once(LogLevel::warning, fmt::format("wisdom {} is not used: {}", source.name, source.problem));
    } else if (!source.from.empty() && source.wisdom->rows() > 0 && source.wisdom->rows_for(target) == 0) {
        const bool concerns = is_named(source) || !source.wisdom->lines_with(std::string(to_string(target.backend)) + ":").texts.empty();
        log_once(concerns ? LogLevel::warning : LogLevel::info,
                 fmt::format("wisdom {} has {} rows, none for {} ({})", source.name, source.wisdom->rows(),
                             device.empty() ? "any such device" : device, to_string(target)));
    }
}

}  // namespace

std::string wisdom_device(const Device& device) { return device.backend() == Backend::cpu ? processor_name() : device.name(); }

std::string users_wisdom_file() {
    const auto place = users_place();
    return place ? place->name : "";
}

std::vector<WisdomSource> wisdom_sources() {
    if (disabled("wisdom")) return {};
    auto sources = built_in_sources();
    if (auto source = users_source()) sources.insert(sources.begin(), std::move(*source));
    return sources;
}

WisdomAnswer ask_wisdom(const WisdomProblem& problem, std::string_view device) {
    std::vector<const Wisdom*> files;
    for (const auto& source : wisdom_sources()) {
        report_use(source, problem.key().target, device);
        if (source.wisdom != nullptr) files.push_back(source.wisdom);
    }
    auto answer = look_up(problem, device, files);
    for (const auto& ignored : answer.ignored) log_once(LogLevel::warning, "wisdom, " + ignored + "; the row is ignored");
    return answer;
}

}  // namespace trifold
