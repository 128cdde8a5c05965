#pragma once
#include <trifold/generate.hpp>
#include <trifold/plan.hpp>
#include <trifold/schedule.hpp>
#include <trifold/solver.hpp>
#include <trifold/spec.hpp>

/// Block tridiagonal systems by the name of their family, for programs that use several. These are the names of namespace trifold.
namespace trifold::tridiagonal {

using trifold::Choice;
using trifold::FactorOptions;
using trifold::Factors;
using trifold::Operation;
using trifold::Outcome;
using trifold::Plan;
using trifold::Refinement;
using trifold::Schedule;
using trifold::Solver;
using trifold::Spec;
using trifold::SweepOptions;
using trifold::Tuning;

}  // namespace trifold::tridiagonal
