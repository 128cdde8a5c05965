#include "tests/support/families/oracle.hpp"

#include <algorithm>

#include "generator/grid/fields.hpp"
#include "generator/sparse/fields.hpp"
#include "generator/tridiagonal/fields.hpp"
#include "tests/runtime/grid/problems.hpp"
#include "tests/runtime/sparse/problems.hpp"
#include "tests/support/cpu/problem.hpp"

namespace trifold::test {
namespace {

using nlohmann::json;

const double nan = std::numeric_limits<double>::quiet_NaN();

std::int64_t field_of(const json& problem, std::string_view name) { return problem.at(std::string(name)).get<std::int64_t>(); }
void complete_nothing(json&, json&, bool, Random&) {}
json no_options(const json&) { return json::object(); }

bool is_narrow(const json& problem) { return problem.at("precision") == "f32"; }

// Lower triangular matrices, which are a family of the tests alone.
Values lower_values(const json& problem, unsigned seed) {
    const auto n = field_of(problem, "size");
    auto l = noise(n * n, seed);
    for (std::int64_t k = 0; k < n * n; ++k) {
        auto& entry = l[static_cast<std::size_t>(k)];
        entry = k / n < k % n ? nan : k / n == k % n ? 2 + std::abs(entry) : entry / static_cast<double>(n);
    }
    return {l};
}
double lower_tolerance(const json& problem) { return is_narrow(problem) ? 1e-6 : 1e-14; }
Dense lower_matrix(const json& problem, const Values& values) {
    const auto n = field_of(problem, "size");
    Dense a = Eigen::Map<const Dense>(values[0].data(), n, n).transpose();
    a.triangularView<Eigen::StrictlyUpper>().setZero();
    return a;
}

// Chains of blocks.
void complete_chain(json& problem, json& tuning, bool on_cpu, Random& random) {
    // Workers change no bit of kernels that are named.
    constexpr const char* schedules[]{"sequential", "twisted:2", "recursive:2", "partitioned:3"};
    tuning["schedule"] = schedules[random() % std::size(schedules)];
    if (on_cpu) tuning["variant"] = random() % 2 == 0 ? "tile" : "lanes";
    // General matrices take U, which the table has not: tests/runtime/tridiagonal/general_test.cpp is for them.
    if (problem.at("matrix") == "general") problem["matrix"] = "symmetric";
    std::erase(problem.at("operations").get_ref<json::array_t&>(), "solve_transposed");
    if (problem.at("precision") == "mixed") problem["operations"] = {"factor", "solve", "factor_solve"};
    const auto n = field_of(problem, "block");
    if (random() % 3 == 0) problem["d"] = {{"leading", n + 1}, {"stage", n * (n + 1) + 3}}, problem["e"] = {{"leading", n + 2}};
}
std::int64_t chain_extent(const json& problem, std::string_view name) {
    return name == "couplings" ? field_of(problem, "horizon") - 1 : field_of(problem, name);
}
double chain_tolerance(const json& problem) { return is_narrow(problem) ? 1e-5 : 1e-13; }
Values chain_values(const json& problem, unsigned seed) {
    auto spec = parse_spec_json(problem);
    spec.batch = 1;
    const auto system = random_system(spec.block, spec.horizon, 1, seed);
    auto all = arrays<double>(spec, {system});
    all.d.resize(static_cast<std::size_t>(diagonal_strides(spec).member), nan);
    all.e.resize(static_cast<std::size_t>(coupling_strides(spec).member), nan);
    return {all.d, all.e};
}
Dense block_of(const std::vector<double>& values, const Strides& strides, std::int64_t stage, std::int64_t n) {
    return Dense::NullaryExpr(n, n, [&](Eigen::Index r, Eigen::Index c) {
        return values[static_cast<std::size_t>(stage * strides.stage + r * strides.row + c * strides.column)];
    });
}
Dense chain_matrix(const json& problem, const Values& values) {
    const auto spec = parse_spec_json(problem);
    System system;
    for (std::int64_t i = 0; i < spec.horizon; ++i) {
        const Dense d = block_of(values[0], diagonal_strides(spec), i, spec.block);
        system.d.emplace_back(d.selfadjointView<Eigen::Lower>());
        if (i + 1 < spec.horizon) system.e.push_back(block_of(values[1], coupling_strides(spec), i, spec.block));
    }
    return system.dense();
}
Values chain_inverse(const json& problem, const Dense& inverse) {
    const auto n = field_of(problem, "block"), horizon = field_of(problem, "horizon");
    Values blocks(2);
    for (const std::int64_t below : {0, 1})
        for (std::int64_t i = 0; i + below < horizon; ++i) {
            const Dense transposed = inverse.block((i + below) * n, i * n, n, n).transpose();
            auto& to = blocks[static_cast<std::size_t>(below)];
            to.insert(to.end(), transposed.data(), transposed.data() + n * n);
        }
    return blocks;
}

// Images.
Image image_of(const GridSpec& spec, std::vector<double> stencil) {
    Image image(spec.width, spec.height);
    image.stencil = std::move(stencil);
    return image;
}
/// Such images are random, so that their solution needs exchanges.
bool exchanges_rows(const GridSpec& spec) {
    return spec.matrix == GridMatrix::general && spec.pivoting == GridPivoting::partial && spec.precision == Precision::f64;
}
double image_tolerance(const json& problem) { return exchanges_rows(parse_grid_json(problem)) ? 1e-10 : is_narrow(problem) ? 1e-6 : 1e-14; }
Values image_values(const json& problem_, unsigned seed) {
    const auto spec = parse_grid_json(problem_);
    const auto* name = exchanges_rows(spec) ? "random" : spec.matrix == GridMatrix::symmetric ? "anisotropic" : "dominant";
    return {with_nan_unread(problem(name, spec.width, spec.height, seed), spec)};
}
Dense image_matrix(const json& problem, const Values& values) {
    const auto spec = parse_grid_json(problem);
    return matrix_of(image_of(spec, values[0]), spec);
}

// Sparse systems.
void complete_sparse(json& problem, json&, bool, Random& random) {
    constexpr std::int64_t sides[]{1, 2, 3, 5, 7};
    const auto side = [&] { return sides[random() % std::size(sides)]; };
    const auto depth = random() % 2 == 0 ? 1 : side();
    problem["mesh"] = fmt::format("{}x{}x{}", side(), side(), depth);
    problem["points"] = depth == 1 ? (random() % 2 == 0 ? 5 : 9) : random() % 2 == 0 ? 7 : 27;
}
SparsePattern pattern_of(const json& problem) {
    return SparsePattern(sparse::parse_mesh(problem.at("mesh").get<std::string>(), static_cast<int>(field_of(problem, "points"))));
}
std::int64_t sparse_extent(const json& problem, std::string_view name) {
    if (name == "rows") return pattern_of(problem).rows();
    return name == "values" ? pattern_of(problem).values() : field_of(problem, name);
}
Values sparse_values(const json& problem, unsigned seed) {
    const auto pattern = pattern_of(problem);
    const auto block = field_of(problem, "block"), square = block * block;
    const auto a = random_on(pattern, block, seed, 1.2, problem.at("method") == "cg");
    std::vector<double> placed(static_cast<std::size_t>(pattern.values() * square), nan);
    for (std::int64_t k = 0; k < pattern.entries(); ++k)
        std::copy_n(a.values.begin() + k * square, square, placed.begin() + pattern.sources()[static_cast<std::size_t>(k)] * square);
    return {placed};
}
Dense sparse_matrix(const json& problem, const Values& values) {
    const auto pattern = pattern_of(problem);
    const auto block = field_of(problem, "block"), square = block * block;
    BlockMatrix a{block, {pattern.starts().begin(), pattern.starts().end()}, {pattern.columns().begin(), pattern.columns().end()}, {}};
    for (const auto source : pattern.sources())
        a.values.insert(a.values.end(), values[0].begin() + source * square, values[0].begin() + (source + 1) * square);
    return a.eigen();
}
double over_right_side(const Dense& a, const Dense& x, const Dense& b) {
    return ((b - a * x).colwise().norm().array() / b.colwise().norm().array()).maxCoeff();
}
double sparse_tolerance(const json& problem) { return is_narrow(problem) ? 2e-5 : 1.01e-10; }
json sparse_options(const json& problem) { return {{"rtol", is_narrow(problem) ? 1e-5 : 1e-10}}; }

const Oracle oracles[]{
    {"lower", complete_nothing, field_of, lower_values, lower_matrix, relative_residual, lower_tolerance, no_options, false, false},
    {"tridiagonal", complete_chain, chain_extent, chain_values, chain_matrix, relative_residual, chain_tolerance, no_options, true, true,
     true, chain_inverse},
    {"grid", complete_nothing, field_of, image_values, image_matrix, relative_residual, image_tolerance, no_options},
    {"sparse", complete_sparse, sparse_extent, sparse_values, sparse_matrix, over_right_side, sparse_tolerance, sparse_options, false, true,
     false},
};

}  // namespace

const Oracle& oracle_of(std::string_view family) { return *std::ranges::find(oracles, family, &Oracle::family); }

const ArrayRow& Oracle::right_side(const Family& family) const {
    for (const auto& row : family.operations)
        for (const auto& array : row.arrays)
            if (std::string_view(array.name) == "B") return array;
    throw std::logic_error("a family without B");
}

}  // namespace trifold::test
