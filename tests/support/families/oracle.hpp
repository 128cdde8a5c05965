#pragma once
#include <Eigen/Dense>
#include <nlohmann/json.hpp>
#include <random>
#include <string_view>
#include <vector>

#include "runtime/session/family.hpp"

/// Matrices of a family, densely and in double: its tables do not say them.
namespace trifold::test {

using Dense = Eigen::MatrixXd;
using Random = std::mt19937_64;
using Values = std::vector<std::vector<double>>;  ///< arrays that hold A, of one member

struct Oracle {
    std::string_view family;
    /// Adds what the table leaves open.
    void (*complete)(nlohmann::json& problem, nlohmann::json& tuning, bool on_cpu, Random& random);
    /// Sizes by their names.
    std::int64_t (*extent)(const nlohmann::json& problem, std::string_view name);
    /// A random matrix that is conditioned well. What is not read is NaN.
    Values (*values)(const nlohmann::json& problem, unsigned seed);
    Dense (*matrix)(const nlohmann::json& problem, const Values& values);
    double (*residual)(const Dense& a, const Dense& x, const Dense& b);
    double (*tolerance)(const nlohmann::json& problem);  ///< of it
    nlohmann::json (*options)(const nlohmann::json& problem);
    bool stacked = false;      ///< right-hand sides of a problem may be stacked: its field rhs_layout says so
    bool names_nan = true;     ///< NaN in A fails a member, too
    bool fails_to_nan = true;  ///< X of a member that fails is NaN
    /// Arrays of the operation `inverse`.
    Values (*inverse)(const nlohmann::json& problem, const Dense& inverse) = nullptr;

    /// The first array of right-hand sides.
    const ArrayRow& right_side(const Family& family) const;
};
const Oracle& oracle_of(std::string_view family);

}  // namespace trifold::test
