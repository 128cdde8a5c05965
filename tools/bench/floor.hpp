#pragma once
#include <optional>
#include <string_view>
#include <trifold/device.hpp>
#include <trifold/spec.hpp>

namespace trifold::bench {

/// The least that an operation has to move and compute, the same for every solver, so that their rates compare. One system is
/// eliminated by nested dissection (19/3 N n^3, factors of three blocks a front), which is what parallelism costs; a batch is
/// parallel by itself, so each system is swept from the first block to the last (7/3 N n^3, a triangle and a block a front).
struct Work {
    double bytes, flops;
};
/// `operation` is factor, solve or factor_solve.
Work work(const Spec& spec, Operation operation);

/// What a device moves and computes in a second.
struct Rates {
    double bytes, f64_flops, f32_flops;
};
/// Known for the devices whose rates were measured; a floor on processors would have to know their caches.
std::optional<Rates> rates(const Device& device);
std::optional<Rates> rates(std::string_view device);  ///< by its name, such as "NVIDIA H200"
double floor_seconds(const Work& work, const Rates& rates, Precision precision);

}  // namespace trifold::bench
