#include "tests/support/cpu/problem.hpp"

namespace trifold::test {

Matrix System::dense() const {
    const auto n = d[0].rows(), count = static_cast<Eigen::Index>(d.size());
    Matrix a = Matrix::Zero(n * count, n * count);
    for (Eigen::Index i = 0; i < count; ++i) {
        a.block(i * n, i * n, n, n) = d[static_cast<std::size_t>(i)];
        if (i + 1 == count) break;
        a.block((i + 1) * n, i * n, n, n) = e[static_cast<std::size_t>(i)];
        a.block(i * n, (i + 1) * n, n, n) = e[static_cast<std::size_t>(i)].transpose();
    }
    return a;
}

System random_system(std::int64_t n, std::int64_t horizon, std::int64_t rhs, unsigned seed) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    // Multiples of 1/16: A is then exact in single precision too, and both precisions solve the same system.
    const auto random = [&](std::int64_t rows, std::int64_t columns) -> Matrix {
        return Matrix::NullaryExpr(rows, columns, [&] { return std::round(uniform(engine) * 16) / 16; });
    };
    System system;
    Matrix coupling = Matrix::Zero(n, n);
    for (std::int64_t i = 0; i < horizon; ++i) {
        Matrix l = random(n, n).triangularView<Eigen::Lower>();
        l.diagonal().array() += 4 + std::round(static_cast<double>(n) / 8);
        system.d.push_back(l * l.transpose() + coupling * coupling.transpose());
        coupling = random(n, n);
        if (i + 1 < horizon) system.e.push_back(coupling * l.transpose());
    }
    system.b = random(n * horizon, rhs);
    return system;
}

System quasi_definite(System system) {
    const auto turn = [](Matrix& block, std::int64_t rows, std::int64_t columns) {
        for (Eigen::Index r = 0; r < block.rows(); ++r)
            for (Eigen::Index c = 0; c < block.cols(); ++c)
                if (sign_of_row(rows, r) < 0 && sign_of_row(columns, c) < 0) block(r, c) = -block(r, c);
    };
    for (std::size_t i = 0; i < system.d.size(); ++i) turn(system.d[i], static_cast<std::int64_t>(i), static_cast<std::int64_t>(i));
    for (std::size_t i = 0; i < system.e.size(); ++i) turn(system.e[i], static_cast<std::int64_t>(i) + 1, static_cast<std::int64_t>(i));
    return system;
}

std::vector<Eigen::Index> elimination_order(const Schedule& schedule, Eigen::Index n) {
    std::vector<Eigen::Index> order;
    for (const auto& level : schedule.levels)
        for (const auto& run : level.runs)
            for (std::int64_t chain = 0; chain < run.count; ++chain)
                for (const auto& front : chain_fronts(level, run, chain))
                    for (Eigen::Index r = 0; r < n; ++r) order.push_back(front.pivot * n + r);
    return order;
}

namespace {

/// Row k of every block scaled by factors(stage, k), and the column with it.
template <class Factors>
void scale(System& system, const Factors& factors) {
    const auto n = system.d[0].rows();
    std::vector<Eigen::VectorXd> s;
    for (std::size_t i = 0; i < system.d.size(); ++i) s.push_back(Eigen::VectorXd::NullaryExpr(n, factors));
    for (std::size_t i = 0; i < system.d.size(); ++i) system.d[i] = s[i].asDiagonal() * system.d[i] * s[i].asDiagonal();
    for (std::size_t i = 0; i < system.e.size(); ++i) system.e[i] = s[i + 1].asDiagonal() * system.e[i] * s[i].asDiagonal();
}

}  // namespace

Factored factored(const System& system, const Schedule& schedule) {
    const auto order = elimination_order(schedule, system.d[0].rows());
    Matrix a = system.dense()(order, order);
    const auto rows = a.rows();
    Factored result{Matrix::Zero(rows, rows), Eigen::VectorXd::Ones(rows), a.diagonal().cwiseAbs()};
    const bool is_definite = a.diagonal().minCoeff() > 0;
    if (is_definite) result.l = a.llt().matrixL();
    for (Eigen::Index k = 0; k < rows && !is_definite; ++k) {
        const auto below = rows - k - 1;
        const double pivot = a(k, k), root = std::sqrt(std::abs(pivot)), sign = result.signs(k) = pivot < 0 ? -1 : 1;
        result.l(k, k) = sign * root;
        result.l.col(k).tail(below) = a.col(k).tail(below) / root;
        const Eigen::VectorXd column = result.l.col(k).tail(below);
        a.bottomRightCorner(below, below).noalias() -= sign * column * column.transpose();
        result.sums.tail(below) += column.cwiseAbs2();
    }
    return result;
}

Matrix forward_oracle(const System& system, const Schedule& schedule) {
    const auto order = elimination_order(schedule, system.d[0].rows());
    const auto factors = factored(system, schedule);
    const Matrix b = system.b(order, Eigen::all);
    const Matrix y = factors.signs.asDiagonal() * factors.l.triangularView<Eigen::Lower>().solve(b);
    Matrix result(y.rows(), y.cols());
    result(order, Eigen::all) = y;
    return result;
}

double least_pivot_oracle(const System& system, const Schedule& schedule) {
    const auto factors = factored(system, schedule);
    return (factors.pivots().array() / factors.sums.array()).minCoeff();
}

System random_walk(std::int64_t n, std::int64_t horizon, double anchor, bool units, Precision precision, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> exponent(-5, 5);
    const Matrix g = Matrix::NullaryExpr(n, n, [&] { return normal(engine); });
    const Matrix q = g * g.transpose() + 0.1 * static_cast<double>(n) * Matrix::Identity(n, n);
    System system;
    for (std::int64_t i = 0; i < horizon; ++i) {
        system.d.push_back((i == 0 || i + 1 == horizon ? 1.0 : 2.0) * q);
        if (i + 1 < horizon) system.e.push_back(-q);
    }
    system.d[0].diagonal() *= 1 + anchor;
    system.b = Matrix::NullaryExpr(n * horizon, 1, [&] { return normal(engine); });
    if (units) scale(system, [&](Eigen::Index) { return std::pow(10, exponent(engine)); });
    if (precision != Precision::f32) return system;
    for (auto* blocks : {&system.d, &system.e})
        for (auto& block : *blocks) block = block.cast<float>().cast<double>().eval();
    return system;
}

System scaled_by_powers_of_two(System system, unsigned seed) {
    std::mt19937 engine(seed);
    std::uniform_int_distribution<int> exponent(-10, 10);
    scale(system, [&](Eigen::Index) { return std::ldexp(1.0, exponent(engine)); });
    return system;
}

double relative_residual(const Matrix& a, const Matrix& x, const Matrix& b) {
    const auto norm = [](const Matrix& m) { return m.cwiseAbs().rowwise().sum().maxCoeff(); };
    return norm(a * x - b) / (norm(a) * norm(x) + norm(b));
}

}  // namespace trifold::test
