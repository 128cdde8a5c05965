#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>
#include <tuple>

#include "generator/grid/gpu/gpu.hpp"
#include "generator/grid/knobs.hpp"
#include "generator/grid/layout.hpp"
#include "generator/program/device.hpp"
#include "generator/program/templates.hpp"

namespace trifold::grid::gpu {
namespace {

/// Kernels that are compiled as one, and the templates that they are in.
struct Group {
    std::string_view name;
    std::vector<Kernel> kernels;
    std::vector<std::string> templates;
};

/// Groups are compiled at the same time, so none takes much longer than the kernel that takes longest. The kernels of a group are needed by
/// the same operations, and by images of about the same sizes. Every device that needs one of them can have all.
const std::vector<Group>& groups() {
    static const std::vector<Group> all{
        {"leaves", {Kernel::leaf, Kernel::tiny, Kernel::finish}, {"gpu/grid/leaf.cuh", "gpu/grid/tiny.cuh", "gpu/grid/pixels.cuh"}},
        {"small", {Kernel::small, Kernel::middle}, {"gpu/grid/eliminate.cuh"}},
        {"large", {Kernel::large, Kernel::huge}, {"gpu/grid/eliminate.cuh"}},
        {"step_few", {Kernel::step_few}, {"gpu/grid/step.cuh"}},
        {"step_1", {Kernel::step_1}, {"gpu/grid/step.cuh"}},
        {"step_2", {Kernel::step_2}, {"gpu/grid/step.cuh"}},
        {"step_4", {Kernel::step_4}, {"gpu/grid/step.cuh"}},
        {"step_8", {Kernel::step_8}, {"gpu/grid/step.cuh"}},
        {"step_16", {Kernel::step_16}, {"gpu/grid/step.cuh"}},
        {"panels",
         {Kernel::assemble, Kernel::panel, Kernel::product},
         {"gpu/grid/assemble.cuh", "gpu/grid/panel.cuh", "gpu/grid/product.cuh"}},
        {"wide_product", {Kernel::wide_product}, {"gpu/grid/product.cuh"}},
        {"sweeps",
         {Kernel::forward_small, Kernel::backward_small, Kernel::forward, Kernel::backward, Kernel::forward_kept, Kernel::backward_kept,
          Kernel::refine},
         {"gpu/grid/sweep_shared.cuh", "gpu/grid/refine.cuh"}},
        {"pivots", {Kernel::forward_pivots, Kernel::backward_pivots}, {"gpu/grid/sweep_shared.cuh"}},
        {"pivots_transposed", {Kernel::forward_pivots_transposed, Kernel::backward_pivots_transposed}, {"gpu/grid/sweep_shared.cuh"}},
        {"pixels", {Kernel::pixels}, {"gpu/grid/pixels.cuh"}}};
    return all;
}

bool uses_tensor(const GridSpec& spec, const Target& target) {
    return device_of(target).has("fast_tensor") && (target.backend == Backend::cuda || spec.precision == Precision::f64);
}

std::string constants_of(const GridSpec& spec, const Target& target) {
    std::string text;
    const auto define = [&](std::string_view name, auto value) { text += fmt::format("#define TRIFOLD_{} {}\n", name, value); };
    if (target.backend == Backend::hip)
        define("WAVE", warp_lanes(target));
    else
        define("ARCH", compute_capability(target));
    const bool symmetric = spec.matrix == GridMatrix::symmetric;
    define("REAL", spec.precision == Precision::f32 ? "float" : "double");
    define("SYMMETRIC", symmetric ? 1 : 0);
    define("PIVOTING", !symmetric && spec.pivoting == GridPivoting::partial ? 1 : 0);
    define("TENSOR", uses_tensor(spec, target) ? 1 : 0);
    define("PANEL_STAYS", panel_on_chip(target, element_bytes(spec.precision)) ? 1 : 0);
    define("FETCHES_ASYNC", fetches_async(target) ? 1 : 0);
    define("SIZEOF_ARGS", sizeof(trifold_grid_args));
    define("SIZEOF_LAUNCH", sizeof(trifold_grid_launch));
    define("SIZEOF_RECORD", sizeof(trifold_grid_record));
    define("SIZEOF_STATUS", sizeof(trifold_grid_status));
    return text;
}

std::vector<std::string> options_of(const Target& target) {
    auto options = unit_options(target);
    // All units have all constants (177), and branches for other kinds of matrices (128): no news to whoever reads the log.
    if (target.backend == Backend::cuda) options.push_back("--diag-suppress=128,177");
    return options;
}

/// Thread blocks of a kernel for which a multiprocessor must have registers. The kernels of A' and refinement have no rows of their own.
std::int64_t blocks_of(Kernel kernel, const GridSpec& spec, const Target& target, const Knobs& knobs) {
    const auto like = kernel == Kernel::forward_pivots_transposed    ? Kernel::forward_pivots
                      : kernel == Kernel::backward_pivots_transposed ? Kernel::backward_pivots
                      : kernel == Kernel::refine                     ? Kernel::pixels
                                                                     : kernel;
    const double symmetric = spec.matrix == GridMatrix::symmetric ? 1 : 0, bytes = static_cast<double>(element_bytes(spec.precision));
    return take(knobs, device_of(target), blocks_knob(name_of(like)), {{"symmetric", symmetric}, {"bytes", bytes}});
}

void check_bytes(Kernel kernel, std::int64_t bytes, const GridSpec& spec, const Target& target) {
    const auto limit = device_of(target).count("facts.block_shared_bytes");
    if (bytes > limit)
        throw SpecError(fmt::format(
            "kernel {} of an image of {} by {} pixels needs {} bytes of shared memory, and {} has {}; give a smaller image{}",
            name_of(kernel), spec.width, spec.height, bytes, to_string(target), limit, spec.precision == Precision::f64 ? ", or f32" : ""));
}

Unit unit_of(const Group& group, const GridSpec& spec, const Target& target, const Knobs& knobs, const SharedBytes& launched) {
    const auto suffix = fmt::format("{}_{}", kind_of(spec), to_string(spec.precision));
    Unit unit{target, fmt::format("grid_{}_{}", group.name, suffix), {}, options_of(target), {}};
    auto text = title_of(spec, target) + constants_of(spec, target);
    const Knobs unasked{knobs.pinned};
    for (const auto kernel : group.kernels) {
        const auto found = launched.find(kernel);
        const bool is_launched = found != launched.end();
        const auto bytes = is_launched ? found->second : 0;
        check_bytes(kernel, bytes, spec, target);
        unit.kernels.push_back({fmt::format("grid_{}_{}", name_of(kernel), suffix), static_cast<int>(threads_of(kernel, target)), bytes});
        text += define_kernel(name_of(kernel), unit.kernels.back().name);
        if (const auto blocks = blocks_of(kernel, spec, target, is_launched ? knobs : unasked); blocks > 0)
            text += fmt::format("#define TRIFOLD_BLOCKS_{} {}\n", upper(name_of(kernel)), blocks);
    }
    unit.source = with_constants(text, paste(group.templates, platform_of(target)));
    return unit;
}

}  // namespace

void add_units(Program& program, const GridSpec& spec, const Target& target, const Knobs& knobs, const SharedBytes& launched) {
    std::map<Kernel, std::pair<std::size_t, std::size_t>> places;
    for (const auto& group : groups()) {
        if (std::ranges::none_of(group.kernels, [&](Kernel kernel) { return launched.contains(kernel); })) continue;
        for (std::size_t k = 0; k < group.kernels.size(); ++k) places[group.kernels[k]] = {program.units.size(), k};
        program.units.push_back(unit_of(group, spec, target, knobs, launched));
    }
    for (auto& [name, launches] : program.operations)
        for (auto& launch : launches) std::tie(launch.unit, launch.kernel) = places.at(static_cast<Kernel>(launch.kernel));
}

}  // namespace trifold::grid::gpu
