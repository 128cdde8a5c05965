#include <trifold/trifold.hpp>

#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// Memory of a value, at another distance from the next 256 bytes than its neighbours.
class Value {
  public:
    explicit Value(std::int64_t bytes, std::int64_t at = 0) : bytes_(static_cast<std::size_t>(bytes)), memory_(bytes_ + 512, '\x77') {
        auto* const begin = memory_.data();
        begin_ = begin + (-reinterpret_cast<std::uintptr_t>(begin) & 255U) + at;
    }
    void* data() { return begin_; }
    void take(const Value& other) { std::memcpy(begin_, other.begin_, bytes_); }
    void poison() { std::fill(memory_.begin(), memory_.end(), '\x55'); }

  private:
    std::size_t bytes_;
    std::vector<char> memory_;
    char* begin_;
};

Spec spec_of(std::int64_t batch) {
    Spec spec{.block = 5, .horizon = 23, .batch = batch};
    spec.operations = all_operations();
    return spec;
}

}  // namespace

TEST_CASE("a factor is a value: it may be copied, and its memory used by others") {
    for (const auto* schedule : {"sequential", "twisted:2", "recursive:2", "multi-stage"}) {
        CAPTURE(schedule);
        Problem<double> problem(spec_of(3), 1, 1);
        const auto& [d, e, b] = problem.input;
        Factors factors(Plan(problem.spec, Device::cpu(), tuning(schedule, 2)));
        Value value(factors.bytes(), 64), copy(factors.bytes(), 192);
        factors.fresh(value.data())->factor(d.data(), e.data());
        copy.take(value);
        value.poison();
        factors.filled(copy.data())->solve(b.data(), problem.x.data());
        CHECK(problem.residual() < 1e-13);
        Value third(factors.bytes(), 128), crooked(factors.bytes(), 8);
        crooked.take(copy);
        std::ranges::fill(problem.x, 0.0);
        factors.copied(crooked.data(), third.data())->solve(b.data(), problem.x.data());
        CHECK(problem.residual() < 1e-13);

        Solver reference(factors.plan());
        reference.factor<double>(d, e);
        std::array<double, 3> log_determinants{}, quadratics{};
        auto borrowed = factors.filled(copy.data(), {}, 3);
        borrowed->copy_log_determinant(log_determinants.data(), 3);
        CHECK(std::ranges::equal(log_determinants, reference.log_determinant()));
        CHECK(borrowed->status() == reference.status());
        std::vector<double> y(b.size());
        borrowed->forward(b.data(), y.data());
        borrowed->copy_quadratic(quadratics.data(), 3);
        reference.forward<double>(b, y);
        CHECK(std::ranges::equal(quadratics, reference.quadratic()));
    }
}

TEST_CASE("what does not fit a value is refused") {
    Problem<double> problem(spec_of(2), 1, 1);
    const auto& [d, e, b] = problem.input;
    Factors factors(Plan(problem.spec, Device::cpu()));
    Value value(factors.bytes());
    CHECK_REFUSED("null pointer", factors.fresh(nullptr));
    CHECK_REFUSED("aligned", factors.fresh(static_cast<char*>(value.data()) + 8));
    double result = 0;
    CHECK_REFUSED("factor", factors.fresh(value.data())->solve(b.data(), problem.x.data()));
    factors.fresh(value.data())->factor(d.data(), e.data());
    CHECK_THROWS_AS(factors.filled(value.data())->copy_quadratic(&result, 1), SpecError);
    CHECK_THROWS_AS(factors.filled(value.data(), {}, 1)->copy_log_determinant(&result, 2), SpecError);
    CHECK_THROWS_AS(factors.filled(value.data())->copy_log_determinant(nullptr, 2), SpecError);
    factors.filled(value.data())->solve(b.data(), problem.x.data());  // a refusal lets go of the value
    CHECK(problem.residual() < 1e-13);
}

TEST_CASE("members that a mask leaves out of a fresh value solve to NaN") {
    Problem<double> problem(spec_of(2), 1, 1);
    const auto& [d, e, b] = problem.input;
    Factors factors(Plan(problem.spec, Device::cpu()));
    Value value(factors.bytes());
    const std::array active{0, 1};
    FactorOptions<double> options;
    options.active = active.data();
    factors.fresh(value.data(), {}, true)->factor(d.data(), e.data(), {}, options);
    auto borrowed = factors.filled(value.data());
    borrowed->solve(b.data(), problem.x.data());
    CHECK(std::isnan(problem.x.front()));
    CHECK(std::isfinite(problem.x.back()));
    CHECK(borrowed->status()[0].floors == -1);
}

TEST_CASE("threads share values, and wait for one another where it is the same one") {
    Problem<double> problem(spec_of(1), 1, 1);
    const auto& [d, e, b] = problem.input;
    const auto factors = Factors::shared(problem.spec, Device::cpu());
    CHECK(factors == Factors::shared(problem.spec, Device::cpu()));
    CHECK(factors != Factors::shared(problem.spec, Device::cpu(), tuning("twisted:2")));
    Value same(factors->bytes());
    factors->fresh(same.data())->factor(d.data(), e.data());
    std::vector<double> expected(b.size());
    factors->filled(same.data())->solve(b.data(), expected.data());
    std::atomic<int> wrong = 0;
    const auto work = [&](bool apart) {
        Value own(factors->bytes());
        std::vector<double> x(b.size());
        for (int k = 0; k < 200; ++k) {
            if (apart) factors->fresh(own.data())->factor(d.data(), e.data());
            factors->filled(apart ? own.data() : same.data())->solve(b.data(), x.data());
            wrong += x != expected;
        }
    };
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k) threads.emplace_back(work, k % 2 == 0);
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
}
