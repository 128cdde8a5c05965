#include "tests/family/lower.hpp"

#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

TEST_CASE("a family that states its table: solutions, the adjoint, the gradient") {
    for (const std::int64_t n : {1, 7, 33}) {
        const auto plan = lower_family.make({{"size", n}, {"batch", 3}, {"rhs", 2}}, Device::cpu(), {{"variant", "plain:group_members=2"}});
        const auto solver = plan->solver(nullptr, 0);
        std::vector<double> l(static_cast<std::size_t>(3 * n * n), 0.01), b(static_cast<std::size_t>(3 * n * 5), 1.0), x(b.size());
        for (std::int64_t m = 0; m < 3; ++m)
            for (std::int64_t r = 0; r < n; ++r) l[static_cast<std::size_t>((m * n + r) * n + r)] = 2;
        solver->run(0, std::array<AnyArray, 1>{l}, {}, nlohmann::json::object());
        solver->run(1, std::array<AnyArray, 2>{b, x}, {}, {{"columns", 5}});
        CHECK(x[0] == 0.5);
        if (n > 1) CHECK(x[5] == doctest::Approx((1 - 0.01 * 0.5) / 2));
        CHECK(solver->outcomes().dump() == R"([{"ok":true,"row":-1},{"ok":true,"row":-1},{"ok":true,"row":-1}])");
    }
}
