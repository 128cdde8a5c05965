#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <trifold/error.hpp>

#include "generator/program/sha256.hpp"
#include "tools/tune/search.hpp"

namespace trifold::tune {
namespace {

/// The candidates of a point that are in its search already, by the prints of their kernels.
class Seen {
  public:
    Seen(const Point& point, const Target& target) : point_(point), target_(target) {}

    /// The candidate with the name that the generator writes; nothing where it is refused, or runs what an earlier one runs.
    std::optional<Candidate> take(const Candidate& candidate) try {
        const auto made = family_of(point_).make(point_, target_, candidate);
        return prints_.insert(fingerprint(made.program())).second ? std::optional(made.candidate) : std::nullopt;
    } catch (const SpecError&) {
        return std::nullopt;
    }

    std::vector<KnobValues> knobs(const Candidate& candidate) {
        const auto& family = family_of(point_);
        const auto asked = family.make(point_, target_, candidate).decided;
        std::vector<KnobValues> result;
        for (const auto& knob : family.knobs(target_, candidate.variant)) {
            std::set<std::int64_t> taken;  // several where different parts of the kernels ask
            for (const auto& one : asked)
                if (one.list == knob.name) taken.insert(one.value);
            if (taken.empty()) continue;
            KnobValues values{std::string(knob.name), {}};
            for (const auto value : knob.candidates) {
                if (taken == std::set{value}) continue;  // the default, or pinned already
                auto variant = parse_variant(candidate.variant);
                variant.pinned.insert_or_assign(values.knob, value);
                if (const auto one = take({candidate.schedule, to_string(variant)})) values.candidates.push_back(*one);
            }
            if (!values.candidates.empty()) result.push_back(std::move(values));
        }
        return result;
    }

  private:
    const Point point_;
    const Target target_;
    std::set<std::string> prints_;
};

void replace_all(std::string& text, std::string_view old, std::string_view with) {
    if (old.empty()) return;
    for (auto at = text.find(old); at != std::string::npos; at = text.find(old, at + with.size())) text.replace(at, old.size(), with);
}

}  // namespace

Space space_of(const Point& point, const Target& target, std::string_view device, bool all) {
    const auto& family = family_of(point);
    const auto seen = std::make_shared<Seen>(point, target);
    Space space{family.standard(point, target, device), {}, [seen](const Candidate& candidate) { return seen->knobs(candidate); }};
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
