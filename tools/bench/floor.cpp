#include "tools/bench/floor.hpp"

#include <algorithm>

namespace trifold::bench {

Work work(const Spec& spec, Operation operation) {
    const bool dissection = spec.batch == 1;
    const auto n = static_cast<double>(spec.block), m = static_cast<double>(spec.rhs);
    const auto blocks = static_cast<double>(spec.horizon) * static_cast<double>(spec.batch);
    const auto square = n * n, triangle = dissection ? square : n * (n + 1) / 2;  // of D and L a chain moves the lower half
    const auto panels = dissection ? 2.0 : 1.0;                                   // R and, where there is a separator behind, G
    const auto factors = triangle + panels * square;
    // D and E are read and the factors written; a sweep reads them twice, the forward one for nothing if it rides in the factorization.
    const Work factor{triangle + square + factors, (dissection ? 19.0 : 7.0) / 3 * n * n * n};
    const Work sweeps{2 * factors + 2 * n * m, 2 * (2 * panels + 1) * n * n * m};
    const Work fused{factor.bytes + sweeps.bytes - factors, factor.flops + sweeps.flops};
    const auto& one = operation == Operation::factor ? factor : operation == Operation::solve ? sweeps : fused;
    return {one.bytes * blocks * static_cast<double>(element_bytes(spec.precision)), one.flops * blocks};
}

std::optional<Rates> rates(const Device& device) { return rates(device.name()); }

std::optional<Rates> rates(std::string_view device) {
    // Device copy, f64 tensor instructions m16n8k16, f32 multiply-adds; measured with CUDA 13.0 at 1980 MHz.
    if (device == "NVIDIA H200") return Rates{4.27e12, 66.6e12, 55.7e12};
    if (device.starts_with("NVIDIA H100")) return Rates{3.0e12, 66.6e12, 55.7e12};  // the same multiprocessors and clocks
    return std::nullopt;
}

double floor_seconds(const Work& work, const Rates& rates, Precision precision) {
    return std::max(work.bytes / rates.bytes, work.flops / (precision == Precision::f64 ? rates.f64_flops : rates.f32_flops));
}

}  // namespace trifold::bench
