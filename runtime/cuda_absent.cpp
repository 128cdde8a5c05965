#ifndef TRIFOLD_HAS_CUDA
#include "runtime/cuda.hpp"
#include "runtime/error.hpp"

namespace trifold::cuda {
namespace {

constexpr const char* problem = "this build has no CUDA support; build with -DTRIFOLD_CUDA=ON where cuda.h and nvrtc.h are found";

}  // namespace

Report report() { return {{}, problem, {}}; }
Loaded load(const Program&, int, const Binary&) { throw DeviceError(problem); }
std::unique_ptr<Engine> make_engine(std::shared_ptr<const Plan::State>, void*) { throw DeviceError(problem); }

}  // namespace trifold::cuda
#endif
