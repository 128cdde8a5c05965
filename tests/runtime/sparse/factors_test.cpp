#include "tests/runtime/sparse/shared.hpp"
#include "tests/support/guarded.hpp"

using namespace trifold;
using namespace trifold::test;

TEST_CASE("sparse: factors are values, which may be copied and go on in another place") {
    const auto a = random_on(SparsePattern(SparseMesh{6, 5, 4, 7}), 2, 3);
    SparseSpec spec{.block = 2, .rhs = 2};
    const SparsePlan plan(spec, a.pattern(), Device::cpu());
    SparseSolver alone(plan);
    alone.update(a.values);
    const auto b = random_vector(2 * a.size(), 3);
    std::vector<double> expected(b.size()), applied(b.size()), x(b.size());
    alone.solve(b, expected);
    alone.apply(b, applied);
    SparseFactors factors(plan);
    Guarded<char> value(factors.bytes()), copy(factors.bytes()), third(factors.bytes()), other(factors.bytes());
    factors.fresh(value.data())->update(a.values.data());
    std::ranges::copy(value.values(), copy.data());
    std::ranges::fill(value.values(), '\x55');
    factors.filled(copy.data())->solve(b.data(), x.data());
    CHECK(x == expected);
    auto halves = a.values;
    for (auto& one : halves) one *= 0.5;
    factors.fresh(other.data())->update(halves.data());
    {
        auto borrowed = factors.copied(copy.data(), third.data());
        borrowed->apply(b.data(), x.data());
        CHECK(x == applied);
        CHECK(borrowed->ok());
        CHECK_REFUSED("there is no solution yet", borrowed->outcomes());
    }
    factors.prepare(third.data());
    factors.filled(other.data())->apply(b.data(), x.data());
    for (std::size_t k = 0; k < x.size(); ++k) CHECK(x[k] == 2 * applied[k]);
    CHECK_REFUSED("but 0 have been factored; call update first", factors.fresh(value.data())->apply(b.data(), x.data()));
    CHECK_REFUSED("the factor is a null pointer", factors.fresh(nullptr));
    CHECK_REFUSED("members = 2 is out of range", factors.filled(value.data(), {}, 2));
}
