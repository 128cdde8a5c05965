#include "tests/support/emulator/grid_unit.hpp"

#include <cstring>

#include "tests/support/emulator/launches.hpp"
#include "tests/support/emulator/unit.hpp"

namespace trifold::test {
namespace {

/// The launches that have ended when a launch does not begin early, and when one that does has waited for them.
std::vector<std::set<std::uint32_t>> all_that_end(const std::vector<Launch>& launches) {
    auto late = launches;
    for (auto& launch : late) launch.early = false;
    return all_before(late);
}

/// The first launch of a chain of early ones that may be at work at the same time as this one.
std::size_t begin_of(const std::vector<Launch>& launches, std::size_t k) {
    while (launches[k].early) k = launches[k].after.at(0);
    return k;
}

}  // namespace

EmulatedGrid::EmulatedGrid(const GridSpec& spec, const Target& target, const GridTuning& tuning)
    : spec_(spec),
      program_(generate(spec, target, tuning)),
      memory_(static_cast<std::size_t>(program_.workspace_bytes + workspace_alignment), '\xff') {
    auto place = reinterpret_cast<std::uintptr_t>(memory_.data());
    place = static_cast<std::uintptr_t>(round_up(static_cast<std::int64_t>(place), workspace_alignment));
    workspace_ = reinterpret_cast<char*>(place);
    for (const auto& buffer : program_.buffers)
        if (!buffer.contents.empty()) std::memcpy(workspace_ + buffer.offset, buffer.contents.data(), buffer.contents.size());
    for (const auto& unit : program_.units) {
        libraries_.push_back(compile_unit(unit.source, target.backend, warp_lanes(target), true));
        auto* library = libraries_.back().get();
        auto& entries = entries_.emplace_back();
        for (const auto& kernel : unit.kernels) entries.push_back(reinterpret_cast<Entry>(find_kernel(library, kernel.name)));
        connect(library, emulator_);
    }
}

void EmulatedGrid::run(const std::string& operation, trifold_grid_args args, const Running& running) {
    args.workspace = workspace_;
    const std::int64_t real = element_bytes(spec_.precision), pixels = args.members * spec_.width * spec_.height;
    detector_.begin_operation();
    for (const auto& buffer : program_.buffers)
        if (buffer.bytes > 0) detector_.add_region(buffer.name, workspace_ + buffer.offset, buffer.bytes, true);
    const auto add = [&](const char* name, const void* at, std::int64_t each, bool writable) {
        if (at != nullptr) detector_.add_region(name, at, pixels * each * real, writable);
    };
    const bool gradient = operation == "gradient";
    add("the stencil", args.stencil, 9, false);
    add("B", args.b, args.columns, args.b == args.x);
    if (args.x != args.b) add("X", args.x, args.columns, !gradient);
    add("the gradient", args.gradient, 9, true);
    for (const auto& library : libraries_) ignore_image(library.get(), detector_);
    detector_.ignore(&emulator_, sizeof emulator_);
    const auto& launches = program_.operations.at(operation);
    const auto ended = all_that_end(launches);
    for (const auto k : choose_order(launches, running)) {
        const auto& launch = launches[k];
        const auto& kernel = kernel_of(program_, launch);
        detector_.begin_launch(k, ended[begin_of(launches, k)], ended[k]);
        const auto& target = program_.units[launch.unit].target;
        const Grid grid{launch.grid.groups, args.members, kernel.threads, warp_lanes(target), kernel.shared_bytes};
        trifold_grid_launch constants;
        std::memcpy(&constants, launch.constants.data(), sizeof constants);
        const auto entry = entries_[launch.unit][launch.kernel];
        run_grid(emulator_, [&] { entry(args, constants); }, grid, running, &detector_);
    }
}

trifold_grid_status EmulatedGrid::status(std::int64_t member) const {
    trifold_grid_status status;
    std::memcpy(&status, workspace_ + buffer(program_, "status").offset + member * static_cast<std::int64_t>(sizeof status), sizeof status);
    return status;
}

}  // namespace trifold::test
