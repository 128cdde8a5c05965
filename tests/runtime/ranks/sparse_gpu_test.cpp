// Iterations that GPUs share, by way of the fake drivers of CUDA and NCCL: the same iterations and bits as one GPU.
#include <doctest/doctest.h>

#include <trifold/sparse.hpp>

#include "generator/sparse/ranks.hpp"
#include "tests/runtime/device/emulation.hpp"
#include "tests/runtime/ranks/on_ranks.hpp"
#include "tests/runtime/sparse/problems.hpp"
#include "tests/support/drivers/nccl.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

void call_sparse(void* entry, const void* operand, const void* constants) {
    reinterpret_cast<void (*)(trifold_sparse_args, trifold_sparse_launch)>(entry)(*static_cast<const trifold_sparse_args*>(operand),
                                                                                  *static_cast<const trifold_sparse_launch*>(constants));
}

/// Makes the fake driver emulate the kernels of plans that it is shown.
class SparseEmulation {
  public:
    SparseEmulation() {
        fake_cuda().call = call_sparse;
        fake_cuda().operand_bytes = sizeof(trifold_sparse_args);
        fake_cuda().constants_bytes = sizeof(trifold_sparse_launch);
        fake_cuda().kernels.clear();
    }
    void add(const Unit& unit) {
        libraries_.push_back(compile_unit(unit.source, unit.target.backend, 32, false));
        connect(libraries_.back().get(), emulator_);
        fake_cuda().kernels.push_back(libraries_.back().get());
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
    std::vector<std::shared_ptr<void>> libraries_;
    Emulator emulator_{};
};

/// Results that a solver has computed.
template <class Real>
struct Result {
    std::vector<Real> x;
    std::vector<SparseOutcome> outcomes;
    std::vector<double> history;
    std::vector<SparseValues> values;
    bool operator==(const Result&) const = default;
};

template <class Real>
Result<Real> solve(SparseSolver solver, const BlockMatrix& a, const SparseOptions& options) {
    const auto narrow = [](const std::vector<double>& all) { return std::vector<Real>(all.begin(), all.end()); };
    const auto columns = solver.plan().spec().rhs;
    Result<Real> result{narrow(random_vector(a.size() * columns, 5)), {}, {}, {}};
    solver.update(narrow(a.values));
    solver.solve(narrow(random_vector(a.size() * columns, 2)), result.x, options);
    result.outcomes = solver.outcomes();
    result.history = solver.history(0, columns - 1);
    result.values = solver.values();
    return result;
}

template <class Real>
void check_ranks(SparseSpec spec, const BlockMatrix& a, const SparsePartition& partition, SparseOptions options = {}) {
    CAPTURE(to_string(spec.method));
    CAPTURE(to_string(spec.preconditioner));
    CAPTURE(spec.block);
    spec.operations = {SparseOperation::solve};
    spec.precision = AnyArray::precision_of<Real>;
    spec.most_iterations = 200;
    options.relative = spec.precision == Precision::f32 ? 1e-4 : 1e-10;
    SparseEmulation emulation;
    const Target target{Backend::cuda, "sm_90"};
    const auto pattern = a.pattern();
    const auto arrangement =
        sparse::arrange(pattern, sparse::given_parts(pattern, partition.parts), spec.preconditioner, sparse::order_for(target));
    for (const auto& unit : sparse::generate(spec, target, {}, pattern, arrangement).program.units) emulation.add(unit);
    emulation.add(sparse::gpu::message_unit(spec, target));
    const auto one = solve<Real>(SparseSolver(SparsePlan(spec, pattern, Device::cuda(0), partition)), a, options);
    REQUIRE(one.outcomes.front().ok());
    REQUIRE(one.outcomes.front().iterations > 3);
    for (const int ranks : {1, 2, 3, 4}) {
        CAPTURE(ranks);
        std::array<Result<Real>, 4> all;
        on_ranks(ranks, [&](const std::shared_ptr<Transport>& transport) {
            SparseSolver solver(SparsePlan(spec, pattern, transport, Device::cuda(0), partition));
            all.at(static_cast<std::size_t>(transport->rank())) = solve<Real>(std::move(solver), a, options);
        });
        for (int rank = 0; rank < ranks; ++rank) CHECK(all.at(static_cast<std::size_t>(rank)) == one);
    }
}

/// Boxes of cells of a mesh.
SparsePartition boxes(const SparseMesh& mesh, std::array<std::int64_t, 3> box) {
    return {.by = SparsePartitioning::given, .parts = sparse::parts_of_boxes(mesh, box).of_row};
}

}  // namespace

TEST_CASE("sparse on GPUs: ranks share an iteration, with its bits") {
    const SparseMesh mesh{20, 10, 12, 7};
    const auto a = random_on(SparsePattern(mesh), 1, 3, 1.02);
    check_ranks<double>({.block = 1}, a, boxes(mesh, {10, 10, 2}));
}
