#include "runtime/base/switches.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <trifold/error.hpp>
#include <vector>

#include "runtime/base/files.hpp"
#include "runtime/base/log.hpp"

extern char** environ;

namespace trifold {

std::size_t spelling_distance(std::string_view left, std::string_view right) {
    std::vector<std::vector<std::size_t>> steps(left.size() + 1, std::vector<std::size_t>(right.size() + 1));
    for (std::size_t i = 0; i <= left.size(); ++i) {
        for (std::size_t j = 0; j <= right.size(); ++j) {
            auto& least = steps[i][j] = i + j;
            if (i == 0 || j == 0) continue;
            const std::size_t change = left[i - 1] == right[j - 1] ? 0 : 1;
            least = std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + change});
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1])
                least = std::min(least, steps[i - 2][j - 2] + 1);
        }
    }
    return steps[left.size()][right.size()];
}
namespace {

namespace fs = std::filesystem;

// docs/users/switches.md has these rows; a test compares them.
constexpr std::array table{
    Switch{"TRIFOLD_CACHE_DIR", "directory",
           "where compiled kernels are kept; default $XDG_CACHE_HOME/trifold, then $HOME/.cache/trifold, then memory only"},
    Switch{"TRIFOLD_CACHE_SIZE", "bytes, or a number with K, M or G",
           "bound of the cache directory, default 1G; the least recently used kernels go first"},
    Switch{"TRIFOLD_BINARIES", "directories, separated by colons", "layers of kernels that trifold pack made; only read, before the cache"},
    Switch{
        "TRIFOLD_DISABLE", "jit,cache,clang,hiprtc,graph,wisdom",
        "jit: never compile, a missing kernel is an error; cache: keep nothing, on disk or in memory; clang: use the system's C compiler, "
        "and for HIP only hiprtc; hiprtc: compile HIP kernels with Clang; graph: launch a GPU's kernels one by one; wisdom: look "
        "at nothing that a tuner measured. An unknown word is an error"},
    Switch{"TRIFOLD_DUMP", "source,ptx,sass,log,keys",
           "write these for every kernel obtained; ptx and sass need a compilation or a disassembler"},
    Switch{"TRIFOLD_DUMP_DIR", "directory",
           "where dumps go; default dump/ in the cache directory, or trifold-dump/ in the working directory when there is no cache"},
    Switch{"TRIFOLD_LOG", "off, error, warning, info or debug, optionally :FILE",
           "messages up to this level go to standard error, or are appended to FILE; default warning"},
    Switch{
        "TRIFOLD_EXTERNAL_SOURCE", "file, directory",
        "compile this hand-edited source instead of the unit whose kernels it names; it must name them all, and a file for no unit is an "
        "error"},
    Switch{"TRIFOLD_CC", "command or path", "the C compiler for CPU kernels, instead of Clang in process; one word, no options"},
    Switch{"TRIFOLD_CLANG", "file", "libtrifold_clang.so, the part of the library that holds Clang, when it is in an unusual place"},
    Switch{"TRIFOLD_NVRTC", "file or directory", "libnvrtc.so, or the directory that holds it"},
    Switch{"TRIFOLD_NCCL", "file", "libnccl.so.2, or on AMD devices librccl.so.1, for ranks on GPUs, where the process has not loaded one"},
    Switch{"TRIFOLD_HIPRTC", "file or directory", "libhiprtc.so or libamdhip64.so, or the directory that holds it"},
    Switch{"TRIFOLD_SPIN", "microseconds, 0 to 1000000",
           "how long idle threads of a CPU Solver stay awake after a call, where Tuning does not say; default 1000. Shorter leaves their "
           "cores to others, but a call that has to wake them waits 50 to 100 us"},
    Switch{"TRIFOLD_WISDOM", "file",
           "what trifold tune measured, used by all that make kernels; default $XDG_DATA_HOME/trifold/wisdom, then "
           "$HOME/.local/share/trifold/wisdom"},
    Switch{"TRIFOLD_CAPTURE", "file", "what each Solver is used for is appended to this file, for the tuner; read when a Solver is made"},
    Switch{"TRIFOLD_TEMPLATES", "directory",
           "for developers: read the templates of kernels from here, each once a process; only builds with tests do"},
    Switch{"TRIFOLD_PEERS", "directories, separated by colons", "where trifold bench looks for its peers' libraries first"},
};

/// The words between separators, without the empty ones.
std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const auto end = std::min(text.find(separator), text.size());
        if (end > 0) words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

bool listed(const char* name, std::string_view word) {
    const auto words = split(switch_value(name), ',');
    return std::ranges::find(words, word) != words.end();
}

/// Says what is wrong with a list of words, and which are known; empty when nothing is wrong.
std::string problem_of_list(std::string_view name) {
    const std::string values(std::ranges::find(table, name, &Switch::name)->values);
    const auto known = split(values, ',');
    const auto given = switch_value(name.data());
    for (const auto& word : split(given, ',')) {
        if (std::ranges::find(known, word) == known.end())
            return fmt::format("{}='{}' holds '{}', which is not known; give some of {}, in small letters, separated by commas alone", name,
                               given, word, fmt::join(known, ", "));
    }
    return {};
}

void warn(const std::string& text) {
    if (!text.empty()) log_once(LogLevel::warning, text);
}

std::string problem_of_log() {
    const auto value = switch_value("TRIFOLD_LOG");
    const auto level = value.substr(0, value.find(':'));
    if (value.empty() || std::ranges::find(log_levels, level) != log_levels.end()) return {};
    return fmt::format("TRIFOLD_LOG='{}' is no level; give {}, and :FILE after it for a file; taking warning", value,
                       fmt::join(log_levels, ", "));
}

std::string problem_of_path(const char* name, std::string_view instead) {
    const auto value = switch_value(name);
    std::error_code ignored;
    if (value.empty() || fs::exists(value, ignored)) return {};
    return fmt::format("{} names '{}', where there is no file; {}", name, value, instead);
}

std::string problem_of_cc() {
    const auto value = switch_value("TRIFOLD_CC");
    if (value.empty() || !find_executable(value).empty()) return {};
    return fmt::format("TRIFOLD_CC names '{}', which is no program; give the name of one in PATH, or a path, without options", value);
}

std::string problem_of_peers() {
    for (const auto& directory : split(switch_value("TRIFOLD_PEERS"), ':')) {
        std::error_code ignored;
        if (!fs::is_directory(directory, ignored)) return fmt::format("TRIFOLD_PEERS names '{}', which is no directory", directory);
    }
    return {};
}

constexpr std::string_view prefix = "TRIFOLD_";

/// Other programs may have variables of this prefix too, so only what differs from ours by a letter or two, of short ones none.
std::string problem_of_name(std::string_view name) {
    if (!name.starts_with(prefix) || std::ranges::find(table, name, &Switch::name) != table.end()) return {};
    auto rest = std::string(name.substr(prefix.size()));
    std::ranges::transform(rest, rest.begin(), [](unsigned char letter) { return std::toupper(letter); });
    for (const auto& entry : table) {
        const auto ours = entry.name.substr(prefix.size());
        if (spelling_distance(rest, ours) <= std::min<std::size_t>(ours.size() / 3, 2))
            return fmt::format("the environment variable {} is not known and does nothing; did you mean {}?", name, entry.name);
    }
    return {};
}

}  // namespace

std::span<const Switch> switches() { return table; }

std::string switch_value(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool disabled(std::string_view word) { return listed("TRIFOLD_DISABLE", word); }
bool dumped(std::string_view word) { return listed("TRIFOLD_DUMP", word); }

void check_switches() {
    warn(problem_of_log());
    warn(problem_of_list("TRIFOLD_DUMP"));
    warn(problem_of_cc());
    warn(problem_of_path("TRIFOLD_CLANG", "Clang in process is not used"));
    warn(problem_of_path("TRIFOLD_HIPRTC", "hiprtc is not used"));
    if (switch_value("TRIFOLD_NVRTC").find('/') != std::string::npos)  // a bare name is one that the loader looks for
        warn(problem_of_path("TRIFOLD_NVRTC", "no CUDA kernel can be compiled"));
    warn(problem_of_peers());
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
        warn(problem_of_name(std::string_view(*entry).substr(0, std::string_view(*entry).find('='))));
    if (const auto problem = problem_of_list("TRIFOLD_DISABLE"); !problem.empty()) throw SpecError(problem);
}

}  // namespace trifold
