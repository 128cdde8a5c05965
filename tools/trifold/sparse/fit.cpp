#include <fmt/format.h>

#include <limits>
#include <trifold/sparse_spec.hpp>

#include "tools/formats/block_rows.hpp"
#include "tools/trifold/sparse/verbs.hpp"

namespace trifold::command {

Fit sparse_fit(const formats::SparseMatrix& a, const SolveOptions&) {
    const auto block = formats::infer_dense_block(a, max_sparse_block);
    return {.fits = true,
            .flops = std::numeric_limits<double>::infinity(),  // it is taken where no other is
            .size = fmt::format("{}", block),
            .why = fmt::format("any pattern, with dense blocks of {}", block)};
}

}  // namespace trifold::command
