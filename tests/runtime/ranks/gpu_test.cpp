#include "generator/tridiagonal/ranks/tree.hpp"
#include "runtime/compile/async.hpp"
#include "tests/runtime/device/emulation.hpp"
#include "tests/runtime/ranks/fixture.hpp"
#include "tests/runtime/ranks/from_c.hpp"
#include "tests/support/cpu/call.hpp"

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

/// One compilation serves all schedules and shards of a size.
Tuning any_size_of(const char* schedule) {
    auto result = tuning(schedule);
    result.any_size = true;
    return result;
}
const Tuning any_size = any_size_of("auto");

Spec spec_of(std::int64_t block, std::int64_t horizon, std::int64_t rhs = 1, std::int64_t batch = 1) {
    return {.block = block, .horizon = horizon, .rhs = rhs, .batch = batch};
}

Ranks ranks_of(const std::vector<std::int64_t>& shards, const Tuning& given = any_size) { return {0, shards, given, Device::cuda(0)}; }

template <class Real>
std::vector<Real> check_all(const Spec& spec, const std::vector<std::int64_t>& shards, double tolerance, const Tuning& given = any_size) {
    const RankEmulation emulation(spec, shards, given);
    return check_operations<Real>(spec, ranks_of(shards, given), tolerance, 0,
                                  [](RankSolver& solver, std::vector<Real>& x, const RankOptions& options) {
                                      const DeviceArray<Real> b(x);
                                      solver.solve(b.data(), b.data(), options);
                                      solver.check();
                                      b.read(x);
                                  });
}

template <class Real>
void check_blocks(Spec spec, const std::vector<std::int64_t>& shards, double tolerance, const Tuning& given = any_size) {
    spec.operations = {Operation::factor, Operation::inverse};
    const RankEmulation emulation(spec, shards, given);
    check_inverse<Real>(spec, ranks_of(shards, given), tolerance);
}

/// X of one GPU, with the sums of 2^levels ranks.
template <class Real>
std::vector<Real> on_one_gpu(const Spec& spec, const char* schedule, int levels) {
    const Problem<Real> problem(spec, spec.rhs, 11);
    auto given = any_size_of(schedule);
    given.variant = "tile-dataflow:rank_levels=" + std::to_string(levels);
    const Emulation emulation(spec, given);
    auto x = problem.x;
    Solver solver(Plan(spec, Device::cuda(0), given));
    solver.factor_solve(problem.input.d, problem.input.e, problem.input.b, x);
    return x;
}

}  // namespace

TEST_CASE("ranks on GPUs: an NCCL that is too old is refused by all, with its file and version") {
    const RankEmulation emulation(spec_of(4, 6), {3, 3}, any_size);
    fake_nccl().version = 20900;
    CHECK_THROWS_WITH_AS(on_ranks(2, [](const std::shared_ptr<Transport>& transport) { NcclTransport(transport, Device::cuda(0)); }),
                         doctest::Contains("is version 2.9.0; ranks on GPUs need 2.11.0"), DeviceError);
    fake_nccl().version = 22803;
    on_ranks(2, [](const std::shared_ptr<Transport>& transport) {
        const NcclTransport made(transport, Device::cuda(0));
        CHECK(made.library().starts_with("2.28.3, "));
        CHECK(says(made.library(), "libnccl.so.2"));
    });
}

TEST_CASE("ranks on GPUs: the bits of one GPU with the same schedule") {
    const auto chains = any_size_of("sequential"), stages = any_size_of("multi-stage");
    for (const std::int64_t block : {6, 70}) {
        auto spec = spec_of(block, 13, 2, block == 6 ? 2 : 1);
        CHECK(check_all<double>(spec, {6, 7}, 1e-13, chains) == on_one_gpu<double>(spec, "twisted:2", 1));
        spec.horizon = 12;
        CHECK(check_all<double>(spec, {5, 2, 5}, 1e-13, chains) == on_one_gpu<double>(spec, "flanked:5", 2));
        spec.horizon = 14;
        CHECK(check_all<double>(spec, {5, 2, 2, 5}, 1e-13, chains) == on_one_gpu<double>(spec, "flanked:5", 2));
        spec.horizon = 15;
        CHECK(check_all<double>(spec, {3, 4, 4, 4}, 1e-13, stages) == on_one_gpu<double>(spec, "multi-stage", 2));
        spec.precision = Precision::f32;
        CHECK(check_all<float>(spec, {7, 8}, 1e-5, stages) == on_one_gpu<float>(spec, "multi-stage", 1));
    }
}

