#include "tools/bench/peers/peers.hpp"

#include "tests/support/test.hpp"
#include "tools/bench/ours.hpp"
#include "tools/bench/suites.hpp"

using namespace trifold;
using namespace trifold::bench;

namespace {

struct FakePeers {
    FakePeers() { ::setenv("TRIFOLD_PEERS", "/nowhere:" FAKE_PEERS, 1); }
    ~FakePeers() { ::unsetenv("TRIFOLD_PEERS"); }
};

Problem chain(std::int64_t horizon, std::int64_t block, std::int64_t batch = 1, Precision precision = Precision::f64) {
    return make_chain("dominant", {.block = block, .horizon = horizon, .precision = precision, .batch = batch}, 7);
}

Problem image(std::int64_t width, std::int64_t height, std::int64_t batch, GridMatrix matrix, Precision precision = Precision::f64) {
    GridSpec spec{.width = width, .height = height, .precision = precision, .matrix = matrix};
    spec.batch = batch;
    return make_image(matrix == GridMatrix::general ? "grid-random" : "grid-anisotropic", spec, 9);
}

/// Every step twice, since benchmarks repeat them; the worst residual of the solutions.
double residual_of(const Peer& peer, const Problem& problem) {
    REQUIRE(peer.problem == "");
    CHECK(peer.fits(problem));
    const DeviceTools tools(Device::cpu());
    const auto contender = peer.make(problem, tools);
    double worst = -1;
    for (const auto& step : contender.steps) {
        for (int k = 0; k < 2; ++k) {
            if (step.prepare) step.prepare();
            step.call();
        }
        if (step.solves) worst = std::max(worst, bench::residual_of(problem, contender.take_solution()));
    }
    return worst;
}

/// Peers by their names, as on a processor.
Peer peer_of(Family family, const std::string& name, int workers = 1) {
    const auto all = find_peers(family, Device::cpu(), workers);
    const auto found = std::ranges::find(all, name, &Peer::name);
    REQUIRE(found != all.end());
    return *found;
}

}  // namespace

TEST_CASE("peers: the batched composition solves, in any order of elimination") {
    const FakePeers fakes;
    for (const auto* schedule : {"multi-stage", "recursive:3:8", "recursive:2", "recursive:1:1", "single-stage"})
        for (const std::int64_t horizon : {1, 2, 3, 7, 16, 33})
            for (const std::int64_t block : {1, 3, 8}) {
                INFO(schedule, " ", horizon, " ", block);
                CHECK(residual_of(cublas("composition", schedule), chain(horizon, block)) < 1e-15);
            }
    CHECK(residual_of(cublas("composition", "sequential"), chain(13, 5, 3)) < 1e-15);
    CHECK(!cublas("composition", "multi-stage").fits(chain(5, 4, 2)));
    CHECK(!cublas("composition", "sequential").fits(chain(5, 4)));
}

