#include "tools/trifold/tridiagonal/export_gpu.hpp"

#include <fmt/format.h>

#include <trifold/binary.hpp>
#include <trifold/error.hpp>

#include "generator/tridiagonal/wisdom.hpp"
#include "runtime/wisdom/wisdom.hpp"

namespace trifold::command {
namespace {

KernelCode compiled(const Program& program) try {
    const auto binary = obtain(program.units.front());
    return {binary.code, binary.compiler, binary.kernels};
} catch (const DeviceError& error) {
    throw DeviceError(fmt::format("{}; or give --no-binaries, and the project compiles its kernels where it is built", error.what()));
}

/// What a row of wisdom says, pinned, so that the command within the project makes the same files again.
Tuning tuned(const Spec& spec, const Target& target, Tuning tuning) {
    const auto choice = choose_by_wisdom(spec, target, tuning, "");
    if (choice.row.empty()) return tuning;
    tuning.schedule = choice.schedule.name;
    tuning.variant = choice.variant;
    return tuning;
}

}  // namespace

void GpuExportOptions::add_to(CLI::App& app) {
    const auto add = [&](CLI::Option* option) { options_.push_back(option->group("For cuda and hip")); };
    add(app.add_option("--batch", batch_, "Systems solved at once")->capture_default_str());
    add(app.add_option("--operations", operations_, "What will be called: all, or some of " + to_string(all_operations()))
            ->capture_default_str());
    add(app.add_option("--variant", tuning_.variant, "Of the kernels, and knobs: name:knob=value,...; an unknown name lists them")
            ->capture_default_str());
    add(app.add_flag("--no-binaries", no_binaries_, "Leave compiling the kernels to the project's Makefile"));
}

void GpuExportOptions::expect_none(const std::string& target) const {
    for (const auto* option : options_)
        if (option->count() > 0)
            throw SpecError(fmt::format("{} is for targets cuda:... and hip:..., not for {}; leave it out", option->get_name(), target));
}

std::vector<ExportedFile> GpuExportOptions::project(Spec spec, const std::string& targets, const std::string& prefix,
                                                    const std::string& schedule) const {
    spec.batch = batch_;
    spec.operations = parse_operations(operations_);
    auto tuning = tuning_;
    if (!schedule.empty()) tuning.schedule = schedule;
    const auto parsed = parse_gpu_targets(targets);
    // For one target alone: a project has one tuning for all of its targets.
    if (parsed.size() == 1) tuning = tuned(spec, parsed.front(), tuning);
    const GpuExportRequest request{spec, parsed, tuning, prefix};
    std::vector<KernelCode> code;
    for (const auto& program : gpu_export_programs(request))
        if (!no_binaries_) code.push_back(compiled(program));
    return export_gpu_project(request, code);
}

}  // namespace trifold::command
