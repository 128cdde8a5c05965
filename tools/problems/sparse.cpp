#include "tools/problems/sparse.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <trifold/error.hpp>

#include "tools/problems/random.hpp"

namespace trifold::problems {
namespace {

using Point = std::array<double, 3>;

/// Entries that are added up, with the box that numbers the rows of blocks.
class Assembly {
  public:
    Assembly(const Cells& cells, std::int64_t block, std::uint64_t seed) : cells(cells), random(seed), block_(block) {
        matrix_.rows = matrix_.columns = cells.count() * block;
    }
    std::int64_t row(std::int64_t x, std::int64_t y, std::int64_t z = 0) const { return x + cells.width * (y + cells.height * z); }
    /// Adds a number for each component.
    void add(std::int64_t row, std::int64_t column, double value) {
        for (std::int64_t i = 0; i < block_; ++i) add(row, i, column, i, value);
    }
    void add(std::int64_t row, std::int64_t i, std::int64_t column, std::int64_t j, double value) {
        matrix_.entries.push_back({row * block_ + i, column * block_ + j, value});
    }
    std::int64_t block() const { return block_; }
    formats::BlockRows rows() const { return to_block_rows(matrix_, block_); }

    const Cells cells;
    Random random;

  private:
    std::int64_t block_;
    formats::SparseMatrix matrix_;
};

/// Calls visit(x, y, z) for each cell of a box.
void for_each_cell(const Cells& cells, const auto& visit) {
    for (std::int64_t z = 0; z < cells.depth; ++z)
        for (std::int64_t y = 0; y < cells.height; ++y)
            for (std::int64_t x = 0; x < cells.width; ++x) visit(x, y, z);
}

/// Calls visit(row, neighbour, axis) for each face between two cells.
void for_each_face(const Assembly& a, const auto& visit) {
    for_each_cell(a.cells, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
        if (x + 1 < a.cells.width) visit(a.row(x, y, z), a.row(x + 1, y, z), 0);
        if (y + 1 < a.cells.height) visit(a.row(x, y, z), a.row(x, y + 1, z), 1);
        if (z + 1 < a.cells.depth) visit(a.row(x, y, z), a.row(x, y, z + 1), 2);
    });
}

void laplacian(Assembly& a) {
    const auto couple = [&](std::int64_t row, std::int64_t column, double value) {
        for (std::int64_t i = 0; i < a.block(); ++i)
            for (std::int64_t j = 0; j < a.block(); ++j)
                a.add(row, i, column, j, (i == j ? value : 0) + (a.block() > 1 ? value / 20 * a.random.signed_uniform() : 0));
    };
    constexpr double diagonal = 6;
    for (std::int64_t row = 0; row < a.cells.count(); ++row) couple(row, row, diagonal);
    for_each_face(a, [&](std::int64_t low, std::int64_t high, int) {
        couple(low, high, -1);
        couple(high, low, -1);
    });
}

/// A triangle of linear elements: diffusion 1, a flow, and a little reaction. Lengths are in distances of points.
void triangle(Assembly& a, const std::array<std::int64_t, 3>& corners, const std::vector<Point>& points) {
    constexpr double flow_x = 0.6, flow_y = 0.3, reaction = 0.01;
    const auto at = [&](std::size_t k) { return points[static_cast<std::size_t>(corners[k % 3])]; };
    const double twice = (at(1)[0] - at(0)[0]) * (at(2)[1] - at(0)[1]) - (at(2)[0] - at(0)[0]) * (at(1)[1] - at(0)[1]);
    const auto slope = [&](std::size_t k) {
        return std::pair((at(k + 1)[1] - at(k + 2)[1]) / twice, (at(k + 2)[0] - at(k + 1)[0]) / twice);
    };
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) {
            const auto [xi, yi] = slope(i);
            const auto [xj, yj] = slope(j);
            a.add(corners[i], corners[j],
                  twice / 2 * (xi * xj + yi * yj + (flow_x * xj + flow_y * yj) / 3 + reaction * (i == j ? 2 : 1) / 12));
        }
}

