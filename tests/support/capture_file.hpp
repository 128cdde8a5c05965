#pragma once
#include <unistd.h>

#include "tests/support/test.hpp"

namespace trifold::test {

/// A file that Solvers made from now on append to, until the end of the scope.
class CaptureFile {
  public:
    CaptureFile() {
        auto pattern = (std::filesystem::temp_directory_path() / "trifold-capture-XXXXXX").string();
        directory_ = ::mkdtemp(pattern.data());
        name(path().string());
    }
    ~CaptureFile() {
        ::unsetenv("TRIFOLD_CAPTURE");
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }
    CaptureFile(const CaptureFile&) = delete;
    CaptureFile& operator=(const CaptureFile&) = delete;
    static void name(const std::string& path) { ::setenv("TRIFOLD_CAPTURE", path.c_str(), 1); }
    std::filesystem::path path() const { return directory_ / "specs.jsonl"; }
    /// Throws where a line is no JSON.
    std::vector<nlohmann::json> lines() const {
        std::istringstream text(read_text(path()));
        std::vector<nlohmann::json> result;
        for (std::string line; std::getline(text, line);) result.push_back(nlohmann::json::parse(line));
        return result;
    }
    /// The last line of each id.
    std::map<std::string, nlohmann::json> last() const {
        std::map<std::string, nlohmann::json> result;
        for (const auto& line : lines()) result[line.at("id")] = line;
        return result;
    }
    /// Of the one Solver that was captured.
    nlohmann::json only() const {
        const auto all = last();
        return all.size() == 1 ? all.begin()->second : nlohmann::json(all.size());
    }

  private:
    std::filesystem::path directory_;
};

}  // namespace trifold::test
