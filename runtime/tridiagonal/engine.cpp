#include "runtime/tridiagonal/engine.hpp"

namespace trifold {

CallOperands::CallOperands(const Plan::State& plan, const trifold_args& caller)
    : args(operands_of(plan.choice.spec, plan.program.buffers, caller)) {
    static_assert(sizeof(trifold_args) == 23 * 8, "operands are compared byte by byte, so nothing may be padding");
    for (std::size_t k = 0; k < args.size(); ++k) list[k] = {&args[k], sizeof args[k], args[k].members};
}

}  // namespace trifold
