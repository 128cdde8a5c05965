#pragma once
#include <unistd.h>

#include "tests/support/test.hpp"
#include "tools/tune/log.hpp"

/// Points, and records that no device made, for tests.
namespace trifold::test {

/// A directory of one test's own, removed at the end.
struct Folder {
    Folder() {
        static int count = 0;
        path = std::filesystem::temp_directory_path() / fmt::format("trifold-tune-test-{}-{}", ::getpid(), ++count);
        std::filesystem::create_directories(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::filesystem::path path;
    tune::Log log() const { return tune::Log(path / "log.jsonl"); }
};

/// The point of a Spec, such as {{"block", 4}, {"horizon", 6}}.
inline tune::Point a_point(const nlohmann::json& spec, int workers = 1) {
    const auto& family = tune::family_of(spec);
    return {.spec = family.parse(spec), .workers = workers, .objective = family.usual};
}

inline tune::Point blocks(std::int64_t block, std::int64_t horizon, std::int64_t batch = 1, int workers = 1) {
    return a_point({{"block", block}, {"horizon", horizon}, {"batch", batch}}, workers);
}

inline tune::Trial made_up(const tune::Point& point, const tune::Candidate& candidate, double seconds, const std::string& round = "first",
                           bool is_default = false) {
    tune::Trial trial{{"NVIDIA H200", "cuda:sm_90", "580"}, "1.0.0-00000000", point, candidate, is_default, round};
    for (const auto& [operation, weight] : point.objective) trial.seconds[operation] = seconds;
    trial.runs = 5;
    return trial;
}

/// Different in every field for each k, with every verdict and letters that formats trip over.
inline tune::Trial a_trial(int k) {
    auto point = a_point({{"block", 4 + k % 7}, {"horizon", 16 + k}, {"rhs", 1 + k % 3}}, 1 + k % 2);
    if (k % 3 == 1) point.objective = tune::parse_objective("factor+3*solve");
    auto trial =
        made_up(point, {fmt::format("recursive:{}", k), "tile:halves=1"}, 1.0 / (3 + k), k % 3 == 0 ? "first" : "final", k % 2 == 1);
    trial.verdict = static_cast<tune::Verdict>(k % 9);
    trial.why = fmt::format("line 1\nline {}\t\"quoted\" {{}} % \\ \u00e9", k);
    trial.spread = 0.01 / (1 + k);
    trial.residual = 1e-16 * k;
    trial.spill_bytes = k;
    return trial;
}

inline tune::Decision a_decision(int k) {
    const auto trial = a_trial(k);
    tune::Decision decision{trial.machine, trial.generator, trial.point, {"multi-stage", "dataflow"}, {"sequential", "chain"}};
    decision.seconds = 1.0 / (3 + k);
    decision.standard_seconds = 1.3 / (3 + k);
    decision.trials = 7 + k;
    decision.effort = k % 2 == 0 ? "full" : "quick";
    return decision;
}

}  // namespace trifold::test
