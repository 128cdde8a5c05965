#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/sparse/fields.hpp"

namespace trifold {
namespace {

constexpr std::int64_t max_batch = 65535, max_history = 1 << 24;

constexpr Field fields[] = {
    field<&SparseSpec::block>("block", "rows of a block", 1, max_sparse_block),
    field<&SparseSpec::precision>("precision", "of all arrays; mixed: factors in f32"),
    field<&SparseSpec::preconditioner>("preconditioner", "ildu0, ildu1, ildu2 (with fill), dilu, ic0 (with method cg), jacobi or none"),
    field<&SparseSpec::method>("method", "bicgstab, cg (A symmetric and positive definite) or gmres"),
    field<&SparseSpec::restart>("restart", "of gmres: vectors between two restarts", 1, max_sparse_restart),
    field<&SparseSpec::rhs>("rhs", "right-hand sides solved at once", 1, max_sparse_rhs),
    field<&SparseSpec::batch>("batch", "sets of values at once", 1, max_batch),
    field<&SparseSpec::maxiter>("maxiter", "of a solution", 1, max_history),
    field<&SparseSpec::operations>("operations", "calls to come"),
};

}  // namespace

constinit const Fields sparse_fields{"a sparse system", R"({"family": "sparse", "mesh": "128x128x64", "block": 3})", fields,
                                     &usual_of<SparseSpec>};

SparseOperations all_sparse_operations() { return all_values<SparseOperation>(); }
std::string_view to_string(SparsePreconditioner preconditioner) { return name_of(preconditioner); }
std::string_view to_string(SparseMethod method) { return name_of(method); }
std::string_view to_string(SparseOperation operation) { return name_of(operation); }
std::string_view to_string(SparsePartitioning partitioning) { return name_of(partitioning); }
SparsePreconditioner parse_sparse_preconditioner(std::string_view text) {
    return value_named<SparsePreconditioner>(text, "preconditioner");
}
SparseMethod parse_sparse_method(std::string_view text) { return value_named<SparseMethod>(text, "method"); }
SparsePartitioning parse_sparse_partitioning(std::string_view text) { return value_named<SparsePartitioning>(text, "partition"); }

void validate(const SparseSpec& spec) {
    check_ranges(sparse_fields, &spec);
    if (spec.operations.empty()) throw SpecError("a SparseSpec without operations has no use; give at least one");
    if (properties_of(spec.preconditioner).needs_cg && spec.method != SparseMethod::cg)
        throw SpecError(fmt::format("the preconditioner {} is for symmetric matrices and method cg, not {}; give ildu0",
                                    to_string(spec.preconditioner), to_string(spec.method)));
}

namespace sparse {
namespace {

constexpr const char* update_name = "update";  // every problem has it

/// A field that is not of the SparseSpec, taken out of the tree; or the default.
template <class Value>
Value taken(nlohmann::json& tree, const char* name, Value otherwise) {
    const auto found = tree.find(name);
    if (found == tree.end()) return otherwise;
    const auto value = *found;
    tree.erase(found);
    if constexpr (std::is_same_v<Value, std::string>) {
        if (!value.is_string()) throw SpecError(fmt::format("'{}' of {} is {}, which is no text", name, sparse_fields.thing, value.dump()));
        return value.get<std::string>();
    } else {
        return field_values::whole_number(value, fmt::format("'{}' of {}", name, sparse_fields.thing));
    }
}

}  // namespace

SparseMesh parse_mesh(std::string_view text, int points) {
    auto sides = parse_size(text, 2, 3);
    if (sides.empty())
        throw SpecError(fmt::format("'{}' is no mesh; give its cells as WIDTHxHEIGHTxDEPTH, such as 128x128x64, or WIDTHxHEIGHT", text));
    sides.resize(3, 1);
    const SparseMesh mesh{sides[0], sides[1], sides[2], points};
    mesh.entries();  // checks it
    return mesh;
}

nlohmann::json to_json(const Problem& problem) {
    const auto& sizes = problem.sizes;
    const auto mesh = sizes.mesh.value_or(SparseMesh{});
    auto tree = trifold::to_json(sparse_fields, &problem.spec);
    auto& operations = tree["operations"];
    operations.insert(operations.begin(), update_name);
    tree["family"] = "sparse";
    tree["rows"] = sizes.rows;
    tree["entries"] = sizes.entries;
    tree["mesh"] = sizes.mesh ? fmt::format("{}x{}x{}", mesh.width, mesh.height, mesh.depth) : "";
    tree["points"] = mesh.points;
    return tree;
}

Problem parse_sparse_json(const nlohmann::json& given) {
    Problem problem;
    auto& [spec, sizes] = problem;
    auto tree = given;
    if (tree.is_object()) {
        // Captures of before 0.3 have this name.
        if (const auto old = tree.find("most_iterations"); old != tree.end()) {
            tree["maxiter"] = *old;
            tree.erase("most_iterations");
        }
        sizes.rows = taken(tree, "rows", sizes.rows);
        sizes.entries = taken(tree, "entries", sizes.entries);
        const auto mesh = taken(tree, "mesh", std::string());
        const auto points = static_cast<int>(taken<std::int64_t>(tree, "points", SparseMesh{}.points));
        if (!mesh.empty()) sizes = sizes_of(parse_mesh(mesh, points));
        if (const auto operations = tree.find("operations"); operations != tree.end() && operations->is_array())
            operations->erase(std::remove(operations->begin(), operations->end(), update_name), operations->end());
    }
    read_json(sparse_fields, &spec, tree);
    validate(spec);
    if (sizes.rows < 1 || sizes.entries < sizes.rows)
        throw SpecError(fmt::format("a sparse system of {} rows and {} entries; give 'mesh', or 'rows' and at least as many 'entries'",
                                    sizes.rows, sizes.entries));
    return problem;
}

}  // namespace sparse
}  // namespace trifold
