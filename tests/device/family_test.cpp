// The shared runtime on a real GPU, by the tests' family, whose iteration ends by data: it does this for any family.
#include "tests/device/device.hpp"
#include "tests/device/on_device.hpp"
#include "tests/family/solver.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

std::vector<double> random_values(std::int64_t count) {
    std::mt19937_64 random(static_cast<std::uint64_t>(count));
    std::vector<double> values(static_cast<std::size_t>(count));
    for (auto& value : values) value = std::uniform_real_distribution(-1.0, 1.0)(random);
    return values;
}

/// Disables the graph's own repetition as long as it lives.
struct WithoutGraphs {
    WithoutGraphs() { ::setenv("TRIFOLD_DISABLE", "graph", 1); }
    ~WithoutGraphs() { ::unsetenv("TRIFOLD_DISABLE"); }
};

constexpr std::int64_t rows = 7, batch = 5;

/// Every scale ends after another number of turns; fewer members leave the others' results alone.
void check_turns(const Device& gpu, std::int64_t most) {
    CAPTURE(most);
    const TriangularSpec spec{rows, batch, random_values(rows), most};
    TriangularSolver solver(spec, prepare_triangular(spec, gpu));
    const auto l = random_values(batch * rows * rows);
    std::vector<double> y(static_cast<std::size_t>(batch * rows));
    for (const double scale : {1.0, 1e-4, 100.0}) {
        auto x = random_values(batch * rows);
        for (auto& value : x) value *= scale;
        for (const std::int64_t members : {5, 2, 5}) {
            std::int64_t turns = 0;
            const auto expected = shrunk(x, members, batch, most, turns);
            solver.shrink_on_host(l.data(), x.data(), y.data(), members);
            CHECK(std::ranges::equal(expected, std::span(y).first(expected.size())));
        }
    }
}

}  // namespace

TEST_CASE("gpu: launches are repeated until data ends it, by the graph itself") {
    const auto gpu = device();
    if (!gpu) return;
    for (const std::int64_t most : {1, 4, 30}) check_turns(*gpu, most);
}

TEST_CASE("gpu: launches are repeated until data ends it, by blocks of turns") {
    const auto gpu = device();
    if (!gpu) return;
    const WithoutGraphs without;
    for (const std::int64_t most : {1, 4, 30}) check_turns(*gpu, most);
}

TEST_CASE("gpu: a repetition in a graph that the caller records makes all its turns") {
    const auto gpu = device();
    if (!gpu) return;
    const TriangularSpec spec{rows, batch, random_values(rows), 30};
    TriangularSolver solver(spec, prepare_triangular(spec, *gpu));
    DeviceTools tools(*gpu);
    const auto values = random_values(batch * rows);
    const OnDevice<double> l(tools, random_values(batch * rows * rows)), x(tools, values), y(tools, values);
    const auto shrink = [&] { solver.shrink(l.get(), x.get(), y.get(), batch, {tools.stream()}); };
    shrink();
    std::int64_t turns = 0;
    const auto expected = shrunk(values, batch, batch, spec.max_turns, turns);
    CHECK(turns > 5);
    CHECK(y.host() == expected);
    const auto replay = tools.capture(shrink);
    for (int k = 0; k < 3; ++k) {
        tools.upload(y.get(), values.data(), static_cast<std::int64_t>(8 * values.size()));
        replay();
        CHECK(y.host() == expected);
    }
}

TEST_CASE("gpu: contents of buffers are those of the plan, or written later") {
    const auto gpu = device();
    if (!gpu) return;
    const TriangularSpec spec{rows, batch, random_values(rows)};
    TriangularSolver solver(spec, prepare_triangular(spec, *gpu));
    const auto l = random_values(batch * rows * rows), x = random_values(batch * rows);
    std::vector<double> first(x.size()), twice(x.size());
    solver.apply_on_host(l.data(), x.data(), first.data(), batch);
    auto weights = spec.weights;
    for (auto& weight : weights) weight *= 2;
    solver.set_weights(weights);
    solver.apply_on_host(l.data(), x.data(), twice.data(), batch);
    for (std::size_t k = 0; k < x.size(); ++k) CHECK(twice[k] == 2 * first[k]);
    CHECK(std::ranges::any_of(first, [](double value) { return value != 0; }));
}
