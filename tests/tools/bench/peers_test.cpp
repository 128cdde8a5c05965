#include "tools/bench/peers/peers.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <trifold/error.hpp>

#include "tools/bench/peers/library.hpp"
#include "tools/formats/residual.hpp"
#include "tools/problems/grid.hpp"
#include "tools/problems/problems.hpp"

using namespace trifold;
using namespace trifold::bench;

namespace {

/// Every step twice, since benchmarks repeat them; the worst residual of the solutions.
double residual_of(const Peer& peer, const formats::System& system, Precision precision) {
    REQUIRE(peer.problem == "");
    const DeviceTools tools(Device::cpu());
    const auto contender = peer.make(system, precision, tools);
    double worst = -1;
    for (const auto& step : contender->steps()) {
        for (int k = 0; k < 2; ++k) {
            if (step.prepare) step.prepare();
            step.call();
        }
        if (!step.solves) continue;
        for (const auto residual : formats::relative_residuals(system, contender->take_solution())) worst = std::max(worst, residual);
        const auto taken = contender->take_solution();
        CHECK((peer.name == "lapack" || std::ranges::all_of(taken, [](double x) { return std::isnan(x); })));  // nothing stale is checked
    }
    return worst;
}

struct FakePeers {
    explicit FakePeers(const char* where = "/nowhere:" FAKE_PEERS) { ::setenv("TRIFOLD_PEERS", where, 1); }
    ~FakePeers() { ::unsetenv("TRIFOLD_PEERS"); }
};

}  // namespace

TEST_CASE("peers: the batched composition solves, in any order of elimination") {
    const FakePeers fakes;
    for (const auto* schedule : {"multi-stage", "recursive:3:8", "recursive:2", "recursive:1:1", "sequential", "single-stage"}) {
        for (const std::int64_t horizon : {1, 2, 3, 4, 7, 8, 16, 23, 33}) {
            for (const std::int64_t block : {1, 3, 8}) {
                INFO(schedule, " ", horizon, " ", block);
                CHECK(residual_of(cublas("composition", schedule), problems::dominant({block, horizon}, 5), Precision::f64) < 1e-15);
            }
        }
        CHECK(residual_of(cublas("composition", schedule), problems::socu({5, 13, 1, 3}, 6), Precision::f64) < 1e-15);
    }
    const Spec one{.block = 4, .horizon = 5}, many{.block = 4, .horizon = 5, .batch = 2};
    CHECK(cublas("composition", "multi-stage").fits(one));
    CHECK(!cublas("composition", "multi-stage").fits(many));
    CHECK(!cublas("composition", "sequential").fits(one));
    CHECK(cublas("composition", "sequential").fits(many));
}

TEST_CASE("peers: cuDSS gets the lower triangle, phases in order, and a batch as one") {
    const FakePeers fakes;
    for (const std::int64_t batch : {1, 3}) {
        for (const auto& [horizon, block] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 4}, {2, 1}, {9, 3}, {6, 8}}) {
            INFO(horizon, " ", block, " ", batch);
            CHECK(residual_of(cudss(), problems::dominant({block, horizon, 1, batch}, 7), Precision::f64) < 1e-15);
            CHECK(residual_of(cudss(), problems::dominant({block, horizon, 1, batch}, 7), Precision::f32) < 1e-6);
        }
    }
    CHECK(!cudss().fits({.block = 2, .horizon = 3, .rhs = 2}));
    CHECK(!cudss().fits({.block = 1024, .horizon = 2048}));  // more entries than 32 bits count
}

TEST_CASE("peers: device functions of one shape are linked, and chains of theirs solve a batch") {
    const FakePeers fakes(FAKE_MATHDX);
    for (const int threads : {32, 128})
        for (const auto& [horizon, block] : {std::pair<std::int64_t, std::int64_t>{1, 4}, {2, 1}, {5, 3}, {4, 8}}) {
            INFO(horizon, " ", block, " ", threads);
            CHECK(residual_of(mathdx(threads), problems::dominant({block, horizon, 1, 3}, 7), Precision::f64) < 1e-15);
        }
    const auto peer = mathdx(64);
    CHECK(peer.name == "mathdx-64");
    CHECK(peer.fits({.block = 96, .horizon = 5, .batch = 2}));
    CHECK(!peer.fits({.block = 97, .horizon = 5, .batch = 2}));
    CHECK(!peer.fits({.block = 4, .horizon = 5}));  // one system has one chain
    CHECK(!peer.fits({.block = 4, .horizon = 5, .precision = Precision::f32, .batch = 2}));
    CHECK(!peer.fits({.block = 4, .horizon = 5, .rhs = 2, .batch = 2}));
}

