#pragma once
#include <concepts>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <trifold/precision.hpp>
#include <trifold/program.hpp>
#include <type_traits>
#include <vector>

/// Types that the plans and solvers of all families share.
namespace [[gnu::visibility("default")]] trifold {

struct PlanReport {
    bool cache_hit = false;  ///< nothing was compiled for the plan
    bool prebuilt = false;   ///< all its kernels are from layers that `trifold pack` made
    std::string compiler;    ///< name and exact version of what made the binary
    double generate_seconds = 0, compile_seconds = 0, load_seconds = 0;
    std::vector<KernelResources> kernels;  ///< those of all units
};

/// A stream of the device (CUstream, cudaStream_t or hipStream_t); the default is the device's default stream. Ignored on the CPU.
struct Stream {
    void* handle = nullptr;
};

/// The address of a workspace must be a multiple of this.
inline constexpr std::int64_t workspace_base_alignment = 64;

/// A vector, array or span of float or double in host memory. What a call writes to must outlive it and be writable.
template <class Array>
concept HostArray =
    std::ranges::contiguous_range<Array> && std::ranges::sized_range<Array> && !std::is_array_v<std::remove_cvref_t<Array>> &&
    (std::same_as<std::ranges::range_value_t<Array>, float> || std::same_as<std::ranges::range_value_t<Array>, double>);
template <HostArray Array>
using RealOf = std::ranges::range_value_t<Array>;
template <class Array, class Real>
concept InputOf = HostArray<Array> && std::same_as<RealOf<Array>, Real>;
template <class Array, class Real>
concept OutputOf = InputOf<Array, Real> && std::ranges::borrowed_range<Array> && std::ranges::output_range<Array, Real>;

/// An array of a call, whatever its precision.
struct AnyArray {
    const void* data = nullptr;
    bool on_host = false;  ///< in the host's memory; else where the device reads it
    Precision precision = Precision::f64;
    std::int64_t size = -1;  ///< elements; -1: its caller does not say

    template <class Real>
    static constexpr Precision precision_of = std::same_as<Real, float> ? Precision::f32 : Precision::f64;
    /// An array of the device.
    template <class Real>
        requires std::same_as<std::remove_const_t<Real>, float> || std::same_as<std::remove_const_t<Real>, double>
    AnyArray(Real* pointer) : data(pointer), precision(precision_of<std::remove_const_t<Real>>) {}
    /// An array of the host.
    template <HostArray Array>
    AnyArray(const Array& array)
        : data(std::ranges::data(array)),
          on_host(true),
          precision(precision_of<RealOf<Array>>),
          size(static_cast<std::int64_t>(std::ranges::size(array))) {}
    AnyArray(const void* memory, bool of_host, Precision reals) : data(memory), on_host(of_host), precision(reals) {}
};

}  // namespace trifold
