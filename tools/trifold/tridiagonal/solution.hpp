#pragma once
#include <string>
#include <trifold/trifold.hpp>
#include <vector>

#include "tools/formats/assemble.hpp"

namespace trifold::command {

/// What solving a System on a device gave.
struct Solution {
    std::vector<double> x;                ///< as a System has b; NaN for failed members
    std::vector<double> log_determinant;  ///< by member; NaN for failed ones
    std::vector<double> quadratic;        ///< b' A^-1 b, [member][column]; NaN for failed ones
    std::vector<NotPositiveDefinite::Failure> failed;
    std::vector<double> least_pivot;           ///< by member; 0 for failed ones
    std::vector<std::int64_t> negative;        ///< pivots below zero, and interchanges of a general matrix, by member; -1 for failed ones
    std::vector<double> growth;                ///< likewise; 0 for failed ones
    std::vector<double> reciprocal_condition;  ///< by member, when asked for; 0 for failed ones
    std::vector<NearlySingular::Failure> nearly_singular;    ///< by the condition when asked for, else by the least pivot
    std::vector<OutOfRange::Failure> out_of_range;           ///< the members with a factor whose x or inverse holds infinities or NaN
    std::vector<std::int64_t> iterations;                    ///< mixed precision: corrections, by member
    std::vector<std::int64_t> fell_back;                     ///< mixed precision: members that had to be solved in f64, in order
    std::vector<double> inverse_diagonal, inverse_coupling;  ///< when asked for
    std::vector<double> inverse_arrow, inverse_corner;       ///< likewise, the blocks in the places of a border's F and C
    std::string schedule, variant, target;
    std::string rung, row;  ///< of the Choice
    PlanReport report;
    double factor_seconds = 0, solve_seconds = 0;
};

struct SolveRequest {
    Device device;
    Precision precision;
    Tuning tuning;
    bool inverse = false, condition = false;
    int ranks = 1;  ///< threads that share one chain
    MatrixKind matrix = MatrixKind::positive_definite;
};

/// The problem that a System is, with the usual operations.
Spec to_spec(const formats::System& system, Precision precision);

/// The least reciprocal condition number of a system that is not nearly singular: the epsilon that its factors have.
double min_condition(Precision precision);

/// Throws the runtime's errors. In mixed precision members that do not converge, or are nearly singular in f32, are solved in f64. Members
/// that are not positive definite are in `failed`, as the request's schedule met them. What is nearly singular has results all the same.
Solution solve(const formats::System& system, const SolveRequest& request);

/// Finds the row at which a textbook factorization from the first row on fails (LAPACK's info), by factoring failed members sequentially.
/// A member that rounding lets pass that way keeps the place it has.
void locate_sequentially(const formats::System& system, const SolveRequest& request, std::vector<NotPositiveDefinite::Failure>& failed);

}  // namespace trifold::command
