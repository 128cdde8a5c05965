#include "tools/bench/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>

#include "tools/formats/residual.hpp"
#include "tools/problems/problems.hpp"

namespace trifold::bench {
namespace {

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

/// A device holds rounded values in single precision, and its solution is checked against these.
void round_to(Precision precision, std::initializer_list<std::vector<double>*> arrays) {
    if (precision != Precision::f32) return;
    for (auto* values : arrays)
        for (auto& value : *values) value = static_cast<double>(static_cast<float>(value));
}

std::vector<double> random_numbers(std::int64_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> number(-1, 1);
    std::vector<double> all(at(count));
    for (auto& one : all) one = number(random);
    return all;
}

/// The chain that a band is solved as.
formats::System folded_system(const ChainProblem& one) {
    const auto& given = *one.band;
    const auto n = given.block, horizon = given.horizon, batch = given.batch, a = given.border;
    const auto array = [](std::vector<std::int64_t> shape, const std::vector<double>& values) {
        return formats::Array{std::move(shape), Precision::f64, values};
    };
    const auto d = array({batch, horizon, n, n}, given.d), e = array({batch, horizon, given.bandwidth, n, n}, given.e),
               b = array(a > 0 ? std::vector{batch, given.rows, given.rhs} : std::vector{batch, horizon, n, given.rhs}, given.b),
               f = array({batch, horizon, a, n}, given.f), c = array({batch, a, a}, given.c);
    return formats::assemble({d, e, &b, a > 0 ? &f : nullptr, a > 0 ? &c : nullptr, given.ring}, Precision::f64);
}

double worst_of(const std::vector<double>& residuals) {
    double worst = 0;
    for (const auto residual : residuals) worst = formats::worse(worst, residual);
    return worst;
}

/// The matrix that is solved with on a mesh, by rows.
formats::BlockRows mesh_rows(const SparsePattern& pattern, const SparseSpec& spec, std::uint64_t seed) {
    const auto block = spec.block;
    const bool is_symmetric = spec.method == SparseMethod::cg;
    formats::BlockRows a{
        block, {pattern.starts().begin(), pattern.starts().end()}, {pattern.columns().begin(), pattern.columns().end()}, {}};
    a.values.reserve(a.columns.size() * at(block * block));
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> number(-1, 1);
    for (std::int64_t row = 0; row < a.rows(); ++row)
        for (auto k = a.starts[at(row)]; k < a.starts[at(row) + 1]; ++k) {
            const auto away = a.columns[at(k)] - row;
            const double wind = is_symmetric || std::abs(away) != 1 ? 0 : away > 0 ? 0.1 : -0.1;
            const double coupling = block == 1 ? 0 : away == 0 ? 0.3 : 0.1;
            for (std::int64_t i = 0; i < block; ++i)
                for (std::int64_t j = 0; j < block; ++j) {
                    const auto part = is_symmetric ? (i == j ? 0 : -coupling / static_cast<double>(block)) : coupling * number(random);
                    a.values.push_back((i == j ? (away == 0 ? 6.05 : wind - 1) : 0) + part);
                }
        }
    return a;
}

/// The values in the order of a mesh, where points that are not there have places too; nothing where the order is that of rows.
std::vector<double> in_order_of(const SparsePattern& pattern, const formats::BlockRows& a) {
    const auto sources = pattern.sources();
    std::vector<double> values;
    if (sources.empty()) return values;
    const auto square = a.block * a.block;
    values.resize(at(pattern.values() * square));
    for (std::size_t k = 0; k < sources.size(); ++k)
        std::copy_n(a.values.begin() + static_cast<std::int64_t>(k) * square, square, values.begin() + sources[k] * square);
    return values;
}

/// Rows get other numbers, and stay in the subdomains that were given for them.
void shuffle(SparseProblem& one, std::uint64_t seed) {
    const auto& before = one.a;
    const auto square = before.block * before.block;
    std::vector<std::int64_t> old_of(at(before.rows())), new_of(old_of.size());
    std::iota(old_of.begin(), old_of.end(), 0);
    std::ranges::shuffle(old_of, std::mt19937_64(seed));
    for (std::size_t row = 0; row < old_of.size(); ++row) new_of[at(old_of[row])] = static_cast<std::int64_t>(row);
    formats::BlockRows after{.block = before.block};
    std::vector<std::int32_t> parts;
    std::vector<std::pair<std::int64_t, std::int64_t>> entries;  // of a row: the column, and the old place
    for (const auto old : old_of) {
        entries.clear();
        for (auto k = before.starts[at(old)]; k < before.starts[at(old) + 1]; ++k)
            entries.emplace_back(new_of[at(before.columns[at(k)])], k);
        std::ranges::sort(entries);
        for (const auto& [column, place] : entries) {
            after.columns.push_back(column);
            after.values.insert(after.values.end(), before.values.begin() + place * square, before.values.begin() + (place + 1) * square);
        }
        after.starts.push_back(static_cast<std::int64_t>(after.columns.size()));
        if (!one.partition.parts.empty()) parts.push_back(one.partition.parts[at(old)]);
    }
    one.a = std::move(after);
    one.pattern = SparsePattern(std::span<const std::int64_t>(one.a.starts), std::span<const std::int64_t>(one.a.columns));
    one.partition.parts = std::move(parts);
    one.name += " in random order";
}

}  // namespace

double residual_of(const Problem& problem, const std::vector<double>& x) {
    if (const auto* chain = std::get_if<ChainProblem>(&problem))
        return worst_of(formats::relative_residuals(chain->system, formats::with_padding(chain->system, x)));
    if (const auto* image = std::get_if<ImageProblem>(&problem))
        return worst_of(formats::relative_residuals(image->system, image->spec, x));
    const auto& sparse = std::get<SparseProblem>(problem);
    return formats::relative_residual(sparse.a, x, sparse.b, 1, 0);
}

ChainProblem make_chain(std::string_view name, const Spec& spec, std::uint64_t seed) {
    ChainProblem one{spec, problems::make(name, {spec.block, spec.horizon, spec.rhs, spec.batch}, seed)};
    auto& system = one.system;
    if (spec.bandwidth > 1)
        problems::add_band(system, spec.bandwidth, spec.ring, seed);
    else if (spec.ring)
        problems::close_ring(system, seed);
    if (spec.border > 0) problems::add_border(system, spec.border, seed);
    problems::take_kind(system, spec.matrix, seed);
    if (spec.lengths) one.lengths = problems::counts(spec.batch, spec.horizon, seed + 1);
    if (spec.sizes) one.sizes = problems::counts(spec.batch * spec.horizon, spec.block, seed + 2);
    problems::shorten(system, one.lengths, one.sizes);
    round_to(spec.precision, {&system.d, &system.e, &system.u, &system.f, &system.c, &system.b});
    if (spec.bandwidth > 1) {
        one.band = std::move(system);
        system = folded_system(one);
    }
    return one;
}

ImageProblem make_image(std::string_view name, const GridSpec& spec, std::uint64_t seed) {
    ImageProblem one{spec, problems::make_grid(name, spec.width, spec.height, spec.rhs, spec.batch, seed)};
    round_to(spec.precision, {&one.system.stencil, &one.system.b});
    return one;
}

SparseProblem make_mesh(const SparseMesh& mesh, const SparseSpec& spec, const SparsePartition& partition, MeshForm form,
                        std::uint64_t seed) {
    SparsePattern pattern(mesh);
    auto a = mesh_rows(pattern, spec, seed);
    if (form != MeshForm::mesh) pattern = SparsePattern(pattern.starts(), pattern.columns());
    auto one =
        make_rows(fmt::format("{}x{}x{} {} points", mesh.width, mesh.height, mesh.depth, mesh.points), std::move(a), spec, partition, seed);
    one.pattern = pattern;
    one.mesh = mesh;
    one.mesh_values = in_order_of(pattern, one.a);
    if (form == MeshForm::random_rows) shuffle(one, seed);
    return one;
}

SparseProblem make_rows(std::string name, formats::BlockRows a, const SparseSpec& spec, const SparsePartition& partition,
                        std::uint64_t seed) {
    SparsePattern pattern{std::span<const std::int64_t>(a.starts), std::span<const std::int64_t>(a.columns)};
    auto b = random_numbers(a.rows() * a.block, seed + 1);
    SparseProblem one{std::move(name), spec, std::move(pattern), partition, std::move(a), {}, std::move(b)};
    round_to(spec.precision, {&one.a.values, &one.b});
    return one;
}

}  // namespace trifold::bench
