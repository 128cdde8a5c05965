#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <trifold/cost.hpp>
#include <trifold/error.hpp>
#include <trifold/program.hpp>

#include "generator/backend.hpp"
#include "generator/launches.hpp"
#include "generator/memory.hpp"
#include "generator/mixed.hpp"
#include "generator/program_json.hpp"
#include "generator/sha256.hpp"

namespace trifold {
namespace {

std::string identity(const Program& program) { return sha256(identity_json(program).dump()).substr(0, 8); }

std::string kernel_name(const Program& program, Phase phase) {
    std::string arch;
    for (const char c : program.target.arch) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) arch += c;
    }
    return fmt::format("btd_{}_n{}_{}_{}_{}", to_string(phase), program.spec.block, to_string(program.spec.precision), arch, program.id);
}

/// Mixed precision has no sweeps of their own: what they give would have the accuracy of f32.
Spec without_sweeps(Spec spec) {
    if (spec.precision != Precision::mixed) return spec;
    for (const auto operation : {Operation::forward, Operation::backward, Operation::factor_forward}) spec.operations.erase(operation);
    return spec;
}

}  // namespace

std::string_view to_string(Phase phase) {
    constexpr std::array<std::string_view, 13> names{"factor",        "factor_forward", "forward",    "backward", "inverse",
                                                     "finish_factor", "finish_forward", "narrow",     "residual", "judge",
                                                     "correct",       "deliver",        "factor_wide"};
    return names.at(static_cast<std::size_t>(phase));
}

Program generate(const Spec& spec, const Target& target, const Tuning& tuning) {
    validate(spec);
    validate(target);
    if (target.backend == Backend::c99)
        throw SpecError(
            fmt::format("target '{}' has no kernels to generate; run trifold export, or give another target", to_string(target)));
    if (tuning.workers < 1 || tuning.workers > max_workers)
        throw SpecError(fmt::format("workers = {} is out of range; give 1 to {}", tuning.workers, max_workers));
    Program program;
    program.spec = without_sweeps(spec);
    const auto inner = inner_spec(program.spec);
    program.target = target;
    program.tuning = tuning;
    program.schedule =
        tuning.schedule == "auto" ? choose_schedule(inner, target, tuning.workers) : parse_schedule(tuning.schedule, spec.horizon);
    const bool on_cpu = target.backend == Backend::cpu;
    program.variant = (on_cpu ? cpu::choose_variant : cuda::choose_variant)(inner, target, tuning, program.schedule);
    if (spec.precision == Precision::mixed) program.variant.overlaps = false;  // corrections follow that know nothing of it
    program.id = identity(program);
    for (const auto phase : phases_of(program.spec, program.variant))
        program.kernels.push_back({kernel_name(program, phase), phase, program.variant.shapes.at(phase)});
    if (target.backend == Backend::cuda) cuda::assign_images(program.kernels);
    const auto plan = plan_memory(program);
    program.buffers = plan.buffers;
    program.workspace_bytes =
        checked_add(plan.bytes, checked_multiply(program.variant.scratch_bytes, tuning.workers, "scratch of the workers"), "workspace");
    for (const auto operation : program.spec.operations) program.operations[operation] = build_operation(program, operation);
    program.options = (on_cpu ? cpu::compile_options : cuda::compile_options)(target, program.variant);
    program.source = (on_cpu ? cpu::emit : cuda::emit)(program);
    return program;
}

bool has_kernel(const Program& program, Phase phase) { return kernel_index(program, phase) < program.kernels.size(); }

std::size_t images_of(const Program& program) {
    std::size_t last = 0;
    for (const auto& kernel : program.kernels) last = std::max(last, kernel.image);
    return last + 1;
}

Program in_one_image(Program program) {
    for (auto& kernel : program.kernels) kernel.image = 0;
    return program;
}

const Buffer& buffer(const Program& program, std::string_view name) {
    const auto found = std::ranges::find(program.buffers, name, &Buffer::name);
    if (found == program.buffers.end()) throw SpecError(fmt::format("the Program has no buffer '{}'", name));
    return *found;
}

}  // namespace trifold
