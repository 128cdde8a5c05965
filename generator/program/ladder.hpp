#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <trifold/program.hpp>
#include <vector>

#include "generator/program/wisdom.hpp"

namespace trifold {

/// A problem as its family tells about it, so that a row of wisdom can be found for it.
class WisdomProblem {
  public:
    WisdomProblem() = default;
    WisdomProblem(const WisdomProblem&) = delete;
    WisdomProblem& operator=(const WisdomProblem&) = delete;
    virtual ~WisdomProblem() = default;

    virtual ProblemKey key() const = 0;
    /// Throws SpecError where a row's key says no problem of the family.
    virtual void check(const WisdomRow& row) const = 0;
    /// Why no kernels can be made for this problem as a row says; empty: they can.
    virtual std::string refusal(const WisdomRow& row) const = 0;
    /// Whether the pins of a row of another size mean the same here.
    virtual bool means_the_same(const WisdomRow&) const { return true; }
    /// Modelled seconds as a row says; null: as is taken without a row. Nothing where the family has no model.
    virtual std::optional<double> modelled_seconds(const WisdomRow*) const { return std::nullopt; }
};

/// The result of looking into wisdom.
struct WisdomAnswer {
    std::optional<Pins> pins;  ///< nothing: no row was taken
    DecisionSource rung = DecisionSource::model;
    std::string row;                   ///< for people: file, line, device, times; empty: no row was taken
    std::vector<std::string> ignored;  ///< rows that would have been taken, and why they were not, for a log
};

/// A row that is not of the very problem counts up to this distance: the square root of the sum of squares of log2 of the ratios of sizes,
/// m and the batch. Tuners go through sizes in powers of two, so a row's neighbours in one direction are this far away.
inline constexpr double nearest_radius = 1;
/// Such a row is not taken where the model holds it for this many times slower than its own choice. The order of two pairs that the model
/// has closer together is uncertain, and there the measured neighbour decides. What another device of the architecture measured of this
/// very problem is taken in any case: models were wrong by 1.45 there.
inline constexpr double nearest_slowdown = 1.1;
/// Nor where it won by less than this over the default: then it says no more than that the default was right where it was measured.
inline constexpr double nearest_gain = 1.02;

/// Looks for a row in files, the first of which goes before the others: the row of this very problem and device; else a near one of the
/// architecture whose common columns are the same. An empty device is one that is not known: then any of the architecture is as good.
WisdomAnswer look_up(const WisdomProblem& problem, std::string_view device, std::span<const Wisdom* const> files);

/// A family that has one schedule and leaves only the variant of its kernels open, as wisdom is told of a problem of it.
struct OneSchedule {
    std::string_view family, schedule;                     ///< "a grid", and the name that all its rows have
    std::function<void(const ProblemKey&)> parse;          ///< throws SpecError where a key says no problem of the family
    std::function<void(const std::string& variant)> make;  ///< throws SpecError where the problem has no kernels of this variant
};
std::unique_ptr<const WisdomProblem> problem_with_one_schedule(ProblemKey key, OneSchedule family);

/// Whether the caller leaves the variant of such a problem open.
template <class Tuning>
bool is_open(const Tuning& tuning) {
    return tuning.variant == "auto";
}
/// The choice of such a problem, with the row that was found.
template <class Tuning, class Choose>
auto choose_by(const WisdomAnswer& answer, Tuning tuning, const Choose& choose) {
    if (answer.pins) tuning.variant = answer.pins->variant;
    auto choice = choose(tuning);
    choice.rung = answer.rung;
    choice.row = answer.row;
    return choice;
}

}  // namespace trifold
