#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generator/program/device.hpp"
#include "tools/tune/trial.hpp"

namespace trifold::tune {

/// What a value of a knob does to the time, beside the value that the row takes: time over time, all else being equal.
struct Effect {
    std::vector<double> ratios;  ///< one for each point
    double mean() const;         ///< geometric
    double worst() const;
};

/// What trials say of one row of a device's list.
struct RowFinding {
    const Row* row = nullptr;
    std::size_t asked = 0;                   ///< points where the row answered
    std::map<std::int64_t, Effect> effects;  ///< by value; the row's own is not among them
    std::int64_t take = 0;                   ///< the value that the row should take: another than its own where that is faster on the whole
    bool is_changed() const;
    std::size_t points() const;  ///< of the value that was tried at most points
};

/// All rows that the trials tell something of, in the order of their lists: pairs of trials of a point are compared whose candidates differ
/// in one knob alone. A knob that several rows answered at a point, as where each kernel asks for itself, tells of none of them. Trials of
/// other targets are left out.
std::vector<RowFinding> row_findings(const std::vector<Trial>& trials, const Target& target);

/// The lists of the rows with findings, whole, as generator/devices has them: {"cuda:sm_90": {"rows": {...}}}. `measured` names the record.
nlohmann::ordered_json rows_json(const std::vector<RowFinding>& findings, const Target& target, const std::string& measured);

}  // namespace trifold::tune
