#include "tools/bench/regret/collect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <set>
#include <trifold/error.hpp>

#include "tools/bench/regret/compile_ahead.hpp"
#include "tools/bench/regret/trial.hpp"
#include "tools/formats/file.hpp"
#include "tools/tune/prepared.hpp"

namespace trifold::regret {
namespace {

using Clock = std::chrono::steady_clock;

/// A file that ends within a line gets the rest of no other one.
std::ofstream open_at_end(const std::filesystem::path& path) {
    formats::check_writable(path);
    const bool cut = std::filesystem::exists(path) && std::filesystem::file_size(path) > 0 && formats::read_file(path).back() != '\n';
    if (cut) {
        auto text = formats::read_file(path);
        text.resize(text.rfind('\n') + 1);  // npos + 1: nothing is left
        formats::write_file(path, text);
    }
    std::ofstream file(path, std::ios::app);
    if (!file) throw formats::InputError(fmt::format("cannot write to '{}'", path.string()));
    return file;
}

std::set<std::string> keys_in(const std::filesystem::path& path) {
    std::set<std::string> keys;
    if (!std::filesystem::exists(path) || std::filesystem::file_size(path) == 0) return keys;
    for (const auto& record : read_records(path)) keys.insert(key_of(record));
    return keys;
}

/// All that is to be measured, in order.
std::vector<Record> planned(const Collection& collection, const Device& device) {
    const auto known = keys_in(collection.records);
    std::vector<Record> result;
    for (const auto& point : collection.points)
        for (const auto& candidate : candidates(spec_of(point), device.target(), collection.workers, collection.most_candidates)) {
            Record record{device.name(), to_string(device.target()), collection.workers, point, candidate};
            if (!known.contains(key_of(record))) result.push_back(std::move(record));
        }
    return result;
}

std::vector<Choice> choices_of(const std::vector<Record>& records, const Operations& operations) {
    std::vector<Choice> result;
    for (const auto& record : records)
        result.push_back(choose(spec_of(record.point, operations), parse_target(record.target),
                                {record.candidate.schedule, record.candidate.variant, record.workers}));
    return result;
}

std::string line_of(const Record& record) {
    const auto name = fmt::format("{:<18} {:<18} {:<14}", to_string(record.point), record.candidate.schedule, record.candidate.variant);
    if (!record.failure.empty()) return fmt::format("{} {}", name, record.failure.substr(0, record.failure.find('\n')));
    std::string times;
    for (const auto& [operation, seconds] : record.seconds) times += fmt::format(" {} {:.1f} us,", operation, seconds * 1e6);
    return fmt::format("{}{} model {:.1f} us{}{}", name, times, record.candidate.modelled_seconds * 1e6,
                       record.accurate ? "" : fmt::format(", residual {:.1e}", record.residual), record.candidate.is_auto ? ", auto" : "");
}

}  // namespace

void collect(const Collection& collection, const Device& device, const std::function<void(const std::string&)>& tell) {
    const auto begin = Clock::now();
    const auto gone = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    auto records = planned(collection, device);
    auto file = open_at_end(collection.records);
    tell(fmt::format("{} points, {} candidates to measure on {}", collection.points.size(), records.size(), device.name()));
    DeviceTools tools(device);
    CompileAhead compiling(choices_of(records, collection.operations), device.backend() == Backend::cpu ? 0 : collection.threads);
    std::unique_ptr<tune::Data> data;
    std::size_t measured = 0;
    for (; measured < records.size(); ++measured) {
        auto& record = records[measured];
        if (collection.budget_seconds > 0 && gone() > collection.budget_seconds) break;
        compiling.wait_for(measured);
        try {
            if (!data || !(data->spec() == spec_of(record.point))) {
                data.reset();
                data = std::make_unique<tune::Data>(spec_of(record.point), collection.seed + measured, tools);
            }
            measure(record, collection.operations, *data, device, tools);
        } catch (const std::exception& error) {
            record.failure = error.what();
        }
        file << to_json(record).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
        tell(fmt::format("{:5.0f} s {:5} {}", gone(), measured + 1, line_of(record)));
        if (!record.failure.empty() && !tune::still_works(tools))
            throw DeviceError(fmt::format("after '{}' the device takes no more work; run again with the same records", record.failure));
    }
    tell(fmt::format("{} of {} candidates in {:.0f} s", measured, records.size(), gone()));
}

}  // namespace trifold::regret
