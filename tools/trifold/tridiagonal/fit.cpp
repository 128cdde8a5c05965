#include <fmt/format.h>

#include "tools/formats/assemble.hpp"
#include "tools/formats/file.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tridiagonal/verbs.hpp"

namespace trifold::command {
namespace {

/// About how many flops an iteration has for each entry of A: blocks that need more are taken only if they are asked for.
constexpr double max_flops = 1e4;

double flops_of(double rows, double block) { return 7.0 / 3 * rows * block * block; }

}  // namespace

Fit tridiagonal_fit(const formats::SparseMatrix& a, const SolveOptions& options) try {
    const auto block = formats::infer_block(a);
    if (const auto why = formats::asymmetry(a, options.asked_precision().value_or(Precision::f64))) return {.why = *why};
    const auto flops = flops_of(static_cast<double>(a.rows), static_cast<double>(block));
    const bool fits = flops <= max_flops * static_cast<double>(a.entries.size() + 1);
    if (!fits) return {.why = fmt::format("blocks of {} need {}, and --block {} takes them", block, flops_text(flops), block)};
    return {.fits = true, .flops = flops, .why = fmt::format("symmetric, and blocks of {} in a row hold it", block)};
} catch (const formats::InputError&) {
    return {.why = fmt::format("no blocks of up to {} in a row hold its entries", max_block)};
}

}  // namespace trifold::command
