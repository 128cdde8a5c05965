// Iterations that GPUs share, by way of the fake drivers of CUDA and NCCL: the same iterations and bits as one GPU.
#include "generator/sparse/generate.hpp"
#include "tests/runtime/device/emulation.hpp"
#include "tests/runtime/sparse/shared.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// Ranks send messages between launches, so one GPU makes several too where bits are compared.
const SparseTuning many_launches{.variant = "sweeps:one_launch=0"};

/// Makes the fake driver emulate the kernels of one GPU and of ranks.
class SparseEmulation {
  public:
    SparseEmulation(const SparseSpec& spec, const SparsePattern& pattern, const SparsePartition& partition) {
        fake_cuda().parameters = &parameters_of<trifold_sparse_args, trifold_sparse_launch>;
        const Target target{Backend::cuda, "sm_90"};
        const auto parts = sparse::given_parts(pattern, partition.parts);
        const auto arrangement = sparse::arrange(pattern, parts, spec.preconditioner, sparse::order_for(target));
        for (const auto& unit : sparse::generate(spec, target, many_launches, pattern, arrangement).program.units) add(unit);
        add(sparse::gpu::message_unit(spec, target));
    }
    ~SparseEmulation() {
        CHECK(fake_cuda().allocations == 0);
        CHECK(fake_cuda().streams == 0);
        CHECK(fake_cuda().events == 0);
        CHECK(fake_nccl().communicators == 0);
        fake_cuda() = {};
        fake_nccl() = {};
    }
    SparseEmulation(const SparseEmulation&) = delete;
    SparseEmulation& operator=(const SparseEmulation&) = delete;

  private:
    void add(const Unit& unit) {
        libraries_.push_back(compile_unit(unit.source, unit.target.backend, 32, false));
        connect(libraries_.back().get(), emulator_);
        fake_cuda().kernels.push_back(libraries_.back().get());
    }
    std::vector<std::shared_ptr<void>> libraries_;
    Emulator emulator_{};
};

template <class Real>
void check_ranks(SparseSpec spec, const BlockMatrix& a, const SparsePartition& partition, const SparseOptions& options = {}) {
    INFO(to_string(spec.method), " ", to_string(spec.preconditioner), " ", spec.block);
    spec.operations = {SparseOperation::solve};
    spec.precision = AnyArray::precision_of<Real>;
    spec.maxiter = 200;
    const auto pattern = a.pattern();
    const SparseEmulation emulation(spec, pattern, partition);
    check_shared<Real>(a, options, [&](const std::shared_ptr<Transport>& transport) {
        return transport ? SparsePlan(spec, pattern, transport, Device::cuda(0), partition)
                         : SparsePlan(spec, pattern, Device::cuda(0), partition, many_launches);
    });
}

/// Boxes of cells of a mesh.
SparsePartition boxes(const SparseMesh& mesh, std::array<std::int64_t, 3> box) {
    return {.by = SparsePartitioning::given, .parts = sparse::parts_of_boxes(mesh, box).of_row};
}
/// Subdomains that lie anywhere: all slices need other ranks' rows.
SparsePartition scattered_parts(std::int64_t rows, std::int32_t count) {
    SparsePartition partition{.by = SparsePartitioning::given};
    for (std::int64_t row = 0; row < rows; ++row) partition.parts.push_back(static_cast<std::int32_t>(row * 7 % count));
    return partition;
}

const SparseMesh slab{20, 10, 12, 7};

}  // namespace

TEST_CASE("sparse on GPUs: ranks share an iteration, with its bits") {
    const auto parts = boxes(slab, {10, 10, 2});
    for (const std::int64_t block : {1, 3}) {
        const auto general = random_on(SparsePattern(slab), block, 3, 1.02),
                   symmetric = random_on(SparsePattern(slab), block, 3, 1.02, true);
        const SparseSpec spec{.block = block}, cg{.block = block, .method = SparseMethod::cg};
        check_ranks<double>(spec, general, parts);
        check_ranks<double>(cg, symmetric, parts);
    }
}

TEST_CASE("sparse on GPUs: ranks with other preconditioners, columns, guesses and subdomains") {
    const auto general = random_on(SparsePattern(slab), 2, 3, 1.02), symmetric = random_on(SparsePattern(slab), 2, 3, 1.02, true);
    const auto parts = boxes(slab, {10, 5, 3});
    for (const auto preconditioner : {SparsePreconditioner::jacobi, SparsePreconditioner::none})
        check_ranks<double>({.block = 2, .preconditioner = preconditioner}, general, parts);
    check_ranks<float>({.block = 2, .rhs = 2}, general, parts);
    check_ranks<float>({.block = 2, .method = SparseMethod::cg, .rhs = 2}, symmetric, parts, {.guess = true});
    check_ranks<double>({.block = 2, .preconditioner = SparsePreconditioner::none}, general, scattered_parts(2400, 9),
                        {.renew = 2, .guess = true});
}

TEST_CASE("sparse on GPUs: messages are on their way beside the slices that need none") {
    const auto a = random_on(SparsePattern(slab), 1, 3, 1.02);
    const SparseSpec spec{.maxiter = 200, .operations = {SparseOperation::solve}};
    const auto partition = boxes(slab, {20, 10, 2});
    const SparseEmulation emulation(spec, a.pattern(), partition);
    on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
        SparseSolver solver(SparsePlan(spec, a.pattern(), transport, Device::cuda(0), partition));
        const auto& turn = solver.plan().program().operations.at("solve");
        CHECK(std::ranges::any_of(turn, &Launch::beside));
        solve_shared<double>(std::move(solver), a, {});
    });
    CHECK(fake_cuda().stream_waits > 0);
    CHECK(fake_nccl().sent > 0);
}

TEST_CASE("sparse on GPUs: ranks find the same bad values") {
    auto a = random_on(SparsePattern(slab), 2, 3);
    for (auto k = a.starts[2000]; k < a.starts[2001]; ++k)
        if (a.columns[static_cast<std::size_t>(k)] == 2000)
            for (int i = 0; i < 4; ++i) a.values[static_cast<std::size_t>(k * 4 + i)] = 0;
    const SparseSpec spec{.block = 2, .preconditioner = SparsePreconditioner::jacobi, .operations = {SparseOperation::solve}};
    const auto partition = boxes(slab, {10, 10, 2});
    const SparseEmulation emulation(spec, a.pattern(), partition);
    on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
        SparseSolver solver(SparsePlan(spec, a.pattern(), transport, Device::cuda(0), partition));
        solver.update(a.values);
        CHECK(solver.values().front().zero_pivots == 1);
        CHECK(solver.values().front().zero_row == 2000);
        CHECK_THROWS_AS(solver.check(), SparseFailed);
    });
}

TEST_CASE("sparse on GPUs: a rank that makes no call is named by the others") {
    const auto a = random_on(SparsePattern(slab), 1, 3, 1.02);
    const SparseSpec spec{.operations = {SparseOperation::solve}};
    const auto partition = boxes(slab, {10, 10, 2});
    const SparseEmulation emulation(spec, a.pattern(), partition);
    const auto call = [&](const std::shared_ptr<Transport>& transport) {
        SparseSolver solver(SparsePlan(spec, a.pattern(), transport, Device::cuda(0), partition));
        if (transport->rank() == 1) return;
        try {
            solver.update(a.values);
            FAIL_CHECK("there was no error");
        } catch (const RankError& error) {
            CHECK(error.rank == 1);
        }
    };
    on_ranks(3, call, std::chrono::milliseconds(500));
}
