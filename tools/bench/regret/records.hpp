#pragma once
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/bench/regret/candidates.hpp"

namespace trifold::regret {

/// What was measured of one candidate of one point: a line of a record file.
struct Record {
    std::string device, target;  ///< "NVIDIA H200", "cuda:sm_90"
    int workers = 1;
    Point point;
    Candidate candidate;
    std::map<std::string, double> seconds = {};                        ///< medians, by operation; none where it failed
    double residual = 0;                                               ///< the worst of the systems that were looked at
    bool accurate = false;                                             ///< the residual is within the precision's tolerance
    nlohmann::ordered_json kernels = nlohmann::ordered_json::array();  ///< threads, registers, shared memory and spills of each
    std::string failure = {};                                          ///< why there is no time; empty: there is one
};

nlohmann::ordered_json to_json(const Record& record);
/// Throws nlohmann::json::exception, SpecError.
Record parse_record(std::string_view line);
/// A line that was cut off, the last one, is left out. Throws InputError naming a line that is no record.
std::vector<Record> read_records(const std::filesystem::path& path);

/// Names what was measured: of two records with the same, one is enough.
std::string key_of(const std::string& target, const Point& point, int workers, const std::string& schedule, const std::string& variant);
std::string key_of(const Record& record);

}  // namespace trifold::regret