TEST_CASE("peers: cuDSS gets images, general ones as a whole and symmetric ones as the lower triangle") {
    const FakePeers fakes;
    const DeviceTools tools(Device::cpu());
    const auto peer = cudss_of_images();
    REQUIRE(peer.problem == "");
    for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric})
        for (const auto precision : {Precision::f64, Precision::f32})
            for (const auto& size : {ImageSize{2, 2}, {7, 4}, {5, 9, 3}}) {
                CAPTURE(to_string(size));
                GridSpec spec{.width = size.width, .height = size.height};
                spec.matrix = matrix;
                spec.precision = precision;
                const auto* name = matrix == GridMatrix::general ? "grid-random" : "grid-anisotropic";
                const auto system = problems::make_grid(name, size.width, size.height, 1, size.batch, 9);
                const auto contender = peer.make(system, spec, tools);
                for (const auto& step : contender->steps()) {
                    step.call();
                    if (!step.solves) continue;
                    const auto residuals = formats::relative_residuals(system, spec, contender->take_solution());
                    CHECK(std::ranges::max(residuals) < (precision == Precision::f64 ? 1e-15 : 1e-6));
                }
            }
    CHECK(!peer.fits({.width = 9, .height = 9, .rhs = 2}));
    CHECK(!peer.fits({.width = 16384, .height = 16384}));  // more entries than 32 bits count
    CHECK(find_grid_peers(Device::cpu()).empty());
}

TEST_CASE("peers: cuSPARSE's factors of subdomains give what ours give, and cuDSS solves rows of blocks") {
    const FakePeers fakes;
    for (const auto form : {MeshForm::mesh, MeshForm::rows, MeshForm::random_rows})
        for (const std::int64_t block : {1, 3}) {
            SparsePartition partition{.by = SparsePartitioning::given};
            for (int row = 0; row < 7 * 6 * 5; ++row) partition.parts.push_back(row % 7 < 4 ? 0 : 1 + row / 105);
            if (form == MeshForm::mesh) partition = {.by = SparsePartitioning::box, .box = {4, 3, 5}};
            SparseSpec spec;
            spec.block = block;
            SparseRequest request{.device = Device::cpu(), .peers = {cusparse(), cudss_of_rows()}, .budget = {.seconds = 0}};
            std::map<std::string, SparseResult> seen;
            measure_sparse(case_of_mesh({7, 6, 5, 7}, spec, partition, form, 3), request,
                           {[](const SparseSummary& summary) { CHECK(summary.dropped > 0); },
                            [&](const SparseResult& result) { seen[result.solver + " " + result.operation] = result; },
                            [](const std::string& peer, const std::string& message) { FAIL(peer, ": ", message); }});
            for (const auto* name : {"cusparse bsrsv2, subdomains", "cusparse SpSV, subdomains"}) {
                CAPTURE(name);
                REQUIRE(seen.at(name).apart);
                CHECK(*seen.at(name).apart < 1e-14);
            }
            CHECK(!seen.at("cusparse bsrsv2, A").apart);
            CHECK(seen.at("cusparse analysis, A").seconds.sorted.size() == 1);
            CHECK(*seen.at("cudss solve").residual < 1e-13);
            CHECK(*seen.at("trifold solve").residual < 1e-8);
        }
    SparseSpec spec;
    const SparsePattern pattern(SparseMesh{4, 4, 4, 7});
    CHECK(cusparse().fits(spec, pattern));
    spec.preconditioner = SparsePreconditioner::ildu1;
    CHECK(!cusparse().fits(spec, pattern));
    CHECK(cudss_of_rows().fits(spec, pattern));
    spec.precision = Precision::f32;
    CHECK(!cudss_of_rows().fits(spec, pattern));
    CHECK(find_sparse_peers(Device::cpu()).empty());
}

TEST_CASE("peers: LAPACK's band") {
    const auto peer = lapack(1);
    for (const std::int64_t batch : {1, 2}) {
        for (const auto& [horizon, block] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 5}, {2, 1}, {9, 4}, {17, 7}}) {
            INFO(horizon, " ", block, " ", batch);
            CHECK(residual_of(peer, problems::dominant({block, horizon, 1, batch}, 8), Precision::f64) < 1e-15);
            CHECK(residual_of(peer, problems::dominant({block, horizon, 1, batch}, 8), Precision::f32) < 1e-6);
        }
    }
    CHECK(!peer.fits({.block = 1024, .horizon = 256}));
}

TEST_CASE("peers: what is missing is named") {
    CHECK_THROWS_WITH_AS(Library({"libnobody.so.3", "libnobody.so"}),
                         "libnobody.so.3 or libnobody.so cannot be opened; install it, or give its directory in TRIFOLD_PEERS", Error);
    const FakePeers fakes;
    const Library library({"libcublas.so.13"});
    CHECK_THROWS_WITH_AS(library.find<int()>("cublasBrew"), "libcublas.so.13 has no cublasBrew", Error);
    CHECK_THROWS_WITH_AS(library.call("cublasDestroy_v2", static_cast<void*>(nullptr)), "cublasDestroy_v2 failed with status 7", Error);
}
