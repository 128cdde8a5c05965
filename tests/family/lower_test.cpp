// The family of the tests in C++ and C: all of it follows from its table.
#include "tests/family/lower.hpp"

#include <trifold/trifold.h>

#include "tests/support/capture_file.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

struct Problem {
    std::int64_t n, columns;
    std::vector<double> l, b, x;
    Problem(std::int64_t rows, std::int64_t batch, std::int64_t rhs)
        : n(rows), columns(rhs), l(static_cast<std::size_t>(batch * n * n)), b(static_cast<std::size_t>(batch * n * rhs)), x(b.size()) {
        std::srand(static_cast<unsigned>(n));
        for (auto* values : {&l, &b})
            for (auto& value : *values) value = std::rand() / (RAND_MAX + 1.0);
        for (std::int64_t m = 0; m < batch; ++m)
            for (std::int64_t r = 0; r < n; ++r) l[static_cast<std::size_t>((m * n + r) * n + r)] += static_cast<double>(n);
    }
    /// The largest |L x - b|, or |L' x - b|.
    double residual(bool transposed) const {
        using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        double worst = 0;
        for (std::int64_t m = 0; m < static_cast<std::int64_t>(l.size()) / n / n; ++m) {
            const Rows lower = Eigen::Map<const Rows>(l.data() + m * n * n, n, n).triangularView<Eigen::Lower>();
            const Eigen::Map<const Rows> right(b.data() + m * n * columns, n, columns), left(x.data() + m * n * columns, n, columns);
            worst = std::max(worst, ((transposed ? Rows(lower.transpose()) : lower) * left - right).cwiseAbs().maxCoeff());
        }
        return worst;
    }
};

}  // namespace

TEST_CASE("a family that states its table: C++ calls, a workspace of the caller, a knob, and a capture") {
    const CaptureFile file;
    for (const std::int64_t n : {1, 7, 33}) {
        Problem problem(n, 3, 5);
        {
            const auto plan = lower_family.make({{"size", n}, {"batch", 3}, {"rhs", 2}}, Device::cpu(),
                                                {{"variant", "plain:group_members=2"}, {"workers", 2}});
            std::vector<char> memory(static_cast<std::size_t>(plan->program().workspace_bytes + 64));
            auto* const workspace = memory.data() + 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
            const auto solver = plan->solver(workspace, plan->program().workspace_bytes);
            solver->run(0, std::array<AnyArray, 1>{problem.l}, {}, nlohmann::json::object());
            for (const std::size_t operation : {1, 2}) {
                solver->run(operation, std::array<AnyArray, 2>{problem.b, problem.x}, {}, {{"columns", 5}});
                CHECK(problem.residual(operation == 2) < 1e-13 * static_cast<double>(n));
            }
        }
        check_json(file.lines().back().at("operations").at("solve"), {{"calls", 3}, {"members", 9}});
        CHECK(file.lines().back().at("family") == "lower");
    }
}

TEST_CASE("a family that states its table: C calls it by its name") {
    if (families().back() != &lower_family) families().push_back(&lower_family);
    CHECK(says(trifold_families(), R"("name":"lower")"));
    Problem problem(7, 1, 1);
    trifold_any_plan* plan = nullptr;
    trifold_any_solver* solver = nullptr;
    REQUIRE(trifold_any_plan_create("lower", R"({"size": 7})", "cpu", nullptr, &plan) == TRIFOLD_OK);
    REQUIRE(trifold_any_solver_create(plan, nullptr, 0, &solver) == TRIFOLD_OK);
    trifold_call call;
    trifold_call_init(&call);
    call.on_host = 1;
    const void* l[] = {problem.l.data()};
    const void* bx[] = {problem.b.data(), problem.x.data()};
    CHECK(trifold_any_run(solver, "solve", &call, bx, 2, nullptr) == TRIFOLD_BAD_ARGUMENT);
    CHECK(std::string(trifold_last_error()) == "solve for 1 lower systems, but 0 have been factored; call factor first");
    CHECK(trifold_any_run(solver, "factor", &call, l, 1, nullptr) == TRIFOLD_OK);
    CHECK(trifold_any_run(solver, "solve", &call, bx, 2, "{\"columns\": 1}") == TRIFOLD_OK);
    CHECK(problem.residual(false) < 1e-13);
    const char* outcomes = nullptr;
    CHECK(trifold_any_outcomes(solver, &outcomes) == TRIFOLD_OK);
    CHECK(std::string(outcomes) == R"([{"ok":true,"row":-1}])");
    CHECK(trifold_any_run(solver, "divide", &call, bx, 2, nullptr) == TRIFOLD_BAD_ARGUMENT);
    CHECK(trifold_any_run(solver, "solve", &call, bx, 2, "[]") == TRIFOLD_BAD_ARGUMENT);
    trifold_any_solver_destroy(solver);
    trifold_any_plan_destroy(plan);
}
