#include <doctest/doctest.h>

#include <set>

#include <trifold/binary.hpp>
#include "tests/runtime/device/emulation.hpp"
#include "tests/runtime/ranks/fixture.hpp"
#include "tests/support/drivers/nccl.hpp"

#include "runtime/compile/beside.hpp"

using namespace trifold;
using namespace trifold::test;

/// In place of compiling: the fake driver has the kernels already. (NVRTC would look into the fake driver and crash.)
Binary trifold::obtain(const Unit&) { return {"emulated", "emulator", {}, {}, {}, true, 0}; }
std::optional<Binary> trifold::obtain_cached(const Unit& unit, const std::string&) { return obtain(unit); }

namespace {

const Target target{Backend::cuda, "sm_90"};

/// Makes the fake driver emulate the kernels of all ranks' Programs.
class RankEmulation {
  public:
    RankEmulation(const Spec& spec, std::vector<std::int64_t> shards, const Tuning& given) {
        std::set<std::string> seen;
        RankSpec rank{spec, std::move(shards), 0};
        const auto choice = choose(rank, target, given);
        for (rank.rank = 0; rank.rank < rank.ranks(); ++rank.rank) {
            const auto program = generate(rank, choice);
            fake_cuda().take_parameters_of(program);
            for (const auto& unit : program.units) {
                if (!seen.insert(unit.source).second) continue;
                libraries_.push_back(compile_unit(unit.source, unit.target.backend, 32, false));
                connect(libraries_.back().get(), emulator_);
                fake_cuda().kernels.push_back(libraries_.back().get());
            }
        }
    }
    ~RankEmulation() {
        CHECK(fake_cuda().allocations == 0);
        CHECK(fake_cuda().streams == 0);
        CHECK(fake_nccl().communicators == 0);
        fake_cuda() = {};
        fake_nccl() = {};
    }
    RankEmulation(const RankEmulation&) = delete;
    RankEmulation& operator=(const RankEmulation&) = delete;

  private:
    std::vector<std::shared_ptr<void>> libraries_;
    Emulator emulator_;
};

Spec spec_of(std::int64_t block, std::int64_t horizon, std::int64_t rhs = 1, std::int64_t batch = 1) {
    Spec spec;
    spec.block = block;
    spec.horizon = horizon;
    spec.rhs = rhs;
    spec.batch = batch;
    return spec;
}

double log_determinant_of(const Matrix& a) {
    const Eigen::LLT<Matrix> factor(a);
    return 2 * factor.matrixL().toDenseMatrix().diagonal().array().log().sum();
}

/// All operations on all ranks, a thread each, against Eigen. Returns X of the first one.
template <class Real>
std::vector<Real> check_operations(const Spec& spec, const std::vector<std::int64_t>& shards, double tolerance, const Tuning& given = {}) {
    CAPTURE(spec.block);
    CAPTURE(spec.horizon);
    CAPTURE(shards);
    CAPTURE(given.schedule);
    const RankEmulation emulation(spec, shards, given);
    const Problem<Real> problem(spec, spec.rhs, 11);
    std::vector<std::vector<Real>> solutions(5, std::vector<Real>(problem.input.b.size()));
    std::vector<double> determinants, quadratics;
    std::mutex mutex;
    on_ranks(static_cast<int>(shards.size()), [&](const std::shared_ptr<Transport>& transport) {
        RankSolver solver(RankPlan(spec, transport, Device::cuda(0), given, shards));
        const auto& rank = solver.plan().spec();
        Shard<Real> shard(rank, problem);
        std::size_t which = 0;
        const auto keep = [&] {
            const std::scoped_lock lock(mutex);
            shard.put_x(solutions[which++]);
            std::ranges::fill(shard.x, Real(0));
        };
        solver.factor_solve(shard.d, shard.e, shard.b, shard.x);
        keep();
        solver.factor(shard.d, shard.e);
        solver.solve(shard.b, shard.x);
        keep();
        solver.factor_forward(shard.d, shard.e, shard.b, shard.x);
        solver.backward(shard.x, shard.x);
        keep();
        solver.forward(shard.b, shard.x);
        solver.backward(shard.x, shard.x);
        keep();
        const DeviceArray<Real> b(shard.b);
        solver.solve(b.data(), b.data());
        solver.check();
        b.read(shard.x);
        keep();
        const auto logs = solver.log_determinant(), squares = solver.quadratic();
        if (rank.rank != rank.ranks() - 1) return;
        determinants = logs;
        quadratics = squares;
    });
    for (std::size_t k = 0; k < solutions.size(); ++k) {
        CAPTURE(k);
        auto solved = problem;
        solved.x = solutions[k];
        CHECK(solved.residual() < tolerance);
        CHECK(solutions[k] == solutions[0]);
    }
    REQUIRE(determinants.size() == static_cast<std::size_t>(spec.batch));
    for (std::size_t m = 0; m < determinants.size(); ++m) {
        const Matrix dense = problem.systems[m].dense();
        CHECK(determinants[m] == doctest::Approx(log_determinant_of(dense)).epsilon(tolerance));
        const Matrix& b = problem.systems[m].b;
        const Matrix squares = b.transpose() * dense.llt().solve(b);
        for (std::int64_t c = 0; c < spec.rhs; ++c)
            CHECK(quadratics[m * static_cast<std::size_t>(spec.rhs) + static_cast<std::size_t>(c)] ==
                  doctest::Approx(squares(c, c)).epsilon(100 * tolerance));
    }
    return solutions[0];
}

}  // namespace

TEST_CASE("ranks on GPUs: all operations on 2 to 4 ranks") {
    check_operations<double>(spec_of(6, 9), {5, 4}, 1e-13);
    check_operations<double>(spec_of(6, 9, 2), {3, 3, 3}, 1e-13);
    check_operations<double>(spec_of(6, 12), {4, 2, 1, 5}, 1e-13);
    check_operations<double>(spec_of(70, 6), {2, 2, 2}, 1e-13);
}

TEST_CASE("debug") {
    check_operations<double>(spec_of(128, 4), {2, 2}, 1e-13);
    check_operations<double>(spec_of(64, 4), {2, 2}, 1e-13);
    check_operations<double>(spec_of(70, 2), {1, 1}, 1e-13);
    check_operations<double>(spec_of(70, 3), {2, 1}, 1e-13);
}
