#include "tools/tune/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <trifold/error.hpp>

#include "generator/program/sha256.hpp"
#include "tools/tune/family.hpp"

namespace trifold::tune {
namespace {

/// Prints of the kernels that are in a search already.
class Seen {
  public:
    Seen(const Point& point, const Target& target) : point_(point), target_(target) {}
    /// Whether it generates something that is new.
    bool take(const Candidate& candidate) {
        try {
            return prints_.insert(fingerprint(family_of(point_).program(point_, target_, candidate))).second;
        } catch (const SpecError&) {
            return false;
        }
    }

  private:
    Point point_;
    Target target_;
    std::set<std::string> prints_;
};

/// The candidate with a knob pinned; nothing where the generator refuses it.
std::optional<Candidate> pinned(const Point& point, const Target& target, const Candidate& candidate, std::string_view knob,
                                std::int64_t value) {
    auto name = parse_variant(candidate.variant);
    name.pinned.insert_or_assign(std::string(knob), value);
    try {
        return family_of(point).complete(point, target, {candidate.schedule, to_string(name)});
    } catch (const SpecError&) {
        return std::nullopt;
    }
}

/// The values that a candidate has of a knob: several where it is asked for different parts; none where nothing asks.
std::set<std::int64_t> values_of(const std::vector<KnobDecision>& asked, std::string_view knob) {
    std::set<std::int64_t> values;
    for (const auto& one : asked)
        if (one.list == knob) values.insert(one.value);
    return values;
}

std::vector<KnobValues> knob_values(const Point& point, const Target& target, const Candidate& candidate, Seen& seen) {
    const auto asked = family_of(point).decided(point, target, candidate);
    std::vector<KnobValues> result;
    for (const auto& knob : family_of(point).knobs(target, candidate.variant)) {
        const auto taken = values_of(asked, knob.name);
        if (taken.empty()) continue;
        KnobValues values{std::string(knob.name), {}};
        for (const auto value : knob.candidates) {
            if (taken == std::set{value}) continue;  // the default, or pinned already
            const auto one = pinned(point, target, candidate, knob.name, value);
            if (one && seen.take(*one)) values.candidates.push_back(*one);
        }
        if (!values.candidates.empty()) result.push_back(std::move(values));
    }
    return result;
}

void replace_all(std::string& text, std::string_view old, std::string_view with) {
    if (old.empty()) return;
    for (auto at = text.find(old); at != std::string::npos; at = text.find(old, at + with.size())) text.replace(at, old.size(), with);
}

}  // namespace

Space space_of(const Point& point, const Target& target, std::string_view device, bool all) {
    const auto& family = family_of(point);
    const auto seen = std::make_shared<Seen>(point, target);
    Space space{family.standard(point, target, device), {}, [point, target, seen](const Candidate& candidate) {
                    return knob_values(point, target, candidate, *seen);
                }};
    seen->take(space.standard);
    for (const auto& other : family.others(point, target, all))
        if (seen->take(other)) space.pairs.push_back(other);
    return space;
}

std::string fingerprint(const Program& program) {
    std::string all = fmt::format("{} {} {}\n", program.workspace_bytes, program.scratch_bytes, program.workers);
    for (const auto& unit : program.units) {
        auto source = unit.source;
        if (source.starts_with("/*")) source.erase(0, source.find("*/"));  // names the schedule and the variant
        replace_all(source, program.id, "");
        all += source;
        for (const auto& option : unit.options) all += option + "\n";
        for (const auto& kernel : unit.kernels) all += fmt::format("{} {}\n", kernel.threads, kernel.shared_bytes);
    }
    for (const auto& [name, launches] : program.operations) {
        all += name + "\n";
        for (const auto& launch : launches) {
            all += fmt::format("{} {} {} {} {} {} {}\n", launch.unit, launch.kernel, launch.grid.groups, launch.grid.members_per_group,
                               launch.operands, launch.early, sha256(launch.constants));
            for (const auto before : launch.after) all += fmt::format("{} ", before);
        }
    }
    return sha256(all);
}

}  // namespace trifold::tune
