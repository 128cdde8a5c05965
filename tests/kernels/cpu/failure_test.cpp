// Cases that the options of check_solves do not draw: entries that are no numbers, several failures, negative pivots below a floor, random
// walks, and selected inverses of ill-conditioned systems.
#include "tests/support/cpu/call.hpp"
#include "tests/support/cpu/checks.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Three members; the middle one has `entry` on the diagonal of D.
template <class Real>
void check_failure(const Spec& given, const std::string& schedule, const std::string& variant, std::size_t block, Eigen::Index row,
                   double entry) {
    INFO(schedule, " ", variant, " ", block, " ", entry);
    auto spec = Call<Real>::with_precision(given);
    spec.rhs = 2, spec.batch = 3;
    auto systems = random_systems(spec, 2, 5);
    systems[1].d[block](row, row) = entry;
    Call<Real> call(spec, schedule, systems, host_target(), variant);
    call.run(Operation::factor_solve);
    CHECK(call.status(1).block == static_cast<std::int64_t>(block));
    CHECK(call.status(1).row == row);
    CHECK(call.solution(1).array().isNaN().all());
    CHECK(std::isnan(call.template buffer<double>("log_determinant")[1]));
    for (const std::int64_t m : {0, 2}) CHECK((call.status(m).block == -1 && call.residual(m) <= tolerance<Real>));
}

std::int64_t failed_block(const Spec& spec, const std::string& schedule, const std::vector<System>& systems,
                          const std::string& variant = "tile") {
    Call<double> call(spec, schedule, systems, host_target(), variant);
    call.run(Operation::factor_solve);
    CHECK((call.status(0).block < 0 || call.solution(0).array().isNaN().all()));
    return call.status(0).block;
}

/// A system whose condition is about `condition`: A = L L' with one pivot of the last block's L shrunk.
System stiff_system(std::int64_t n, std::int64_t horizon, double condition, unsigned seed) {
    auto system = random_system(n, horizon, 1, seed);
    Matrix l = system.dense().llt().matrixL();
    l(l.rows() - 1, l.rows() - 1) = l(0, 0) / std::sqrt(condition);
    const Matrix a = l * l.transpose();
    for (std::int64_t i = 0; i < horizon; ++i) {
        system.d[static_cast<std::size_t>(i)] = a.block(i * n, i * n, n, n);
        if (i + 1 < horizon) system.e[static_cast<std::size_t>(i)] = a.block((i + 1) * n, i * n, n, n);
    }
    return system;
}

/// Error of an inverse's blocks on and below the diagonal, relative to the largest entry of the exact one.
template <class Entry>
double inverse_error(const Spec& spec, const Matrix& exact, const Entry& entry) {
    double worst = 0;
    for (Eigen::Index row = 0; row < exact.rows(); ++row)
        for (Eigen::Index column = 0; column < exact.cols(); ++column)
            if (const auto down = row / spec.block - column / spec.block; down == 0 || down == 1)
                worst = std::max(worst, std::abs(entry(row, column) - exact(row, column)));
    return worst / exact.cwiseAbs().maxCoeff();
}

}  // namespace

TEST_CASE("the failing block and row are named, in chains and between them") {
    for (const std::string schedule : {"sequential", "twisted:2", "partitioned:3", "multi-stage", "recursive:2:2", "single-stage"})
        for (const std::size_t block : {0, 3, 6}) check_failure<double>({.block = 11, .horizon = 7}, schedule, "tile", block, 9, -1);
    for (const std::size_t block : {0, 3, 4, 5, 9, 14, 33, 34, 37, 38})  // separators are 4, 9, 14 ...
        check_failure<double>({.block = 5, .horizon = 39}, "segments:4", "intervals:bake=0", block, static_cast<Eigen::Index>(block % 5),
                              -1);
    for (const std::size_t block : {0, 2, 3, 8})  // a chain's first and last, a separator, the last
        check_failure<double>({.block = 5, .horizon = 9}, "partitioned:3", "lanes", block, 2, -1);
    check_failure<float>({.block = 5, .horizon = 7}, "multi-stage", "tile", 4, 4, -1);
}

