#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <trifold/error.hpp>

#include "generator/program/device.hpp"
#include "generator/program/templates.hpp"
#include "generator/sparse/generate.hpp"
#include "generator/sparse/gpu/gpu.hpp"
#include "generator/sparse/layout.hpp"

namespace trifold::sparse {
namespace gpu {
namespace {

std::string define(std::string_view name, std::int64_t value) { return fmt::format("#define TRIFOLD_{} {}\n", name, value); }

std::string define_device(const Target& target) {
    return target.backend == Backend::hip ? define("WAVE", warp_lanes(target)) : define("ARCH", compute_capability(target));
}

std::string constants_of(const SparseSpec& spec, const Target& target, const Sweep& sweep, bool one_launch) {
    std::string text = common_constants(spec) + define_device(target);
    const auto define = [&](std::string_view name, std::int64_t value) { text += gpu::define(name, value); };
    define("TENSOR", 0);
    define("SWEEPERS", sweep.sweepers);
    define("FETCHERS", sweep.fetchers);
    define("SWEEP_BLOCKS", sweep.blocks);
    define("KEPT_SLOTS", sweep.kept);
    define("KEEPS_ALL", sweep.keeps_all ? 1 : 0);
    define("ONE_LAUNCH", one_launch ? 1 : 0);
    define("GROUPS", sweep.groups);
    return text;
}

std::int64_t threads_of(Kernel kernel, const Sweep& sweep) {
    if (kernel == Kernel::iterate) return sweep.groups * sweep.sweepers;
    return has_subdomain(kernel) ? sweep.threads() : std::int64_t{sparse_threads};
}

/// Shared memory of rows that a thread block factors at once: how many, and numbers of each.
struct FactorRoom {
    std::int64_t rows, numbers;
};

std::int64_t shared_bytes(Kernel kernel, const SparseSpec& spec, const Arrangement& a, const Sweep& sweep, const FactorRoom& room) {
    const auto threads = threads_of(kernel, sweep), real = element_bytes(spec.precision);
    const auto records = threads * static_cast<std::int64_t>(sizeof(trifold_sparse_record));
    const auto sums = sum_bytes(threads);
    switch (kernel) {
        case Kernel::gather:
        case Kernel::compare:
        case Kernel::finish:
            return records;
        case Kernel::factor:
            return std::max(records, room.rows * room.numbers * real);
        case Kernel::precondition:
        case Kernel::apply:
            return std::max(sums, static_cast<std::int64_t>(sparse_vector_bytes(a.largest_tile(), spec.block, real))) + sweep.ring +
                   (sweep.ring > 0 ? sparse_gate_bytes() : 0);
        default:
            return sums;
    }
}

/// The most rows of a subdomain.
std::int64_t max_rows(const SparseSpec& spec, const Target& target) {
    const auto bytes = device_of(target).count("facts.block_shared_bytes") / 16 * 16;
    return std::min<std::int64_t>(bytes / (spec.block * element_bytes(spec.precision)), std::numeric_limits<std::uint16_t>::max());
}

FactorRoom factor_room(const SparseSpec& spec, const Target& target, const Arrangement& a, const Sweep& sweep) {
    constexpr std::int64_t banks = 16, reserved = 1024;  // banks of eight bytes; bytes that the device reserves for each thread block
    const auto& device = device_of(target);
    const auto lanes = std::int64_t{warp_lanes(target)}, rows = sweep.sweepers / lanes * (lanes / spec.block);
    // Rows lie as far apart as lets equal elements of neighbouring lanes, which are those of a column, be in neighbouring banks.
    const auto numbers = round_up(a.widest_row() * spec.block * spec.block - spec.block, banks) + spec.block;
    const auto bytes =
        std::min(device.count("facts.block_shared_bytes"), device.count("facts.multiprocessor_shared_bytes") / sweep.blocks - reserved);
    return {std::clamp<std::int64_t>(bytes / (numbers * element_bytes(spec.precision)), 1, rows), numbers};
}

void check(const SparseSpec& spec, const Target& target, const Arrangement& a) {
    constexpr std::int64_t max_slots = std::numeric_limits<std::int32_t>::max() / sparse_chunk;
    if (const auto most = max_rows(spec, target); a.largest_tile() > most)
        throw SpecError(
            fmt::format("a subdomain has {} rows of {} in {}, and the shared memory of {} holds {}; give subdomains of at most {} rows",
                        a.largest_tile(), spec.block, to_string(spec.precision), to_string(target), most, most));
    const auto bytes = device_of(target).count("facts.block_shared_bytes");
    const auto each = spec.block * spec.block * element_bytes(spec.precision);
    if (const auto most = bytes / each - 1; has_factors(spec) && a.widest_row() > most)
        throw SpecError(
            fmt::format("a row has {} entries of {} rows in {} within its subdomain, and the shared memory of {} holds {}; give smaller "
                        "subdomains, or preconditioner jacobi or none",
                        a.widest_row(), spec.block, to_string(spec.precision), to_string(target), most));
    if (a.entries() / sparse_chunk > max_slots) throw SpecError(fmt::format("{} entries are more than kernels of GPUs count", a.entries()));
}

Unit unit_of(const SparseSpec& spec, const Target& target, const Arrangement& a, const Sweep& sweep, const FactorRoom& room,
             std::int64_t near_bytes) {
    auto text = title_of(spec, target) + constants_of(spec, target, sweep, near_bytes > 0);
    Unit unit{target, "sparse_" + kind_of(spec), {}, unit_options(target), {}};
    for (std::size_t k = 0; k < kernel_names.size(); ++k) {
        const auto name = fmt::format("sparse_{}_{}", kernel_names.at(k), kind_of(spec));
        const auto kernel = static_cast<Kernel>(k);
        if (kernel == Kernel::iterate && near_bytes == 0) continue;
        const auto shared = kernel == Kernel::iterate ? near_bytes : shared_bytes(kernel, spec, a, sweep, room);
        unit.kernels.push_back({name, static_cast<int>(threads_of(kernel, sweep)), shared});
        text += define_kernel(kernel_names.at(k), name);
    }
    unit.source = with_constants(text, paste({"gpu/sparse/entry.cuh"}, platform_of(target)));
    return unit;
}

}  // namespace

std::int64_t row_words(const SparseSpec& spec) {
    constexpr std::int64_t word = 4;
    return spec.block * element_bytes(spec.precision) / word;
}

Unit message_unit(const SparseSpec& spec, const Target& target) {
    const auto id = fmt::format("sparse_message_{}", row_words(spec));
    Unit unit{target, id, {}, unit_options(target), {}};
    auto text = define_device(target) + define("ROW_WORDS", row_words(spec)) + define("MESSAGE_THREADS", message_threads) +
                define("SIZEOF_ARGS", sizeof(trifold_sparse_args)) + define("SIZEOF_LAUNCH", sizeof(trifold_sparse_launch));
    for (const auto* kernel : {"pack", "unpack"}) {
        unit.kernels.push_back({fmt::format("{}_{}", id, kernel), message_threads, 0});
        text += define_kernel(kernel, unit.kernels.back().name);
    }
    unit.source = with_constants(text, paste({"gpu/sparse/message.cuh"}, platform_of(target)));
    return unit;
}

}  // namespace gpu

Backing gpu_backing(const SparseSpec& spec, const Target& target, const Arrangement& a, const Knobs& knobs) {
    gpu::check(spec, target, a);
    const auto sweep = gpu::sweep_of(spec, target, a, knobs);
    const auto room = gpu::factor_room(spec, target, a, sweep);
    gpu::Kept kept;
    Backing made{.stored = gpu::stored_of(spec, a, sweep, kept), .launch = gpu::near_of(spec, target, a, sweep, kept)};
    made.unit = gpu::unit_of(spec, target, a, sweep, room, made.launch.near_all);
    made.launch.slice_rows = sparse_chunk * sparse_slice_chunks;
    made.launch.ring = sweep.ring;
    made.launch.factor_rows = room.rows;
    made.launch.row_room = room.numbers;
    return made;
}

}  // namespace trifold::sparse
