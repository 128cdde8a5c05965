#pragma once
#include <Eigen/Sparse>
#include <cstdint>
#include <trifold/grid_spec.hpp>

#include "tests/support/test.hpp"

/// Images whose matrices are solved in tests, and what is known of them.
namespace trifold::test {

/// The stencils of one image, in f64.
struct Image {
    std::int64_t width, height;
    std::vector<double> stencil;

    Image(std::int64_t w, std::int64_t h) : width(w), height(h), stencil(static_cast<std::size_t>(9 * w * h)) {}
    std::int64_t pixels() const { return width * height; }
    bool holds(std::int64_t x, std::int64_t y) const { return x >= 0 && y >= 0 && x < width && y < height; }
    bool is_ring(std::int64_t x, std::int64_t y) const { return x == 0 || y == 0 || x == width - 1 || y == height - 1; }
    /// What pixel (x, y) has at (x + dx, y + dy).
    double& at(std::int64_t x, std::int64_t y, std::int64_t dx, std::int64_t dy) {
        return stencil[static_cast<std::size_t>((y * width + x) * 9 + (dy + 1) * 3 + dx + 1)];
    }
    /// Both couplings of an edge, and what they add to the diagonal.
    void join(std::int64_t x, std::int64_t y, std::int64_t dx, std::int64_t dy, double weight) {
        if (!holds(x + dx, y + dy)) return;
        at(x, y, dx, dy) -= weight;
        at(x + dx, y + dy, -dx, -dy) -= weight;
        at(x, y, 0, 0) += weight;
        at(x + dx, y + dy, 0, 0) += weight;
    }
};

/// The stencils with NaN wherever the GridSpec says that nothing is read.
inline std::vector<double> with_nan_unread(const Image& image, const GridSpec& spec) {
    auto stencil = image.stencil;
    const bool fixed = spec.boundary == GridBoundary::fixed;
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x)
            for (std::int64_t k = 0; k < 9; ++k) {
                const bool to_ring = fixed && image.is_ring(x + k % 3 - 1, y + k / 3 - 1);
                const bool of_ring = fixed && image.is_ring(x, y), later = spec.matrix == GridMatrix::symmetric && k > 4;
                if (of_ring || (later && !to_ring)) stencil[static_cast<std::size_t>((y * image.width + x) * 9 + k)] = std::nan("");
            }
    return stencil;
}

using Sparse = Eigen::SparseMatrix<double, Eigen::RowMajor>;

/// A as the GridSpec means it: of a symmetric one entries 0 to 4 count, and with a fixed boundary the ring's rows are those of the
/// identity.
inline Sparse matrix_of(const Image& image, const GridSpec& spec) {
    std::vector<Eigen::Triplet<double>> entries;
    const bool fixed = spec.boundary == GridBoundary::fixed;
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x)
            for (std::int64_t k = 0; k < 9; ++k) {
                const auto to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
                if (!image.holds(to_x, to_y)) continue;
                const auto row = y * image.width + x, column = to_y * image.width + to_x;
                double value = image.stencil[static_cast<std::size_t>(row * 9 + k)];
                if (fixed && image.is_ring(x, y)) value = k == 4 ? 1 : 0;
                const bool both_inside = !fixed || (!image.is_ring(x, y) && !image.is_ring(to_x, to_y));
                if (spec.matrix == GridMatrix::symmetric && k > 4 && both_inside)
                    value = image.stencil[static_cast<std::size_t>(column * 9 + 8 - k)];
                entries.emplace_back(static_cast<int>(row), static_cast<int>(column), value);
            }
    Sparse a(image.pixels(), image.pixels());
    a.setFromTriplets(entries.begin(), entries.end());
    return a;
}