TEST_CASE("peers: cuDSS gets triangles of symmetric matrices and the whole of others, phases in order, and a batch as one") {
    const FakePeers fakes;
    for (const auto precision : {Precision::f64, Precision::f32}) {
        const auto most = precision == Precision::f64 ? 1e-15 : 1e-6;
        for (const std::int64_t batch : {1, 3})
            for (const auto& [horizon, block] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 4}, {2, 1}, {9, 3}, {6, 8}}) {
                INFO(horizon, " ", block, " ", batch);
                CHECK(residual_of(cudss(), chain(horizon, block, batch, precision)) < most);
            }
        for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric})
            for (const auto& [width, height, batch] : {std::tuple<std::int64_t, std::int64_t, std::int64_t>{2, 2, 1}, {7, 4, 1}, {5, 9, 3}})
                CHECK(residual_of(cudss(), image(width, height, batch, matrix, precision)) < most);
    }
    const Problem large = ChainProblem{{.block = 1024, .horizon = 2048}, {}}, wide = ImageProblem{{.width = 16384, .height = 16384}, {}};
    CHECK(!cudss().fits(large));  // more entries than 32 bits count
    CHECK(!cudss().fits(wide));
    CHECK(!cudss().fits(ChainProblem{{.block = 2, .horizon = 3, .rhs = 2}, {}}));
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
            const Problem problem = make_mesh({7, 6, 5, 7}, spec, partition, form, 3);
            const auto& one = std::get<SparseProblem>(problem);
            const auto planned = [](const SparseSummary& summary) { CHECK(summary.dropped > 0); };
            Contest contest{
                .problem = problem,
                .entries = {{"trifold",
                             [&](DeviceTools& tools) { return our_sparse(one, Device::cpu(), {.workers = 1}, planned, tools); }}},
                .tolerance = 2e-8,
                .budget = {.seconds = 0}};
            const std::vector<Peer> peers{cusparse(), cudss()};
            contest.add(peers);
            std::map<std::string, Result> seen;
            DeviceTools tools(Device::cpu());
            measure(contest, tools,
                    {[&](const Result& result) { seen[result.solver + " " + result.operation] = result; },
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
    spec.preconditioner = SparsePreconditioner::ildu1;
    CHECK(!cusparse().fits(make_mesh({4, 4, 4, 7}, spec, {}, MeshForm::mesh, 1)));
}

TEST_CASE("peers: solvers of the host") {
    for (const auto precision : {Precision::f64, Precision::f32})
        for (const auto& [horizon, block, batch] :
             {std::tuple<std::int64_t, std::int64_t, std::int64_t>{1, 1, 1}, {1, 5, 1}, {2, 1, 2}, {9, 4, 1}, {17, 7, 2}}) {
            INFO(horizon, " ", block, " ", batch);
            const auto most = precision == Precision::f64 ? 1e-15 : 1e-6;
            const auto problem = chain(horizon, block, batch, precision);
            CHECK(residual_of(lapack(1), problem) < most);
            if (batch > 1) CHECK(residual_of(peer_of(Family::tridiagonal, "one-by-one"), problem) < most);
            if (precision == Precision::f64 && batch == 1) CHECK(residual_of(openblas(), problem) < most);
        }
    CHECK(residual_of(peer_of(Family::tridiagonal, "one-thread", 2), chain(16, 4)) < 1e-15);
    CHECK(residual_of(exported("gcc", "c99:generic", "-O1"), chain(3, 5)) < 1e-15);
    const auto refused = exported("false", "c99:generic", "");
    CHECK_THROWS_WITH_AS(refused.make(chain(2, 2), DeviceTools(Device::cpu())), doctest::Contains("give another --compilers or --flags"),
                         Error);
}

TEST_CASE("peers: those of the module solve where they were built, and else say what to install") {
    SparseSpec spec;
    const Problem sparse = make_mesh({6, 5, 4, 7}, spec, {}, MeshForm::mesh, 3);
    for (const auto& [family, name, package, problem] :
         {std::tuple{Family::grid, "umfpack-metis", "libsuitesparse-dev", image(9, 8, 1, GridMatrix::general)},
          {Family::grid, "cholmod", "libsuitesparse-dev", image(9, 8, 1, GridMatrix::symmetric)},
          {Family::sparse, "eigen", "libeigen3-dev", sparse},
          {Family::sparse, "dune", "libdune-istl-dev", sparse}}) {
        CAPTURE(name);
        const auto peer = peer_of(family, name);
        CHECK(peer.by_name);
        if (peer.problem.empty())
            CHECK(residual_of(peer, problem) < 1e-8);
        else
            CHECK(peer.problem == std::string("not installed; install ") + package + " and build Trifold again");
    }
    CHECK(residual_of(peer_of(Family::sparse, "eigen"), sparse) < 1e-8);  // the fakes of these tests need it too
}

TEST_CASE("peers: what is missing is named") {
    CHECK_THROWS_WITH_AS(Library({"libnobody.so.3", "libnobody.so"}),
                         "libnobody.so.3 or libnobody.so cannot be opened; install it, or give its directory in TRIFOLD_PEERS", Error);
    const FakePeers fakes;
    const Library library({"libcublas.so.13"});
    CHECK_THROWS_WITH_AS(library.find<int()>("cublasBrew"), "libcublas.so.13 has no cublasBrew", Error);
    CHECK_THROWS_WITH_AS(library.call("cublasDestroy_v2", static_cast<void*>(nullptr)), "cublasDestroy_v2 failed with status 7", Error);
}

TEST_CASE("residuals: a wrong x is seen, in every family") {
    SparseSpec spec;
    for (const auto& problem :
         {chain(5, 3, 2), image(7, 5, 1, GridMatrix::general), Problem(make_mesh({5, 4, 3, 7}, spec, {}, MeshForm::mesh, 1))}) {
        CAPTURE(problem.index());
        DeviceTools tools(Device::cpu());
        const auto solver = std::visit(
            [&]<class One>(const One& one) {
                if constexpr (std::same_as<One, ChainProblem>) return our_chain(one, Device::cpu(), {}, {}, tools);
                if constexpr (std::same_as<One, ImageProblem>) return our_image(one, Device::cpu(), {}, tools);
                if constexpr (std::same_as<One, SparseProblem>)
                    return our_sparse(one, Device::cpu(), {}, [](const SparseSummary&) {}, tools);
            },
            problem);
        std::vector<double> x;
        for (const auto& step : solver.steps) {
            if (step.call) step.call();
            if (step.solves) x = solver.take_solution();
        }
        const auto right = bench::residual_of(problem, x);
        CHECK(right < 1e-8);
        x[x.size() / 2] *= 1 + 1e-3;
        CHECK(bench::residual_of(problem, x) > 1e3 * right);
        CHECK(bench::residual_of(problem, x) > 1e-7);
        x.back() = std::nan("");
        CHECK(!(bench::residual_of(problem, x) < 1));
    }
}
