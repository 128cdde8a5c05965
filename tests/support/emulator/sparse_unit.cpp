#include "tests/support/emulator/sparse_unit.hpp"

#include <cstring>
#include <set>

#include "tests/support/emulator/launches.hpp"
#include "tests/support/emulator/unit.hpp"

namespace trifold::test {

EmulatedSparse::EmulatedSparse(const SparseSpec& spec, const Target& target, const SparsePattern& pattern, const sparse::Parts& parts,
                               const std::string& variant)
    : spec_(spec),
      pattern_(pattern),
      made_(sparse::generate(spec, target, {.variant = variant}, pattern,
                             sparse::arrange(pattern, parts, spec.preconditioner, sparse::order_for(target)))),
      memory_(static_cast<std::size_t>(made_.program.workspace_bytes + workspace_alignment), '\xff') {
    auto place = reinterpret_cast<std::uintptr_t>(memory_.data());
    place = static_cast<std::uintptr_t>(round_up(static_cast<std::int64_t>(place), workspace_alignment));
    workspace_ = reinterpret_cast<char*>(place);
    for (const auto& buffer : program().buffers)
        if (buffer.zeroed) std::memset(workspace_ + buffer.offset, 0, static_cast<std::size_t>(buffer.bytes));
    for (const auto& content : made_.contents)
        std::memcpy(workspace_ + buffer(program(), content.buffer).offset, content.bytes.get().data(), content.bytes.get().size());
    const auto& unit = program().units.front();
    library_ = compile_unit(unit.source, target.backend, warp_lanes(target), true);
    for (const auto& kernel : unit.kernels) entries_.push_back(reinterpret_cast<Entry>(find_kernel(library_.get(), kernel.name)));
    connect(library_.get(), emulator_);
}

void EmulatedSparse::launch(const std::string& operation, std::size_t number, const trifold_sparse_args& args, Running running) {
    const auto& launch = program().operations.at(operation)[number];
    const auto& kernel = kernel_of(program(), launch);
    // Launches follow one another.
    std::set<std::uint32_t> before;
    for (std::uint32_t k = 0; k < number; ++k) before.insert(k);
    detector_.begin_launch(number, before, before);
    const auto members = (args.members + launch.grid.members_per_group - 1) / launch.grid.members_per_group;
    const Grid grid{launch.grid.groups, members, kernel.threads, warp_lanes(program().units.front().target), kernel.shared_bytes};
    if (launch.together) running.alive = static_cast<int>(launch.grid.groups * members);
    trifold_sparse_launch constants;
    std::memcpy(&constants, launch.constants.data(), sizeof constants);
    run_grid(emulator_, [&] { entries_[launch.kernel](args, constants); }, grid, running, &detector_);
}

void EmulatedSparse::run(const std::string& operation, trifold_sparse_args args, const Running& running) {
    args.workspace = workspace_;
    const auto real = element_bytes(spec_.precision);
    const auto vector = args.members * pattern_.rows() * spec_.block * args.columns * real;
    const auto values = args.members * pattern_.values() * spec_.block * spec_.block * real;
    const auto begin = [&] {
        detector_.begin_operation();
        for (const auto& buffer : program().buffers)
            if (buffer.bytes > 0) detector_.add_region(buffer.name, workspace_ + buffer.offset, buffer.bytes, true);
        if (args.values != nullptr) detector_.add_region("the values", args.values, values, false);
        if (args.b != nullptr) detector_.add_region("B", args.b, vector, args.b == args.x);
        if (args.x != nullptr && args.x != args.b) detector_.add_region("X", args.x, vector, operation != "gradient");
        if (args.gradient != nullptr) detector_.add_region("the gradient", args.gradient, values, true);
        ignore_image(library_.get(), detector_);
        detector_.ignore(&emulator_, sizeof emulator_);
    };
    begin();
    const auto count = program().operations.at(operation).size();
    const auto found = program().repeats.find(operation);
    if (found == program().repeats.end()) {
        for (std::size_t k = 0; k < count; ++k) launch(operation, k, args, running);
        return;
    }
    const auto& repeat = found->second.front();
    const auto* flag = reinterpret_cast<const std::int64_t*>(workspace_ + buffer(program(), repeat.flag).offset);
    for (std::size_t k = 0; k < repeat.first; ++k) launch(operation, k, args, running);
    for (std::int64_t turn = 0; turn < repeat.most && *flag != 0; ++turn) {
        begin();
        for (auto k = repeat.first; k < repeat.first + repeat.count; ++k) launch(operation, k, args, running);
    }
    // A turn after the end changes nothing.
    begin();
    const std::vector<char> kept(workspace_, workspace_ + program().workspace_bytes);
    for (auto k = repeat.first; k < repeat.first + repeat.count; ++k) launch(operation, k, args, running);
    if (std::memcmp(kept.data(), workspace_, kept.size()) != 0) throw std::runtime_error("a turn after the end changes the workspace");
    begin();
    for (auto k = repeat.first + repeat.count; k < count; ++k) launch(operation, k, args, running);
}

trifold_sparse_state EmulatedSparse::state(std::int64_t system) const {
    trifold_sparse_state state;
    std::memcpy(&state, workspace_ + buffer(program(), "states").offset + system * static_cast<std::int64_t>(sizeof state), sizeof state);
    return state;
}

trifold_sparse_record EmulatedSparse::record() const {
    trifold_sparse_record record;
    const auto& records = buffer(program(), "records");
    const auto parts = records.bytes / static_cast<std::int64_t>(sizeof record) / spec_.batch;
    std::memcpy(&record, workspace_ + records.offset + (parts - 1) * static_cast<std::int64_t>(sizeof record), sizeof record);
    return record;
}

}  // namespace trifold::test
