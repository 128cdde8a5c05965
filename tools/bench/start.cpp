#include "tools/bench/start.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tools/formats/file.hpp"
#include "tools/formats/npy.hpp"

namespace trifold::bench {
namespace {

namespace fs = std::filesystem;

/// What a shell command writes to standard output.
std::string output_of(const std::string& command) {
    std::string text;
    auto* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) throw Error("cannot start a process for the compile suite");
    char part[4096];
    for (std::size_t count = 0; (count = std::fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, count);
    ::pclose(pipe);
    return text;
}

}  // namespace

Starts::Starts(const formats::System& system, Precision precision, const std::string& device, const Tuning& tuning)
    : path_(directory_.path()) {
    const auto n = system.block, horizon = system.horizon, batch = system.batch;
    const auto write = [&](const char* name, const std::vector<std::int64_t>& shape, const std::vector<double>& values) {
        formats::write_file(path_ / name, formats::format_npy({shape, precision, values}));
    };
    write("D.npy", {batch, horizon, n, n}, system.d);
    write("E.npy", {batch, horizon - 1, n, n}, system.e);
    write("b.npy", {batch, horizon, n, system.rhs}, system.b);
    command_ =
        fmt::format("cd '{}' && CUDA_CACHE_DISABLE=1 TRIFOLD_CACHE_DIR=cache '{}' solve D.npy E.npy b.npy --json --device {} --schedule {}",
                    path_.string(), fs::read_symlink("/proc/self/exe").string(), device, tuning.schedule);
    if (precision == Precision::mixed) command_ += " --precision mixed";
    if (tuning.workers > 1) command_ += fmt::format(" --workers {}", tuning.workers);
}

Start Starts::cold() const {
    fs::remove_all(path_ / "cache");
    return run();
}

Start Starts::warm() const { return run(); }

Start Starts::run() const {
    const auto text = output_of(command_ + " 2>&1");
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded() || !json.contains("seconds")) throw Error(fmt::format("'{}' failed: {}", command_, text));
    const auto& seconds = json["seconds"];
    const auto part = [&](const char* name) { return seconds[name].get<double>(); };
    return {part("generate") + part("compile") + part("load"), json["relative_residual"].get<double>(),
            json["schedule"].get<std::string>()};
}

}  // namespace trifold::bench
