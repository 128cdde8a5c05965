#include "generator/tridiagonal/operands.hpp"

#include <algorithm>

namespace trifold {
namespace {

/// Right-hand sides stand column by column in a block; the solution takes their place.
trifold_args copies_of(const Spec& spec, std::int64_t columns, const std::vector<Buffer>& buffers, const trifold_args& caller) {
    const auto place = [&](std::string_view name) {
        return static_cast<char*>(caller.workspace) + std::ranges::find(buffers, name, &Buffer::name)->offset;
    };
    auto result = caller;
    result.d = place("narrow_d");
    result.e = place("narrow_e");
    result.b = result.x = place("narrow_x");
    result.b_strides = result.x_strides = {1, spec.block, spec.block * columns, spec.horizon * spec.block * columns};
    result.diagonal = result.shift = nullptr;  // the copies have them
    result.active = reinterpret_cast<const int*>(place("running"));
    return result;
}

}  // namespace

std::array<trifold_args, 3> operands_of(const Spec& spec, std::int64_t columns, const std::vector<Buffer>& buffers,
                                        const trifold_args& caller) {
    std::array<trifold_args, 3> result{caller, caller, caller};
    auto& in_x = result[static_cast<std::size_t>(Operands::caller_in_x)];
    in_x.b = caller.x;
    in_x.b_strides = caller.x_strides;
    if (spec.precision == Precision::mixed) result[static_cast<std::size_t>(Operands::copies)] = copies_of(spec, columns, buffers, caller);
    return result;
}

bool takes_sizes_by_value(const Program& program) { return !program.sizes.empty() && program.units.front().target.backend != Backend::cpu; }

std::size_t bytes_of_args(const Program& program) { return takes_sizes_by_value(program) ? sizeof(KernelArgs) : sizeof(trifold_args); }

void set_sizes(KernelArgs& args, const Program& program) {
    if (takes_sizes_by_value(program))
        std::memcpy(reinterpret_cast<char*>(&args) + offsetof(trifold_args, sizes), program.sizes.data(),
                    open_size_count * sizeof(trifold_int));
    else
        args.args.sizes = reinterpret_cast<const trifold_int*>(program.sizes.data());
}

}  // namespace trifold
