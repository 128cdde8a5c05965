#include "generator/program/ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <trifold/error.hpp>

#include "generator/program/templates.hpp"
#include "generator/program/words.hpp"

namespace trifold {
namespace {

/// A problem, and the device that it is asked for.
struct Asked {
    const WisdomProblem& problem;
    const ProblemKey key;
    std::string_view device;
};

/// A row that may be taken.
struct Found {
    WisdomRow row;
    std::string where;
    double distance = 0;
    bool other_device = false;
};

std::string describe(const Found& found) {
    const auto& row = found.row;
    return fmt::format("{}: {}, {}{}, m = {}, {} systems, {:.1f} us for {:.1f} us of the default, {}", found.where, row.device,
                       has_blocks(row.key) ? "N = " : "", row.key.size, row.key.rhs, row.key.batch, row.seconds * 1e6,
                       row.default_seconds * 1e6, row.measured);
}

WisdomAnswer taken(const Found& found, DecisionSource rung, std::vector<std::string> ignored) {
    return {found.row.pins, rung, describe(found), std::move(ignored)};
}

/// The rows of some lines; those that cannot be parsed are put to the ignored ones.
std::vector<Found> rows_of(const Asked& asked, const Wisdom& file, const std::string& columns, std::vector<std::string>& ignored) {
    std::vector<Found> result;
    const auto lines = file.lines_with(columns);
    for (std::size_t k = 0; k < lines.texts.size(); ++k) {
        const auto where = fmt::format("line {} of {}", lines.first_number + k, file.name());
        try {
            auto row = parse_wisdom_line(lines.texts[k]);
            asked.problem.check(row);
            result.push_back({std::move(row), where});
        } catch (const SpecError& error) {
            ignored.push_back(fmt::format("{}: {}", where, error.what()));
        }
    }
    return result;
}

/// "513x257" as numbers.
std::vector<double> numbers_in(std::string_view size) {
    std::vector<double> numbers;
    for (const auto part : split(size, 'x')) numbers.push_back(static_cast<double>(parse_number<std::int64_t>(part).value_or(0)));
    return numbers;
}

double distance_of(const ProblemKey& one, const ProblemKey& other) {
    auto a = numbers_in(one.size), b = numbers_in(other.size);
    if (a.size() != b.size()) return INFINITY;
    for (auto* const list : {&a, &b}) {
        const auto& key = list == &a ? one : other;
        list->insert(list->end(), {static_cast<double>(key.rhs), static_cast<double>(key.batch)});
    }
    double squares = 0;
    for (std::size_t k = 0; k < a.size(); ++k) squares += std::pow(std::log2(a[k] / b[k]), 2);
    return std::sqrt(squares);
}

/// All near rows, in the order in which they are tried.
std::vector<Found> near_rows(const Asked& asked, std::span<const Wisdom* const> files, std::vector<std::string>& ignored) {
    std::vector<Found> result;
    for (const auto* file : files)
        for (auto& found : rows_of(asked, *file, common_columns(asked.key), ignored)) {
            found.distance = distance_of(found.row.key, asked.key);
            found.other_device = !asked.device.empty() && found.row.device != asked.device;
            const bool won = found.row.default_seconds >= nearest_gain * found.row.seconds;
            if (won && found.distance <= nearest_radius && asked.problem.means_the_same(found.row)) result.push_back(std::move(found));
        }
    std::ranges::stable_sort(result, {}, [](const Found& found) { return std::pair(found.other_device, found.distance); });
    return result;
}

std::optional<WisdomAnswer> exact(const Asked& asked, std::span<const Wisdom* const> files, std::vector<std::string>& ignored) {
    const auto columns = asked.device.empty() ? common_columns(asked.key) : key_columns(asked.device, asked.key);
    for (const auto* file : files)
        for (const auto& found : rows_of(asked, *file, columns, ignored)) {
            if (distance_of(found.row.key, asked.key) != 0) continue;
            const auto problem = asked.problem.refusal(found.row);
            if (problem.empty()) return taken(found, DecisionSource::exact, ignored);
            ignored.push_back(fmt::format("{}: {}", found.where, problem));
        }
    return {};
}

/// Whether the model holds a near row for not much slower than what is taken without it.
bool is_promising(const Asked& asked, const Found& found, std::optional<double>& of_model) {
    if (found.distance == 0) return true;
    if (!of_model) of_model = asked.problem.modelled_seconds(nullptr);
    return !of_model || asked.problem.modelled_seconds(&found.row).value_or(0) <= nearest_slowdown * *of_model;
}

std::optional<WisdomAnswer> nearest(const Asked& asked, std::span<const Wisdom* const> files, std::vector<std::string>& ignored) {
    std::optional<double> of_model;
    for (const auto& found : near_rows(asked, files, ignored)) {
        if (!asked.problem.refusal(found.row).empty()) continue;  // it need not fit another size than its own
        if (is_promising(asked, found, of_model)) return taken(found, DecisionSource::nearest, ignored);
    }
    return {};
}

class OneScheduleProblem : public WisdomProblem {
  public:
    OneScheduleProblem(ProblemKey key, OneSchedule family) : key_(std::move(key)), family_(std::move(family)) {}

    ProblemKey key() const override { return key_; }
    void check(const WisdomRow& row) const override { family_.parse(row.key); }
    std::string refusal(const WisdomRow& row) const override try {
        if (row.pins.schedule != family_.schedule)
            return fmt::format("unknown schedule '{}' of {}; give {}", row.pins.schedule, family_.family, family_.schedule);
        family_.make(row.pins.variant);
        return {};
    } catch (const SpecError& error) {
        return error.what();
    }

  private:
    const ProblemKey key_;
    const OneSchedule family_;
};

}  // namespace

std::string_view to_string(DecisionSource rung) {
    switch (rung) {
        case DecisionSource::pinned:
            return "pinned";
        case DecisionSource::exact:
            return "wisdom: exact";
        case DecisionSource::nearest:
            return "wisdom: nearest";
        case DecisionSource::model:
            break;
    }
    return "model";
}

WisdomAnswer look_up(const WisdomProblem& problem, std::string_view device, std::span<const Wisdom* const> files) {
    const Asked asked{problem, problem.key(), device};
    std::vector<std::string> ignored;
    if (auto found = exact(asked, files, ignored)) return *found;
    if (auto found = nearest(asked, files, ignored)) return *found;
    return {{}, DecisionSource::model, {}, ignored};
}

std::span<const Wisdom* const> shipped_wisdom() {
    static const auto files = [] {
        std::vector<std::unique_ptr<const Wisdom>> result;
        for (const auto name : template_names())
            if (name.ends_with(".wisdom"))
                result.push_back(std::make_unique<const Wisdom>(fmt::format("the built-in {}", name), template_text(name)));
        return result;
    }();
    static const auto pointers = [] {
        std::vector<const Wisdom*> result;
        for (const auto& file : files) result.push_back(file.get());
        return result;
    }();
    return pointers;
}

std::unique_ptr<const WisdomProblem> problem_with_one_schedule(ProblemKey key, OneSchedule family) {
    return std::make_unique<const OneScheduleProblem>(std::move(key), std::move(family));
}

}  // namespace trifold
