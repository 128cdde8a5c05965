// Chains over two GPUs by NCCL: the bits of one GPU, all operations, a caller's communicator, and graphs.
#include <dlfcn.h>

#include <barrier>

#include "tests/device/on_device.hpp"
#include "tests/runtime/ranks/fixture.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

constexpr int gpus = 2;

bool has_two() {
    try {
        Device::cuda(gpus - 1);
        return true;
    } catch (const DeviceError&) {
        MESSAGE("skipped: there are no two CUDA devices");
        return false;
    }
}

/// A function of a library that is found when the test runs.
template <class Function>
Function* function(const char* library, const char* name) {
    void* const handle = ::dlopen(library, RTLD_NOW);
    REQUIRE(handle != nullptr);
    auto* const found = reinterpret_cast<Function*>(::dlsym(handle, name));
    const bool is_there = found != nullptr;
    REQUIRE(is_there);
    return found;
}

/// Communicators as an application makes them: by NCCL alone.
struct Communicators {
    struct Id {
        char bytes[128];
    };
    Communicators() {
        REQUIRE(function<int(Id*)>(nccl, "ncclGetUniqueId")(&id) == 0);
        on_ranks(gpus, [this](const std::shared_ptr<Transport>& transport) {
            const int rank = transport->rank();
            int device = 0;
            void* context = nullptr;
            function<int(int*, int)>(driver, "cuDeviceGet")(&device, rank);
            function<int(void**, int)>(driver, "cuDevicePrimaryCtxRetain")(&context, device);
            function<int(void*)>(driver, "cuCtxSetCurrent")(context);
            CHECK(function<int(void**, int, Id, int)>(nccl, "ncclCommInitRank")(&each[rank], gpus, id, rank) == 0);
        });
    }
    ~Communicators() {
        for (void* communicator : each) CHECK(function<int(void*)>(nccl, "ncclCommDestroy")(communicator) == 0);
    }
    static constexpr const char *nccl = "libnccl.so.2", *driver = "libcuda.so.1";
    Id id{};
    void* each[gpus] = {};
};

Spec spec_of(std::int64_t block, std::int64_t rhs) {
    Spec spec;
    spec.block = block;
    spec.horizon = 31;
    spec.rhs = rhs;
    spec.operations.insert(Operation::inverse);
    return spec;
}
const std::vector<std::int64_t> shards{15, 16};

/// X, the inverse's diagonal and its couplings.
template <class Real>
using Results = std::array<std::vector<Real>, 3>;

template <class Real>
Results<Real> on_one(const Spec& spec, const Problem<Real>& problem) {
    auto given = tuning("multi-stage");
    given.variant = "tile-dataflow:rank_levels=1";
    Solver solver(Plan(spec, Device::cuda(0), given));
    Results<Real> results{problem.x, problem.input.d, problem.input.e};
    solver.factor_solve(problem.input.d, problem.input.e, problem.input.b, results[0]);
    solver.selected_inverse(results[1], results[2]);
    solver.check();
    return results;
}

/// Results of two ranks, in arrays on the devices. A call that is repeated is enqueued, then recorded, then launched as a graph.
template <class Real>
Results<Real> on_two(const Spec& spec, const Problem<Real>& problem,
                     const std::function<std::shared_ptr<Transport>(std::shared_ptr<Transport>)>& make) {
    Results<Real> results{problem.x, problem.input.d, problem.input.e};
    std::mutex mutex;
    on_ranks(gpus, [&](std::shared_ptr<Transport> hosts) {
        const auto device = Device::cuda(hosts->rank());
        const DeviceTools tools(device);
        RankSolver solver(RankPlan(spec, make(std::move(hosts)), device, tuning("multi-stage"), shards));
        Shard<Real> shard(solver.plan().spec(), problem);
        const OnDevice<Real> d(tools, shard.d), e(tools, shard.e), b(tools, shard.b), x(tools, shard.x), s(tools, shard.d),
            t(tools, shard.e);
        const RankOptions options{.stream = {tools.stream()}};
        std::vector<Real> first;
        for (int turn = 0; turn < 4; ++turn) {
            solver.factor_solve(d.get(), e.get(), b.get(), x.get(), options);
            solver.check();
            if (turn == 0) first = x.host();
            CHECK(x.host() == first);
        }
        solver.selected_inverse(s.get(), t.get(), options);
        solver.check();
        const auto refined = solver.refine(d.get(), e.get(), b.get(), x.get(), options);
        for (const auto& result : refined) CHECK(result.converged);
        const std::scoped_lock lock(mutex);
        shard.x = first;
        shard.put_x(results[0]);
        put(results[1], s.host(), 1, spec.horizon, spec.block * spec.block, shard.first, shard.count);
        put(results[2], t.host(), 1, spec.horizon - 1, spec.block * spec.block, shard.first, shard.couplings);
    });
    return results;
}

