
#include <fmt/format.h>
#include <trifold/sparse_args.h>

#include <algorithm>
#include <cctype>

#include "generator/sparse/layout.hpp"

namespace trifold::sparse {
namespace {

/// Preconditioners that have one text: patterns are the plan's, and so are entries that the pattern leaves out.
std::string_view factors_of(const SparseSpec& spec) {
    if (!has_factors(spec)) return "none";
    return spec.preconditioner == SparsePreconditioner::dilu ? "dilu" : "ildu";
}

}  // namespace

std::string kind_of(const SparseSpec& spec) {
    return fmt::format("b{}_{}_{}_{}", spec.block, to_string(spec.precision), factors_of(spec), to_string(spec.method));
}

std::string title_of(const SparseSpec& spec, const Target& target) {
    return fmt::format(
        "/* Trifold: A x = b with sparse A of blocks of {} rows ({}), factors {} by subdomains, method {}; target {}.\n"
        " * Generated; do not edit. It serves every pattern: launches say which. */\n",
        spec.block, to_string(spec.precision), factors_of(spec), to_string(spec.method), to_string(target));
}

std::string common_constants(const SparseSpec& spec) {
    std::string text;
    const auto define = [&](std::string_view name, auto value) { text += fmt::format("#define TRIFOLD_{} {}\n", name, value); };
    const auto type = [](std::int64_t bytes) { return bytes == sizeof(float) ? "float" : "double"; };
    define("REAL", type(element_bytes(spec.precision)));
    define("REAL_BYTES", element_bytes(spec.precision));
    define("FACTOR", type(factor_bytes(spec)));
    define("FACTOR_BYTES", factor_bytes(spec));
    define("BLOCK", spec.block);
    define("DIAGONAL_ALONE", spec.preconditioner == SparsePreconditioner::dilu ? 1 : 0);
    define("HAS_FACTORS", has_factors(spec) ? 1 : 0);
    define("KRYLOV", static_cast<int>(spec.method));
    define("SIZEOF_ARGS", sizeof(trifold_sparse_args));
    define("SIZEOF_LAUNCH", sizeof(trifold_sparse_launch));
    define("SIZEOF_RECORD", sizeof(trifold_sparse_record));
    define("SIZEOF_STATE", sizeof(trifold_sparse_state));
    return text;
}

std::string define_kernel(std::string_view kernel, std::string_view name) {
    std::string word(kernel);
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return fmt::format("#define TRIFOLD_KERNEL_{} {}\n", word, name);
}

}  // namespace trifold::sparse