TEST_CASE("ranks on GPUs: the selected inverse") {
    for (const auto* schedule : {"sequential", "multi-stage", "chains:3"}) {
        check_blocks<double>(spec_of(6, 9), {5, 4}, 1e-13, any_size_of(schedule));
        check_blocks<double>(spec_of(5, 14, 1, 3), {5, 4, 5}, 1e-13, any_size_of(schedule));
    }
    check_blocks<double>(spec_of(6, 9), {4, 1, 1, 3}, 1e-13);
    check_blocks<double>(spec_of(6, 3, 1, 2), {1, 1, 1}, 1e-13);
    auto single = spec_of(20, 8, 1, 2);
    single.precision = Precision::f32;
    check_blocks<float>(single, {2, 3, 3}, 1e-5);
    // Blocks of which all multiprocessors share the tiles.
    check_blocks<double>(spec_of(100, 6), {3, 3}, 1e-12);
    check_blocks<double>(spec_of(100, 6, 1, 2), {2, 1, 3}, 1e-12);
}

TEST_CASE("ranks on GPUs: refinement, and mixed precision by it, of arrays on the host and on the device") {
    auto spec = spec_of(5, 11, 2, 2);
    spec.precision = Precision::f32;
    const std::vector<std::int64_t> shards{4, 3, 4};
    const auto wide = spec_of(5, 11, 2, 2);
    const Problem<double> problem(wide, 2, 11);
    const RankEmulation emulation(spec, shards, any_size);
    std::array<std::vector<double>, 2> solutions{problem.x, problem.x};
    std::mutex mutex;
    on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
        RankSolver solver(RankPlan(spec, transport, Device::cuda(0), any_size, shards));
        Shard<double> shard(solver.plan().spec(), problem);
        const auto narrow = [](const std::vector<double>& values) { return std::vector<float>(values.begin(), values.end()); };
        auto inner = narrow(shard.b);
        solver.factor_solve(narrow(shard.d), narrow(shard.e), narrow(shard.b), inner);
        shard.x.assign(inner.begin(), inner.end());
        const DeviceArray<double> d(shard.d), e(shard.e), b(shard.b), x(shard.x);
        for (std::size_t k = 0; k < 2; ++k) {
            const auto results =
                k == 0 ? solver.refine(shard.d, shard.e, shard.b, shard.x) : solver.refine(d.data(), e.data(), b.data(), x.data());
            for (const auto& result : results) {
                CHECK(result.converged);
                CHECK(result.iterations > 0);
            }
            if (k == 1) x.read(shard.x);
            const std::scoped_lock lock(mutex);
            shard.put_x(solutions[k]);
        }
        CHECK_REFUSED("give all in one of them", solver.refine(d.data(), shard.e, b.data(), x.data()));
    });
    CHECK(solutions[0] == solutions[1]);
    auto solved = problem;
    solved.x = solutions[0];
    CHECK(solved.residual() < 1e-15);
}

TEST_CASE("ranks on GPUs: a call that all ranks repeat is recorded as a graph, with its messages") {
    const auto spec = spec_of(6, 12, 2, 2);
    const std::vector<std::int64_t> shards{4, 4, 4};
    const Problem<double> problem(spec, 2, 11);
    for (const bool refused : {false, true}) {
        CAPTURE(refused);
        const RankEmulation emulation(spec, shards, any_size);
        fake_cuda().refuses_records = refused;
        std::mutex mutex;
        on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
            RankSolver solver(RankPlan(spec, transport, Device::cuda(0), any_size, shards));
            Shard<double> shard(solver.plan().spec(), problem);
            const DeviceArray<double> d(shard.d), e(shard.e), b(shard.b), x(shard.x), other(shard.b);
            std::vector<std::vector<double>> found;
            const auto solve = [&](double* to) {
                solver.factor_solve(d.data(), e.data(), b.data(), to);
                solver.check();
                (to == x.data() ? x : other).read(shard.x);
                found.push_back(shard.x);
            };
            // Enqueued, recorded, launched again; then with one rank's array another, and with those of the record again.
            for (int k = 0; k < 3; ++k) solve(x.data());
            solve(transport->rank() == 1 ? other.data() : x.data());
            solve(x.data());
            solver.factor(d.data(), e.data());
            solver.factor(d.data(), e.data());
            solver.solve(b.data(), x.data());
            const std::scoped_lock lock(mutex);
            for (const auto& each : found) CHECK(each == found.front());
        });
        CHECK(fake_cuda().record_launches == (refused ? 0 : 3 * 4));
    }
}

