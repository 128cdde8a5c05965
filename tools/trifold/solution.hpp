#pragma once
#include <string>
#include <trifold/trifold.hpp>
#include <vector>

#include "tools/formats/assemble.hpp"

namespace trifold::command {

/// What solving a System on a device gave.
struct Solution {
    std::vector<double> x;                ///< [batch][N][n][m]; NaN for failed members
    std::vector<double> log_determinant;  ///< by member; NaN for failed ones
    std::vector<double> quadratic;        ///< b' A^-1 b, [member][column]; NaN for failed ones
    std::vector<NotPositiveDefinite::Failure> failed;
    std::vector<OutOfRange::Failure> out_of_range;           ///< the members whose x or inverse holds infinities or NaN, though sound
    std::vector<std::int64_t> iterations;                    ///< mixed precision: corrections, by member
    std::vector<std::int64_t> fell_back;                     ///< mixed precision: members that had to be solved in f64
    std::vector<double> inverse_diagonal, inverse_coupling;  ///< when asked for
    std::string schedule, variant, target;
    std::string rung, row;  ///< of the Choice
    PlanReport report;
    double factor_seconds = 0, solve_seconds = 0;
};

struct SolveRequest {
    Device device;
    Precision precision;
    Tuning tuning;
    bool inverse = false;
};

/// Throws the runtime's errors. In mixed precision members that do not converge are solved in f64. Members that are not positive definite
/// are in `failed`, as the request's schedule met them.
Solution solve(const formats::System& system, const SolveRequest& request);

/// Where a textbook factorization from the first row on fails (LAPACK's info): the failed members again, sequentially.
/// A member that rounding lets pass that way keeps the place it has.
void locate_sequentially(const formats::System& system, const SolveRequest& request, std::vector<NotPositiveDefinite::Failure>& failed);

}  // namespace trifold::command
