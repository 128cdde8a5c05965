#include "generator/tridiagonal/wisdom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <trifold/error.hpp>
#include <tuple>

#include "generator/program/words.hpp"
#include "generator/tridiagonal/fields.hpp"

namespace trifold {
namespace {

/// The part of Operations that a file keeps, and Operations for it.
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
    for (const auto& [field, word] : unusual_choices(spec_fields, &spec)) text += "," + word;
    if (spec.ring) text += ",ring";
    if (spec.lengths) text += ",lengths";
    if (spec.sizes) text += ",sizes";
    if (spec.bandwidth > 1) text += fmt::format(",bandwidth={}", spec.bandwidth);
    if (diagonal_strides(spec) != diagonal_strides(with_dense)) text += blocks_text("d", spec.d);
    if (coupling_strides(spec) != coupling_strides(with_dense)) text += blocks_text("e", spec.e);
    return text.empty() ? std::string(plain) : text.substr(1);
}

BlockLayout parse_blocks(std::string_view text) {
    constexpr std::size_t wanted = 3;
    const auto strides = split(text, '/');
    if (strides.size() != wanted) throw SpecError("a layout has not three strides, such as d=16/192/-1");
    const auto stride = [&](std::size_t k) { return parse_whole("a stride", strides[k]); };
    return {stride(0), stride(1), stride(2)};
}

void parse_layout_text(std::string_view text, Spec& spec) {
    if (text == plain) return;
    for (const auto word : split(text, ',')) {
        if (word.starts_with("d="))
            spec.d = parse_blocks(word.substr(2));
        else if (word.starts_with("e="))
            spec.e = parse_blocks(word.substr(2));
        else if (word == "ring")
            spec.ring = true;
        else if (word == "lengths")
            spec.lengths = true;
        else if (word == "sizes")
            spec.sizes = true;
        else if (word.starts_with("bandwidth="))
            spec.bandwidth = parse_whole("a bandwidth", word.substr(10));
        else if (!choose_by_word(spec_fields, &spec, word))
            throw SpecError(fmt::format("layout '{}' has '{}'; give plain, or some of column-major, upper, stacked, d=, e=", text, word));
    }
}

/// A problem whose schedule and variant are open.
class OpenProblem : public WisdomProblem {
  public:
    OpenProblem(const Spec& spec, const Target& target, const Tuning& tuning)
        : spec_(spec), target_(target), tuning_(tuning), key_(key_of(spec, target, tuning.workers)) {}

    ProblemKey key() const override { return key_; }
    void check(const WisdomRow& row) const override { spec_of(row.key); }
    std::string refusal(const WisdomRow& row) const override try {
        choose(spec_, target_, tuning_by(row));
        return {};
    } catch (const SpecError& error) {
        return error.what();
    }
    /// A schedule such as twisted:8 is another one where the horizon has no room for 8 chains: its name tells. Segments that are as long as
    /// the horizon keep their name, and are one chain.
    bool means_the_same(const WisdomRow& row) const override try {
        const auto& name = row.pins.schedule;
        const auto here = parse_schedule(name, spec_.horizon, spec_.ring),
                   there = parse_schedule(name, spec_of(row.key).horizon, spec_.ring);
        return here.name == there.name && (here.levels.size() == 1) == (there.levels.size() == 1);
    } catch (const SpecError&) {
        return false;
    }
    std::optional<double> modelled_seconds(const WisdomRow* row) const override {
        return trifold::modelled_seconds(choose(spec_, target_, row == nullptr ? tuning_ : tuning_by(*row)));
    }

  private:
    Tuning tuning_by(const WisdomRow& row) const {
        auto tuning = tuning_;
        tuning.schedule = row.pins.schedule;
        tuning.variant = row.pins.variant;
        return tuning;
    }

    const Spec spec_;
    const Target target_;
    const Tuning tuning_;
    const ProblemKey key_;
};

Resolved resolved_by(const WisdomAnswer& answer, const Tuning& tuning) {
    auto with_row = tuning;
    if (answer.pins) std::tie(with_row.schedule, with_row.variant) = std::tie(answer.pins->schedule, answer.pins->variant);
    return {with_row, answer.rung, answer.row, answer.ignored};
}

}  // namespace

ProblemKey key_of(const Spec& spec, const Target& target, int workers) {
    validate(spec);
    validate(target);
    return {.target = target,
            .precision = spec.precision,
            .operations = std::string(kind_of(spec.operations)),
            .layout = layout_text(spec),
            .workers = target.backend == Backend::cpu ? workers : 1,
            .kind = std::to_string(spec.block),
            .size = std::to_string(spec.horizon),
            .rhs = spec.rhs,
            .batch = spec.batch};
}

Spec spec_of(const ProblemKey& key) {
    Spec spec{.block = parse_whole("n", key.kind), .horizon = parse_whole("N", key.size)};
    spec.precision = key.precision;
    spec.rhs = key.rhs;
    spec.batch = key.batch;
    spec.operations = operations_of(key.operations);
    parse_layout_text(key.layout, spec);
    if (common_columns(key_of(spec, key.target, key.workers)) != common_columns(key))
        throw SpecError("its first columns are not written as a file has them, so nothing would find it");
    return spec;
}

std::string problem_of(const WisdomRow& row) try {
    choose(spec_of(row.key), row.key.target, Tuning{row.pins.schedule, row.pins.variant, row.key.workers});
    return {};
} catch (const SpecError& error) {
    return error.what();
}

std::unique_ptr<const WisdomProblem> wisdom_problem(const Spec& spec, const Target& target, const Tuning& tuning) {
    return std::make_unique<const OpenProblem>(spec, target, tuning);
}

bool is_open(const Tuning& tuning) { return tuning.schedule == "auto" && tuning.variant == "auto"; }

Resolved resolve(const Spec& spec, const Target& target, const Tuning& tuning, std::string_view device,
                 std::span<const Wisdom* const> files) {
    if (!is_open(tuning)) return {tuning, DecisionSource::pinned, {}, {}};
    return resolved_by(look_up(*wisdom_problem(spec, target, tuning), device, files), tuning);
}

Choice choose(const Spec& spec, const Target& target, const Resolved& resolved) {
    auto choice = choose(spec, target, resolved.tuning);
    choice.rung = resolved.rung;
    choice.row = resolved.row;
    if (!resolved.row.empty()) choice.reason = fmt::format("{}; {}", to_string(resolved.rung), resolved.row);
    return choice;
}

Choice choose_with(const WisdomAnswer& answer, const Spec& spec, const Target& target, const Tuning& tuning) {
    return choose(spec, target, resolved_by(answer, tuning));
}

}  // namespace trifold
