#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <trifold/device.hpp>
#include <trifold/error.hpp>

#include "runtime/base/switches.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/compile/environment.hpp"
#include "runtime/wisdom/wisdom.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"

namespace trifold::command {
namespace {

/// Why kernels for a target cannot be compiled here; empty: they can.
std::string compile_problem(const Target& target) {
    try {
        find_compiler(target);
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

/// What would compile for an architecture of HIP; empty: nothing.
struct Route {
    std::string target, compiler;
};
std::vector<Route> find_routes() {
    std::vector<Route> routes;
    for (const auto& target : hip_targets()) {
        const bool possible = compile_problem(target).empty();
        routes.push_back({to_string(target), possible ? find_compiler(target)->identity() : ""});
    }
    return routes;
}

struct Findings {
    Environment environment = probe_environment();
    DriverReport cuda = probe_cuda(), hip = probe_hip();
    Device cpu = Device::cpu();
    std::string cpu_problem = compile_problem({Backend::cpu}), cuda_problem = compile_problem({Backend::cuda});
    std::vector<Route> hip_routes = find_routes();
    std::vector<WisdomSource> wisdom = wisdom_sources();

    bool can_run_cpu() const { return cpu_problem.empty(); }
    std::vector<Device> all() const {
        auto result = gpus();
        result.insert(result.begin(), cpu);
        return result;
    }
    std::vector<Device> gpus() const {
        auto all = cuda.devices;
        all.insert(all.end(), hip.devices.begin(), hip.devices.end());
        return all;
    }
    bool can_run_hip() const {
        return std::ranges::any_of(hip.devices, [](const Device& device) { return compile_problem(device.target()).empty(); });
    }
    bool can_run_any() const { return can_run_cpu() || can_run_cuda() || can_run_hip(); }
    bool can_run_cuda() const { return !cuda.devices.empty() && cuda_problem.empty(); }
};

Json wisdom_json(const Findings& findings) {
    auto result = Json::array();
    for (const auto& source : findings.wisdom) {
        auto devices = Json::array();
        for (const auto& device : findings.all()) {
            if (source.wisdom == nullptr) continue;
            const auto name = wisdom_device(device);
            devices.push_back({{"device", name},
                               {"target", to_string(device.target())},
                               {"rows", source.wisdom->rows_for(device.target(), name)},
                               {"rows_of_target", source.wisdom->rows_for(device.target())}});
        }
        result.push_back({{"name", source.name},
                          {"from", source.from},
                          {"problem", source.problem},
                          {"rows", source.wisdom == nullptr ? 0 : source.wisdom->rows()},
                          {"devices", devices}});
    }
    return result;
}

std::string wisdom_text(const Findings& findings) {
    std::string text = "Wisdom\n";
    if (disabled("wisdom")) return text + "  not used: TRIFOLD_DISABLE=wisdom\n";
    for (const auto& source : findings.wisdom) {
        const auto from = source.from.empty() ? "" : " (from " + source.from + ")";
        if (source.wisdom == nullptr) {
            text += fmt::format("  {}{}: not used: {}\n", source.name, from, source.problem);
            continue;
        }
        text += fmt::format("  {}{}, rows: {}\n", source.name, from, source.wisdom->rows());
        for (const auto& device : findings.all()) {
            const auto name = wisdom_device(device);
            text += fmt::format("    {} for {}, {} for all of {}\n", source.wisdom->rows_for(device.target(), name), name,
                                source.wisdom->rows_for(device.target()), to_string(device.target()));
        }
    }
    if (findings.wisdom.empty() || findings.wisdom.front().from.empty()) text += "  no file of yours; trifold tune makes one\n";
    return text;
}

Json to_json(const Findings& findings) {
    auto tools = Json::array(), devices = Json::array();
    for (const auto& tool : findings.environment.tools)
        tools.push_back({{"name", tool.name},
                         {"purpose", tool.purpose},
                         {"found", tool.found},
                         {"version", tool.version},
                         {"path", tool.path},
                         {"advice", tool.advice}});
    devices.push_back(
        {{"name", findings.cpu.name()}, {"target", to_string(findings.cpu.target())}, {"memory_bytes", findings.cpu.memory_bytes()}});
    for (const auto& device : findings.gpus())
        devices.push_back({{"name", device.name()}, {"target", to_string(device.target())}, {"memory_bytes", device.memory_bytes()}});
    auto routes = Json::object();
    for (const auto& route : findings.hip_routes) routes[route.target] = route.compiler;
    auto variables = Json::array();
    for (const auto& item : switches()) variables.push_back({{"name", item.name}, {"values", item.values}, {"meaning", item.meaning}});
    const auto& cache = findings.environment.cache;
    return {{"status", findings.can_run_any() ? "ok" : "nothing can run"},
            {"can_run", {{"cpu", findings.can_run_cpu()}, {"cuda", findings.can_run_cuda()}, {"hip", findings.can_run_hip()}}},
            {"problems",
             {{"cpu", findings.cpu_problem},
              {"cuda", findings.cuda.devices.empty() ? findings.cuda.problem : findings.cuda_problem},
              {"hip", findings.hip.problem}}},
            {"tools", tools},
            {"cuda", {{"driver", findings.cuda.driver}, {"problem", findings.cuda.problem}}},
            {"hip", {{"driver", findings.hip.driver}, {"problem", findings.hip.problem}, {"compilers", routes}}},
            {"devices", devices},
            {"switches", variables},
            {"cache",
             {{"path", cache.path},
              {"from", cache.from},
              {"writable", cache.writable},
              {"problem", cache.problem},
              {"entries", cache.entries},
              {"bytes", cache.bytes},
              {"limit_bytes", cache.limit_bytes},
              {"layers", cache.layers}}},
            {"wisdom", wisdom_json(findings)}};
}

std::string mark(bool good) { return good ? "found  " : "missing"; }

std::string tools_text(const Findings& findings) {
    std::string text = "Compilers and libraries\n";
    for (const auto& tool : findings.environment.tools) {
        text += fmt::format("  {}  {:<20} {}{}\n", mark(tool.found), tool.name, tool.found ? tool.version : tool.purpose,
                            tool.found ? "  " + tool.path : "");
        if (!tool.found && !tool.advice.empty()) text += fmt::format("           {}\n", tool.advice);
    }
    return text;
}

std::string routes_text(const Findings& findings) {
    std::string text = "HIP kernels are compiled by\n";
    for (const auto& route : findings.hip_routes)
        text += fmt::format("  {:<12} {}\n", route.target, route.compiler.empty() ? "nothing that is installed here" : route.compiler);
    return text;
}

std::string devices_text(const Findings& findings) {
    auto text = fmt::format("Devices\n  found    {:<20} {} of memory\n", findings.cpu.name(), bytes_text(findings.cpu.memory_bytes()));
    for (const auto& device : findings.gpus())
        text += fmt::format("  found    {:<20} {}, {} of memory\n", device.name(), to_string(device.target()),
                            bytes_text(device.memory_bytes()));
    if (!findings.cuda.driver.empty()) text += fmt::format("  found    {:<20} serves CUDA {}\n", "NVIDIA driver", findings.cuda.driver);
    if (!findings.cuda.problem.empty()) text += fmt::format("  missing  {:<20} {}\n", "CUDA device", findings.cuda.problem);
    if (!findings.hip.driver.empty()) text += fmt::format("  found    {:<20} version {}\n", "HIP driver", findings.hip.driver);
    if (!findings.hip.problem.empty()) text += fmt::format("  missing  {:<20} {}\n", "HIP device", findings.hip.problem);
    return text;
}

std::string cache_text(const CacheReport& cache) {
    if (cache.path.empty())
        return fmt::format("Cache\n  in memory only: {}\n", cache.problem.empty() ? "no directory is named" : cache.problem);
    auto text =
        fmt::format("Cache\n  {} ({}, {}): {} of {}, entries: {}\n", cache.path, cache.from.empty() ? "default" : "from " + cache.from,
                    cache.writable ? "writable" : "not writable", bytes_text(cache.bytes), bytes_text(cache.limit_bytes), cache.entries);
    if (!cache.problem.empty()) text += fmt::format("  {}\n", cache.problem);
    for (const auto& layer : cache.layers) text += fmt::format("  prebuilt kernels: {}\n", layer);
    return text;
}

std::string switches_text() {
    std::string text = "Environment variables\n";
    for (const auto& item : switches()) text += fmt::format("  {}={}\n      {}\n", item.name, item.values, item.meaning);
    return text;
}

std::string verdict(const Findings& findings) {
    std::vector<std::string> places;
    if (findings.can_run_cpu()) places.push_back("the CPU");
    if (findings.can_run_cuda()) places.push_back("CUDA devices");
    if (findings.can_run_hip()) places.push_back("HIP devices");
    if (!places.empty()) return fmt::format("Solvers run on {}.\n", fmt::join(places, " and on "));
    return fmt::format("Nothing can run.\n  CPU: {}\n  CUDA: {}\n  HIP: {}\n", findings.cpu_problem,
                       findings.cuda.devices.empty() ? findings.cuda.problem : findings.cuda_problem, findings.hip.problem);
}

}  // namespace

Action add_doctor(CLI::App& app, const bool& json) {
    app.footer("Exit status 0 when solvers can run on some device, 3 when on none.");
    return [&json] {
        const Findings findings;
        if (json)
            print(to_json(findings));
        else
            print(tools_text(findings) + routes_text(findings) + devices_text(findings) + cache_text(findings.environment.cache) +
                  wisdom_text(findings) + switches_text() + verdict(findings));
        return findings.can_run_any() ? 0 : 3;
    };
}

}  // namespace trifold::command
