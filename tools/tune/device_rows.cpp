#include "tools/tune/device_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <trifold/error.hpp>

#include "generator/program/knob.hpp"
#include "tools/tune/family.hpp"

namespace trifold::tune {
namespace {

using Json = nlohmann::ordered_json;

// A row's value changes where another is faster by so much on the whole, at so many points and at half of those that asked the row, and
// nowhere slower by more than that.
constexpr double least_row_gain = 0.01, most_loss = 0.03;
constexpr std::size_t least_points = 3;

/// A candidate of a point with its pins, its least time, and what was decided about every knob. Disturbances only slow a trial down.
struct Tried {
    const Trial* trial;
    double seconds;
    VariantName variant;
    std::map<std::string, std::optional<Turned>> knobs;  ///< by list; nothing where several rows were asked
};

std::optional<Tried> tried_of(const Trial& trial, const Target& target) {
    if (trial.verdict != Verdict::sound || trial.machine.target != to_string(target)) return std::nullopt;
    Tried turn{&trial, objective_seconds(trial), parse_variant(trial.candidate.variant), {}};
    try {
        for (const auto& turned : family_of(trial.point).decided(trial.point, target, trial.candidate)) {
            const auto [found, is_new] = turn.knobs.emplace(turned.list, turned);
            if (!is_new) found->second.reset();
        }
    } catch (const SpecError&) {  // of another version of the generator
        return std::nullopt;
    }
    return turn;
}

/// The knob that `pinned` pins and `plain` leaves to its row, where they differ in nothing else.
std::optional<std::string> only_difference(const Tried& plain, const Tried& pinned) {
    if (plain.trial->candidate.schedule != pinned.trial->candidate.schedule || plain.variant.name != pinned.variant.name)
        return std::nullopt;
    std::optional<std::string> knob;
    for (const auto& [name, value] : pinned.variant.pinned) {
        const auto same = plain.variant.pinned.find(name);
        if (same != plain.variant.pinned.end() && same->second == value) continue;
        if (same != plain.variant.pinned.end() || knob) return std::nullopt;
        knob = name;
    }
    return pinned.variant.pinned.size() == plain.variant.pinned.size() + 1 ? knob : std::nullopt;
}

std::string key_of(const Trial& trial) { return trial.machine.device + " " + to_string(trial.point); }

/// The candidates of each point and device.
std::map<std::string, std::vector<Tried>> by_point(const std::vector<Trial>& trials, const Target& target) {
    std::map<std::string, std::vector<Tried>> result;
    for (const auto& trial : trials) {
        auto& turns = result[key_of(trial)];
        const auto same = std::ranges::find_if(turns, [&](const Tried& turn) { return turn.trial->candidate == trial.candidate; });
        if (same != turns.end() && trial.verdict == Verdict::sound)
            same->seconds = std::min(same->seconds, objective_seconds(trial));
        else if (auto turn = tried_of(trial, target))
            turns.push_back(std::move(*turn));
    }
    return result;
}

/// The row that alone answered for a knob; null where there is none.
const Row* row_of(const Tried& turn, const std::string& knob) {
    const auto turned = turn.knobs.find(knob);
    return turned == turn.knobs.end() || !turned->second ? nullptr : turned->second->row;
}

/// Of a point, for each row and value all that pairs of candidates say.
using Ratios = std::map<std::pair<const Row*, std::int64_t>, Effect>;

Ratios ratios_of(const std::vector<Tried>& turns) {
    Ratios ratios;
    for (const auto& plain : turns)
        for (const auto& pinned : turns) {
            const auto knob = only_difference(plain, pinned);
            const auto* row = knob ? row_of(plain, *knob) : nullptr;
            if (row == nullptr) continue;
            const auto value = pinned.variant.pinned.at(*knob);
            if (value != std::llround(row->number)) ratios[{row, value}].ratios.push_back(pinned.seconds / plain.seconds);
        }
    return ratios;
}

/// The rows that answered where nothing was pinned.
std::set<const Row*> rows_asked(const std::vector<Tried>& turns) {
    std::set<const Row*> rows;
    for (const auto& turn : turns)
        if (turn.variant.pinned.empty())
            for (const auto& item : turn.knobs)
                if (const auto* row = row_of(turn, item.first)) rows.insert(row);
    return rows;
}

void decide_take(RowFinding& finding) {
    finding.take = std::llround(finding.row->number);
    double least = 1 - least_row_gain;
    for (const auto& [value, effect] : finding.effects) {
        if (effect.ratios.size() < least_points || 2 * effect.ratios.size() < finding.asked) continue;
        if (effect.mean() > least || effect.worst() > 1 + most_loss) continue;
        least = effect.mean();
        finding.take = value;
    }
}

Json condition_json(const Condition& condition) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (!condition.word.empty()) return condition.word;
    const auto number = [](double value) { return value == std::floor(value) ? Json(std::llround(value)) : Json(value); };
    if (condition.least == condition.most) return number(condition.least);
    Json bounds = Json::object();
    if (condition.least > -infinity) bounds["least"] = number(condition.least);
    if (condition.most < infinity) bounds["most"] = number(condition.most);
    return bounds;
}

}  // namespace

double Effect::mean() const {
    double sum = 0;
    for (const auto ratio : ratios) sum += std::log(ratio);
    return ratios.empty() ? 1 : std::exp(sum / static_cast<double>(ratios.size()));
}

double Effect::worst() const { return ratios.empty() ? 1 : *std::ranges::max_element(ratios); }

bool RowFinding::is_changed() const { return take != std::llround(row->number); }

std::size_t RowFinding::points() const {
    std::size_t most = 0;
    for (const auto& item : effects) most = std::max(most, item.second.ratios.size());
    return most;
}

std::vector<RowFinding> row_findings(const std::vector<Trial>& trials, const Target& target) {
    std::map<std::pair<std::string, std::size_t>, RowFinding> found;
    std::map<const Row*, std::size_t> asked;
    for (const auto& item : by_point(trials, target)) {
        for (const auto* row : rows_asked(item.second)) ++asked[row];
        for (const auto& [which, effect] : ratios_of(item.second)) {
            auto& finding = found[{which.first->list, which.first->place}];
            finding.row = which.first;
            finding.effects[which.second].ratios.push_back(effect.mean());
        }
    }
    for (auto& item : found) item.second.asked = asked[item.second.row];
    std::vector<RowFinding> result;
    for (auto& item : found) {
        decide_take(item.second);
        result.push_back(std::move(item.second));
    }
    return result;
}

Json rows_json(const std::vector<RowFinding>& findings, const Target& target, const std::string& measured) {
    Json lists = Json::object();
    for (const auto& finding : findings) {
        if (lists.contains(finding.row->list)) continue;
        auto& list = lists[finding.row->list] = Json::array();
        for (const auto& row : device_of(target).rows_of(finding.row->list)) {
            const auto own = std::ranges::find_if(findings, [&](const RowFinding& other) { return other.row == &row; });
            Json line = {{"take", own == findings.end() ? std::llround(row.number) : own->take}};
            for (const auto& condition : row.when) line["when"][condition.quantity] = condition_json(condition);
            const auto& record = own == findings.end() ? row.measured : measured;
            if (!record.empty()) line["measured"] = record;
            list.push_back(std::move(line));
        }
    }
    return {{to_string(target), {{"rows", std::move(lists)}}}};
}

}  // namespace trifold::tune
