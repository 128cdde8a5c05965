#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <trifold/error.hpp>

#include "tools/problems/problems.hpp"
#include "tools/problems/random.hpp"

namespace trifold::problems {
namespace {

constexpr std::int64_t entries = 9, middle = 4;

/// One image, which is written into its place of a batch.
class Painter {
  public:
    Painter(std::string_view name, std::int64_t width, std::int64_t height, double* stencil, std::uint64_t seed)
        : name_(name), width_(width), height_(height), stencil_(stencil), random_(seed) {}
    void paint() {
        for (std::int64_t y = 0; y < height_; ++y)
            for (std::int64_t x = 0; x < width_; ++x) name_ == "grid-random" ? fill(x, y) : connect(x, y);
    }
    Random& random() { return random_; }

  private:
    bool holds(std::int64_t x, std::int64_t y) const { return x >= 0 && y >= 0 && x < width_ && y < height_; }
    double& at(std::int64_t x, std::int64_t y, std::int64_t dx, std::int64_t dy) {
        return stencil_[(y * width_ + x) * entries + (dy + 1) * 3 + dx + 1];
    }
    void fill(std::int64_t x, std::int64_t y) {
        double sum = 0;
        for (std::int64_t k = 0; k < entries; ++k) {
            if (k == middle || !holds(x + k % 3 - 1, y + k / 3 - 1)) continue;
            const auto value = random_.signed_uniform();
            at(x, y, k % 3 - 1, k / 3 - 1) = value;
            sum += std::abs(value);
        }
        at(x, y, 0, 0) = 1.01 * sum;
    }
    double weight() {
        if (name_ == "grid-anisotropic") return std::exp(3 * random_.signed_uniform());
        if (name_ == "grid-jumps") return random_.uniform() < 0.5 ? 1 : 1e6;
        return 1;
    }
    void join(std::int64_t x, std::int64_t y, std::int64_t dx, std::int64_t dy) {
        if (!holds(x + dx, y + dy)) return;
        const auto w = weight();
        at(x, y, dx, dy) -= w;
        at(x + dx, y + dy, -dx, -dy) -= w;
        at(x, y, 0, 0) += w;
        at(x + dx, y + dy, 0, 0) += w;
    }
    void connect(std::int64_t x, std::int64_t y) {
        join(x, y, 1, 0);
        join(x, y, 0, 1);
        if (name_ == "grid-anisotropic") {
            join(x, y, 1, 1);
            join(x, y, -1, 1);
        }
        constexpr double ten_pixels = -0.7639;  // 2 - 2 cos(2 pi / 10) each way
        at(x, y, 0, 0) += name_ == "grid-helmholtz" ? ten_pixels : name_ == "grid-jumps" ? 1 : 0.01;
        if (name_ != "grid-convection") return;
        if (x + 1 < width_) at(x, y, 1, 0) += 0.4;
        if (x > 0) at(x, y, -1, 0) -= 0.4;
    }

    std::string_view name_;
    std::int64_t width_, height_;
    double* stencil_;
    Random random_;
};

}  // namespace

formats::GridSystem make_grid(std::string_view name, std::int64_t width, std::int64_t height, std::int64_t rhs, std::int64_t batch,
                              std::uint64_t seed) {
    if (std::ranges::find(grid_names, name) == grid_names.end())
        throw SpecError(fmt::format("unknown problem '{}'; give one of {}", name, fmt::join(grid_names, ", ")));
    GridSpec spec{.width = width, .height = height};
    spec.rhs = rhs;
    spec.batch = batch;
    validate(spec);
    formats::GridSystem system{width, height, rhs, batch, {}, {}};
    const auto pixels = width * height;
    system.stencil.resize(static_cast<std::size_t>(batch * pixels * entries));
    for (std::int64_t member = 0; member < batch; ++member) {
        Painter painter(name, width, height, system.stencil.data() + member * pixels * entries, seed + static_cast<std::uint64_t>(member));
        painter.paint();
        for (std::int64_t k = 0; k < pixels * rhs; ++k) system.b.push_back(painter.random().signed_uniform());
    }
    return system;
}

}  // namespace trifold::problems
