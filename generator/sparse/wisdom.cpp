#include "generator/sparse/wisdom.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <trifold/error.hpp>

#include "generator/program/words.hpp"
#include "generator/sparse/fields.hpp"
#include "generator/sparse/knobs.hpp"
#include "generator/sparse/layout.hpp"

namespace trifold::sparse {
namespace {

constexpr std::string_view family_name = "sparse", of_mesh = "mesh", of_rows = "rows";

/// The number behind a word: "b3".
std::int64_t number_behind(std::string_view text, std::string_view word) {
    const auto number = text.starts_with(word) ? parse_number<std::int64_t>(text.substr(word.size())) : std::nullopt;
    if (!number) throw SpecError(fmt::format("'{}' is no {} with a number behind", text, word));
    return *number;
}

/// "b3,ildu0,bicgstab,mesh7".
std::string layout_text(const Problem& problem) {
    const auto& [spec, sizes] = problem;
    const auto restart = spec.method == SparseMethod::gmres ? std::to_string(spec.restart) : "";
    return fmt::format("b{},{},{}{},{}", spec.block, to_string(spec.preconditioner), to_string(spec.method), restart,
                       sizes.mesh ? fmt::format("{}{}", of_mesh, sizes.mesh->points) : of_rows);
}

void parse_layout_text(std::string_view text, Problem& problem) {
    auto& spec = problem.spec;
    const auto words = split(text, ',');
    constexpr std::size_t words_of_layout = 4;
    if (words.size() != words_of_layout)
        throw SpecError(fmt::format("layout '{}' has not four words, such as b3,ildu0,bicgstab,mesh7", text));
    spec.block = number_behind(words[0], "b");
    spec.preconditioner = parse_sparse_preconditioner(words[1]);
    const auto gmres = to_string(SparseMethod::gmres);
    if (words[2].starts_with(gmres)) {
        spec.method = SparseMethod::gmres;
        spec.restart = number_behind(words[2], gmres);
    } else
        spec.method = parse_sparse_method(words[2]);
    if (words.back() != of_rows) problem.sizes.mesh = SparseMesh{.points = static_cast<int>(number_behind(words.back(), of_mesh))};
}

/// "128x128x64" of a mesh; else rows and entries: "1000000x6940000".
std::string size_text(const Sizes& sizes) {
    if (const auto& mesh = sizes.mesh) return fmt::format("{}x{}x{}", mesh->width, mesh->height, mesh->depth);
    return fmt::format("{}x{}", sizes.rows, sizes.entries);
}

void parse_size_text(std::string_view text, Sizes& sizes) {
    constexpr std::size_t sides = 3;
    const auto count = sizes.mesh ? sides : 2;
    const auto numbers = parse_size(text, count, count);
    if (numbers.empty()) throw SpecError(fmt::format("N is '{}'; give WIDTHxHEIGHTxDEPTH of a mesh, or ROWSxENTRIES", text));
    if (sizes.mesh) {
        const SparseMesh mesh{numbers[0], numbers[1], numbers[2], sizes.mesh->points};
        sizes = sizes_of(mesh);
    } else
        sizes = {numbers[0], numbers[1], {}};
}

SparseOperations operations_named(std::string_view name) {
    if (name == "solve") return all_sparse_operations();
    if (name == "apply") return {SparseOperation::apply};
    throw SpecError(fmt::format("operations are '{}'; give solve or apply", name));
}

}  // namespace

Sizes sizes_of(const SparsePattern& pattern) {
    Sizes sizes{pattern.rows(), pattern.entries(), {}};
    if (const auto* mesh = pattern.mesh()) sizes.mesh = *mesh;
    return sizes;
}

Sizes sizes_of(const SparseMesh& mesh) {
    const auto entries = mesh.entries();
    return {mesh.width * mesh.height * mesh.depth, entries, mesh};
}

ProblemKey key_of(const Problem& problem, const Target& target, int workers) {
    const auto& spec = problem.spec;
    validate(spec);
    validate(target);
    return {.target = target,
            .precision = spec.precision,
            .operations = solves(spec) ? "solve" : "apply",
            .layout = layout_text(problem),
            .workers = target.backend == Backend::cpu ? workers : 1,
            .kind = std::string(family_name),
            .size = size_text(problem.sizes),
            .rhs = spec.rhs,
            .batch = spec.batch};
}

Problem problem_of(const ProblemKey& key) {
    Problem problem;
    parse_layout_text(key.layout, problem);
    parse_size_text(key.size, problem.sizes);
    problem.spec.precision = key.precision;
    problem.spec.rhs = key.rhs;
    problem.spec.batch = key.batch;
    problem.spec.operations = operations_named(key.operations);
    const auto again = key_of(problem, key.target, key.workers);
    if (common_columns(again) != common_columns(key) || again.size != key.size)
        throw SpecError("its first columns are not written as a file has them, so nothing would find it");
    return problem;
}

bool is_sparse(const ProblemKey& key) { return key.kind == family_name; }

std::unique_ptr<const WisdomProblem> wisdom_problem(const Problem& problem, const Target& target, const SparseTuning& tuning) {
    const auto make = [=, spec = problem.spec](const std::string& variant) {
        auto with_variant = tuning;
        with_variant.variant = variant;
        choose(spec, target, with_variant);
    };
    return problem_with_one_schedule(key_of(problem, target, tuning.workers), {"a sparse system", subdomains, problem_of, make});
}

SparseChoice choose_with(const WisdomAnswer& answer, const Problem& problem, const Target& target, const SparseTuning& tuning) {
    return choose_by(answer, tuning, [&](const SparseTuning& with_row) { return choose(problem.spec, target, with_row); });
}

}  // namespace trifold::sparse
