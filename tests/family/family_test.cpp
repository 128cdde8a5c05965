#include <cuda.h>

#include <trifold/binary.hpp>

#include "tests/family/solver.hpp"
#include "tests/support/capture_file.hpp"
#include "tests/support/drivers/drivers.hpp"
#include "tests/support/emulator/unit.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::vector<double> random_values(std::int64_t count) {
    const Eigen::VectorXd values = Eigen::VectorXd::Random(count);
    return {values.begin(), values.end()};
}

/// Random data, and what the operation has to make of it.
struct Problem {
    Problem(std::int64_t n, std::int64_t batch) : spec{n, batch, {}} {
        std::srand(static_cast<unsigned>(7 * n + batch));
        spec.weights = random_values(n);
        l = random_values(batch * n * n);
        x = random_values(batch * n);
        expect(spec.weights);
    }
    void expect(const std::vector<double>& weights) {
        const auto n = spec.block;
        const auto w = Eigen::Map<const Eigen::VectorXd>(weights.data(), n);
        expected.clear();
        for (std::int64_t m = 0; m < spec.batch; ++m) {
            const Matrix lower = Eigen::Map<const Matrix>(l.data() + m * n * n, n, n).triangularView<Eigen::Lower>();
            const Eigen::VectorXd v = Eigen::Map<const Eigen::VectorXd>(x.data() + m * n, n);
            const Eigen::VectorXd product = lower.transpose() * w.cwiseProduct(lower * v);
            expected.insert(expected.end(), product.begin(), product.end());
        }
        y.assign(x.size(), 0);
    }
    /// The first members are right, the others untouched. Clears y.
    void check(std::int64_t members) {
        for (std::size_t k = 0; k < y.size(); ++k) {
            const bool active = static_cast<std::int64_t>(k) < members * spec.block;
            CHECK(std::abs(y[k] - (active ? expected[k] : 0)) <= (active ? 1e-13 * static_cast<double>(spec.block) : 0));
        }
        std::ranges::fill(y, 0);
    }
    TriangularSpec spec;
    std::vector<double> l, x, y, expected;
};

/// The fake driver with the family's kernels.
class FakeGpu {
  public:
    explicit FakeGpu(const TriangularSpec& spec) {
        CUcontext context = nullptr;
        cuDevicePrimaryCtxRetain(&context, 0);
        cuCtxPushCurrent(context);  // for the arrays of the tests
        auto program = generate_triangular(spec, {Backend::cuda, "sm_90"});
        for (const auto& unit : program.units) {
            libraries_.push_back(compile_unit(unit.source, Backend::cuda, 32, false));
            connect(libraries_.back().get(), emulator_);
            fake_cuda().kernels.push_back(libraries_.back().get());
        }
        fake_cuda().parameters = &parameters_of<TriangularArgs, TriangularRows>;
        const auto device = Device::cuda(0);
        std::vector<LoadedCode> codes;
        for (std::size_t k = 0; k < program.units.size(); ++k) codes.push_back(load(Binary{.code = "emulated"}, device));
        prepared_ = std::make_shared<Prepared>(
            Preparation{
                .program = std::move(program), .members = spec.batch, .spin_microseconds = 0, .described = R"("family":"triangular")"},
            device, triangular_words, codes);
    }
    ~FakeGpu() {
        prepared_.reset();
        CHECK(fake_cuda().modules == 0);
        CHECK(fake_cuda().allocations == 0);
        CHECK(fake_cuda().executables == 0);
        CHECK(fake_cuda().graphs == 0);
        CUcontext popped = nullptr;
        cuCtxPopCurrent(&popped);
        cuDevicePrimaryCtxRelease(0);
        fake_cuda() = {};
    }
    FakeGpu(const FakeGpu&) = delete;
    FakeGpu& operator=(const FakeGpu&) = delete;
    const std::shared_ptr<const Prepared>& prepared() const { return prepared_; }

  private:
    Emulator emulator_{};
    std::vector<std::shared_ptr<void>> libraries_;
    std::shared_ptr<const Prepared> prepared_;
};

