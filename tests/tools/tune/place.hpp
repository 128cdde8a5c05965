#pragma once
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/runtime/cache/unit.hpp"
#include "tools/tune/points.hpp"
#include "tools/tune/sweep.hpp"

namespace trifold::test {

inline std::vector<tune::Point> points_of_command(std::vector<std::string> words) {
    CLI::App app;
    tune::PointOptions options;
    options.add_to(app);
    std::ranges::reverse(words);
    app.parse(words);
    std::vector<std::string> ignored;
    return options.points(ignored);
}

/// A folder with a database and the user's wisdom. Its name is a family's, since a process reads a file of wisdom once.
struct Place {
    std::filesystem::path path;
    std::string wisdom = (path / "wisdom").string();
    WithEnvironment environment{{"TRIFOLD_WISDOM", wisdom.c_str()}};
    explicit Place(std::string_view name)
        : path(std::filesystem::temp_directory_path() / fmt::format("trifold-{}-tune-{}", name, ::getpid())) {
        std::filesystem::create_directories(path);
    }
    ~Place() { std::filesystem::remove_all(path); }
    tune::SweepReport run(const tune::Point& point, const tune::MeasureOptions& measuring = {},
                          tune::Effort effort = tune::Effort::quick) const {
        tune::TuneOptions options{
            .effort = effort, .processes = 2, .worker = {TRIFOLD_COMMAND, "tune", "compile-unit"}, .measuring = measuring};
        options.measuring.hot = true;
        tune::Database database(path / "tuning.db");
        return tune::sweep({point}, Device::cpu(), database, options, {});
    }
};

/// A clock for which candidates with this word in their variant are twice as fast.
inline tune::MeasureOptions fast_with(std::string word) {
    tune::MeasureOptions options;
    options.clock = [word = std::move(word)](const tune::Candidate& candidate, const tune::Timed&) -> tune::Timed {
        return [fast = candidate.variant.find(word) != std::string::npos] { return fast ? 1e-3 : 2e-3; };
    };
    return options;
}

}  // namespace trifold::test
