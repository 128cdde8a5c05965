#pragma once
#include <map>
#include <string>
#include <trifold/generate.hpp>
#include <vector>

/// The search for the fastest kernels of a device, and its records.
namespace trifold::tune {

/// What is to be fast: the seconds of these operations, each times its weight, added up.
using Objective = std::map<Operation, double>;
std::string to_string(const Objective& objective);  ///< "factor_solve", "factor+3*solve"
/// Throws SpecError.
Objective parse_objective(std::string_view text);

/// A problem to tune: a Spec as a program makes a Plan of it, the CPU threads of a call, and what it calls most.
struct Point {
    Spec spec;
    int workers = 1;
    Objective objective = {{Operation::factor_solve, 1}};
    double seconds = 0;  ///< that a captured program spent in it; 0: not known. The costly ones are tuned first
};
std::string to_string(const Point& point);  ///< "50x20x256 f64": N, n, systems, and what else is not the default

}  // namespace trifold::tune