TEST_CASE("zeros, infinities and NaN on the diagonal fail") {
    check_failure<double>({.block = 1, .horizon = 7}, "twisted:2", "tile", 2, 0, 0);
    check_failure<double>({.block = 4, .horizon = 7}, "sequential", "tile", 0, 0, 0);
    check_failure<double>({.block = 9, .horizon = 7}, "twisted:2", "tile", 1, 3, infinity);
    check_failure<double>({.block = 9, .horizon = 7}, "twisted:2", "tile", 1, 3, -infinity);
    check_failure<float>({.block = 9, .horizon = 7}, "twisted:2", "tile", 5, 8, not_a_number);
    check_failure<double>({.block = 17, .horizon = 7}, "partitioned:3", "tile", 2, 16, not_a_number);
    for (const double entry : {0.0, infinity}) check_failure<double>({.block = 5, .horizon = 9}, "partitioned:3", "lanes", 0, 0, entry);
    check_failure<double>({.block = 5, .horizon = 9}, "partitioned:3", "lanes", 4, 1, not_a_number);
}

TEST_CASE("of several failures the earliest level's first block is named, and fronts fed by a failed one are not") {
    const Spec spec{.block = 6, .horizon = 9};
    auto systems = random_systems(spec, 1, 5);
    for (const std::size_t block : {2, 4, 7}) systems[0].d[block](3, 3) = -1;
    CHECK(failed_block(spec, "twisted:2", systems) == 2);  // which eliminates 4 last, and 7 before it in the chain that runs backwards
    systems[0].d[2](3, 3) = 1e3;
    CHECK(failed_block(spec, "multi-stage", systems) == 4);  // 0, 2, 4, 6, 8 come first
    const Spec longer{.block = 5, .horizon = 39};
    systems = random_systems(longer, 1, 5);
    for (const std::size_t block : {4, 12, 22}) systems[0].d[block](3, 3) = -1;
    CHECK(failed_block(longer, "segments:4", systems, "intervals:bake=0") == 12);  // 4 is a separator, which is eliminated last
}

TEST_CASE("NaN in E or b does not go unnoticed") {
    const Spec spec{.block = 7, .horizon = 5}, longer{.block = 5, .horizon = 39};
    auto systems = random_systems(spec, 1, 5), others = random_systems(longer, 1, 5);
    systems[0].e[2](4, 1) = others[0].e[17](4, 1) = not_a_number;
    for (const std::string schedule : {"twisted:2", "partitioned:3", "multi-stage", "recursive:2:2", "single-stage"})
        CHECK(failed_block(spec, schedule, systems) >= 0);
    CHECK(failed_block(spec, "sequential", systems) == 3);
    CHECK(failed_block(longer, "segments:4", others, "intervals:bake=0") >= 0);
    systems = random_systems(spec, 1, 5);
    systems[0].b(12, 0) = not_a_number;
    Call<double> call(spec, "twisted:2", systems);
    call.run(Operation::factor_solve);
    CHECK(call.status(0).block == -1);
    CHECK(call.solution(0).array().isNaN().any());
}

TEST_CASE("negative pivots below the floor are raised to it and counted, NaN is not") {
    const Spec spec{.block = 13, .horizon = 5};
    auto systems = random_systems(spec, 1, 5);
    for (const Eigen::Index row : {5, 12}) {
        auto low = systems;
        low[0].d[3](row, row) = -0.25;
        Call<double> call(spec, "sequential", low);
        call.args.pivot_floor = 0.125;
        call.run(Operation::factor_solve);
        CHECK((call.status(0).block == -1 && call.status(0).floors == 1));
        // The raised pivot is that of A with as much added to this entry of the diagonal as the pivot was raised by.
        auto a = low[0].dense();
        const Eigen::Index at = 3 * 13 + row;
        const Eigen::VectorXd column = a.col(at).head(at);
        const double pivot = a(at, at) - column.dot(a.topLeftCorner(at, at).llt().solve(column));
        a(at, at) += 0.125 * low[0].d[3].diagonal().maxCoeff() - pivot;
        CHECK(call.residual(0, a) <= 1e-14);
        call.args.pivot_floor = 0;
        call.run(Operation::factor);
        CHECK((call.status(0).block == 3 && call.status(0).row == row && call.status(0).floors == 0));
    }
    systems[0].d[2](1, 1) = not_a_number;
    Call<double> call(spec, "twisted:2", systems);
    call.args.pivot_floor = 0.5;
    call.run(Operation::factor);
    CHECK((call.status(0).block == 2 && call.status(0).row == 1));
}