std::string refusal(const std::function<void()>& call) {
    try {
        call();
    } catch (const SpecError& error) {
        return error.what();
    }
    return "none";
}

/// An array in the fake device's memory, which is the host's.
class FakeArray {
  public:
    explicit FakeArray(const std::vector<double>& values) : count_(values.size()) {
        REQUIRE(cuMemAlloc(&address_, 8 * count_) == CUDA_SUCCESS);
        std::ranges::copy(values, data());
    }
    ~FakeArray() { cuMemFree(address_); }
    FakeArray(const FakeArray&) = delete;
    FakeArray& operator=(const FakeArray&) = delete;
    double* data() const { return reinterpret_cast<double*>(address_); }
    std::vector<double> values() const { return {data(), data() + count_}; }

  private:
    CUdeviceptr address_ = 0;
    std::size_t count_;
};

std::vector<double> first_of(const std::vector<double>& y, std::size_t count) {
    return {y.begin(), y.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

TEST_CASE("another family runs on CPU threads: generated, compiled, cached, loaded and launched by what knows none") {
    for (const std::int64_t n : {1, 7, 33})
        for (const int workers : {1, 3}) {
            INFO(n, " ", workers);
            Problem problem(n, 5);
            TriangularSolver solver(problem.spec, prepare_triangular(problem.spec, Device::cpu(), workers));
            for (const std::int64_t members : {5, 2}) {
                solver.apply(problem.l.data(), problem.x.data(), problem.y.data(), members);
                problem.check(members);
                solver.apply_on_host(problem.l.data(), problem.x.data(), problem.y.data(), members);
                problem.check(members);
            }
        }
}

TEST_CASE("another family runs on an emulated GPU: arrays of the device and of the host, graphs updated from call to call") {
    for (const std::int64_t n : {1, 7, 33}) {
        CAPTURE(n);
        Problem problem(n, 5);
        const FakeGpu gpu(problem.spec);
        TriangularSolver solver(problem.spec, gpu.prepared());
        for (const std::int64_t members : {5, 2, 2, 5}) {
            solver.apply_on_host(problem.l.data(), problem.x.data(), problem.y.data(), members);
            problem.check(members);
        }
        CHECK(fake_cuda().node_updates == 6);  // two kernels, three changes
        CHECK(fake_cuda().overtakes == 0);
        CHECK(refusal([&] { solver.apply(problem.l.data(), problem.x.data(), problem.y.data(), 5); }) ==
              "L is not memory that Fake can read; give device memory, or use the span overloads");
    }
}

TEST_CASE("a session writes contents that are large or known late, and reads what a call has left") {
    Problem problem(7, 3);
    const auto check = [&](const std::shared_ptr<const Prepared>& prepared) {
        TriangularSolver solver(problem.spec, prepared);
        const auto late = random_values(7);
        auto weights = problem.spec.weights;
        solver.set_weights(std::span(late).subspan(2, 4), 2);
        std::ranges::copy(std::span(late).subspan(2, 4), weights.begin() + 2);
        problem.expect(weights);
        solver.apply_on_host(problem.l.data(), problem.x.data(), problem.y.data(), 3);
        problem.check(3);
        const auto product = solver.product(3);
        for (std::int64_t m = 0; m < 3; ++m) {
            const Matrix lower = Eigen::Map<const Matrix>(problem.l.data() + m * 49, 7, 7).triangularView<Eigen::Lower>();
            const Eigen::VectorXd left = lower.transpose() * Eigen::Map<const Eigen::VectorXd>(product.data() + m * 7, 7);
            for (std::int64_t k = 0; k < 7; ++k)
                CHECK(left[k] == doctest::Approx(problem.expected[static_cast<std::size_t>(m * 7 + k)]).epsilon(1e-12));
        }
        CHECK(refusal([&] { solver.set_weights(late, 1); }) == "56 bytes from 8 on are more than weights has, which are 56");
        CHECK(refusal([&] { solver.set_weights(late, -1); }) == "56 bytes from -8 on are more than weights has, which are 56");
        problem.expect(problem.spec.weights);
    };
    check(prepare_triangular(problem.spec, Device::cpu()));
    const FakeGpu gpu(problem.spec);
    check(gpu.prepared());
}

TEST_CASE("a workspace begins with the zeros and contents that a Program asks for, also one of the caller's") {
    const Problem problem(7, 3);
    const auto device = Device::cpu();
    const auto shared = prepare(device, triangular_words, [&] {
        auto program = generate_triangular(problem.spec, device.target());
        program.buffers.back().zeroed = true;
        return Preparation{.program = std::move(program), .members = problem.spec.batch};
    });
    const auto bytes = shared->program.workspace_bytes;
    alignas(64) std::array<char, 4096> given;
    given.fill(7);
    REQUIRE(bytes < static_cast<std::int64_t>(given.size()));
    for (void* workspace : {static_cast<void*>(nullptr), static_cast<void*>(given.data())}) {
        TriangularSolver solver(problem.spec, shared, workspace, bytes);
        CHECK(solver.product(3) == std::vector<double>(21, 0.0));
        Session::Call call(solver.session());
        CHECK(std::ranges::equal(call.read<double>("weights", 7), problem.spec.weights));
    }
    CHECK(given[static_cast<std::size_t>(bytes)] == 7);
    CHECK(refusal([&] { TriangularSolver(problem.spec, shared, given.data() + 8, bytes); }) == "the workspace is not aligned to 64 bytes");
    CHECK(refusal([&] { TriangularSolver(problem.spec, shared, given.data(), bytes - 1); }) ==
          fmt::format("the workspace has {} bytes; this TriangularPlan needs {}", bytes - 1, bytes));
}

TEST_CASE("what a session refuses, in the words of the family's arrays, and nothing is lost by it") {
    Problem problem(3, 2);
    const auto prepared = prepare_triangular(problem.spec, Device::cpu());
    TriangularSolver solver(problem.spec, prepared);
    auto* l = problem.l.data();
    auto* x = problem.x.data();
    auto* y = problem.y.data();
    const auto apply = [&](const double* a, const double* b, double* c) { return refusal([&] { solver.apply(a, b, c, 2); }); };
    CHECK(apply(nullptr, x, y) == "L is a null pointer; it must hold 144 bytes");
    CHECK(apply(l, reinterpret_cast<const double*>(reinterpret_cast<const char*>(x) + 4), y) ==
          "x is not aligned to its elements of 8 bytes");
    CHECK(apply(l, x, x) == "y (48 bytes) overlaps x (48 bytes)");
    CHECK(apply(l, x, static_cast<double*>(solver.session().workspace())) ==
          fmt::format("y (48 bytes) overlaps the workspace ({} bytes)", prepared->program.workspace_bytes));
    CHECK(refusal([&] { solver.session().operation("invert"); }) == "the Program  has no operation invert");
    {
        const Session::Call held(solver.session());
        std::string other;
        std::thread([&] { other = apply(l, x, y); }).join();
        CHECK(other ==
              "another thread is inside a call of this TriangularSolver; give each thread a TriangularSolver of its own (they may "
              "share the plan)");
    }
    solver.apply(l, x, y, 2);
    problem.check(2);
}

TEST_CASE("a repetition that its Program cannot have is an internal error, not a launch out of bounds") {
    const Problem problem(3, 2);
    const auto check = [&](const std::function<void(Repeat&)>& poison) {
        for (const Target& target : {Target{Backend::cpu, "x86-64"}, Target{Backend::cuda, "sm_90"}}) {
            auto program = generate_triangular(problem.spec, target);
            CHECK_NOTHROW(check_repeats(program));
            poison(program.repeats.at("shrink").front());
            CHECK_THROWS_AS(check_repeats(program), std::logic_error);
        }
    };
    check([](Repeat& repeat) { repeat.count = 4; });
    check([](Repeat& repeat) { repeat.count = 0; });
    check([](Repeat& repeat) { repeat.first = 4; });
    check([](Repeat& repeat) { repeat.most = 0; });
    check([](Repeat& repeat) { repeat.look = 0; });
    auto program = generate_triangular(problem.spec, {Backend::cuda, "sm_90"});
    program.repeats.at("shrink").front().unit = 0;
    CHECK_THROWS_AS(check_repeats(program), std::logic_error);
    program = generate_triangular(problem.spec, {Backend::cpu, "x86-64"});
    program.repeats.at("shrink").push_back({.first = 2, .count = 1, .flag = "again"});
    CHECK_THROWS_AS(check_repeats(program), std::logic_error);
    program.repeats.at("shrink") = {{.first = 2, .count = 1, .flag = "weight"}};
    CHECK_THROWS_AS(check_repeats(program), SpecError);
}

TEST_CASE("launches are repeated until data ends it, on CPU threads") {
    for (const std::int64_t most : {1, 4, 30})
        for (const int workers : {1, 3}) {
            Problem problem(7, 5);
            problem.spec.max_turns = most;
            TriangularSolver solver(problem.spec, prepare_triangular(problem.spec, Device::cpu(), workers));
            for (const double scale : {1.0, 1e-4, 100.0}) {
                auto x = problem.x;
                for (auto& value : x) value *= scale;
                for (const std::int64_t members : {5, 2}) {
                    std::int64_t turns = 0;
                    const auto expected = shrunk(x, members, 5, most, turns);
                    solver.shrink(problem.l.data(), x.data(), problem.y.data(), members);
                    CHECK(first_of(problem.y, expected.size()) == expected);
                }
            }
        }
}

TEST_CASE("launches are repeated until data ends it, on a GPU: by the graph itself, by blocks of turns, and in a graph of the caller's") {
    for (const auto* mode : {"graph", "blocks", "recorded"})
        for (const std::int64_t most : {1, 4, 30}) {
            INFO(mode, " ", most);
            Problem problem(7, 5);
            problem.spec.max_turns = most;
            if (mode == std::string("blocks")) ::setenv("TRIFOLD_DISABLE", "graph", 1);
            const FakeGpu gpu(problem.spec);
            TriangularSolver solver(problem.spec, gpu.prepared());
            const FakeArray l(problem.l), y(problem.y);
            CUstream stream = nullptr;
            REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
            if (mode == std::string("recorded")) cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
            for (const double scale : {1.0, 1e-4, 100.0}) {
                auto values = problem.x;
                for (auto& value : values) value *= scale;
                const FakeArray x(values);
                for (const std::int64_t members : {5, 2}) {
                    std::int64_t turns = 0;
                    const auto expected = shrunk(values, members, 5, most, turns);
                    const auto before = fake_cuda();
                    solver.shrink(l.data(), x.data(), y.data(), members, {stream});
                    CHECK(first_of(y.values(), expected.size()) == expected);
                    const auto& after = fake_cuda();
                    const auto launches = after.kernel_launches - before.kernel_launches;
                    if (mode == std::string("graph")) {
                        CHECK(after.graph_launches == before.graph_launches + 1);
                        CHECK(launches == 0);
                        CHECK(after.synchronizations == before.synchronizations);
                    } else if (mode == std::string("recorded")) {
                        CHECK(launches == 2 + 2 * most);
                        CHECK(after.synchronizations == before.synchronizations);
                    } else {
                        CHECK(launches == 2 + 2 * std::min(most, (turns + 2) / 3 * 3));  // the host looks after three turns
                    }
                }
            }
            cuStreamDestroy(stream);
            ::unsetenv("TRIFOLD_DISABLE");
        }
}

TEST_CASE("what another family is used for is captured too") {
    const CaptureFile file;
    Problem problem(3, 2);
    {
        TriangularSolver solver(problem.spec, prepare_triangular(problem.spec, Device::cpu()));
        for (int k = 0; k < 3; ++k) solver.apply(problem.l.data(), problem.x.data(), problem.y.data(), 2);
    }
    const auto lines = file.lines();
    REQUIRE(!lines.empty());
    CHECK(lines.back().at("family") == "triangular");
    check_json(lines.back().at("operations").at("apply"), {{"calls", 3}, {"members", 6}});
}
