#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <trifold/grid_factors.hpp>

#include "tests/runtime/grid/problems.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// Memory of a value.
class GridValue {
  public:
    explicit GridValue(std::int64_t bytes) : memory_(static_cast<std::size_t>(bytes) + 64, '\x77') {
        begin_ = memory_.data() + (-reinterpret_cast<std::uintptr_t>(memory_.data()) & 63U);
    }
    void* data() { return begin_; }
    void take(GridValue& other, std::int64_t bytes) { std::memcpy(begin_, other.begin_, static_cast<std::size_t>(bytes)); }
    void poison() { std::ranges::fill(memory_, '\x55'); }

  private:
    std::vector<char> memory_;
    char* begin_;
};

}  // namespace

TEST_CASE("the factor of an image is a value: it may be copied, and its memory used by others") {
    const auto spec = spec_of(13, 9);
    const auto image = problem("anisotropic", 13, 9, 3);
    const auto b = noise(image.pixels(), 1);
    std::vector<double> expected(b.size());
    GridSolver alone{GridPlan(spec, Device::cpu())};
    alone.factor_solve(image.stencil, b, expected);
    GridFactors factors(GridPlan(spec, Device::cpu(), {.workers = 2}));
    GridValue value(factors.bytes()), copy(factors.bytes()), third(factors.bytes());
    factors.fresh(value.data())->factor(image.stencil.data());
    copy.take(value, factors.bytes());
    value.poison();
    std::vector<double> x(b.size());
    factors.filled(copy.data())->solve(b.data(), x.data());
    CHECK(x == expected);
    std::ranges::fill(x, 0.0);
    auto borrowed = factors.copied(copy.data(), third.data());
    borrowed->solve(b.data(), x.data());
    CHECK(x == expected);
    CHECK(borrowed->log_determinant() == alone.log_determinant());
    CHECK(borrowed->ok());
}

TEST_CASE("values of images: what does not fit is an error, and those of equal problems share their kernels") {
    const auto spec = spec_of(13, 9);
    const auto factors = GridFactors::shared(spec, Device::cpu());
    CHECK(factors == GridFactors::shared(spec, Device::cpu()));
    CHECK(factors != GridFactors::shared(spec, Device::cpu(), {.workers = 2}));
    CHECK(factors != GridFactors::shared(spec_of(13, 10), Device::cpu()));
    GridValue value(factors->bytes());
    CHECK_THROWS_WITH_AS(factors->fresh(nullptr), doctest::Contains("the factor is a null pointer"), SpecError);
    CHECK_THROWS_WITH_AS(factors->filled(value.data(), {}, 2), doctest::Contains("members = 2 is out of range"), SpecError);
    CHECK_THROWS_WITH_AS(factors->filled(static_cast<char*>(value.data()) + 8), "the workspace is not aligned to 64 bytes", SpecError);
    CHECK_THROWS_WITH_AS(factors->copied(value.data(), value.data()), doctest::Contains("overlap"), SpecError);
}

TEST_CASE("a caller's workspace for images, and what is wrong with one") {
    const GridPlan plan(spec_of(13, 9), Device::cpu());
    const auto bytes = GridSolver::workspace_bytes(plan);
    GridValue workspace(bytes);
    GridSolver solver(plan, workspace.data(), bytes), own(plan);
    const auto image = problem("anisotropic", 13, 9, 3);
    const auto b = noise(image.pixels(), 1);
    std::vector<double> x(b.size()), expected(b.size());
    solver.factor_solve(image.stencil, b, x);
    solver.synchronize();
    own.factor_solve(image.stencil, b, expected);
    CHECK(x == expected);
    CHECK_THROWS_WITH_AS(GridSolver(plan, nullptr, bytes), doctest::Contains("the workspace is a null pointer"), SpecError);
    CHECK_THROWS_WITH_AS(GridSolver(plan, workspace.data(), bytes - 1), doctest::Contains("this GridPlan needs"), SpecError);
}
