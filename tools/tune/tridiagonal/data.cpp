#include "tools/tune/tridiagonal/data.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tools/formats/residual.hpp"
#include "tools/problems/problems.hpp"
#include "tools/tune/tridiagonal/prepared.hpp"

namespace trifold::tune::tridiagonal {
namespace {

constexpr std::int64_t most_made = 16, most_made_bytes = 128 << 20;  // systems that differ
constexpr std::int64_t alignment = 256;

std::int64_t made(const Spec& spec) {
    const auto each = (2 * spec.horizon - 1) * spec.block * spec.block * element_bytes(spec.precision);
    return std::min(spec.batch, std::clamp<std::int64_t>(most_made_bytes / each, 1, most_made));
}

/// Where blocks are shared, the sums of the rows are no longer what the diagonals were made for.
void raise_diagonals(formats::System& system) {
    const auto n = system.block;
    for (std::int64_t block = 0; block < system.batch * system.horizon; ++block)
        for (std::int64_t k = 0; k < n; ++k) system.d[static_cast<std::size_t>((block * n + k) * n + k)] += static_cast<double>(4 * n);
}

bool is_shared(const Spec& spec) { return spec.d.stage == 0 || spec.d.member == 0 || spec.e.stage == 0 || spec.e.member == 0; }

struct Shape {
    std::int64_t members, stages, rows, columns;
};

/// Each element's place in `values`, [member][stage][row][column], and in the caller's array.
void walk(const Shape& shape, std::int64_t members, const Strides& strides, const std::function<void(std::size_t, std::size_t)>& visit) {
    for (std::int64_t member = 0; member < members; ++member)
        for (std::int64_t stage = 0; stage < shape.stages; ++stage)
            for (std::int64_t row = 0; row < shape.rows; ++row)
                for (std::int64_t column = 0; column < shape.columns; ++column)
                    visit(static_cast<std::size_t>((((member % shape.members) * shape.stages + stage) * shape.rows + row) * shape.columns +
                                                   column),
                          static_cast<std::size_t>(member * strides.member + stage * strides.stage + row * strides.row +
                                                   column * strides.column));
}

/// The array of so many members. What it holds, rounded and shared, is put back into `values`.
template <class Real>
std::vector<Real> packed(std::vector<double>& values, const Shape& shape, std::int64_t members, const Strides& strides,
                         std::int64_t elements) {
    std::vector<Real> array(static_cast<std::size_t>(elements));
    walk(shape, members, strides, [&](std::size_t from, std::size_t to) { array[to] = static_cast<Real>(values[from]); });
    walk(shape, members, strides, [&](std::size_t from, std::size_t to) { values[from] = static_cast<double>(array[to]); });
    return array;
}

}  // namespace

std::int64_t data_bytes(const Spec& spec) {
    const auto real = element_bytes(spec.precision);
    return (diagonal_extent(spec, spec.batch) + coupling_extent(spec, spec.batch) + 2 * rhs_extent(spec, spec.batch, spec.rhs)) * real;
}

Data::Data(const Spec& spec, std::uint64_t seed, DeviceTools& tools, std::int64_t sets) : spec_(spec), tools_(tools), sets_(sets) {
    system_ = problems::make("dominant", {spec.block, spec.horizon, spec.rhs, made(spec)}, seed);
    if (is_shared(spec)) raise_diagonals(system_);
    const auto n = spec.block, horizon = spec.horizon;
    d_ = placed(system_.d, diagonal_strides(spec), n, horizon, diagonal_extent(spec, 1));
    e_ = placed(system_.e, coupling_strides(spec), n, horizon - 1, coupling_extent(spec, 1));
    const auto strides = rhs_strides(spec, spec.rhs);
    const auto extent = rhs_extent(spec, 1, spec.rhs);
    b_ = placed(system_.b, strides, spec.rhs, horizon, extent);
    std::vector<double> zeros(system_.b.size());
    x_ = placed(zeros, strides, spec.rhs, horizon, extent);
}

std::unique_ptr<tune::Prepared> Data::prepare(const Point& point, const Candidate& candidate, const Device& device) const {
    return std::make_unique<PreparedSolver>(point, candidate, device, *this, tools_);
}

/// `extent`: elements of one member. Members that lie apart are made once, and copied; those that interleave are all written.
Data::Place Data::placed(std::vector<double>& values, const Strides& strides, std::int64_t columns, std::int64_t stages,
                         std::int64_t extent) const {
    const Shape shape{system_.batch, stages, spec_.block, columns};
    const bool apart = strides.member >= extent, shared = strides.member == 0;
    const auto written = apart || shared ? system_.batch : spec_.batch;
    const auto elements = shared ? extent : apart ? written * strides.member : (written - 1) * strides.member + extent;
    const auto real = element_bytes(spec_.precision), given = elements * real;
    const auto all = apart ? spec_.batch * strides.member * real : given;
    Place place{{}, (all + alignment - 1) / alignment * alignment};
    place.memory = tools_.allocate(place.bytes * sets_);
    auto* bytes = static_cast<char*>(place.memory.get());
    if (spec_.precision == Precision::f32)
        tools_.upload(bytes, packed<float>(values, shape, written, strides, elements).data(), given);
    else
        tools_.upload(bytes, packed<double>(values, shape, written, strides, elements).data(), given);
    for (auto filled = given; filled < all && filled > 0; filled *= 2) tools_.copy(bytes + filled, bytes, std::min(filled, all - filled));
    for (std::int64_t set = 1; set < sets_; ++set) tools_.copy(place.at(set), bytes, all);
    tools_.synchronize();
    return place;
}

void Data::poison() const {
    const auto bytes = rhs_extent(spec_, spec_.batch, spec_.rhs) * element_bytes(spec_.precision);
    const std::vector<char> ones(static_cast<std::size_t>(bytes), '\xff');  // a NaN in both precisions
    tools_.upload(x_.at(0), ones.data(), bytes);
}

/// Of as many members as there are systems that differ, system 0 first.
std::vector<double> Data::solution_of(std::int64_t first_member) const {
    const auto strides = rhs_strides(spec_, spec_.rhs);
    const auto real = element_bytes(spec_.precision), extent = rhs_extent(spec_, system_.batch, spec_.rhs);
    const auto* from = static_cast<const char*>(x_.at(0)) + first_member * strides.member * real;
    std::vector<double> x(static_cast<std::size_t>(extent));
    if (spec_.precision == Precision::f32) {
        std::vector<float> single(x.size());
        tools_.download(single.data(), from, extent * real);
        x.assign(single.begin(), single.end());
    } else {
        tools_.download(x.data(), from, extent * real);
    }
    std::vector<double> result(system_.b.size());
    walk({system_.batch, spec_.horizon, spec_.block, spec_.rhs}, system_.batch, strides,
         [&](std::size_t to, std::size_t at) { result[to] = x[at]; });
    // Member k has the data of system k modulo the number made.
    const auto each = result.size() / static_cast<std::size_t>(system_.batch);
    const auto first = static_cast<std::size_t>(first_member % system_.batch) * each;
    std::ranges::rotate(result, result.end() - static_cast<std::ptrdiff_t>(first));
    return result;
}

std::vector<double> Data::solution() const { return solution_of(0); }

double Data::residual_of(std::int64_t first_member) const {
    double worst = 0;
    for (const auto residual : formats::relative_residuals(system_, solution_of(first_member))) worst = formats::worse(worst, residual);
    return worst;
}

double Data::residual() const { return formats::worse(residual_of(0), residual_of(spec_.batch - system_.batch)); }

}  // namespace trifold::tune::tridiagonal
