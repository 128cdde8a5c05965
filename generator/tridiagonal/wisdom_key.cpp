#include "generator/tridiagonal/wisdom_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <trifold/error.hpp>

namespace trifold {
namespace {

/// What a file keeps of Operations, and what a row's Spec has for it.
struct Kind {
    std::string_view name;
    bool solves, inverse;
};
constexpr std::array kinds{Kind{"factor", false, false}, Kind{"factor+inverse", false, true}, Kind{"solve", true, false},
                           Kind{"solve+inverse", true, true}};

std::string_view kind_of(const Operations& operations) {
    const bool solves = std::ranges::any_of(operations, [](Operation operation) {
        return operation == Operation::factor_solve || operation == Operation::solve || operation == Operation::backward;
    });
    const bool inverse = operations.contains(Operation::inverse);
    return std::ranges::find_if(kinds, [&](const Kind& kind) { return kind.solves == solves && kind.inverse == inverse; })->name;
}

Operations operations_of(std::string_view name) {
    const auto kind = std::ranges::find(kinds, name, &Kind::name);
    if (kind == kinds.end()) throw SpecError(fmt::format("operations are '{}'; give factor or solve, each alone or with +inverse", name));
    auto operations = kind->solves ? usual_operations() : Operations{Operation::factor};
    if (kind->inverse) operations.insert(Operation::inverse);
    return operations;
}

constexpr std::string_view plain = "plain";

std::string blocks_text(std::string_view name, const BlockLayout& layout) {
    return fmt::format(",{}={}/{}/{}", name, layout.leading, layout.stage, layout.member);
}

/// Strides that are those of dense arrays are the same as none.
std::string layout_text(const Spec& spec) {
    auto with_dense = spec;
    with_dense.d = with_dense.e = {};
    std::string text;
    if (spec.order == Order::column_major) text += ",column-major";
    if (spec.coupling == Coupling::upper) text += ",upper";
    if (spec.rhs_layout == RhsLayout::stacked) text += ",stacked";
    if (diagonal_strides(spec) != diagonal_strides(with_dense)) text += blocks_text("d", spec.d);
    if (coupling_strides(spec) != coupling_strides(with_dense)) text += blocks_text("e", spec.e);
    return text.empty() ? std::string(plain) : text.substr(1);
}

std::int64_t parse_whole(std::string_view name, std::string_view text) {
    std::int64_t value = 0;
    const auto* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || at != end) throw SpecError(fmt::format("{} is '{}', which is no whole number", name, text));
    return value;
}

BlockLayout parse_blocks(std::string_view text) {
    std::array<std::int64_t*, 3> places{};
    BlockLayout layout;
    places = {&layout.leading, &layout.stage, &layout.member};
    for (auto* place : places) {
        const auto slash = place == places.back() ? text.size() : text.find('/');
        if (slash == std::string_view::npos) throw SpecError("a layout has not three strides, such as d=16/192/-1");
        *place = parse_whole("a stride", text.substr(0, slash));
        text.remove_prefix(std::min(slash + 1, text.size()));
    }
    return layout;
}

void parse_layout_text(std::string_view text, Spec& spec) {
    if (text == plain) return;
    for (auto rest = text;;) {
        const auto comma = rest.find(',');
        const auto word = rest.substr(0, comma);
        if (word == "column-major")
            spec.order = Order::column_major;
        else if (word == "upper")
            spec.coupling = Coupling::upper;
        else if (word == "stacked")
            spec.rhs_layout = RhsLayout::stacked;
        else if (word.starts_with("d="))
            spec.d = parse_blocks(word.substr(2));
        else if (word.starts_with("e="))
            spec.e = parse_blocks(word.substr(2));
        else
            throw SpecError(fmt::format("layout '{}' has '{}'; give plain, or some of column-major, upper, stacked, d=, e=", text, word));
        if (comma == std::string_view::npos) return;
        rest = rest.substr(comma + 1);
    }
}

}  // namespace

std::string common_columns(const Target& target, const Spec& spec, int workers) {
    return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t", to_string(target), to_string(spec.precision), kind_of(spec.operations),
                       layout_text(spec), target.backend == Backend::cpu ? workers : 1, spec.block);
}

std::string key_columns(std::string_view device, const Target& target, const Spec& spec, int workers) {
    return fmt::format("{}{}\t{}\t{}\t{}\t", common_columns(target, spec, workers), device, spec.horizon, spec.rhs, spec.batch);
}

std::string_view device_in(std::string_view line) {
    constexpr std::size_t before = 6;
    for (std::size_t k = 0; k < before; ++k) line.remove_prefix(std::min(line.find('\t'), line.size() - 1) + 1);
    return line.substr(0, line.find('\t'));
}

void parse_key(std::span<const std::string_view> columns, WisdomRow& row) {
    row.target = parse_target(columns[0]);
    row.spec.precision = parse_precision(columns[1]);
    row.spec.operations = operations_of(columns[2]);
    parse_layout_text(columns[3], row.spec);
    row.workers = static_cast<int>(std::clamp<std::int64_t>(parse_whole("workers", columns[4]), 0, max_workers + 1));
    row.spec.block = parse_whole("n", columns[5]);
    row.device = columns[6];
    row.spec.horizon = parse_whole("N", columns[7]);
    row.spec.rhs = parse_whole("m", columns[8]);
    row.spec.batch = parse_whole("batch", columns[9]);
}

}  // namespace trifold
