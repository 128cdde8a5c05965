#pragma once
#include <string>
#include <string_view>
#include <trifold/device.hpp>
#include <vector>

#include "generator/program/ladder.hpp"

/// Wisdom of this machine's user, and what is built in: for Plans of every family.
namespace trifold {

/// The name that rows of wisdom have for a device: its own; of a processor what processor_name says.
std::string wisdom_device(const Device& device);

/// The row that is taken for a problem, by the user's wisdom and what is built in. An empty device is one that is not known. What is wrong
/// with wisdom is reported once in the log and never an error.
WisdomAnswer ask_wisdom(const WisdomProblem& problem, std::string_view device);

/// The family's choice with that row, or without any where the tuning leaves nothing open. Throws SpecError as the family's choose does.
template <class Problem, class Tuning>
auto choose_by_wisdom(const Problem& problem, const Target& target, const Tuning& tuning, std::string_view device) {
    WisdomAnswer answer{.rung = DecisionSource::pinned};
    if (is_open(tuning)) answer = ask_wisdom(*wisdom_problem(problem, target, tuning), device);
    return choose_with(answer, problem, target, tuning);
}
/// On a device of this machine.
template <class Problem, class Tuning>
auto choose_by_wisdom(const Problem& problem, const Device& device, const Tuning& tuning) {
    return choose_by_wisdom(problem, device.target(), tuning, wisdom_device(device));
}

/// The user's file, which need not be there: TRIFOLD_WISDOM, or the default place; empty where no variable names a place.
std::string users_wisdom_file();

/// A file of wisdom that ask_wisdom looks into, or would.
struct WisdomSource {
    std::string name;                ///< its path, or "the built-in nvidia.wisdom"
    std::string from;                ///< the variable that names it or its directory; empty: it is built in
    std::string problem;             ///< why it is not used; empty: it is
    const Wisdom* wisdom = nullptr;  ///< null: it is not used. Lives as long as the process
};
/// The user's first. A default place without a file is left out; TRIFOLD_DISABLE=wisdom leaves nothing.
std::vector<WisdomSource> wisdom_sources();

}  // namespace trifold
