#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <array>
#include <trifold/binary.hpp>

#include "runtime/device/gpu_graph.hpp"
#include "runtime/device/gpu_memory.hpp"
#include "runtime/device/gpu_module.hpp"
#include "runtime/device/host_graph.hpp"
#include "runtime/device/host_memory.hpp"
#include "runtime/device/host_module.hpp"
#include "tests/family/triangular.hpp"
#include "tests/support/drivers/drivers.hpp"
#include "tests/support/emulator/unit.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Random data, and what the operation has to make of it.
struct Problem {
    Problem(std::int64_t n, std::int64_t batch) : spec{n, batch, {}} {
        std::srand(static_cast<unsigned>(7 * n + batch));
        const Eigen::VectorXd w = Eigen::VectorXd::Random(n);
        spec.weights.assign(w.data(), w.data() + n);
        for (std::int64_t m = 0; m < batch; ++m) {
            const Matrix full = Matrix::Random(n, n);
            const Eigen::VectorXd v = Eigen::VectorXd::Random(n);
            const Matrix lower = full.triangularView<Eigen::Lower>();
            l.insert(l.end(), full.data(), full.data() + n * n);
            x.insert(x.end(), v.data(), v.data() + n);
            const Eigen::VectorXd product = lower.transpose() * w.cwiseProduct(lower * v);
            expected.insert(expected.end(), product.data(), product.data() + n);
        }
        y.assign(x.size(), 0);
    }
    Operand operand(char* workspace, std::int64_t members) {
        args = {l.data(), x.data(), y.data(), workspace, members};
        return {&args, sizeof args, members};
    }
    /// The first members are right, the others untouched.
    void check(std::int64_t members) const {
        for (std::size_t k = 0; k < y.size(); ++k) {
            const bool active = static_cast<std::int64_t>(k) < members * spec.block;
            CHECK(std::abs(y[k] - (active ? expected[k] : 0)) <= (active ? 1e-13 * static_cast<double>(spec.block) : 0));
        }
    }
    TriangularSpec spec;
    std::vector<double> l, x, y, expected;
    TriangularArgs args{};
};

void call_triangular(void* entry, const void* operand, const void* constants) {
    reinterpret_cast<void (*)(TriangularArgs, TriangularRows)>(entry)(*static_cast<const TriangularArgs*>(operand),
                                                                      *static_cast<const TriangularRows*>(constants));
}

}  // namespace

TEST_CASE("another family runs on CPU threads: generated, compiled, cached, loaded and launched by what knows none") {
    for (const std::int64_t n : {1, 7, 33})
        for (const int workers : {1, 3}) {
            CAPTURE(n);
            CAPTURE(workers);
            Problem problem(n, 5);
            const auto program = generate_triangular(problem.spec, {Backend::cpu, "x86-64"}, workers);
            const auto binaries = obtain_all(program);
            REQUIRE(binaries.size() == 2);
            const auto loaded = load_on_host(program, binaries);
            std::vector<char> workspace(static_cast<std::size_t>(program.workspace_bytes));
            clear_workspace(program, workspace.data(), true);
            HostGraph graph(program, loaded.functions, workspace.data(), std::chrono::microseconds(0));
            for (const std::int64_t members : {5, 2}) {
                std::ranges::fill(problem.y, 0);
                const std::array operands{problem.operand(workspace.data(), members)};
                graph.run(graph.operation("apply"), operands);
                problem.check(members);
            }
        }
}

TEST_CASE("another family runs on an emulated GPU, as a graph whose nodes are updated from call to call") {
    for (const std::int64_t n : {1, 7, 33}) {
        CAPTURE(n);
        Problem problem(n, 5);
        const auto program = generate_triangular(problem.spec, {Backend::cuda, "sm_90"});
        Emulator emulator{};
        std::vector<std::shared_ptr<void>> libraries;
        for (const auto& unit : program.units) {
            libraries.push_back(compile_unit(unit.source, Backend::cuda, 32, false));
            connect(libraries.back().get(), emulator);
            fake_cuda().kernels.push_back(libraries.back().get());
        }
        fake_cuda().call = call_triangular;
        fake_cuda().operand_bytes = sizeof(TriangularArgs);
        fake_cuda().constants_bytes = sizeof(TriangularRows);
        {
            const auto loaded = gpu::load(program, problem.spec.batch, 0, std::vector<Binary>(2, Binary{.image = "emulated"}));
            const auto& context = static_cast<const gpu::Module*>(loaded.module.get())->context();
            const gpu::Current current(context);
            std::vector<char> workspace(static_cast<std::size_t>(program.workspace_bytes));
            gpu::clear_workspace(context.driver(), program, workspace.data(), true, nullptr);
            const std::array first{problem.operand(workspace.data(), 5)};
            gpu::Graph graph(context.driver(), program, loaded, "apply", first);
            graph.launch(first, nullptr);
            problem.check(5);
            CHECK(fake_cuda().node_updates == 0);
            std::ranges::fill(problem.y, 0);
            const std::array second{problem.operand(workspace.data(), 2)};
            graph.launch(second, nullptr);
            problem.check(2);
            CHECK(fake_cuda().node_updates == 2);
            std::ranges::fill(problem.y, 0);
            const std::array third{problem.operand(workspace.data(), 5)};
            graph.enqueue(third, nullptr);
            problem.check(5);
        }
        fake_cuda() = {};
    }
}
