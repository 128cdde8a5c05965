#include "runtime/base/log.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "runtime/base/switches.hpp"

namespace trifold {
namespace {

struct Setting {
    LogLevel level = LogLevel::warning;
    std::string file;
};

Setting setting() {
    const auto value = switch_value("TRIFOLD_LOG");
    const auto colon = value.find(':');
    Setting result;
    if (colon != std::string::npos) result.file = value.substr(colon + 1);
    for (std::size_t k = 0; k < log_levels.size(); ++k) {
        if (value.substr(0, colon) == log_levels[k]) result.level = static_cast<LogLevel>(k);
    }
    return result;
}

void say_once_unopened(const std::string& file) {
    static std::atomic_flag said;
    if (said.test_and_set()) return;
    const auto line = fmt::format("trifold: warning: TRIFOLD_LOG names '{}', which cannot be opened: {}; messages follow here\n", file,
                                  std::strerror(errno));
    std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

bool logs(LogLevel level) { return level <= setting().level; }

void log(LogLevel level, std::string_view text) noexcept try {
    const auto [threshold, file] = setting();
    if (level > threshold) return;
    const auto line = fmt::format("trifold: {}: {}\n", log_levels.at(static_cast<std::size_t>(level)), text);
    std::FILE* out = file.empty() ? stderr : std::fopen(file.c_str(), "ae");
    if (out == nullptr) {
        out = stderr;
        say_once_unopened(file);
    }
    std::fwrite(line.data(), 1, line.size(), out);
    if (out != stderr) std::fclose(out);
} catch (...) {
    // Nothing may fail because it could not be reported.
}

void log_once(LogLevel level, std::string_view text) noexcept try {
    static std::mutex mutex;
    static std::set<std::string, std::less<>> said;
    const std::scoped_lock lock(mutex);
    if (said.emplace(text).second) log(level, text);
} catch (...) {
}

}  // namespace trifold