template <class Real>
void check(Spec spec, double tolerance) {
    spec.precision = AnyArray::precision_of<Real>;
    const Problem<Real> problem(spec, spec.rhs, 11);
    const auto found = on_two<Real>(spec, problem, [](std::shared_ptr<Transport> hosts) { return hosts; });
    CHECK(found == on_one<Real>(spec, problem));
    auto solved = problem;
    solved.x = found[0];
    CHECK(solved.residual() < tolerance);
}

}  // namespace

TEST_CASE("two GPUs: the bits of one with the same schedule") {
    if (!has_two()) return;
    check<double>(spec_of(70, 1), 1e-13);
    check<double>(spec_of(24, 3), 1e-13);
    check<float>(spec_of(70, 2), 1e-5);
}

TEST_CASE("two GPUs: a communicator of the caller's serves several plans, and stays the caller's") {
    if (!has_two()) return;
    const Communicators communicators;
    const auto spec = spec_of(24, 1);
    const Problem<double> problem(spec, 1, 11);
    const auto make = [&](std::shared_ptr<Transport> hosts) {
        const int rank = hosts->rank();
        return std::make_shared<NcclTransport>(std::move(hosts), Device::cuda(rank), NcclOptions{.communicator = communicators.each[rank]});
    };
    const auto first = on_two<double>(spec, problem, make);
    CHECK(on_two<double>(spec, problem, make) == first);
    CHECK(first == on_one<double>(spec, problem));
    on_ranks(gpus, [&](std::shared_ptr<Transport> hosts) {
        const int rank = hosts->rank();
        CHECK_REFUSED("the communicator has rank",
                      NcclTransport(std::move(hosts), Device::cuda(rank), {.communicator = communicators.each[1 - rank]}));
    });
}

TEST_CASE("two GPUs: a call in a graph that the caller records") {
    if (!has_two()) return;
    auto spec = spec_of(24, 1);
    spec.operations.erase(Operation::inverse);
    const Problem<double> problem(spec, 1, 11);
    std::barrier together(gpus);
    on_ranks(gpus, [&](std::shared_ptr<Transport> hosts) {
        const auto device = Device::cuda(hosts->rank());
        const DeviceTools tools(device);
        RankSolver solver(RankPlan(spec, std::move(hosts), device, tuning("multi-stage"), shards));
        solver.prepare();
        Shard<double> shard(solver.plan().spec(), problem);
        const OnDevice<double> d(tools, shard.d), e(tools, shard.e), b(tools, shard.b), x(tools, shard.x), y(tools, shard.x);
        const RankOptions options{.stream = {tools.stream()}};
        const auto replay = tools.capture([&] { solver.factor_solve(d.get(), e.get(), b.get(), x.get(), options); });
        for (int turn = 0; turn < 3; ++turn) {
            together.arrive_and_wait();
            replay();
        }
        const auto found = x.host();
        solver.factor_solve(d.get(), e.get(), b.get(), y.get(), options);
        solver.check();
        CHECK(y.host() == found);
    });
}
