#include "generator/sparse/spec_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <trifold/error.hpp>

namespace trifold::sparse {
namespace {

using nlohmann::json;

constexpr const char* update_name = "update";  // every problem has it

std::int64_t parse_number(const std::string& name, const json& value) {
    if (!value.is_number_integer())
        throw SpecError(fmt::format("'{}' of a sparse system is {}, which is no whole number", name, value.dump()));
    return value.get<std::int64_t>();
}

std::string parse_text(const std::string& name, const json& value) {
    if (!value.is_string()) throw SpecError(fmt::format("'{}' of a sparse system is {}, which is no text", name, value.dump()));
    return value.get<std::string>();
}

SparseOperations parse_operations(const json& value) {
    if (!value.is_array()) throw SpecError(fmt::format("'operations' of a sparse system is {}, which is no list", value.dump()));
    SparseOperations result;
    std::vector<std::string_view> names{update_name};
    for (const auto operation : all_sparse_operations()) names.push_back(to_string(operation));
    for (const auto& one : value) {
        const auto known = one.is_string() ? std::ranges::find(names, one.get<std::string>()) : names.end();
        if (known == names.end())
            throw SpecError(fmt::format("{} is no operation of a sparse system; give some of {}", one.dump(), fmt::join(names, ", ")));
        if (known != names.begin()) result.insert(static_cast<SparseOperation>(known - names.begin() - 1));
    }
    return result;
}

}  // namespace

SparseMesh parse_mesh(std::string_view text, int points) {
    SparseMesh mesh{0, 1, 1, points};
    std::int64_t* const sides[]{&mesh.width, &mesh.height, &mesh.depth};
    const auto* at = text.data();
    const auto* const end = text.data() + text.size();
    for (std::size_t k = 0; k < std::size(sides); ++k) {
        const auto [behind, error] = std::from_chars(at, end, *sides[k]);
        const bool is_last = behind == end;
        if (error != std::errc() || (!is_last && (*behind != 'x' || k + 1 == std::size(sides))) || (is_last && k == 0))
            throw SpecError(
                fmt::format("'{}' is no mesh; give its cells as WIDTHxHEIGHTxDEPTH, such as 128x128x64, or WIDTHxHEIGHT", text));
        if (is_last) break;
        at = behind + 1;
    }
    mesh.entries();  // checks it
    return mesh;
}

json to_json(const Problem& problem) {
    const auto& [spec, sizes] = problem;
    auto operations = json::array({update_name});
    for (const auto operation : spec.operations) operations.push_back(to_string(operation));
    const auto mesh = sizes.mesh.value_or(SparseMesh{});
    return {{"family", "sparse"},
            {"rows", sizes.rows},
            {"entries", sizes.entries},
            {"mesh", sizes.mesh ? fmt::format("{}x{}x{}", mesh.width, mesh.height, mesh.depth) : ""},
            {"points", mesh.points},
            {"block", spec.block},
            {"precision", to_string(spec.precision)},
            {"preconditioner", to_string(spec.preconditioner)},
            {"method", to_string(spec.method)},
            {"restart", spec.restart},
            {"rhs", spec.rhs},
            {"batch", spec.batch},
            {"most_iterations", spec.most_iterations},
            {"operations", operations}};
}

Problem parse_sparse_json(const json& tree) {
    if (!tree.is_object())
        throw SpecError(
            fmt::format("a sparse system is an object such as {{\"family\": \"sparse\", \"mesh\": \"128x128x64\", \"block\": 3}}, not {}",
                        tree.dump()));
    Problem problem;
    auto& [spec, sizes] = problem;
    std::string mesh;
    int points = SparseMesh{}.points;
    for (const auto& [name, value] : tree.items()) {
        if (name == "family")
            continue;
        else if (name == "rows")
            sizes.rows = parse_number(name, value);
        else if (name == "entries")
            sizes.entries = parse_number(name, value);
        else if (name == "mesh")
            mesh = parse_text(name, value);
        else if (name == "points")
            points = static_cast<int>(parse_number(name, value));
        else if (name == "block")
            spec.block = parse_number(name, value);
        else if (name == "precision")
            spec.precision = parse_precision(parse_text(name, value));
        else if (name == "preconditioner")
            spec.preconditioner = parse_sparse_preconditioner(parse_text(name, value));
        else if (name == "method")
            spec.method = parse_sparse_method(parse_text(name, value));
        else if (name == "restart")
            spec.restart = parse_number(name, value);
        else if (name == "rhs")
            spec.rhs = parse_number(name, value);
        else if (name == "batch")
            spec.batch = parse_number(name, value);
        else if (name == "most_iterations")
            spec.most_iterations = parse_number(name, value);
        else if (name == "operations")
            spec.operations = parse_operations(value);
        else
            throw SpecError(fmt::format("a sparse system has no '{}'", name));
    }
    if (!mesh.empty()) sizes = sizes_of(parse_mesh(mesh, points));
    validate(spec);
    if (sizes.rows < 1 || sizes.entries < sizes.rows)
        throw SpecError(fmt::format("a sparse system of {} rows and {} entries; give 'mesh', or 'rows' and at least as many 'entries'",
                                    sizes.rows, sizes.entries));
    return problem;
}

}  // namespace trifold::sparse
