#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <trifold/error.hpp>
#include <trifold/program.hpp>

namespace trifold {
namespace {

using nlohmann::json;

json unit_json(const Unit& unit) {
    json kernels = json::array();
    for (const auto& kernel : unit.kernels)
        kernels.push_back({{"name", kernel.name}, {"threads", kernel.threads}, {"shared_bytes", kernel.shared_bytes}});
    return {{"id", unit.id}, {"target", to_string(unit.target)}, {"options", unit.options}, {"kernels", kernels}};
}

json launch_json(const Program& program, const Launch& launch) {
    if (launch.work != Work::kernel) {
        json other = {{"what", launch.what}};
        if (launch.work == Work::copy) return other;
        other["peer"] = launch.message.peer;
        if (launch.beside) other["beside"] = true;
        for (const auto& [offset, bytes, stride, members] : launch.message.pieces)
            other["pieces"].push_back({{"offset", offset}, {"bytes", bytes}, {"stride", stride}, {"members", members}});
        return other;
    }
    json kernel = {{"kernel", kernel_of(program, launch).name},
                   {"what", launch.what},
                   {"groups", launch.grid.groups},
                   {"members_per_group", launch.grid.members_per_group},
                   {"after", launch.after},
                   {"early", launch.early},
                   {"together", launch.together}};
    if (launch.first_task != 0) kernel["first_task"] = launch.first_task;
    return kernel;
}

}  // namespace

const Buffer& buffer(const Program& program, std::string_view name) {
    const auto found = std::ranges::find(program.buffers, name, &Buffer::name);
    if (found == program.buffers.end()) throw SpecError(fmt::format("the Program has no buffer '{}'", name));
    return *found;
}

const Kernel& kernel_of(const Program& program, const Launch& launch) { return program.units.at(launch.unit).kernels.at(launch.kernel); }

std::string to_json(const Program& program) {
    auto result = program.about.empty() ? json::object() : json::parse(program.about);
    result["id"] = program.id;
    result["workspace_bytes"] = program.workspace_bytes;
    result["scratch_bytes"] = program.scratch_bytes;
    if (!program.sizes.empty()) result["sizes"] = program.sizes;
    for (const auto& unit : program.units) result["units"].push_back(unit_json(unit));
    for (const auto& item : program.buffers)
        result["buffers"].push_back({{"name", item.name}, {"offset", item.offset}, {"bytes", item.bytes}, {"zeroed", item.zeroed}});
    for (const auto& [name, launches] : program.operations)
        for (const auto& launch : launches) result["operations"][name].push_back(launch_json(program, launch));
    for (const auto& [name, repeats] : program.repeats)
        for (const auto& repeat : repeats)
            result["repeats"][name].push_back(
                {{"first", repeat.first}, {"count", repeat.count}, {"most", repeat.most}, {"look", repeat.look}, {"flag", repeat.flag}});
    return result.dump(2);
}

}  // namespace trifold
