#include "tools/bench/regret/constants.hpp"

#include "generator/tridiagonal/variant.hpp"
#include "tools/bench/regret/summary.hpp"

namespace trifold::regret {

Numbers constants_of(const std::string& target, const std::string& variant) {
    const auto path = "models." + variant + ".";
    Numbers result;
    for (const auto& [name, number] : device_of(parse_target(target)).numbers)
        if (name.starts_with(path)) result[name] = number;
    return result;
}

std::vector<std::map<std::string, double>> modelled(const std::vector<Record>& records, const Numbers& numbers) {
    std::map<std::string, KnownDevice> devices;
    std::vector<std::map<std::string, double>> result;
    for (const auto& record : records) {
        const auto target = parse_target(record.target);
        auto [device, is_new] = devices.try_emplace(record.target, device_of(target));
        if (is_new)
            for (const auto& [name, number] : numbers) device->second.numbers[name] = number;
        const auto& variant = variant_named(target, record.candidate.variant);
        auto& seconds = result.emplace_back();
        for (const auto* operation : {"factor", "factor_solve"})
            seconds[operation] = variant.seconds({spec_of(record.point, std::string(operation)), target,
                                                  parse_schedule(record.candidate.schedule, record.point.size.horizon), record.workers},
                                                 device->second);
    }
    return result;
}

}  // namespace trifold::regret
