#pragma once
#include <fmt/format.h>

#include <string_view>

namespace trifold {

enum class LogLevel { off, error, warning, info, debug };

/// Whether TRIFOLD_LOG lets `level` through.
bool logs(LogLevel level);
/// One line, "trifold: level: text", to standard error or the file TRIFOLD_LOG names. Never throws.
void log(LogLevel level, std::string_view text) noexcept;
/// Logs a text only once in this process: for conditions that every call meets again.
void log_once(LogLevel level, std::string_view text) noexcept;

}  // namespace trifold
