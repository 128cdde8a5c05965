#include "generator/tridiagonal/operands.hpp"

#include <algorithm>

#include "generator/tridiagonal/columns.hpp"

namespace trifold {
namespace {

/// Right-hand sides stand column by column in a block; the solution takes their place.
trifold_args copies_of(const Choice& choice, const std::vector<Buffer>& buffers, const trifold_args& caller) {
    const auto& spec = choice.spec;
    const auto column = spec.block, stage = column * columns_at_once(choice);
    const auto place = [&](std::string_view name) {
        return static_cast<char*>(caller.workspace) + std::ranges::find(buffers, name, &Buffer::name)->offset;
    };
    auto result = caller;
    result.d = place("narrow_d");
    result.e = place("narrow_e");
    result.b = result.x = place("narrow_x");
    result.b_strides = result.x_strides = {1, column, stage, spec.horizon * stage};
    result.diagonal = result.shift = nullptr;  // the copies have them
    result.active = reinterpret_cast<const int*>(place("running"));
    return result;
}

}  // namespace

std::array<trifold_args, 3> operands_of(const Choice& choice, const std::vector<Buffer>& buffers, const trifold_args& caller) {
    std::array<trifold_args, 3> result{caller, caller, caller};
    auto& in_x = result[static_cast<std::size_t>(Operands::caller_in_x)];
    in_x.b = caller.x;
    in_x.b_strides = caller.x_strides;
    if (choice.spec.precision == Precision::mixed) result[static_cast<std::size_t>(Operands::copies)] = copies_of(choice, buffers, caller);
    return result;
}

}  // namespace trifold