TEST_CASE("ranks on GPUs: all operations on 2 to 4 ranks") {
    check_all<double>(spec_of(6, 9), {5, 4}, 1e-13);
    check_all<double>(spec_of(6, 9, 2), {3, 3, 3}, 1e-13);
    check_all<double>(spec_of(6, 12), {4, 2, 1, 5}, 1e-13);
    check_all<double>(spec_of(70, 6), {2, 2, 2}, 1e-13);
    check_all<double>(spec_of(128, 3), {1, 1, 1}, 1e-13);
    check_all<double>(spec_of(6, 10), {4, 3, 3}, 1e-13, {});  // with sizes as literals
}

TEST_CASE("ranks on GPUs: single precision, batches and right-hand sides") {
    auto single = spec_of(20, 9, 3, 2);
    single.precision = Precision::f32;
    check_all<float>(single, {4, 5}, 1e-5);
    check_all<float>(single, {3, 2, 4}, 1e-5);
    check_all<double>(spec_of(8, 13, 4, 3), {5, 4, 4}, 1e-13);
    check_all<double>(spec_of(40, 8, 1, 2), {2, 2, 2, 2}, 1e-13);
}

TEST_CASE("ranks on GPUs: levels within a rank's own blocks") {
    for (const auto* schedule : {"sequential", "chains:2", "chains:3", "flanked:4,2", "multi-stage", "segments:3"}) {
        check_all<double>(spec_of(5, 29), {15, 14}, 1e-13, any_size_of(schedule));
        check_all<double>(spec_of(5, 36), {9, 12, 6, 9}, 1e-13, any_size_of(schedule));
    }
}

TEST_CASE("ranks on GPUs: a matrix that is not positive definite names the chain's block, and a diagonal, shifts and masks are fused") {
    const auto ranks = ranks_of({5, 4, 5}), others = ranks_of({4, 3, 4});
    for (const std::int64_t block : {0, 4, 5, 9, 13}) {
        const RankEmulation emulation(spec_of(6, 14, 1, 3), ranks.shards, any_size);
        check_failure(spec_of(6, 14), ranks, block);
    }
    const RankEmulation emulation(spec_of(6, 11, 1, 3), others.shards, any_size);
    check_fused(spec_of(6, 11), others);
}

TEST_CASE("ranks on GPUs: a rank that ends, calls something else or hangs is named in time") {
    const auto spec = spec_of(4, 8);
    const RankEmulation emulation(spec, {4, 4}, any_size);
    const Problem<double> problem(spec, 1, 3);
    const auto named = [&](std::chrono::milliseconds limit, const std::function<void(RankSolver&, Shard<double>&, int)>& call) {
        std::vector<int> result(2, -9);
        on_ranks(2, [&](std::shared_ptr<Transport> transport) {
            const int rank = transport->rank();
            try {
                const auto nccl = std::make_shared<NcclTransport>(std::move(transport), Device::cuda(0), NcclOptions{.time_limit = limit});
                RankSolver solver(RankPlan(spec, nccl, Device::cuda(0), any_size, {4, 4}));
                Shard<double> shard(solver.plan().spec(), problem);
                call(solver, shard, rank);
            } catch (const RankError& error) {
                result[static_cast<std::size_t>(rank)] = error.rank;
            }
        });
        return result;
    };
    CHECK(named(std::chrono::seconds(30), [](RankSolver& solver, Shard<double>& shard, int rank) {
              if (rank == 0) solver.factor(shard.d, shard.e);
          }) == std::vector{1, -9});
    CHECK(named(std::chrono::seconds(30), [](RankSolver& solver, Shard<double>& shard, int rank) {
              if (rank == 0) solver.factor(shard.d, shard.e);
              if (rank == 1) solver.factor_solve(shard.d, shard.e, shard.b, shard.x);
          }) == std::vector{1, 1});
    CHECK(named(std::chrono::milliseconds(200), [](RankSolver& solver, Shard<double>& shard, int) {
              const DeviceArray<double> d(shard.d), e(shard.e);
              solver.factor(d.data(), e.data());
              fake_cuda().streams_never_end = true;
              solver.status();
          }) == std::vector{-1, -1});
    fake_cuda().streams_never_end = false;
    CHECK(fake_nccl().aborted >= 2);
}

