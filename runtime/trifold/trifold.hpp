#pragma once
#include <trifold/binary.hpp>
#include <trifold/cost.hpp>
#include <trifold/device.hpp>
#include <trifold/error.hpp>
#include <trifold/generate.hpp>
#include <trifold/grid.hpp>
#include <trifold/plan.hpp>
#include <trifold/process.hpp>
#include <trifold/rank_solver.hpp>
#include <trifold/solver.hpp>
#include <trifold/sparse.hpp>
#include <trifold/transport.hpp>
#include <trifold/tridiagonal.hpp>
// The public C++ interface.
