#include "tools/tune/report/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tools/tune/family.hpp"

namespace trifold::tune::report {
namespace {

bool is_time(double seconds) { return std::isfinite(seconds) && seconds > 0; }

/// Of a sound trial; nothing where it lacks an operation or has a time that is none.
std::optional<double> usable_seconds(const Trial& trial) {
    for (const auto& [operation, weight] : trial.point.objective) {
        const auto found = trial.seconds.find(operation);
        if (found == trial.seconds.end() || !is_time(found->second)) return std::nullopt;
    }
    const auto seconds = objective_seconds(trial);
    return is_time(seconds) ? std::optional(seconds) : std::nullopt;
}

/// The point without its sizes.
Point without_sizes(Point point) {
    for (const auto& size : family_of(point).sizes) point.spec[size.field] = 1;
    point.spec["batch"] = 1;
    return point;
}

/// "m=4 workers=2": what to_string says beside sizes, precision and objective.
std::string other_of(const Point& point) {
    constexpr std::string_view plainest = "1x1 f64";
    auto plain = without_sizes(point);
    plain.spec["precision"] = "f64";
    plain.objective = Point().objective;
    const auto text = to_string(plain);
    return text.size() > plainest.size() ? text.substr(plainest.size() + 1) : "";
}

std::string key_of(const Machine& machine, const std::string& generator, const Point& point) {
    return nlohmann::json{machine.device, machine.target, machine.driver, generator, point.spec, point.workers, to_string(point.objective)}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Gathers settings and points in the order in which records name them first.
class Gatherer {
  public:
    Tuned& at(const Machine& machine, const std::string& generator, const Point& point) {
        const auto key = key_of(machine, generator, point);
        const auto found = points_.find(key);
        if (found != points_.end()) return sweep.settings[found->second.first].points[found->second.second];
        const auto [place, is_new] = settings_.emplace(key_of(machine, generator, without_sizes(point)), sweep.settings.size());
        if (is_new)
            sweep.settings.push_back({machine, generator, machine.device, std::string(to_string(precision_of(point))),
                                      to_string(point.objective), other_of(point)});
        auto& points = sweep.settings[place->second].points;
        points_.emplace(key, std::pair(place->second, points.size()));
        return points.emplace_back(Tuned{.point = point});
    }
    Sweep sweep = {};

  private:
    std::map<std::string, std::size_t> settings_;
    std::map<std::string, std::pair<std::size_t, std::size_t>> points_;
};

/// Adds the candidates that a point's trials measured.
void measure(Tuned& tuned, const std::vector<const Trial*>& trials, int& unusable) {
    std::map<std::pair<std::string, std::string>, int> counts;
    std::map<std::pair<std::string, std::string>, std::size_t> places;
    for (const auto* trial : trials) {
        const std::pair name(trial->candidate.schedule, trial->candidate.variant);
        const auto count = counts.emplace(name, static_cast<int>(counts.size()) + 1).first->second;
        if (trial->verdict != Verdict::sound) continue;
        const auto seconds = usable_seconds(*trial);
        if (!seconds) {
            ++unusable;
            continue;
        }
        const auto [place, is_new] = places.emplace(name, tuned.measured.size());
        if (is_new) tuned.measured.emplace_back();
        tuned.measured[place->second] = {trial, *seconds, count};
    }
    tuned.candidates = static_cast<int>(counts.size());
}

/// Names of machines and settings say what tells them apart, and no more.
void name_apart(std::vector<Setting>& settings) {
    std::set<std::pair<std::string, std::string>> targets;
    std::set<std::string> devices, generators;
    for (const auto& setting : settings) {
        devices.insert(setting.machine.device);
        targets.emplace(setting.machine.device, setting.machine.target + " " + setting.machine.driver);
        generators.insert(setting.generator);
    }
    std::set<std::string> names;
    for (auto& setting : settings) {
        if (targets.size() > devices.size()) setting.device += fmt::format(", {} {}", setting.machine.target, setting.machine.driver);
        if (generators.size() > 1) setting.device += fmt::format(", generator {}", setting.generator);
        const auto plain = setting.other;
        for (int number = 2;; ++number) {
            if (names.insert(fmt::format("{}|{}|{}|{}", setting.device, setting.precision, setting.objective, setting.other)).second) break;
            setting.other = fmt::format("{}({})", plain.empty() ? "" : plain + " ", number);
        }
    }
}

}  // namespace

Sweep sweep_of(const std::vector<Trial>& trials, const std::vector<Decision>& decisions) {
    Gatherer gatherer;
    for (const auto& decision : decisions) {
        const bool is_usable = is_time(decision.seconds) && is_time(decision.standard_seconds);
        gatherer.sweep.unusable += is_usable ? 0 : 1;
        auto& tuned = gatherer.at(decision.machine, decision.generator, decision.point);
        if (is_usable) tuned.decision = &decision;
    }
    std::map<std::string, std::vector<const Trial*>> by_point;
    for (const auto& trial : trials) {
        gatherer.at(trial.machine, trial.generator, trial.point);
        by_point[key_of(trial.machine, trial.generator, trial.point)].push_back(&trial);
    }
    for (auto& [key, all] : by_point) measure(gatherer.at(all[0]->machine, all[0]->generator, all[0]->point), all, gatherer.sweep.unusable);
    name_apart(gatherer.sweep.settings);
    return std::move(gatherer.sweep);
}

const Measured* runner_up(const Tuned& tuned) {
    const Measured* best = nullptr;
    for (const auto& measured : tuned.measured)
        if (tuned.decision && !(measured.trial->candidate == tuned.decision->winner) && (!best || measured.seconds < best->seconds))
            best = &measured;
    return best;
}

std::optional<double> flops(const Point& point) {
    double sum = 0;
    for (const auto& [operation, weight] : point.objective) {
        const auto work = family_of(point).work(point.spec, operation);
        if (!work) return std::nullopt;
        sum += weight * work->flops;
    }
    return sum;
}

std::optional<double> floor_seconds(const Machine& machine, const Point& point) {
    const auto rates = bench::rates(machine.device);
    if (!rates || !flops(point)) return std::nullopt;
    double sum = 0;
    for (const auto& [operation, weight] : point.objective)
        sum += weight * bench::floor_seconds(*family_of(point).work(point.spec, operation), *rates, precision_of(point));
    return sum;
}

}  // namespace trifold::tune::report
