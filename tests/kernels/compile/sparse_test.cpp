#include <trifold/binary.hpp>

#include "generator/sparse/generate.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/compile/resources.hpp"
#include "tests/support/test.hpp"

using namespace trifold;

namespace {

void check_sparse_compiles(const SparseSpec& spec, const std::string& arch) {
    const SparsePattern pattern(SparseMesh{4, 4, 4, 7});
    const auto made =
        sparse::generate(spec, {Backend::cuda, arch}, {}, pattern, sparse::arrange(pattern, sparse::whole(pattern), spec.preconditioner));
    const auto label = fmt::format("block {} {} {} {}", spec.block, to_string(spec.precision), to_string(spec.method), arch);
    CAPTURE(label);
    CHECK(!obtain(sparse::gpu::message_unit(spec, {Backend::cuda, arch})).code.empty());
    const auto binaries = obtain_all(made.program);
    const auto& unit = made.program.units.front();
    const auto resources = resources_of(unit, {binaries.front().code, binaries.front().log, {}});
    REQUIRE(resources.size() == unit.kernels.size());
    for (std::size_t k = 0; k < resources.size(); ++k) {
        CAPTURE(unit.kernels[k].name);
        CHECK(resources[k].registers > 0);
        CHECK(resources[k].registers * unit.kernels[k].threads <= 65536);
        CHECK(resources[k].spill_bytes == 0);
    }
}

}  // namespace

TEST_CASE("sparse kernels compile without spills for every architecture of CUDA") {
    ToolReport report;
    const auto compiler = find_nvrtc(report);
    if (compiler == nullptr || !compiler->usable()) {
        MESSAGE("skipped: no NVRTC");
        return;
    }
    for (const auto* arch : {"sm_75", "sm_80", "sm_86", "sm_90", "sm_100"}) check_sparse_compiles({.block = 3}, arch);
    for (std::int64_t block = 1; block <= max_sparse_block; ++block) check_sparse_compiles({.block = block}, "sm_90");
    check_sparse_compiles({.block = 3, .precision = Precision::mixed}, "sm_90");
    check_sparse_compiles({.block = 1, .precision = Precision::f32}, "sm_90");
    check_sparse_compiles({.block = 3, .method = SparseMethod::cg}, "sm_90");
    check_sparse_compiles({.block = 3, .method = SparseMethod::gmres}, "sm_90");
}
