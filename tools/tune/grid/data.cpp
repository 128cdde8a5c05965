#include "tools/tune/grid/data.hpp"

#include <algorithm>
#include <cmath>

#include "tools/formats/residual.hpp"
#include "tools/problems/grid.hpp"
#include "tools/tune/grid/prepared.hpp"

namespace trifold::tune::grid {
namespace {

constexpr std::int64_t most_made = 16, most_made_bytes = 128 << 20;  // images that differ

std::int64_t pixels_of(const GridSpec& spec) { return spec.width * spec.height; }

std::int64_t made(const GridSpec& spec) {
    const auto each = 9 * pixels_of(spec) * element_bytes(spec.precision);
    return std::min(spec.batch, std::clamp<std::int64_t>(most_made_bytes / each, 1, most_made));
}

template <class Real>
std::vector<Real> rounded(std::vector<double>& values) {
    std::vector<Real> array(values.begin(), values.end());
    std::ranges::copy(array, values.begin());  // what the device has is what its solutions are checked against
    return array;
}

}  // namespace

std::int64_t data_bytes(const GridSpec& spec) { return spec.batch * pixels_of(spec) * (9 + 2 * spec.rhs) * element_bytes(spec.precision); }

Images::Images(const GridSpec& spec, std::uint64_t seed, DeviceTools& tools, std::int64_t sets) : spec_(spec), tools_(tools), sets_(sets) {
    const bool symmetric = spec.matrix == GridMatrix::symmetric;
    system_ = problems::make_grid(symmetric ? "grid-anisotropic" : "grid-convection", spec.width, spec.height, spec.rhs, made(spec), seed);
    stencil_ = placed(system_.stencil);
    b_ = placed(system_.b);
    std::vector<double> zeros(system_.b.size());
    x_ = placed(zeros);
}

/// The images that differ are uploaded, the others and the other sets copied from them.
Images::Place Images::placed(std::vector<double>& values) const {
    const auto real = element_bytes(spec_.precision);
    const auto given = static_cast<std::int64_t>(values.size()) * real, all = given / system_.batch * spec_.batch;
    Place place{tools_.allocate(all * sets_), all};
    auto* bytes = static_cast<char*>(place.memory.get());
    if (spec_.precision == Precision::f32)
        tools_.upload(bytes, rounded<float>(values).data(), given);
    else
        tools_.upload(bytes, rounded<double>(values).data(), given);
    for (auto filled = given; filled < all; filled *= 2) tools_.copy(bytes + filled, bytes, std::min(filled, all - filled));
    for (std::int64_t set = 1; set < sets_; ++set) tools_.copy(place.at(set), bytes, all);
    tools_.synchronize();
    return place;
}

std::unique_ptr<Prepared> Images::prepare(const Point& point, const Candidate& candidate, const Device& device) const {
    return std::make_unique<PreparedGrid>(point, candidate, device, *this, tools_);
}

void Images::poison() const {
    const std::vector<char> ones(static_cast<std::size_t>(x_.bytes), '\xff');  // a NaN in both precisions
    tools_.upload(x_.at(0), ones.data(), x_.bytes);
}

/// X of as many members as there are images that differ, image 0 first.
std::vector<double> Images::solution_of(std::int64_t first_member) const {
    const auto each = pixels_of(spec_) * spec_.rhs, real = element_bytes(spec_.precision);
    const auto* from = static_cast<const char*>(x_.at(0)) + first_member * each * real;
    std::vector<double> x(static_cast<std::size_t>(each * system_.batch));
    if (spec_.precision == Precision::f32) {
        std::vector<float> single(x.size());
        tools_.download(single.data(), from, static_cast<std::int64_t>(x.size()) * real);
        x.assign(single.begin(), single.end());
    } else {
        tools_.download(x.data(), from, static_cast<std::int64_t>(x.size()) * real);
    }
    std::ranges::rotate(x, x.end() - static_cast<std::ptrdiff_t>(first_member % system_.batch * each));
    return x;
}

std::vector<double> Images::solution() const { return solution_of(0); }

double Images::residual() const {
    double worst = 0;
    for (const auto first : {std::int64_t{0}, spec_.batch - system_.batch})
        for (const auto residual : formats::relative_residuals(system_, spec_, solution_of(first))) worst = formats::worse(worst, residual);
    return worst;
}

}  // namespace trifold::tune::grid