void convection(Assembly& a) {
    const auto& c = a.cells;
    std::vector<Point> points;
    for_each_cell(c, [&](std::int64_t x, std::int64_t y, std::int64_t) {
        const bool is_inner = x > 0 && y > 0 && x + 1 < c.width && y + 1 < c.height;
        const double most = is_inner ? 0.25 : 0;
        const auto along_x = most * a.random.signed_uniform(), along_y = most * a.random.signed_uniform();
        points.push_back({static_cast<double>(x) + along_x, static_cast<double>(y) + along_y, 0});
    });
    for_each_cell({c.width - 1, c.height - 1}, [&](std::int64_t x, std::int64_t y, std::int64_t) {
        const auto low = a.row(x, y), right = a.row(x + 1, y), up = a.row(x, y + 1), far = a.row(x + 1, y + 1);
        const bool rises = a.random.uniform() < 0.5;  // the diagonal from low to far
        triangle(a, {low, right, rises ? far : up}, points);
        triangle(a, {far, up, rises ? low : right}, points);
    });
    for (std::int64_t y = 0; y < c.height; ++y) a.add(a.row(0, y), a.row(0, y), 1);  // held where the flow comes in
}

/// Permeabilities of cells: each layer has a mean of its own and a sum of waves around it, which are much longer than a cell.
std::vector<double> permeabilities(Assembly& a) {
    constexpr int waves = 12;
    constexpr double deviation_of_layers = 1.5, deviation = 1.5;
    const auto& c = a.cells;
    std::vector<double> all;
    for (std::int64_t z = 0; z < c.depth; ++z) {
        const auto mean = deviation_of_layers * a.random.normal();
        std::array<Point, waves> wave;
        for (auto& [kx, ky, phase] : wave) {
            kx = 0.35 * a.random.normal();
            ky = 0.12 * a.random.normal();
            phase = 2 * std::numbers::pi * a.random.uniform();
        }
        for (std::int64_t y = 0; y < c.height; ++y)
            for (std::int64_t x = 0; x < c.width; ++x) {
                double sum = 0;
                for (const auto& [kx, ky, phase] : wave) sum += std::cos(kx * static_cast<double>(x) + ky * static_cast<double>(y) + phase);
                all.push_back(std::exp(mean + deviation * std::sqrt(2.0 / waves) * sum));
            }
    }
    return all;
}

void join(Assembly& a, std::int64_t low, std::int64_t high, std::int64_t i, double conductance) {
    a.add(low, i, low, i, conductance);
    a.add(high, i, high, i, conductance);
    a.add(low, i, high, i, -conductance);
    a.add(high, i, low, i, -conductance);
}

double harmonic_mean(double left, double right) { return 2 / (1 / left + 1 / right); }

void rock(Assembly& a) {
    const auto k = permeabilities(a);
    for_each_face(a, [&](std::int64_t low, std::int64_t high, int axis) {
        const auto between = harmonic_mean(k[static_cast<std::size_t>(low)], k[static_cast<std::size_t>(high)]);
        join(a, low, high, 0, axis == 2 ? between / 10 : between);
    });
    for (std::int64_t z = 0; z < a.cells.depth; ++z)
        a.add(a.row(0, 0, z), a.row(0, 0, z), 10 * k[static_cast<std::size_t>(a.row(0, 0, z))]);
}

void reaction(Assembly& a) {
    constexpr std::array<double, 3> rates{1, 0.1, 10};
    std::vector<double> medium(static_cast<std::size_t>(a.cells.count()));
    for (auto& one : medium) one = std::exp(a.random.signed_uniform());
    for_each_face(a, [&](std::int64_t low, std::int64_t high, int) {
        const auto between = harmonic_mean(medium[static_cast<std::size_t>(low)], medium[static_cast<std::size_t>(high)]);
        for (std::size_t i = 0; i < rates.size(); ++i) join(a, low, high, static_cast<std::int64_t>(i), rates[i] * between);
    });
    for (std::int64_t row = 0; row < a.cells.count(); ++row) {
        a.add(row, row, 0.05);  // over a step of time
        for (const auto& [i, j] : {std::pair{0, 1}, {0, 2}}) {
            const auto gives = std::exp(3 * a.random.signed_uniform()), takes = gives * std::exp(a.random.signed_uniform());
            a.add(row, i, row, i, gives);
            a.add(row, i, row, j, -gives);
            a.add(row, j, row, j, takes);
            a.add(row, j, row, i, -takes);
        }
    }
}

constexpr int corners = 8;

/// By how much the shape function of a corner of the unit cell changes along each axis.
Point slope_of(int corner, const Point& at) {
    Point slope{1, 1, 1};
    for (std::size_t axis = 0; axis < 3; ++axis)
        for (std::size_t other = 0; other < 3; ++other) {
            const bool is_high = (corner >> other & 1) != 0;
            slope[axis] *= other == axis ? (is_high ? 1 : -1) : is_high ? at[other] : 1 - at[other];
        }
    return slope;
}

