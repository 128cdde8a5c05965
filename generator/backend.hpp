#pragma once
#include <string>
#include <trifold/program.hpp>

namespace trifold {

/// Of an H200, to which the models of GPUs are fitted.
inline constexpr std::int64_t multiprocessors = 132;

/// One for CPUs, one for the GPUs of CUDA and HIP; the only place where these differ in the generator.
namespace cpu {
Variant choose_variant(const Spec& spec, const Target& target, const Tuning& tuning, const Schedule& schedule);
std::vector<std::string> compile_options(const Target& target, const Variant& variant);
/// Everything of `program` but its source is filled in.
std::string emit(const Program& program);
/// The same without the header comment and with every kernel static, to be called from the unit that it becomes part of.
std::string emit_static(const Program& program);
}  // namespace cpu

namespace cuda {
/// Whether all levels of such a schedule go in one launch, if it is left to `auto`.
bool flows(const Spec& spec, const Target& target, const Schedule& schedule);
/// How many of its first levels then have a launch of their own.
std::int64_t wide_levels(const Spec& spec, const Target& target);
/// Whether `auto` cuts blocks in tiles, all levels in one launch.
bool tiles_flow(const Spec& spec, const Target& target, const Schedule& schedule);
/// Whether such chains go to teams of lanes, if it is left to `auto`.
bool teams_up(const Spec& spec, const Target& target, const Schedule& schedule);
Variant choose_variant(const Spec& spec, const Target& target, const Tuning& tuning, const Schedule& schedule);
/// Each kernel that takes long to compile goes to an image of its own, the others share one: NVRTC compiles one image in one thread.
void assign_images(std::vector<Kernel>& kernels);
std::vector<std::string> compile_options(const Target& target, const Variant& variant);
std::string emit(const Program& program);
}  // namespace cuda

/// The parts of a unit that every backend shares: the header comment, the constants as macros, args.h.
std::string emit_prologue(const Program& program);
/// What the templates call the kernel of a phase; defined as its name where the Program has it.
std::string kernel_macro(Phase phase);
/// `name` as listed in templates/, such as "cpu/factor.c", or "args.h" of generator/trifold; embedded at build time.
std::string_view template_text(std::string_view name);

}  // namespace trifold
