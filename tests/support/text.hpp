#pragma once
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

/// A file's bytes; empty where it cannot be read.
inline std::string read_text(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}
