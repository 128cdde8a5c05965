// The family of the tests: what tests/runtime/families does not ask of every family.
#include "tests/family/lower.hpp"

#include "tests/support/capture_file.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

TEST_CASE("a family that states its table: a knob, panels, and a capture") {
    const CaptureFile file;
    const std::vector<double> l(12, 2.0), b(30, 2.0);
    std::vector<double> x(b.size());
    {
        const auto plan = lower_family.make({{"size", 2}, {"batch", 3}, {"rhs", 2}}, Device::cpu(), {{"variant", "plain:group_members=2"}});
        const auto solver = plan->solver(nullptr, 0);
        solver->run(0, std::array<AnyArray, 1>{l}, {}, nlohmann::json::object());
        solver->run(1, std::array<AnyArray, 2>{b, x}, {}, {{"columns", 5}});
        for (std::size_t k = 0; k < x.size(); ++k) CHECK(x[k] == (k / 5 % 2 == 0 ? 1 : 0));
    }
    CHECK(file.lines().back().at("family") == "lower");
    check_json(file.lines().back().at("operations").at("solve"), {{"calls", 3}, {"members", 9}});
    CHECK_REFUSED("group_members", lower_family.make({{"size", 2}}, Device::cpu(), {{"variant", "plain:group_members=3"}}));
}