/// Problems by name. Those that end in "d" or name a positive definite operator may be solved as symmetric.
inline Image problem(const std::string& name, std::int64_t width, std::int64_t height, unsigned seed) {
    Image image(width, height);
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
            if (name == "random" || name == "dominant") {
                double sum = 0;
                for (std::int64_t k = 0; k < 9; ++k) {
                    if (!image.holds(x + k % 3 - 1, y + k / 3 - 1)) continue;
                    image.at(x, y, k % 3 - 1, k / 3 - 1) = uniform(generator);
                    if (k != 4) sum += std::abs(image.at(x, y, k % 3 - 1, k / 3 - 1));
                }
                if (name == "dominant") image.at(x, y, 0, 0) = 1.01 * sum;
                continue;
            }
            const auto weight = [&](double strength) {
                if (name == "anisotropic") return strength * std::exp(3 * uniform(generator));
                if (name == "jumps") return strength * (uniform(generator) > 0 ? 1e6 : 1);
                return strength;
            };
            image.join(x, y, 1, 0, weight(1));
            image.join(x, y, 0, 1, weight(1));
            if (name == "anisotropic" || name == "jumps") {
                image.join(x, y, 1, 1, weight(0.5));
                image.join(x, y, -1, 1, weight(0.5));
            }
            // Ten pixels a wave: 2 - 2 cos(2 pi / 10) each way.
            const double shift = name == "helmholtz" ? -0.7639 : name == "jumps" ? 1 : 0.01;
            image.at(x, y, 0, 0) += shift;
            if (name != "convection") continue;
            if (x + 1 < width) image.at(x, y, 1, 0) += 0.4 * (1 + uniform(generator) / 2);
            if (x > 0) image.at(x, y, -1, 0) -= 0.4 * (1 + uniform(generator) / 2);
        }
    return image;
}

/// Diffusion of random strength with `sink` of it in each pixel; `upwind`: convection as well, in conservation form, so that columns of A
/// sum to the sink.
inline Image flow(std::int64_t width, std::int64_t height, bool upwind, double sink, unsigned seed) {
    Image image(width, height);
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
            for (const auto& [dx, dy] : {std::pair{1, 0}, {0, 1}}) {
                image.join(x, y, dx, dy, std::exp(uniform(generator)));
                const double speed = upwind ? 3 * uniform(generator) : 0;
                if (!image.holds(x + dx, y + dy)) continue;
                if (speed > 0) {
                    image.at(x, y, 0, 0) += speed;
                    image.at(x + dx, y + dy, -dx, -dy) -= speed;
                } else {
                    image.at(x + dx, y + dy, 0, 0) -= speed;
                    image.at(x, y, dx, dy) += speed;
                }
            }
            image.at(x, y, 0, 0) += sink * (1.5 + uniform(generator));
        }
    return image;
}

/// Pixels that are coupled in pairs of neighbours by 1 and more, as long as there are some, with noise of `size`, which diagonals have as
/// well: then A is conditioned well, but not what is eliminated first. `dominoes`: each pair lies above one another.
inline Image pairs(std::int64_t width, std::int64_t height, double size, double diagonal, unsigned seed, bool dominoes = false) {
    Image image(width, height);
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    std::vector<std::int64_t> pixels(static_cast<std::size_t>(image.pixels())), mates(pixels.size(), -1);
    std::iota(pixels.begin(), pixels.end(), 0);
    std::ranges::shuffle(pixels, generator);
    const auto each_neighbour = [&](std::int64_t p, const auto& work) {
        for (std::int64_t k = 0; k < 9; ++k)
            if (const auto x = p % width, y = p / width; image.holds(x + k % 3 - 1, y + k / 3 - 1))
                work(p + (k / 3 - 1) * width + k % 3 - 1, image.at(x, y, k % 3 - 1, k / 3 - 1));
    };
    for (const auto p : pixels) {
        auto& mate = mates[static_cast<std::size_t>(p)];
        each_neighbour(p, [&](std::int64_t other, double) {
            auto& others = mates[static_cast<std::size_t>(other)];
            const bool fits = dominoes ? other == p + (p / width % 2 == 0 ? width : -width) : generator() % 2 == 0;
            if (mate < 0 && others < 0 && other != p && fits) mate = other, others = p;
        });
    }
    for (const auto p : pixels)
        each_neighbour(p, [&](std::int64_t other, double& entry) {
            const auto mate = mates[static_cast<std::size_t>(p)];
            const bool large = other == (mate < 0 ? p : mate);
            entry = large ? 1 + std::abs(normal(generator)) / 4 : (other == p ? diagonal : size) * normal(generator);
        });
    return image;
}

