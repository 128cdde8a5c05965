#pragma once
#include <trifold/program.hpp>

namespace trifold {

/// The unit with options that make PTX of it, the assembly that drivers of newer GPUs compile on. Any other unit than one for CUDA stays.
Unit as_ptx(Unit unit);
Program as_ptx(Program program);
bool is_ptx(const Unit& unit);

/// The architecture that a CUDA unit's options name: "sm_90", or "compute_90" where it becomes PTX.
std::string code_name(const Unit& unit);

}  // namespace trifold
