#pragma once
// A family in the tuner as its table states it: operations, arrays, options, knobs and the solver. What is left to say is a random problem
// with its residual, and the models if there are some.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/program/words.hpp"
#include "runtime/session/family.hpp"
#include "tools/tune/family.hpp"

namespace trifold::tune {

inline constexpr std::string_view stated_schedule = "stated";

/// The array of a problem that a call takes: "b" and "x" are those of all operations, and so is dE/dX, of a number whose derivative is b.
inline std::string tuned_name(const ArrayRow& array) {
    if (std::string_view(array.name) == "X") return "x";
    if (array.access == Access::read && array.extents.ends_with("columns")) return "b";
    return array.name;
}

template <const Family& family>
struct Stated {
    using json = nlohmann::json;
    static json tuning_of(const Point& point, const Candidate& candidate) {
        if (!candidate.schedule.empty() && candidate.schedule != stated_schedule)
            throw SpecError(fmt::format("unknown schedule '{}' of {}; give {}", candidate.schedule, family.members, stated_schedule));
        return {{"workers", point.workers}, {"variant", candidate.variant}};
    }
    static std::int64_t elements_of(const json& spec, const ArrayRow& array) {
        const auto extent = [&](std::string_view name) { return spec.at(std::string(name)).get<std::int64_t>(); };
        return size_of(array, extent, {spec.at("batch"), spec.value("rhs", std::int64_t{1})});
    }
    static std::vector<ArraySize> arrays(const json& spec) {
        std::vector<ArraySize> all;
        for (const auto& operation : family.operations)
            for (const auto& array : operation.arrays)
                if (const auto name = tuned_name(array); std::ranges::find(all, name, &ArraySize::name) == all.end())
                    all.push_back({name, elements_of(spec, array)});
        return all;
    }
    static std::vector<KnobDecision> decided(const Target& target, const Candidate& candidate) {
        const auto variant = parse_variant(candidate.variant);
        std::vector<KnobDecision> all;
        for (const auto& knob : family.knobs(target)) {
            const auto pinned = variant.pinned.find(knob.name);
            all.push_back({std::string(knob.name), pinned == variant.pinned.end() ? *knob.candidates.begin() : pinned->second});
        }
        return all;
    }
    static Made make(const Point& point, const Target& target, const Candidate& candidate) {
        const auto tuning = tuning_of(point, candidate);
        family.generate(point.spec, target, tuning);  // throws where there is no such kernel
        return {candidate, decided(target, candidate), [=] { return family.generate(point.spec, target, tuning); }};
    }
    static Solving solving(const Point& point, const Candidate& candidate, const Device& device) {
        const std::shared_ptr<const AnyPlan> plan = family.make(point.spec, device, tuning_of(point, candidate));
        const std::shared_ptr<AnySolver> solver = plan->solver(nullptr, 0);
        return {{},
                [=](const std::string& name, const std::vector<AnyArray>& arrays, Stream stream) {
                    static_cast<void>(plan);
                    solver->run(family.operation(name), arrays, stream, json::object());
                },
                [=] { solver->check(); },
                [=](std::string_view) { return Outputs{{}, {solver->outcomes().dump()}}; }};
    }
    /// Sizes as a file of wisdom has them: "8" or "129x65".
    static ProblemKey key(const Point& point, const Target& target) {
        std::vector<std::int64_t> sizes;
        for (const auto name : split(family.size, ' ')) sizes.push_back(number_in(point, name));
        return {.target = target,
                .precision = precision_of(point),
                .operations = "all",
                .layout = "usual",
                .workers = point.workers,
                .kind = std::string(family.name),
                .size = fmt::format("{}", fmt::join(sizes, "x")),
                .rhs = point.spec.value("rhs", std::int64_t{1}),
                .batch = number_in(point, "batch")};
    }
    static json spec(const ProblemKey& key) {
        const auto names = split(family.size, ' ');
        const auto sizes = parse_size(key.size, names.size(), names.size());
        if (sizes.empty()) throw SpecError(fmt::format("size '{}' is none of {}", key.size, family.members));
        json tree{{"precision", to_string(key.precision)}, {"batch", key.batch}, {"rhs", key.rhs}};
        for (std::size_t k = 0; k < names.size(); ++k) tree[std::string(names[k])] = sizes[k];
        return family.read(tree);
    }
};

/// `sizes`: the two fields that people write of a point.
template <const Family& family>
TunedFamily stated_family(std::array<std::string, 2> sizes, RandomProblem (*random)(const nlohmann::json& spec, std::uint64_t seed)) {
    using One = Stated<family>;
    TunedFamily tuned{.name = family.name, .sizes = std::move(sizes), .fields = family.spec};
    for (const auto& operation : family.operations) {
        auto& [name, arrays] = tuned.operations.emplace_back(operation.name, std::vector<std::string>());
        for (const auto& array : operation.arrays) arrays.push_back(tuned_name(array));
        if (operation.factors) tuned.factors.push_back(name);
        if (!operation.adjoint.empty()) tuned.experiments.push_back({{name}});
        if (!operation.adjoint.empty() && tuned.experiments.size() == 1) tuned.usual = {{name, 1}};
    }
    tuned.parse = family.read;
    tuned.standard = [](const Point&, const Target&, std::string_view) {
        return Candidate{std::string(stated_schedule), (*family.tuning)["variant"].get(family.tuning->usual)};
    };
    tuned.knobs = [](const Target& target, const std::string&) { return family.knobs(target); };
    tuned.make = One::make;
    tuned.arrays = One::arrays;
    tuned.random = random;
    tuned.solving = One::solving;
    tuned.owns = [](const ProblemKey& key) { return key.kind == family.name; };
    tuned.key = One::key;
    tuned.spec = One::spec;
    return tuned;
}

}  // namespace trifold::tune