template <class Real>
std::vector<Real> rounded(const std::vector<double>& values) {
    return std::vector<Real>(values.begin(), values.end());
}

inline std::vector<double> noise(std::int64_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    std::vector<double> values(static_cast<std::size_t>(count));
    for (auto& value : values) value = normal(generator);
    return values;
}

/// Column c of m of a right-hand side or solution.
template <class Real>
Eigen::VectorXd column(const std::vector<Real>& values, std::int64_t first_pixel, std::int64_t pixels, std::int64_t columns,
                       std::int64_t c) {
    Eigen::VectorXd result(pixels);
    for (std::int64_t k = 0; k < pixels; ++k)
        result[k] = static_cast<double>(values[static_cast<std::size_t>((first_pixel + k) * columns + c)]);
    return result;
}

/// ||b - A x|| / (||A|| ||x|| + ||b||), infinity norms.
inline double backward_error(const Sparse& a, const Eigen::VectorXd& x, const Eigen::VectorXd& b) {
    double norm = 0;
    for (int row = 0; row < a.rows(); ++row) {
        double sum = 0;
        for (Sparse::InnerIterator entry(a, row); entry; ++entry) sum += std::abs(entry.value());
        norm = std::max(norm, sum);
    }
    const double error = (b - a * x).lpNorm<Eigen::Infinity>() / (norm * x.lpNorm<Eigen::Infinity>() + b.lpNorm<Eigen::Infinity>());
    return std::isnan(error) ? 1 : error;
}

/// A batch of images in the precision, NaN where the GridSpec reads nothing, with random right-hand sides.
template <class Real>
struct Images {
    template <class Make>
    Images(const GridSpec& given, const Make& make, std::int64_t width = 0) : spec(given), columns(width == 0 ? given.rhs : width) {
        spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
        for (std::int64_t k = 0; k < spec.batch; ++k) {
            Image image = make(static_cast<unsigned>(k));
            for (auto& value : image.stencil) value = static_cast<double>(static_cast<Real>(value));
            const auto own = rounded<Real>(with_nan_unread(image, spec));
            stencils.insert(stencils.end(), own.begin(), own.end());
            matrices.push_back(matrix_of(image, spec));
        }
        b = rounded<Real>(noise(spec.batch * pixels() * columns, 7));
    }
    std::int64_t pixels() const { return spec.width * spec.height; }
    Eigen::VectorXd of(const std::vector<Real>& values, std::int64_t member, std::int64_t c) const {
        return column(values, member * pixels(), pixels(), columns, c);
    }
    /// The greatest backward error of a member's solutions of A x = b, or of A' x = b.
    double error(std::int64_t member, const std::vector<Real>& x, bool transposed = false) const { return error(member, x, transposed, b); }
    double error(std::int64_t member, const std::vector<Real>& x, bool transposed, const std::vector<Real>& right) const {
        const auto& a = matrices[static_cast<std::size_t>(member)];
        const Sparse taken = transposed ? Sparse(a.transpose()) : a;
        double most = 0;
        for (std::int64_t c = 0; c < columns; ++c) most = std::max(most, backward_error(taken, of(x, member, c), of(right, member, c)));
        return most;
    }
    GridSpec spec;
    std::int64_t columns;
    std::vector<Real> stencils, b;
    std::vector<Sparse> matrices;
};

inline GridSpec spec_of(std::int64_t width, std::int64_t height) {
    GridSpec spec;
    spec.width = width;
    spec.height = height;
    return spec;
}

}  // namespace trifold::test
