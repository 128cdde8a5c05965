#include "tools/bench/regret/records.hpp"

#include <fmt/format.h>

#include <sstream>

#include "tools/formats/file.hpp"

namespace trifold::regret {

using Json = nlohmann::ordered_json;

Json to_json(const Record& record) {
    const auto& [size, precision] = record.point;
    const auto& candidate = record.candidate;
    return {{"device", record.device},
            {"target", record.target},
            {"workers", record.workers},
            {"block", size.block},
            {"horizon", size.horizon},
            {"batch", size.batch},
            {"precision", to_string(precision)},
            {"schedule", candidate.schedule},
            {"variant", candidate.variant},
            {"auto", candidate.is_auto},
            {"modelled_seconds", candidate.modelled_seconds},
            {"thirds", candidate.thirds},
            {"seconds", record.seconds},
            {"residual", record.residual},
            {"accurate", record.accurate},
            {"kernels", record.kernels},
            {"failure", record.failure}};
}

Record parse_record(std::string_view line) {
    const auto json = Json::parse(line);
    const auto text = [&](const char* name) { return json.at(name).get<std::string>(); };
    const auto count = [&](const char* name) { return json.at(name).get<std::int64_t>(); };
    Record record{text("device"), text("target"), json.at("workers").get<int>()};
    record.point = {{count("horizon"), count("block"), count("batch")}, parse_precision(text("precision"))};
    record.candidate = {text("schedule"), text("variant"), json.at("auto").get<bool>(), json.at("modelled_seconds").get<double>(),
                        count("thirds")};
    record.seconds = json.at("seconds").get<std::map<std::string, double>>();
    record.residual = json.at("residual").is_null() ? 0 : json.at("residual").get<double>();  // JSON has no NaN
    record.accurate = json.at("accurate").get<bool>();
    record.kernels = json.at("kernels");
    record.failure = text("failure");
    return record;
}

std::vector<Record> read_records(const std::filesystem::path& path) {
    std::istringstream lines(formats::read_file(path));
    std::vector<Record> records;
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        try {
            records.push_back(parse_record(line));
        } catch (const std::exception& error) {
            if (lines.eof()) break;  // a run that was ended within a line
            throw formats::InputError(fmt::format("line {} of '{}' is no record of a candidate: {}", number, path.string(), error.what()));
        }
    }
    return records;
}

std::string key_of(const std::string& target, const Point& point, int workers, const std::string& schedule, const std::string& variant) {
    return fmt::format("{} {} {} {} {}", target, to_string(point), workers, schedule, variant);
}

std::string key_of(const Record& record) {
    return key_of(record.target, record.point, record.workers, record.candidate.schedule, record.candidate.variant);
}

}  // namespace trifold::regret
