#pragma once
#include <trifold/generate.hpp>

#include "generator/tridiagonal/operands.hpp"

/// A border: A = [T F'; F C], where T = L L' is a chain. With Y = L^-1 F' and y = L^-1 b
///     S = C - Y'Y,   t = c - Y'y,   S x_tip = t,   L' x = y - Y x_tip,   log det A = log det T + log det S,   b' A^-1 b = y'y + t' S^-1 t.
/// The tip S is a chain of one block, and Y a forward sweep of the chain: along with B, where kernels take as many columns, else before it.
namespace trifold {

/// The operands of the launches, in addition to those of Operands.
enum BorderOperands : std::size_t {
    border_itself = 3,  ///< arrays of the border's own kernels, as trifold_border says
    tip_operand,        ///< S, t in place
    first_panel         ///< columns of F, a panel after the other; with B in front where they are swept along. Then those of Y to Z
};

/// The choices for the two chains of a Choice with a border.
Choice chain_choice(const Choice& choice);
Choice tip_choice(const Choice& choice);

/// How columns are cut in panels.
struct BorderPanels {
    bool along;          ///< B is swept along with F
    std::int64_t most;   ///< columns of a panel of F
    std::int64_t count;  ///< panels of F, where B is not swept along, and of Y
    std::size_t first_back() const { return first_panel + static_cast<std::size_t>(count); }
    std::size_t operands() const { return first_back() + static_cast<std::size_t>(count); }
};
BorderPanels panels_of(const Choice& choice);

Program generate_bordered(const Choice& choice, Packing packing);

/// The border's arrays, and strides of the tip's B and X.
struct BorderArrays {
    const void *f, *c, *b;  ///< f and c are written where the call asks for the selected inverse
    void* x;
    trifold_strides strides;
};
/// An operand of a call. `caller` has the chain's arrays.
trifold_args border_operand(const Spec& spec, const BorderPanels& panels, std::size_t number, const std::vector<Buffer>& buffers,
                            const trifold_args& caller, const BorderArrays& tip);

}  // namespace trifold