TEST_CASE("ranks on GPUs: a communicator of the caller's, and what is refused") {
    const auto spec = spec_of(4, 8);
    const RankEmulation emulation(spec, {4, 4}, any_size);
    on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
        const NcclTransport mine(transport, Device::cuda(0));
        CHECK_REFUSED("multi-stage or segments", RankPlan(spec, transport, Device::cuda(0), tuning("twisted:2"), {4, 4}));
        Tuning fused;
        fused.variant = "fused";
        CHECK_REFUSED("give auto or tile-dataflow", RankPlan(spec, transport, Device::cuda(0), fused, {4, 4}));
        CHECK_REFUSED("is between GPUs", NcclTransport(transport, Device::cpu()));
    });
}

extern "C" {
struct NcclId {
    char bytes[128];
};
int ncclGetUniqueId(NcclId* id);
int ncclCommInitRank(void** communicator, int ranks, NcclId id, int rank);
int ncclCommDestroy(void* communicator);
}

TEST_CASE("ranks on GPUs: from C, by arrays of host and device, on a stream, with a communicator of the caller's, and refinement") {
    const auto spec = spec_of(4, 8);
    Tuning one_chain;
    one_chain.schedule = "sequential";
    const RankEmulation emulation(spec, {4, 4}, one_chain);
    const Problem<double> problem(spec, 1, 11);
    std::array<std::vector<double>, 2> solutions{problem.x, problem.x};
    std::mutex mutex;
    NcclId id{};
    REQUIRE(ncclGetUniqueId(&id) == 0);
    on_ranks(2, [&](const std::shared_ptr<Transport>& hosts) {
        Shard<double> shard({spec, {4, 4}, hosts->rank()}, problem);
        const auto keep = [&](std::size_t which) {
            const std::scoped_lock lock(mutex);
            shard.put_x(solutions[which]);
        };
        void* communicator = nullptr;
        ncclCommInitRank(&communicator, 2, id, hosts->rank());
        {
            RanksFromC rank(*hosts, 4, 8, "cuda:0", communicator);
            rank.solve_on_host(shard.d.data(), shard.e.data(), shard.b.data(), shard.x.data());
            CHECK(rank.refine_on_host(shard.d.data(), shard.e.data(), shard.b.data(), shard.x.data()));
            const DeviceArray<double> d(shard.d), e(shard.e), b(shard.b), x(shard.b);
            const CallersStream stream;
            rank.solve(d.data(), e.data(), b.data(), x.data(), stream.get());
            CHECK(rank.refine(d.data(), e.data(), b.data(), x.data(), stream.get()));
            keep(0);
            x.read(shard.x);
            keep(1);
        }
        const std::scoped_lock lock(mutex);
        ncclCommDestroy(communicator);
    });
    CHECK(fake_nccl().aborted == 0);
    CHECK(fake_nccl().sent > 0);
    CHECK(solutions[0] == solutions[1]);
    auto solved = problem;
    solved.x = solutions[0];
    CHECK(solved.residual() < 1e-13);
}

TEST_CASE("ranks on GPUs: a part of a chain has no races, whatever the order of its threads") {
    for (const auto* name : {"multi-stage", "chains:2"})
        for (const int which : {0, 1}) {
            RankSpec rank{spec_of(70, 12), {4, 4, 4}, which};
            rank.spec.operations = {Operation::factor, Operation::solve};
            auto choice = choose(rank, target, any_size_of(name));
            choice.spec = path_of(rank);
            choice.schedule = ranks::own_schedule(rank, name);
            const EmulatedUnit unit(choice);
            Problem<double> problem(choice.spec, 1, 3);
            const Workspace workspace(unit.program());
            const auto args = kernel_args(choice.spec, problem.input, problem.x, 1, workspace);
            for (unsigned seed = 1; seed < 4; ++seed) {
                unit.run(Operation::factor, args, {.order = trifold::test::Order::random, .seed = seed, .alive = 4});
                unit.run(Operation::solve, args, {.order = trifold::test::Order::random, .seed = seed, .alive = 4});
            }
            for (const auto& finding : unit.findings()) MESSAGE(finding);
            CHECK(unit.findings().empty());
        }
}
