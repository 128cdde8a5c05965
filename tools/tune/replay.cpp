#include "tools/tune/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <trifold/error.hpp>

#include "generator/program/knob.hpp"
#include "tools/formats/file.hpp"
#include "tools/tune/family.hpp"

namespace trifold::tune {
namespace {

/// What was recorded of one point: of each candidate its last trial alone, and its last by turns.
struct Recorded {
    std::vector<Trial> alone, by_turns;
    std::optional<Candidate> standard;

    void add(const Trial& trial) {
        if (trial.is_default) standard = trial.candidate;
        auto& list = trial.round == "final" ? by_turns : alone;
        std::erase_if(list, [&](const Trial& earlier) { return earlier.candidate == trial.candidate; });
        list.push_back(trial);
    }

    const Trial* find(const Candidate& candidate, bool last) const {
        for (const auto* list : last ? std::vector{&by_turns, &alone} : std::vector{&alone, &by_turns}) {
            const auto found = std::ranges::find(*list, candidate, &Trial::candidate);
            if (found != list->end()) return &*found;
        }
        return nullptr;
    }
};

std::vector<Recorded> by_point(const std::vector<Trial>& trials) {
    std::map<std::string, Recorded> found;
    for (const auto& trial : trials)
        found[fmt::format("{} {} {} {} {} {}", trial.machine.device, trial.machine.target, trial.generator, trial.point.workers,
                          to_string(trial.point.objective), trial.point.spec.dump())]
            .add(trial);
    std::vector<Recorded> result;
    for (auto& [name, point] : found)
        if (point.standard) result.push_back(std::move(point));
    return result;
}

/// The candidates that were recorded, the best by the model first.
Space space_of(const Recorded& recorded) {
    Space space{*recorded.standard, {}, {}};
    auto all = recorded.alone;
    std::ranges::stable_sort(all, {}, [](const Trial& trial) { return trial.candidate.modelled_seconds; });
    for (const auto& trial : all)
        if (parse_variant(trial.candidate.variant).pinned.empty() && !(trial.candidate == space.standard))
            space.pairs.push_back(trial.candidate);
    space.knobs = [all](const Candidate& from) {
        std::map<std::string, KnobValues> knobs;
        const auto start = parse_variant(from.variant);
        for (const auto& trial : all) {
            const auto name = parse_variant(trial.candidate.variant);
            if (trial.candidate.schedule != from.schedule || name.name != start.name) continue;
            // One knob differs, or is pinned in addition.
            std::set<std::string> differs;
            for (const auto& [knob, value] : name.pinned)
                if (const auto had = start.pinned.find(knob); had == start.pinned.end() || had->second != value) differs.insert(knob);
            const bool keeps = std::ranges::all_of(start.pinned, [&](const auto& one) { return name.pinned.contains(one.first); });
            if (differs.size() != 1 || !keeps) continue;
            auto& values = knobs[*differs.begin()];
            values.knob = *differs.begin();
            values.candidates.push_back(trial.candidate);
        }
        std::vector<KnobValues> result;
        for (auto& [knob, values] : knobs) result.push_back(std::move(values));
        return result;
    };
    return space;
}

std::vector<Trial> answers(const Recorded& recorded, const std::vector<Candidate>& candidates, const Round& round) {
    std::vector<Trial> result;
    for (const auto& candidate : candidates)
        if (const auto* trial = recorded.find(candidate, round.by_turns)) result.push_back(*trial);
    return result;
}

double best_seconds(const Recorded& recorded) {
    double best = INFINITY;
    for (const auto& trial : recorded.alone)
        if (const auto* last = recorded.find(trial.candidate, true); last->verdict == Verdict::sound)
            best = std::min(best, objective_seconds(*last));
    return best;
}

Replay replay_one(const std::vector<Recorded>& points, const Strategy& strategy) {
    Replay result{strategy.name};
    double regrets = 0, gains = 0;
    for (const auto& recorded : points) {
        const auto decision = search(space_of(recorded), strategy, [&](const std::vector<Candidate>& candidates, const Round& round) {
            return answers(recorded, candidates, round);
        });
        if (!decision) continue;
        const auto regret = std::max(1.0, decision->seconds / best_seconds(recorded));
        regrets += std::log(regret);
        gains += std::log(decision->gain());
        result.largest = std::max(result.largest, regret);
        result.trials += static_cast<std::size_t>(decision->trials);
        ++result.points;
    }
    if (result.points == 0) return result;
    result.geometric_mean = std::exp(regrets / static_cast<double>(result.points));
    result.gain = std::exp(gains / static_cast<double>(result.points));
    return result;
}

/// The default of this program. Nothing where it takes the point no more.
std::optional<Candidate> default_now(const Trial& trial) try {
    return family_of(trial.point).standard(trial.point, parse_target(trial.machine.target), trial.machine.device);
} catch (const SpecError&) {
    return std::nullopt;
}

/// The default alone, without a search.
Replay replay_default(const std::vector<Recorded>& points, bool now) {
    Replay result{now ? "default now" : "default"};
    double regrets = 0, gains = 0;
    for (const auto& recorded : points) {
        const auto* before = recorded.find(*recorded.standard, true);
        const auto candidate = now ? default_now(*before) : recorded.standard;
        const auto* taken = candidate ? recorded.find(*candidate, true) : nullptr;
        if (taken == nullptr || taken->verdict != Verdict::sound || before->verdict != Verdict::sound) continue;
        const auto regret = objective_seconds(*taken) / best_seconds(recorded);
        regrets += std::log(regret);
        gains += std::log(objective_seconds(*before) / objective_seconds(*taken));
        result.largest = std::max(result.largest, regret);
        ++result.points;
    }
    result.trials = result.points;
    if (result.points == 0) return result;
    result.geometric_mean = std::exp(regrets / static_cast<double>(result.points));
    result.gain = std::exp(gains / static_cast<double>(result.points));
    return result;
}

}  // namespace

std::vector<Trial> read_trials(const std::filesystem::path& path) {
    std::istringstream lines(formats::read_file(path));
    std::vector<Trial> trials;
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        try {
            trials.push_back(parse_trial(line));
        } catch (const std::exception& error) {
            if (lines.eof()) break;  // a run that was ended within a line
            throw formats::InputError(fmt::format("line {} of '{}' is no trial: {}", number, path.string(), error.what()));
        }
    }
    return trials;
}

std::vector<Replay> replay(const std::vector<Trial>& trials, std::uint64_t seed) {
    const auto points = by_point(trials);
    std::vector<Replay> result{replay_default(points, false), replay_default(points, true)};
    for (const auto effort : {Effort::quick, Effort::full, Effort::exhaustive})
        result.push_back(replay_one(points, strategy_of(effort, seed)));
    auto random = strategy_of(Effort::full, seed);
    random.name = "random";
    random.random = true;
    result.push_back(replay_one(points, random));
    return result;
}

}  // namespace trifold::tune
