#include "tools/tune/model.hpp"

#include <fmt/format.h>

#include <trifold/error.hpp>

#include "tools/tune/family.hpp"

namespace trifold::tune {

Numbers model_numbers(const Target& target, const std::string& variant) {
    const auto path = "models." + variant + ".";
    Numbers result;
    for (const auto& [name, number] : device_of(target).numbers)
        if (name.starts_with(path)) result[name] = number;
    if (result.empty()) throw SpecError(fmt::format("{} has no time model of a variant '{}'", to_string(target), variant));
    return result;
}

std::vector<std::map<std::string, double>> modelled(const std::vector<Trial>& trials, const Numbers& numbers) {
    std::map<std::string, KnownDevice> devices;
    std::vector<std::map<std::string, double>> result;
    for (const auto& trial : trials) {
        const auto target = parse_target(trial.machine.target);
        auto [device, is_new] = devices.try_emplace(trial.machine.target, device_of(target));
        if (is_new)
            for (const auto& [name, number] : numbers) device->second.numbers[name] = number;
        const auto& family = family_of(trial.point);
        if (family.modelled == nullptr) throw SpecError(fmt::format("the family {} has no time models", family.name));
        auto& seconds = result.emplace_back();
        for (const auto& [operation, weight] : trial.point.objective)
            seconds[operation] = family.modelled(trial.point, target, trial.candidate, operation, device->second);
    }
    return result;
}

}  // namespace trifold::tune