TEST_CASE("random walks without an anchor are nearly singular or not positive definite, whatever their units, and with a weak one sound") {
    const std::string schedules[] = {"sequential", "twisted:2", "multi-stage", "partitioned:3", "segments:3,2", "single-stage"};
    for (std::int64_t n = 1; n <= 6; ++n)
        for (const std::string variant : {"tile", "lanes", "intervals"}) {
            const bool wide = (n % 2 == 0) == (variant == "tile");
            const auto& schedule = variant == "intervals" ? "auto" : schedules[n - 1];
            INFO(n, " ", schedule, " ", variant);
            const Spec spec{.block = n, .horizon = wide ? 50 : 7, .precision = wide ? Precision::f64 : Precision::f32, .batch = 12};
            const auto walk = [&]<class Real>(Real) {
                check_walks(spec, [&](const std::vector<System>& systems, bool accept) {
                    Call<Real> call(spec, schedule, systems, host_target(), variant);
                    call.args.accept_nearly_singular = accept;
                    call.run(Operation::factor_solve);
                    const auto* first = call.template buffer<trifold_status>("status");
                    return std::vector<trifold_status>(first, first + spec.batch);
                });
            };
            wide ? walk(double()) : walk(float());
        }
}

TEST_CASE("selected inverse: ill-conditioned systems") {
    // No method can promise more than the condition times the rounding. Which one is luckier on one system is chance, so the
    // worst of several systems is held against the worst of Eigen's dense Cholesky in the same order of elimination.
    using Exact = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
    const Spec spec{.block = 6, .horizon = 9, .batch = 8, .operations = all_operations()};
    for (const auto& [variant, schedule] : {std::pair{"tile", "sequential"},
                                            {"tile", "partitioned:3"},
                                            {"tile", "multi-stage"},
                                            {"lanes", "sequential"},
                                            {"lanes", "partitioned:3"},
                                            {"lanes", "multi-stage"},
                                            {"intervals", "sequential"},
                                            {"intervals", "segments:2"}})
        for (const double condition : {1e6, 1e10}) {
            INFO(variant, " ", schedule, " ", condition);
            std::vector<System> systems;
            for (unsigned m = 0; m < 8; ++m) systems.push_back(stiff_system(6, 9, condition, 50 + m));
            Call<double> call(spec, schedule, systems, host_target(), variant);
            std::vector<double> diagonal(8 * 9 * 36), coupling(8 * 8 * 36);
            call.args.inverse_diagonal = diagonal.data(), call.args.inverse_coupling = coupling.data();
            call.run(Operation::factor);
            call.run(Operation::inverse);
            const auto order = elimination_order(call.unit.choice().schedule, spec.block);
            double ours = 0, eigens = 0;
            for (std::int64_t m = 0; m < 8; ++m) {
                const Matrix a = systems[static_cast<std::size_t>(m)].dense();
                const Matrix inverse = Exact(a.cast<long double>()).llt().solve(Exact::Identity(a.rows(), a.rows())).cast<double>();
                const auto reached = inverse_error(spec, inverse, [&](Eigen::Index row, Eigen::Index column) {
                    const auto from = column / 6, in_block = row % 6 * 6 + column % 6;
                    return row / 6 == from ? diagonal[static_cast<std::size_t>((m * 9 + from) * 36 + in_block)]
                                           : coupling[static_cast<std::size_t>((m * 8 + from) * 36 + in_block)];
                });
                const auto norms = a.cwiseAbs().rowwise().sum().maxCoeff() * inverse.cwiseAbs().rowwise().sum().maxCoeff();
                CHECK(norms > condition);
                CHECK(reached <= std::numeric_limits<double>::epsilon() * norms);
                Matrix eigen(a.rows(), a.rows());
                eigen(order, order) = Matrix(Matrix(a(order, order)).llt().solve(Matrix::Identity(a.rows(), a.rows())));
                ours = std::max(ours, reached);
                eigens = std::max(eigens,
                                  inverse_error(spec, inverse, [&](Eigen::Index row, Eigen::Index column) { return eigen(row, column); }));
            }
            CHECK(ours <= 4 * eigens);
        }
}
