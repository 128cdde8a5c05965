#include "generator/export.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include "generator/cost.hpp"
#include "generator/error.hpp"
#include "generator/export_parts.hpp"

namespace trifold {
namespace {

bool is_identifier(std::string_view text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto inner = [&](char c) { return letter(c) || c == '_' || (c >= '0' && c <= '9'); };
    return !text.empty() && text.size() <= 32 && letter(text.front()) && std::ranges::all_of(text, inner);
}

void check_layout(const Spec& spec) {
    Spec plain{.block = spec.block, .horizon = spec.horizon, .precision = spec.precision, .rhs = spec.rhs, .operations = spec.operations};
    if (spec == plain) return;
    throw SpecError(
        "an exported solver takes one system, dense and row-major, with the lower coupling; leave batch, order, coupling and strides out");
}

void check_data(const ExportRequest& request) {
    if (!request.data) return;
    const auto& spec = request.spec;
    const auto blocks = spec.block * spec.block;
    const std::array wanted{spec.horizon * blocks, (spec.horizon - 1) * blocks, spec.horizon * spec.block * spec.rhs};
    const std::array given{std::ssize(request.data->d), std::ssize(request.data->e), std::ssize(request.data->b)};
    for (std::size_t k = 0; k < wanted.size(); ++k)
        if (given[k] != wanted[k])
            throw SpecError(fmt::format("the problem to bake in has {} elements of {}; {} blocks of {} with {} right-hand side(s) have {}",
                                        given[k], "DEB"[k], spec.horizon, spec.block, spec.rhs, wanted[k]));
}

void check_prefactored(const ExportRequest& request) {
    if (!request.prefactored) return;
    const auto& spec = request.spec;
    const auto& [d, e, shifts] = *request.prefactored;
    const auto blocks = spec.block * spec.block;
    if (request.data) throw SpecError("a problem to bake in and a matrix to factor ahead were given; give one of them");
    if (machine_of(request.target).has_kernels())
        throw SpecError(
            fmt::format("target '{}' stores factors in an order of its own; prefactored, give c99:generic, c99:cortex-m4 or c99:cortex-m7",
                        to_string(request.target)));
    if (std::ssize(d) != spec.horizon * blocks || std::ssize(e) != (spec.horizon - 1) * blocks)
        throw SpecError(fmt::format("the matrix to factor has {} elements of D and {} of E; {} blocks of {} have {} and {}", d.size(),
                                    e.size(), spec.horizon, spec.block, spec.horizon * blocks, (spec.horizon - 1) * blocks));
    if (shifts.empty()) throw SpecError("no shift was given; give 0 for the matrix as it is");
    for (const auto shift : shifts)
        if (!std::isfinite(shift)) throw SpecError(fmt::format("shift {} is not finite; give finite numbers", shift));
    if (const auto bytes = export_facts(request).table_bytes; bytes > std::numeric_limits<std::int32_t>::max())
        throw SpecError(fmt::format("the factors for {} shifts take {} bytes; an exported solver has at most {}", shifts.size(), bytes,
                                    std::numeric_limits<std::int32_t>::max()));
}

void check_schedule(const ExportRequest& request) {
    if (exported_chains(request).empty()) return;
    if (request.prefactored) throw SpecError("factors as constants are those of the sequential schedule; leave the schedule out");
    if (machine_of(request.target).has_kernels())
        throw SpecError(fmt::format("target '{}' runs the sequential schedule; for {} give c99:generic, c99:cortex-m4 or c99:cortex-m7",
                                    to_string(request.target), request.schedule));
}

void check(const ExportRequest& request) {
    const auto& spec = request.spec;
    validate(spec);
    if (spec.precision == Precision::mixed) throw SpecError("an exported solver has no mixed precision; give precision f32 or f64");
    validate(request.target);
    machine_of(request.target);
    check_layout(spec);
    if (spec.block > max_export_block)
        throw SpecError(fmt::format("block size n = {} is out of range for export; give 1 to {}", spec.block, max_export_block));
    check_prefix(request.prefix);
    check_schedule(request);
    const auto bytes = export_facts(request).workspace_bytes_64;
    const auto vector = checked_multiply(spec.horizon * spec.block, spec.rhs, "size of B");
    const auto largest = std::numeric_limits<std::int32_t>::max();
    if (bytes > largest || vector > largest)
        throw SpecError(fmt::format("the workspace takes {} bytes and B {} elements; an exported solver has at most {} of each", bytes,
                                    vector, largest));
    check_data(request);
    check_prefactored(request);
}

/// As socu counts: 7/3 n^3 a block but for the last, and 6 n^2 a right-hand side.
std::int64_t nominal_factor_flops(const Spec& spec) {
    return static_cast<std::int64_t>(cost(sequential(spec.horizon), spec, 1).total.flops(spec.block));
}
std::int64_t nominal_solve_flops(const Spec& spec) { return 2 * spec.rhs * spec.block * spec.block * (3 * spec.horizon - 2); }

/// Two pointers, reals, and the ints of a status for each chain and of one flag: btd_workspace of templates/c99/api_partitioned.h.
std::int64_t partitioned_workspace(const Spec& spec, std::int64_t chains, std::int64_t pointer) {
    const auto bytes = element_bytes(spec.precision), block = spec.block * spec.block;
    const auto reals =
        checked_add(checked_multiply(3 * block, spec.horizon, "size of a solver"),
                    checked_multiply(2 * (chains - 1), block + spec.block * spec.rhs, "size of a solver"), "size of a solver");
    const auto alignment = std::max(pointer, bytes);
    return (2 * pointer + checked_multiply(reals, bytes, "size of a solver") + 4 * (3 * chains + 1) + alignment - 1) / alignment *
           alignment;
}

}  // namespace

std::vector<ExportedChain> exported_chains(const ExportRequest& request) {
    if (request.schedule == "sequential") return {};
    const auto schedule = parse_schedule(request.schedule, request.spec.horizon);
    if (!request.schedule.starts_with("partitioned:") && !request.schedule.starts_with("twisted:"))
        throw SpecError(fmt::format("schedule '{}' cannot be exported; give sequential, partitioned:p or twisted:p", request.schedule));
    if (schedule.levels.size() != 2)
        throw SpecError(fmt::format("schedule '{}' of {} block(s) is one chain; give sequential", request.schedule, request.spec.horizon));
    std::vector<ExportedChain> chains;
    for (const auto& run : schedule.levels[0].runs)
        for (std::int64_t c = 0; c < run.count; ++c) chains.push_back({run.first + c * run.stride, run.length, run.step});
    std::ranges::sort(chains, {}, &ExportedChain::first);
    return chains;
}

ExportFacts export_facts(const ExportRequest& request) {
    const auto& spec = request.spec;
    const auto& machine = machine_of(request.target);
    const auto bytes = element_bytes(spec.precision);
    const auto blocks = [&](std::int64_t count) {
        return checked_multiply(checked_multiply(count, spec.block * spec.block, "size of a solver"), bytes, "size of a solver");
    };
    const auto chains = exported_chains(request);
    const auto workspace = [&](std::int64_t pointer) {
        constexpr std::int64_t vector = 64;
        if (machine.has_kernels()) return (kernel_program(request).workspace_bytes / vector + 1) * vector;
        if (!chains.empty()) return partitioned_workspace(spec, std::ssize(chains), pointer);
        const auto arrays = checked_add(blocks(spec.horizon), blocks(std::max<std::int64_t>(spec.horizon - 1, 1)), "size of a solver");
        const auto alignment = std::max(pointer, bytes);
        return (2 * pointer + arrays + alignment - 1) / alignment * alignment;
    };
    std::string data = request.data ? " --data D.npy E.npy b.npy" : "";
    if (request.prefactored) data = fmt::format(" --prefactored D.npy E.npy --shift {}", fmt::join(request.prefactored->shifts, ","));
    if (!chains.empty()) data += fmt::format(" --schedule {}", request.schedule);
    const auto shifts = request.prefactored ? std::ssize(request.prefactored->shifts) : 0;
    const std::size_t precision = spec.precision == Precision::f64;
    return {.d_bytes = blocks(spec.horizon),
            .e_bytes = blocks(spec.horizon - 1),
            .b_bytes = rhs_extent(spec, 1, spec.rhs) * bytes,
            .workspace_bytes_32 = workspace(4),
            .workspace_bytes_64 = workspace(8),
            .table_bytes = checked_multiply(shifts, blocks(spec.horizon + std::max<std::int64_t>(spec.horizon - 1, 1)), "size of a solver"),
            .stack_bytes = machine.stack_bytes[precision] * (chains.empty() ? 1 : 2),
            .code_bytes = machine.code_bytes[precision] * (chains.empty() ? 1 : 2),
            .factor_flops = machine.has_kernels() ? nominal_factor_flops(spec) : exported_factor_counts(request).flops(),
            .solve_flops = machine.has_kernels() ? nominal_solve_flops(spec) : exported_solve_counts(request).flops(),
            .command = fmt::format("trifold export --block {} --horizon {} --precision {} --rhs {} --target {} --prefix {}{}", spec.block,
                                   spec.horizon, to_string(spec.precision), spec.rhs, to_string(request.target), request.prefix, data)};
}

std::string with_prefix(std::string_view text, std::string_view prefix) {
    std::string capitals(prefix), result;
    std::ranges::transform(capitals, capitals.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    const auto inside = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    for (std::size_t k = 0; k < text.size(); ++k) {
        const auto word = text.substr(k, 4);
        const bool starts = k == 0 || !inside(text[k - 1]);
        if (starts && (word == "btd_" || word == "BTD_")) {
            result += word == "btd_" ? std::string(prefix) : capitals;
            k += 2;  // the underscore follows
        } else {
            result += text[k];
        }
    }
    return result;
}

void check_prefix(std::string_view prefix) {
    if (is_identifier(prefix)) return;
    throw SpecError(
        fmt::format("prefix '{}' cannot begin the names of the C code; give a letter, then letters, digits and _, at most 32", prefix));
}

std::string filled(std::string_view text, const std::map<std::string, std::string>& values) {
    std::string result(text);
    for (const auto& [key, value] : values) {
        const auto mark = "@" + key + "@";
        for (auto at = result.find(mark); at != std::string::npos; at = result.find(mark, at + value.size()))
            result.replace(at, mark.size(), value);
    }
    return result;
}

std::vector<ExportedFile> export_project(const ExportRequest& request) {
    check(request);
    std::vector<ExportedFile> files{{"btd_solver.h", c99_header(request)}, {"btd_solver.c", c99_source(request)}};
    if (request.prefactored) files.push_back({"btd_factors.c", c99_factors(request)});
    if (request.data || request.prefactored) files.push_back({"btd_data.c", c99_data(request)});
    files.push_back({"example_main.c", c99_example(request)});
    if (machine_of(request.target).has_report()) files.push_back({"report_main.c", c99_report(request)});
    std::ranges::move(build_files(request), std::back_inserter(files));
    for (auto& [name, text] : files) {
        name = with_prefix(name, request.prefix);
        text = with_prefix(text, request.prefix);
    }
    files.push_back({"manifest.json", export_manifest(request, files)});
    return files;
}

}  // namespace trifold
