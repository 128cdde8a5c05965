#pragma once
#include <cuda.h>

#include <trifold/generate.hpp>

#include "tests/support/drivers/drivers.hpp"
#include "tests/support/emulator/unit.hpp"
#include "tests/support/test.hpp"

namespace trifold::test {

/// A context of the caller's, not the device's primary one.
inline const auto other_context = reinterpret_cast<CUcontext>(std::uintptr_t{0x1000});

inline CUcontext current_context() {
    CUcontext context = nullptr;
    cuCtxGetCurrent(&context);
    return context;
}

/// Makes the fake driver emulate the kernels of this Plan, and takes note of what is alive.
class EmulatedPlan {
  public:
    EmulatedPlan(const Spec& spec, const Tuning& given, const Target& target)
        : before_(fake_cuda()), unit_(choose(spec, target, given), EmulatedUnit::Build::plain) {
        fake_cuda().kernels = unit_.handles();
        fake_cuda().take_parameters_of(unit_.program());
    }
    ~EmulatedPlan() { fake_cuda() = {}; }
    EmulatedPlan(const EmulatedPlan&) = delete;
    EmulatedPlan& operator=(const EmulatedPlan&) = delete;
    /// Everything made has been destroyed.
    void expect_clean() const { CHECK(fake_cuda().alive() == before_.alive()); }

  private:
    FakeCuda before_;
    EmulatedUnit unit_;
};

/// On CUDA, in a context of the caller's.
class Emulation : public EmulatedPlan {
  public:
    Emulation(const Spec& spec, const Tuning& given, const std::string& arch = "sm_90") : EmulatedPlan(spec, given, {Backend::cuda, arch}) {
        cuCtxPushCurrent(other_context);
    }
    ~Emulation() {
        expect_clean();
        CUcontext popped = nullptr;
        cuCtxPopCurrent(&popped);
    }
    /// The caller's context is current again, too.
    void expect_clean() const {
        CHECK(current_context() == other_context);
        EmulatedPlan::expect_clean();
    }
};

/// An array in the fake device's memory, made as an application would: in the primary context.
template <class Real>
class DeviceArray {
  public:
    explicit DeviceArray(const std::vector<Real>& values) {
        in_context([&] {
            REQUIRE(cuMemAlloc(&address_, values.size() * sizeof(Real)) == CUDA_SUCCESS);
            cuMemcpyHtoDAsync(address_, values.data(), values.size() * sizeof(Real), nullptr);
        });
    }
    ~DeviceArray() {
        in_context([&] { cuMemFree(address_); });
    }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    Real* data() const { return reinterpret_cast<Real*>(address_); }
    void read(std::vector<Real>& values) const { std::copy_n(data(), values.size(), values.begin()); }

    template <class Body>
    static void in_context(Body body) {
        CUcontext context = nullptr;
        cuDevicePrimaryCtxRetain(&context, 0);
        cuCtxPushCurrent(context);
        body();
        cuCtxPopCurrent(&context);
        cuDevicePrimaryCtxRelease(0);
    }

  private:
    CUdeviceptr address_ = 0;
};

/// A stream of the application's, made when all earlier work has ended.
class CallersStream {
  public:
    CallersStream() {
        DeviceArray<double>::in_context([&] {
            cuCtxSynchronize();
            REQUIRE(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        });
    }
    ~CallersStream() {
        DeviceArray<double>::in_context([&] { cuStreamDestroy(stream_); });
    }
    CallersStream(const CallersStream&) = delete;
    CallersStream& operator=(const CallersStream&) = delete;
    CUstream get() const { return stream_; }

  private:
    CUstream stream_ = nullptr;
};

}  // namespace trifold::test
