#include "tools/tune/sparse/data.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "tools/tune/sparse/prepared.hpp"

namespace trifold::tune::sparse {
namespace {

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

std::vector<double> random_numbers(std::int64_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> number(-1, 1);
    std::vector<double> all(at(count));
    for (auto& one : all) one = number(random);
    return all;
}

/// A row's diagonal is a little more than its neighbours together, so that iterations are as many as in a diffusion.
std::vector<double> make_values(const SparsePattern& pattern, std::int64_t block, bool is_symmetric) {
    constexpr double more = 0.05, wind = 0.1, coupling = 0.02;
    const auto square = block * block;
    std::vector<double> values(at(pattern.values() * square), 0.0);
    for (std::int64_t row = 0; row < pattern.rows(); ++row)
        for (auto k = pattern.starts()[at(row)]; k < pattern.starts()[at(row) + 1]; ++k) {
            const auto source = pattern.sources().empty() ? k : pattern.sources()[at(k)];
            const auto away = pattern.columns()[at(k)] - row;
            const auto neighbours = static_cast<double>(pattern.starts()[at(row) + 1] - pattern.starts()[at(row)] - 1);
            const double blown = is_symmetric || std::abs(away) != 1 ? 0 : away > 0 ? wind : -wind;
            for (std::int64_t i = 0; i < block; ++i)
                for (std::int64_t j = 0; j < block; ++j) {
                    const double own = away == 0 ? neighbours + more : blown - 1;
                    values[at(source * square + i * block + j)] = i == j ? own : away == 0 ? coupling / static_cast<double>(block) : 0;
                }
        }
    return values;
}

}  // namespace

std::int64_t data_bytes(const Problem& problem) {
    const auto& [spec, sizes] = problem;
    const auto values = sizes.mesh ? sizes.rows * sizes.mesh->points : sizes.entries;
    return spec.batch * spec.block * (2 * values * spec.block + 2 * sizes.rows * spec.rhs) * element_bytes(spec.precision);
}

double asked_of(Precision precision) { return precision == Precision::f32 ? 1e-5 : 1e-8; }

Systems::Systems(const Problem& problem, std::uint64_t seed, DeviceTools& tools, std::int64_t sets)
    : problem_(problem), pattern_(pattern_of(problem.sizes)), tools_(tools), sets_(sets) {
    const auto& spec = problem.spec;
    host_values_ = make_values(pattern_, spec.block, spec.method == SparseMethod::cg);
    host_b_ = random_numbers(pattern_.rows() * spec.block * spec.rhs, seed);
    values_ = placed(host_values_);
    b_ = placed(host_b_);
    std::vector<double> zeros(host_b_.size());
    x_ = placed(zeros);
    zeros.assign(host_values_.size(), 0.0);  // of points beyond a mesh no gradient is written
    like_values_ = placed(zeros);
}

/// One member is uploaded, the others and the other sets copied from it.
Systems::Place Systems::placed(std::vector<double>& of_member) const {
    const auto real = element_bytes(spec().precision);
    const auto given = static_cast<std::int64_t>(of_member.size()) * real;
    Place place{tools_.allocate(given * spec().batch * sets_), given * spec().batch};
    auto* bytes = static_cast<char*>(place.memory.get());
    if (spec().precision == Precision::f32) {
        const std::vector<float> single(of_member.begin(), of_member.end());
        std::ranges::copy(single, of_member.begin());  // what the device has is what its solutions are checked against
        tools_.upload(bytes, single.data(), given);
    } else
        tools_.upload(bytes, of_member.data(), given);
    for (std::int64_t copy = 1; copy < spec().batch * sets_; ++copy) tools_.copy(bytes + copy * given, bytes, given);
    tools_.synchronize();
    return place;
}

AnyArray Systems::any(const Place& place, std::int64_t set) const {
    const auto precision = spec().precision == Precision::f32 ? Precision::f32 : Precision::f64;
    return {static_cast<char*>(place.memory.get()) + set * place.bytes, false, precision};
}

std::vector<double> Systems::read(const Place& place, std::int64_t numbers) const {
    const auto bytes = numbers * element_bytes(spec().precision);
    std::vector<double> all(at(numbers));
    if (spec().precision != Precision::f32) {
        tools_.download(all.data(), place.memory.get(), bytes);
        return all;
    }
    std::vector<float> single(at(numbers));
    tools_.download(single.data(), place.memory.get(), bytes);
    return {single.begin(), single.end()};
}

std::unique_ptr<Prepared> Systems::prepare(const Point& point, const Candidate& candidate, const Device& device) const {
    return std::make_unique<PreparedSparse>(point, candidate, device, *this, tools_);
}

void Systems::poison() const {
    const std::vector<char> ones(at(x_.bytes), '\xff');  // a NaN in both precisions
    tools_.upload(x_.memory.get(), ones.data(), x_.bytes);
}

std::vector<double> Systems::solution() const { return read(x_, static_cast<std::int64_t>(host_b_.size()) * spec().batch); }
std::vector<double> Systems::gradient() const { return read(like_values_, static_cast<std::int64_t>(host_values_.size())); }

double Systems::residual_of(const std::vector<double>& x, std::int64_t member, std::int64_t column) const {
    const auto block = spec().block, rhs = spec().rhs, first = member * static_cast<std::int64_t>(host_b_.size());
    double error = 0, size = 0;
    for (std::int64_t row = 0; row < pattern_.rows(); ++row)
        for (std::int64_t i = 0; i < block; ++i) {
            double sum = host_b_[at((row * block + i) * rhs + column)];
            size += sum * sum;
            for (auto k = pattern_.starts()[at(row)]; k < pattern_.starts()[at(row) + 1]; ++k) {
                const auto source = pattern_.sources().empty() ? k : pattern_.sources()[at(k)];
                for (std::int64_t j = 0; j < block; ++j)
                    sum -= host_values_[at((source * block + i) * block + j)] *
                           x[at(first + (pattern_.columns()[at(k)] * block + j) * rhs + column)];
            }
            error += sum * sum;
        }
    return std::sqrt(error / size);
}

double Systems::residual() const {
    const auto x = solution();
    double worst = 0;
    for (const auto member : {std::int64_t{0}, spec().batch - 1})
        for (std::int64_t column = 0; column < spec().rhs; ++column)
            if (const auto residual = residual_of(x, member, column); !(residual <= worst) && !std::isnan(worst)) worst = residual;
    return worst;
}

}  // namespace trifold::tune::sparse