/// The stiffness of a cell, Young's modulus 1 and Poisson's ratio 0.3: [corner][component][corner][component].
std::vector<double> cell_stiffness() {
    constexpr double ratio = 0.3, lambda = ratio / ((1 + ratio) * (1 - 2 * ratio)), mu = 1 / (2 * (1 + ratio));
    const double near = 0.5 - 0.5 / std::numbers::sqrt3, far = 1 - near;  // points of Gauss
    std::vector<double> k;
    for (int first = 0; first < corners; ++first)
        for (std::size_t i = 0; i < 3; ++i)
            for (int second = 0; second < corners; ++second)
                for (std::size_t j = 0; j < 3; ++j) {
                    double sum = 0;
                    for (int point = 0; point < corners; ++point) {
                        const Point at{(point & 1) != 0 ? far : near, (point & 2) != 0 ? far : near, (point & 4) != 0 ? far : near};
                        const auto left = slope_of(first, at), right = slope_of(second, at);
                        sum += lambda * (left[i] * right[j]) + mu * (left[j] * right[i]);  // symmetric to the bit
                        if (i == j) sum += mu * (left[0] * right[0] + left[1] * right[1] + left[2] * right[2]);
                    }
                    k.push_back(sum / corners);
                }
    return k;
}

void elasticity(Assembly& a) {
    const auto k = cell_stiffness();
    const auto& c = a.cells;
    for_each_cell({c.width - 1, c.height - 1, c.depth - 1}, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
        const auto modulus = std::exp(a.random.signed_uniform());
        const auto corner = [&](int which) { return a.row(x + (which & 1), y + (which >> 1 & 1), z + (which >> 2 & 1)); };
        auto value = k.begin();
        for (int first = 0; first < corners; ++first)
            for (std::int64_t i = 0; i < 3; ++i)
                for (int second = 0; second < corners; ++second)
                    for (std::int64_t j = 0; j < 3; ++j) a.add(corner(first), i, corner(second), j, modulus * *value++);
    });
    for (std::int64_t z = 0; z < c.depth; ++z)
        for (std::int64_t y = 0; y < c.height; ++y) a.add(a.row(0, y, z), a.row(0, y, z), 10);
}

struct Kind {
    std::string_view name;
    std::int64_t block;  // 0: the caller's
    Cells least;
    bool is_flat;
    void (*fill)(Assembly&);
};

const Kind& kind_of(std::string_view name) {
    static const std::array<Kind, sparse_names.size()> kinds{{{"sparse-laplacian", 0, {1, 1, 1}, false, laplacian},
                                                              {"sparse-convection", 1, {2, 2, 1}, true, convection},
                                                              {"sparse-rock", 1, {1, 1, 1}, false, rock},
                                                              {"sparse-reaction", 3, {1, 1, 1}, false, reaction},
                                                              {"sparse-elasticity", 3, {2, 2, 2}, false, elasticity}}};
    const auto found = std::ranges::find(kinds, name, &Kind::name);
    if (found == kinds.end()) throw SpecError(fmt::format("unknown problem '{}'; give one of {}", name, fmt::join(sparse_names, ", ")));
    return *found;
}

void check(const Kind& kind, const Cells& cells) {
    if (cells.width < kind.least.width || cells.height < kind.least.height || cells.depth < kind.least.depth)
        throw SpecError(fmt::format("{} on {}x{}x{}; give at least {}x{}x{}", kind.name, cells.width, cells.height, cells.depth,
                                    kind.least.width, kind.least.height, kind.least.depth));
    if (kind.is_flat && cells.depth > 1)
        throw SpecError(fmt::format("{} lies in a plane; give WIDTHxHEIGHT, such as {}x{}", kind.name, cells.width, cells.height));
}

}  // namespace

SparseProblem make_sparse(std::string_view name, const Cells& cells, std::int64_t block, std::int64_t rhs, std::uint64_t seed) {
    const auto& kind = kind_of(name);
    check(kind, cells);
    Assembly assembly(cells, kind.block == 0 ? block : kind.block, seed);
    kind.fill(assembly);
    SparseProblem problem{assembly.rows(), rhs, {}};
    for (std::int64_t k = 0; k < cells.count() * assembly.block() * rhs; ++k) problem.b.push_back(assembly.random.signed_uniform());
    return problem;
}

}  // namespace trifold::problems
