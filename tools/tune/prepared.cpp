#include "tools/tune/prepared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <trifold/error.hpp>

#include "generator/program/knob.hpp"

namespace trifold::tune {
namespace {

constexpr double usable_share = 0.9;

/// The part of a kernel's name that says what it does: names of blocks' kernels go on with _n32_.
std::string purpose_of(const std::string& kernel) {
    for (auto at = kernel.find("_n"); at != std::string::npos; at = kernel.find("_n", at + 1)) {
        const auto end = kernel.find_first_not_of("0123456789", at + 2);
        if (end != at + 2 && end != std::string::npos && kernel[end] == '_') return kernel.substr(0, at);
    }
    return kernel;
}

}  // namespace

Timed enqueued_calls(DeviceTools& tools, std::int64_t sets, const std::function<void(std::int64_t)>& call) {
    return [tools = &tools, call, next = std::make_shared<std::int64_t>(0), sets] {
        const auto set = (*next)++ % sets;
        tools->start();
        call(set);
        return tools->stop() * 1e-3;
    };
}

Timed timed_calls(DeviceTools& tools, std::int64_t sets, const std::function<void(std::int64_t)>& call) {
    if (tools.stream() == nullptr) return enqueued_calls(tools, sets, call);
    const auto next = std::make_shared<std::int64_t>(0);
    std::vector<std::function<double()>> replays;
    for (std::int64_t set = 0; set < sets; ++set) replays.push_back(tools.capture_timed([call, set] { call(set); }));
    return [replays, next] { return replays[static_cast<std::size_t>((*next)++) % replays.size()]() * 1e-3; };
}

nlohmann::ordered_json kernels_of(const Program& program, const std::vector<KernelResources>& known) {
    auto result = nlohmann::ordered_json::array();
    for (const auto& unit : program.units)
        for (const auto& kernel : unit.kernels) {
            const auto found = std::ranges::find(known, kernel.name, &KernelResources::kernel);
            const auto resources = found == known.end() ? KernelResources{} : *found;
            result.push_back({{"kernel", purpose_of(kernel.name)},
                              {"threads", kernel.threads},
                              {"dynamic_shared_bytes", kernel.shared_bytes},
                              {"static_shared_bytes", resources.shared_bytes},
                              {"registers", resources.registers},
                              {"spill_bytes", resources.spill_bytes}});
        }
    return result;
}

std::int64_t spill_bytes(const nlohmann::ordered_json& kernels) {
    std::int64_t total = 0;
    for (const auto& kernel : kernels) total += std::max<std::int64_t>(0, kernel.at("spill_bytes"));  // -1: not known
    return total;
}

std::int64_t most_spills(const Candidate& candidate, const std::vector<Trial>& trials) {
    constexpr auto any = std::numeric_limits<std::int64_t>::max();
    const auto name = parse_variant(candidate.variant);
    if (name.pinned.empty()) return any;
    std::int64_t most = 0;
    bool knows_default = false;
    for (const auto& trial : trials) {
        if (trial.verdict != Verdict::sound) continue;
        const auto spilled = spill_bytes(trial.kernels);
        if (trial.is_default && spilled > 0) return any;
        knows_default |= trial.is_default;
        const auto other = parse_variant(trial.candidate.variant);
        if (other.pinned.empty() && other.name == name.name) most = std::max(most, spilled);
    }
    return knows_default ? most : any;
}

void check_memory(std::int64_t workspace_bytes, std::int64_t data_bytes, const Device& device) {
    const auto needed = static_cast<double>(workspace_bytes + data_bytes);
    if (device.memory_bytes() > 0 && needed > usable_share * static_cast<double>(device.memory_bytes()))
        throw TooLarge(fmt::format("it needs {:.1f} GB of the device's memory", needed * 1e-9));
}

bool still_works(const DeviceTools& tools) {
    try {
        const auto memory = tools.allocate(8);
        const double value = 0;
        tools.upload(memory.get(), &value, 8);
        tools.synchronize();
        return true;
    } catch (const DeviceError&) {
        return false;
    }
}

}  // namespace trifold::tune
