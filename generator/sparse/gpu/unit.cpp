#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <trifold/error.hpp>

#include "generator/program/device.hpp"
#include "generator/program/templates.hpp"
#include "generator/sparse/emit.hpp"
#include "generator/sparse/gpu/gpu.hpp"

namespace trifold::sparse::gpu {
namespace {

std::string constants_of(const SparseSpec& spec, const Target& target) {
    std::string text = common_constants(spec);
    const auto define = [&](std::string_view name, auto value) { text += fmt::format("#define TRIFOLD_{} {}\n", name, value); };
    if (target.backend == Backend::hip)
        define("WAVE", warp_lanes(target));
    else
        define("ARCH", compute_capability(target));
    define("TENSOR", 0);
    define("SWEEP_BLOCKS", device_of(target).count("models.sparse.sweep_blocks"));
    return text;
}

std::vector<std::string> options_of(const Target& target) {
    if (target.backend == Backend::hip) return {"--offload-arch=" + target.arch, "-std=c++20", "-O3", "-Wno-pass-failed"};
    return {"-arch=" + target.arch, "-std=c++17", "--ptxas-options=-v", "--split-compile=4"};
}

/// Entries of the longest row of a factorization.
std::int64_t widest_row(const Arrangement& a) {
    std::int64_t widest = 0;
    for (const auto& shape : a.shapes)
        for (std::size_t row = 0; row < shape.diagonals.size(); ++row)
            widest = std::max<std::int64_t>(widest, shape.starts[row + 1] - shape.starts[row]);
    return widest;
}

std::int64_t shared_bytes(Kernel kernel, const SparseSpec& spec, const Arrangement& a, std::int64_t ring, const FactorRoom& room) {
    constexpr std::int64_t records = sparse_threads * static_cast<std::int64_t>(sizeof(trifold_sparse_record));
    constexpr std::int64_t sums = (std::int64_t{sparse_threads} + trifold_sparse_sums) * static_cast<std::int64_t>(sizeof(double));
    const auto real = element_bytes(spec.precision);
    switch (kernel) {
        case Kernel::gather:
        case Kernel::compare:
        case Kernel::finish:
            return records;
        case Kernel::factor:
            return std::max(records, room.rows * room.numbers * real);
        case Kernel::precondition:
            return std::max(sums, static_cast<std::int64_t>(sparse_vector_bytes(a.largest_tile(), spec.block, real))) + ring +
                   (ring > 0 ? sparse_gate_bytes() : 0);
        default:
            return sums;
    }
}

}  // namespace

std::int64_t most_rows(const SparseSpec& spec, const Target& target) {
    const auto bytes = device_of(target).count("facts.block_shared_bytes") / 16 * 16;
    return std::min<std::int64_t>(bytes / (spec.block * element_bytes(spec.precision)), std::numeric_limits<std::uint16_t>::max());
}

FactorRoom factor_room(const SparseSpec& spec, const Target& target, const Arrangement& a) {
    const auto square = spec.block * spec.block, real = element_bytes(spec.precision), lanes = std::int64_t{warp_lanes(target)};
    const auto numbers = widest_row(a) * square | 1, rows = sparse_threads / lanes * (lanes / spec.block);
    const auto fitting = device_of(target).count("models.sparse.factor_bytes") / (numbers * real);
    return {std::clamp<std::int64_t>(fitting, 1, rows), numbers};
}

void check(const SparseSpec& spec, const Target& target, const Arrangement& a) {
    constexpr std::int64_t most_slots = std::numeric_limits<std::int32_t>::max() / sparse_chunk;
    if (const auto most = most_rows(spec, target); a.largest_tile() > most)
        throw SpecError(
            fmt::format("a subdomain has {} rows of {} in {}, and the shared memory of {} holds {}; give subdomains of at most {} rows",
                        a.largest_tile(), spec.block, to_string(spec.precision), to_string(target), most, most));
    const auto bytes = device_of(target).count("facts.block_shared_bytes");
    const auto each = spec.block * spec.block * element_bytes(spec.precision);
    if (const auto most = bytes / each - 1; has_factors(spec) && widest_row(a) > most)
        throw SpecError(
            fmt::format("a row has {} entries of {} rows in {} within its subdomain, and the shared memory of {} holds {}; give smaller "
                        "subdomains, or preconditioner jacobi or none",
                        widest_row(a), spec.block, to_string(spec.precision), to_string(target), most));
    if (a.entries() / sparse_chunk > most_slots)
        throw SpecError(fmt::format("{} entries are more than kernels of GPUs count", a.entries()));
}

Unit unit_of(const SparseSpec& spec, const Target& target, const Arrangement& a, std::int64_t ring) {
    auto text = title_of(spec, target) + constants_of(spec, target);
    const auto room = factor_room(spec, target, a);
    Unit unit{target, "sparse_" + kind_of(spec), {}, options_of(target), {}};
    for (std::size_t k = 0; k < kernel_names.size(); ++k) {
        const auto name = fmt::format("sparse_{}_{}", kernel_names.at(k), kind_of(spec));
        const auto kernel = static_cast<Kernel>(k);
        unit.kernels.push_back(
            {name, kernel == Kernel::precondition ? sparse_sweep_threads : sparse_threads, shared_bytes(kernel, spec, a, ring, room)});
        text += define_kernel(kernel_names.at(k), name);
    }
    unit.source = with_constants(text, paste({"gpu/sparse/entry.cuh"}, target.backend == Backend::hip ? Platform::hip : Platform::cuda));
    return unit;
}

}  // namespace trifold::sparse::gpu
