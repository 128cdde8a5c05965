#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <trifold/binary.hpp>
#include <trifold/error.hpp>

#include "generator/program/knob.hpp"
#include "runtime/base/processors.hpp"
#include "runtime/compile/cache.hpp"
#include "runtime/compile/compiler.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/spec_options.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/verbs.hpp"
#include "tools/tune/points.hpp"

namespace trifold::command {
namespace {

struct PackOptions {
    tune::PointOptions points;
    std::vector<std::string> targets, device_names;
    std::string output;
    bool any_size = false, ptx = false;
};

/// The devices whose shipped wisdom may decide, and one that has none.
std::set<std::string> devices_of(const Target& target) {
    std::set<std::string> names{""};
    for (const auto* wisdom : shipped_wisdom())
        for (const auto line : wisdom->lines_with(to_string(target) + "\t").texts) names.insert(parse_wisdom_line(line).device);
    return names;
}

/// With sizes open where the variant can leave them open, as Tuning::any_size does.
std::string with_open_sizes(const tune::TunedFamily& family, const Target& target, const std::string& text) {
    auto variant = parse_variant(text);
    const auto knobs = family.knobs(target, text);
    if (std::ranges::find(knobs, "bake", &Knob::name) != knobs.end()) variant.pinned.emplace("bake", 0);
    return to_string(variant);
}

/// The choice of a Plan with `auto` and no user wisdom.
std::vector<tune::Candidate> standard(const tune::Point& point, const Target& target, const PackOptions& options) {
    const auto& family = tune::family_of(point);
    std::vector<tune::Candidate> result;
    const std::set<std::string> given(options.device_names.begin(), options.device_names.end());
    for (const auto& device : given.empty() ? devices_of(target) : given) {
        auto candidate = family.standard(point, target, device);
        if (options.any_size) candidate.variant = with_open_sizes(family, target, candidate.variant);
        if (std::ranges::find(result, candidate) == result.end()) result.push_back(candidate);
    }
    return result;
}

/// A captured program runs the same kernels again; on other targets it will have those that a Plan chooses there.
std::vector<tune::Candidate> candidates(const tune::Point& point, const Target& target, const PackOptions& options) {
    std::vector<tune::Candidate> result;
    for (const auto& ran : point.ran)
        if (!ran.variant.empty() && ran.target == to_string(target)) result.push_back({ran.schedule, ran.variant});
    return result.empty() ? standard(point, target, options) : result;
}

/// Units to pack, and what was left out with the reason: nothing else is lost for it.
struct Packed {
    std::map<std::string, Unit> units;  ///< by key
    std::vector<std::string> left_out;
    std::mutex mutex;
    void leave_out(const std::string& what, const std::exception& why) {
        const std::scoped_lock lock(mutex);
        left_out.push_back(fmt::format("{}: {}", what, why.what()));
    }
};

std::vector<Target> targets_of(const tune::Point& point, const std::vector<Target>& asked) {
    if (!asked.empty()) return asked;
    std::set<std::string> names;
    for (const auto& ran : point.ran)
        if (!ran.target.empty()) names.insert(ran.target);
    std::vector<Target> result;
    for (const auto& name : names) result.push_back(parse_target(name));
    if (result.empty()) result.push_back(Device::cpu().target());
    return result;
}

void add_unit(Packed& packed, Unit unit) {
    auto key = cache_key(unit);
    packed.units.try_emplace(std::move(key), std::move(unit));
}

void add_units(Packed& packed, const tune::Point& point, const Target& target, const PackOptions& options) {
    for (const auto& candidate : candidates(point, target, options)) {
        auto program = tune::family_of(point).make(point, target, candidate).program();
        for (auto& unit : program.units) {
            if (options.ptx) add_unit(packed, as_ptx(unit));
            add_unit(packed, std::move(unit));
        }
    }
}

void collect(Packed& packed, const std::vector<tune::Point>& points, const std::vector<Target>& asked, const PackOptions& options) {
    for (const auto& point : points)
        for (const auto& target : targets_of(point, asked)) try {
                add_units(packed, point, target, options);
            } catch (const SpecError& error) {
                packed.leave_out(fmt::format("{} on {}", to_string(point), to_string(target)), error);
            }
}

/// By all processors, a unit each.
void compile(Packed& packed, const Cache& layer) {
    std::vector<const Unit*> units;
    for (const auto& [key, unit] : packed.units) units.push_back(&unit);
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (auto k = next++; k < units.size(); k = next++) try {
                layer.publish(obtain(*units[k]), *units[k], Parts::kernels);
                if (units[k]->target.backend == Backend::cuda) layer.publish_target(code_name(*units[k]));
            } catch (const Error& error) {
                packed.leave_out(fmt::format("{} for {}", units[k]->id, to_string(units[k]->target)), error);
            }
    };
    std::vector<std::jthread> threads;
    for (int k = 1; k < usable_processors(); ++k) threads.emplace_back(work);
    work();
}

int pack(const PackOptions& options, bool json) {
    std::vector<std::string> warnings;
    const auto points = options.points.points(warnings, "pack");
    for (const auto& warning : warnings) say(fmt::format("trifold pack: {}\n", warning));
    std::vector<Target> asked;
    for (const auto& name : options.targets) asked.push_back(target_named(name));
    const Cache layer(formats::make_directory(options.output));
    if (layer.path().empty()) throw CacheError(layer.problem());
    Packed packed;
    collect(packed, points, asked, options);
    compile(packed, layer);
    for (const auto& what : packed.left_out) say(fmt::format("trifold pack: left out: {}\n", what));
    const auto entries = layer.list().size();
    if (json)
        print(Json{{"directory", layer.path().string()},
                   {"problems", points.size()},
                   {"units", packed.units.size()},
                   {"entries", entries},
                   {"bytes", layer.size()},
                   {"left_out", packed.left_out}});
    else
        print(fmt::format("{} for {} in {}: {}\n", plural(static_cast<std::int64_t>(entries), "unit"),
                          plural(static_cast<std::int64_t>(points.size()), "problem"), layer.path().string(), bytes_text(layer.size())));
    return packed.left_out.empty() ? 0 : 1;
}

}  // namespace

Action add_pack(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<PackOptions>();
    options->points.add_to(app);
    app.add_option("-o,--output", options->output, "Folder to add to; it is made where there is none")->required();
    app.add_option("--target", options->targets,
                   "cpu:x86-64-v3, cuda:sm_90, ..., with commas between; by default those that a captured program ran on, else cpu:native")
        ->delimiter(',');
    app.add_option("--device-name", options->device_names,
                   "Devices whose shipped wisdom chooses, with commas between; by default all of the target, and none")
        ->delimiter(',');
    app.add_flag(
        "--any-size", options->any_size,
        "Kernels for every N, batch and class of right-hand sides, as Python's functions take them. Those of a captured program are "
        "its own");
    app.add_flag(
        "--ptx", options->ptx,
        "PTX beside machine code for CUDA, which drivers of newer GPUs compile: two and a half times the size of machine code alone");
    app.footer(
        "Name the folder in TRIFOLD_BINARIES, or give it to tools/kernel_wheel. What cannot be made is left out, with exit status 1.");
    return [options, &json] { return pack(*options, json); };
}

}  // namespace trifold::command
