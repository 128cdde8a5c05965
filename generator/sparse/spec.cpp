#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <trifold/error.hpp>
#include <trifold/sparse_spec.hpp>

namespace trifold {
namespace {

constexpr std::array preconditioner_names{"none", "jacobi", "dilu", "ic0", "ildu0", "ildu1", "ildu2"};
constexpr std::array method_names{"bicgstab", "cg", "gmres"};
constexpr std::array operation_names{"apply", "apply_transposed", "multiply", "multiply_transposed",
                                     "solve", "solve_transposed", "gradient"};
constexpr std::array partitioning_names{"automatic", "box", "metis", "greedy", "given", "whole"};

/// The value whose name this is.
template <class Value, std::size_t Count>
Value parse_sparse_name(std::string_view text, const std::array<const char*, Count>& names, std::string_view what) {
    const auto found = std::ranges::find(names, text, [](const char* name) { return std::string_view(name); });
    if (found == names.end()) throw SpecError(fmt::format("unknown {} '{}'; give one of {}", what, text, fmt::join(names, ", ")));
    return static_cast<Value>(found - names.begin());
}

void check_count(std::int64_t value, std::int64_t most, std::string_view what) {
    if (value < 1 || value > most) throw SpecError(fmt::format("{} = {} is out of range; give 1 to {}", what, value, most));
}

}  // namespace

SparseOperations all_sparse_operations() {
    using enum SparseOperation;
    return {apply, apply_transposed, multiply, multiply_transposed, solve, solve_transposed, gradient};
}

std::string_view to_string(SparsePreconditioner preconditioner) {
    return preconditioner_names.at(static_cast<std::size_t>(preconditioner));
}
std::string_view to_string(SparseMethod method) { return method_names.at(static_cast<std::size_t>(method)); }
std::string_view to_string(SparseOperation operation) { return operation_names.at(static_cast<std::size_t>(operation)); }
std::string_view to_string(SparsePartitioning partitioning) { return partitioning_names.at(static_cast<std::size_t>(partitioning)); }

SparsePreconditioner parse_sparse_preconditioner(std::string_view text) {
    return parse_sparse_name<SparsePreconditioner>(text, preconditioner_names, "preconditioner");
}
SparseMethod parse_sparse_method(std::string_view text) { return parse_sparse_name<SparseMethod>(text, method_names, "method"); }
SparsePartitioning parse_sparse_partitioning(std::string_view text) {
    return parse_sparse_name<SparsePartitioning>(text, partitioning_names, "partition");
}

void validate(const SparseSpec& spec) {
    constexpr std::int64_t max_batch = 65535, max_history = 1 << 24;
    check_count(spec.block, max_sparse_block, "block");
    check_count(spec.rhs, max_sparse_rhs, "rhs");
    check_count(spec.batch, max_batch, "batch");
    check_count(spec.restart, max_sparse_restart, "restart");
    check_count(spec.most_iterations, max_history, "most_iterations");
    if (spec.operations.empty()) throw SpecError("a SparseSpec without operations has no use; give at least one");
    const bool symmetric = spec.method == SparseMethod::cg;
    if (spec.preconditioner == SparsePreconditioner::ic0 && !symmetric)
        throw SpecError(
            fmt::format("the preconditioner ic0 is for symmetric matrices and method cg, not {}; give ildu0", to_string(spec.method)));
}

}  // namespace trifold
