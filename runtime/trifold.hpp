#pragma once
// The public C++ interface.
#include "generator/cost.hpp"
#include "generator/program.hpp"
#include "runtime/device.hpp"
#include "runtime/error.hpp"
#include "runtime/plan.hpp"
#include "runtime/solver.hpp"
