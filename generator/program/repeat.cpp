#include <fmt/format.h>
#include <trifold/copy_args.h>

#include <cstddef>
#include <trifold/program.hpp>

#include "generator/program/require.hpp"
#include "generator/program/templates.hpp"

namespace trifold {
namespace {

void check_repeat(const Program& program, const Repeat& repeat, const std::vector<Launch>& launches, std::size_t done) {
    constexpr std::int64_t flag_bytes = 16;
    require(repeat.first >= done && repeat.count > 0 && repeat.count <= launches.size() && repeat.first <= launches.size() - repeat.count,
            "launches {} to {} are repeated, of {} with {} before them taken", repeat.first, repeat.first + repeat.count, launches.size(),
            done);
    require(repeat.most > 0 && repeat.look > 0, "a repetition has at most {} turns and is looked at after {}", repeat.most, repeat.look);
    require(buffer(program, repeat.flag).bytes >= flag_bytes, "the flag {} has {} bytes", repeat.flag, buffer(program, repeat.flag).bytes);
    if (program.units.front().target.backend == Backend::cuda)
        require(repeat.unit < program.units.size() && program.units[repeat.unit].kernels.front().name == "trifold_repeat",
                "unit {} decides about a repetition", repeat.unit);
}

}  // namespace

void check_repeats(const Program& program) {
    for (const auto& [operation, repeats] : program.repeats) {
        std::size_t done = 0;
        for (const auto& repeat : repeats) {
            check_repeat(program, repeat, program.operations.at(operation), done);
            done = repeat.first + repeat.count;
        }
    }
}

Unit copy_unit(const Target& target) {
    static_assert(sizeof(trifold_copy_args) == sizeof(BlockCopy) && offsetof(trifold_copy_args, active) == offsetof(BlockCopy, active));
    const bool on_hip = target.backend == Backend::hip;
    Unit unit{target, fmt::format("copy_{}", target.arch), {{"trifold_copy", trifold_copy_threads, 0}}, {}, {}};
    if (on_hip)
        unit.options = {"--offload-arch=" + target.arch, "-std=c++20", "-O3"};
    else
        unit.options = {"-arch=" + target.arch, "-std=c++17"};
    const auto fact =
        on_hip ? fmt::format("TRIFOLD_WAVE {}", warp_lanes(target)) : fmt::format("TRIFOLD_ARCH {}", compute_capability(target));
    unit.source = fmt::format("#define {}\n{}", fact, paste({"gpu/copy.cuh"}, platform_of(target)));
    return unit;
}

Unit repeat_unit(const Target& target) {
    Unit unit{target, fmt::format("repeat_{}", target.arch), {{"trifold_repeat", 1, 0}}, {"-arch=" + target.arch, "-std=c++17"}, {}};
    const auto text = paste({"gpu/repeat.cuh"}, Platform::cuda);
    unit.source = fmt::format("#define TRIFOLD_ARCH {}\n{}", compute_capability(target), text);
    return unit;
}

}  // namespace trifold
