#include "runtime/compile/environment.hpp"

#include <trifold/error.hpp>

#include "runtime/base/symbols.hpp"
#include "runtime/compile/cache.hpp"
#include "runtime/compile/compiler.hpp"

namespace trifold {
namespace {

ToolReport probe_tool(std::shared_ptr<const Compiler> (*find)(ToolReport&)) {
    ToolReport report;
    try {
        const auto compiler = find(report);
        report.found = compiler && compiler->usable();
        if (report.found) report.advice.clear();
    } catch (const DeviceError& error) {  // a limit of the system
        report.found = false;
        report.advice = error.what();
    }
    return report;
}

ToolReport probe_metis() {
    const auto& library = metis_library();
    const bool found = library.part_graph != nullptr;
    return {"METIS",      "cuts sparse systems into subdomains; without it they grow greedily, which takes more iterations",
            found,        found ? MetisLibrary::name : "",
            library.path, found ? "" : "install libmetis5; on Debian: apt-get install libmetis5"};
}

CacheReport probe_cache() {
    const auto cache = Cache::from_environment();
    CacheReport report{cache.path(), cache.named_by(), cache.writable(), cache.problem()};
    report.layers = probe_layers();
    if (report.path.empty()) return report;
    report.entries = static_cast<std::int64_t>(cache.list().size());
    report.bytes = cache.size();
    report.limit_bytes = cache.limit();
    if (!report.writable) report.problem = "this user may not write to it";
    return report;
}

}  // namespace

std::vector<std::string> probe_layers() {
    std::vector<std::string> result;
    for (const auto& layer : Cache::layers()) result.push_back(layer.path());
    return result;
}

Environment probe_environment() {
    Environment environment;
    for (const auto find : {find_clang, find_cc, find_nvrtc, find_hiprtc}) environment.tools.push_back(probe_tool(find));
    environment.tools.push_back(probe_metis());
    environment.cache = probe_cache();
    return environment;
}

}  // namespace trifold
