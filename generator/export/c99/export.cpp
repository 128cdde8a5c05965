#include "generator/export/c99/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <trifold/error.hpp>

#include "generator/export/c99/parts.hpp"

namespace trifold {
namespace {

void check_layout(const ExportRequest& request) {
    const auto& spec = request.spec;
    if (spec.batch != 1 || spec.rhs_layout != RhsLayout::staged || spec.d.member != dense || spec.e.member != dense)
        throw SpecError("an exported solver takes one system, B and X [N][n][m]; leave batch, the layout of B and strides of members out");
    if (is_dense(spec)) return;
    if (request.prefactored) throw SpecError("factors as constants leave no D and E to call with; leave order, coupling and strides out");
    if (!exported_chains(request).empty())
        throw SpecError(
            fmt::format("schedule {} takes row-major D and E without gaps, E the lower coupling; leave order, coupling and "
                        "strides out, or give sequential",
                        request.schedule));
    const bool gaps = spec.d != BlockLayout{} || spec.e != BlockLayout{};
    if (request.data && gaps) throw SpecError("a problem is baked in without gaps; leave strides out");
}

/// Pivots of both signs, and general matrices.
void check_matrix(const ExportRequest& request) {
    const auto& spec = request.spec;
    if (!has_inertia(spec)) return;
    const bool general = is_general(spec);
    const auto fail = [&](std::string_view what) {
        throw SpecError(fmt::format("{} not for a {} matrix; leave {} out", what, general ? "general" : "symmetric",
                                    what.ends_with("is") ? "it" : "them"));
    };
    if (has_shape(spec)) fail("exported rings, borders and sizes are");
    if (request.prefactored) fail("factors as constants are");
    if (request.schedule != "sequential") fail(fmt::format("schedule {} is", request.schedule));
    if (general && request.data) fail("a problem to bake in is");
    if (general && request.corrections > 0) fail("refined solutions are");
    if (general && request.factorization != Factorization::llt) fail("factorization ldlt is");
    if (general && request.optimize != Optimize::speed) fail("code that is optimized for size is");
    if (!uses_kernels(request) && request.factorization == Factorization::llt)
        throw SpecError("pivots of both signs have no square roots; give factorization ldlt");
}

/// Rings, borders and sizes.
void check_shape(const ExportRequest& request) {
    const auto& spec = request.spec;
    if (spec.lengths || spec.bandwidth > 1) throw SpecError("an exported solver has no lengths and bands yet; leave them out");
    if (!has_shape(spec)) return;
    const auto fail = [&](std::string_view what, std::string_view advice) {
        throw SpecError(fmt::format("{} not for a chain{}; {}", what, shape_text(spec), advice));
    };
    if (spec.border > max_export_border)
        throw SpecError(fmt::format("a border of {} rows is out of range for export; give 0 to {}", spec.border, max_export_border));
    if (uses_kernels(request))
        fail(fmt::format("kernels of target '{}' are", to_string(request.target)), "give c99:generic, c99:cortex-m4 or c99:cortex-m7");
    if (request.schedule != "sequential") fail(fmt::format("schedule {} is", request.schedule), "give sequential");
    if (request.prefactored) fail("factors as constants are", "leave them out");
    if (request.data) fail("a problem to bake in is", "leave the data out");
    if (request.corrections > 0) fail("refined solutions are", "leave the refinement out");
}

constexpr std::int64_t largest_size = std::numeric_limits<std::int32_t>::max();

/// Indices are ints on every machine. So this throws before sizes that are out of reach enter a computation.
void check_sizes(const Spec& spec) {
    const auto check = [](std::string_view name, std::int64_t elements, std::string_view advice) {
        if (elements > largest_size)
            throw SpecError(fmt::format("{} reaches over {} elements; the indices of an exported solver are ints, at most {}; give {}",
                                        name, elements, largest_size, advice));
    };
    check("B", rhs_extent(spec, 1, spec.rhs), "fewer blocks or right-hand sides");
    check("D", diagonal_extent(spec, 1), "fewer blocks, or a smaller --d-leading or --d-stage");
    check("E", coupling_extent(spec, 1), "fewer blocks, or a smaller --e-leading or --e-stage");
    check("F", checked_multiply(spec.horizon, spec.border * spec.block, "size of F"), "fewer blocks");
}

/// Only the lower triangles of D's blocks count.
void check_range(std::string_view name, std::span<const double> values, const Spec& spec, bool is_d) {
    const auto n = static_cast<std::size_t>(spec.block);
    for (std::size_t k = 0; k < values.size(); ++k)
        if (!(std::fabs(values[k]) <= largest_finite(spec.precision)) && !(is_d && k % n > k / n % n))
            throw SpecError(
                fmt::format("{} holds {}, which is no finite {} number; scale the problem", name, values[k], to_string(spec.precision)));
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
    check_range("D", request.data->d, spec, true);
    check_range("E", request.data->e, spec, false);
    check_range("B", request.data->b, spec, false);
}

void check_prefactored(const ExportRequest& request) {
    if (!request.prefactored) return;
    const auto& spec = request.spec;
    const auto &d = request.prefactored->d, &e = request.prefactored->e, &shifts = request.prefactored->shifts;
    const auto blocks = spec.block * spec.block;
    if (request.data) throw SpecError("a problem to bake in and a matrix to factor ahead were given; give one of them");
    if (uses_kernels(request))
        throw SpecError(
            fmt::format("target '{}' stores factors in an order of its own; prefactored, give c99:generic, c99:cortex-m4 or c99:cortex-m7",
                        to_string(request.target)));
    if (std::ssize(d) != spec.horizon * blocks || std::ssize(e) != (spec.horizon - 1) * blocks)
        throw SpecError(fmt::format("the matrix to factor has {} elements of D and {} of E; {} blocks of {} have {} and {}", d.size(),
                                    e.size(), spec.horizon, spec.block, spec.horizon * blocks, (spec.horizon - 1) * blocks));
    check_range("D", d, spec, true);
    check_range("E", e, spec, false);
    if (shifts.empty()) throw SpecError("no shift was given; give 0 for the matrix as it is");
    for (const auto shift : shifts)
        if (!std::isfinite(shift)) throw SpecError(fmt::format("shift {} is not finite; give finite numbers", shift));
    if (const auto bytes = export_facts(request).table_bytes; bytes > largest_size)
        throw SpecError(fmt::format("the factors for {} shifts take {} bytes; an exported solver has at most {}; give fewer shifts",
                                    shifts.size(), bytes, largest_size));
}

void check_schedule(const ExportRequest& request) {
    if (exported_chains(request).empty()) return;
    if (request.prefactored) throw SpecError("factors as constants are those of the sequential schedule; leave the schedule out");
    if (uses_kernels(request))
        throw SpecError(fmt::format("target '{}' runs the sequential schedule; for {} give c99:generic, c99:cortex-m4 or c99:cortex-m7",
                                    to_string(request.target), request.schedule));
}

void check_factorization(const ExportRequest& request) {
    if (request.factorization == Factorization::llt) return;
    if (request.prefactored) throw SpecError("factors as constants take no square root; leave the factorization out");
    if (uses_kernels(request) || !exported_chains(request).empty())
        throw SpecError(fmt::format("factorization ldlt is of plain C and the sequential schedule; target '{}' with schedule {} has llt",
                                    to_string(request.target), request.schedule));
}

void check_corrections(const ExportRequest& request) {
    if (request.corrections < 0 || request.corrections > max_corrections)
        throw SpecError(
            fmt::format("{} corrections of a refined solution are out of range; give 0 to {}", request.corrections, max_corrections));
    if (request.corrections > 0 && request.prefactored)
        throw SpecError("factors as constants leave nothing of A to compute residuals with; leave the refinement out");
}

void check_optimize(const ExportRequest& request) {
    if (request.optimize == Optimize::size && uses_kernels(request))
        throw SpecError(
            fmt::format("target '{}' has one kind of kernels; to optimize for size give c99:generic, c99:cortex-m4 or c99:cortex-m7",
                        to_string(request.target)));
}

void check(const ExportRequest& request) {
    const auto& spec = request.spec;
    validate(spec);
    if (spec.precision == Precision::mixed) throw SpecError("an exported solver has no mixed precision; give precision f32 or f64");
    validate(request.target);
    machine_of(request.target);
    check_matrix(request);
    check_shape(request);
    check_layout(request);
    if (spec.block > max_export_block)
        throw SpecError(fmt::format("block size n = {} is out of range for export; give 1 to {}", spec.block, max_export_block));
    check_sizes(spec);
    check_prefix(request.prefix);
    check_schedule(request);
    check_factorization(request);
    check_optimize(request);
    check_corrections(request);
    if (const auto bytes = export_facts(request).workspace_bytes_64; bytes > largest_size)
        throw SpecError(
            fmt::format("the workspace takes {} bytes; an exported solver has at most {}; give fewer blocks", bytes, largest_size));
    check_data(request);
    check_prefactored(request);
}

}  // namespace

std::string_view to_string(Factorization factorization) { return factorization == Factorization::llt ? "llt" : "ldlt"; }

Factorization parse_factorization(std::string_view text) {
    for (const auto one : {Factorization::llt, Factorization::ldlt})
        if (text == to_string(one)) return one;
    throw SpecError(fmt::format("unknown factorization '{}'; give llt or ldlt", text));
}

std::string_view to_string(Optimize optimize) { return optimize == Optimize::speed ? "speed" : "size"; }

Optimize parse_optimize(std::string_view text) {
    for (const auto one : {Optimize::speed, Optimize::size})
        if (text == to_string(one)) return one;
    throw SpecError(fmt::format("cannot optimize for '{}'; give speed or size", text));
}

std::vector<ExportedFile> export_project(const ExportRequest& request) {
    check(request);
    std::vector<ExportedFile> files{{"btd_solver.h", c99_header(request)}, {"btd_solver.c", c99_source(request)}};
    if (request.corrections > 0) files.push_back({"btd_refine.c", c99_refine(request)});
    if (request.prefactored) files.push_back({"btd_factors.c", c99_factors(request)});
    if (request.data || request.prefactored) files.push_back({"btd_data.c", c99_data(request)});
    files.push_back({"example_main.c", c99_example(request)});
    if (machine_of(request.target).has_report()) files.push_back({"report_main.c", c99_report(request)});
    std::ranges::move(build_files(request), std::back_inserter(files));
    for (auto& [name, text] : files) {
        name = with_prefix(name, request.prefix);
        text = with_prefix(text, request.prefix);
    }
    if (has_inertia(request.spec))  // no pivot has to be positive
        for (auto& file : files) {
            constexpr std::string_view name = "NOT_POSITIVE_DEFINITE";
            for (auto at = file.text.find(name); at != std::string::npos; at = file.text.find(name, at))
                file.text.replace(at, name.size(), "PIVOT_FAILED");
        }
    files.push_back({"manifest.json", export_manifest(request, files)});
    return files;
}

}  // namespace trifold
