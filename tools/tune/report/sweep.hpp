#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/tune/trial.hpp"

namespace trifold::tune::report {

/// A candidate of a point that was measured; where it was measured more than once, the last time, which is the most careful.
struct Measured {
    const Trial* trial;
    double seconds;  ///< of the objective
    int count;       ///< candidates that were tried until this one was, with it
};

/// All that is known of one point on one machine.
struct Tuned {
    Point point;
    const Decision* decision = nullptr;  ///< the last that has times; null: there is none
    std::vector<Measured> measured = {};
    int candidates = 0;  ///< that were tried, failures among them
};

/// Points that differ in n, N and the number of systems only.
struct Setting {
    Machine machine;
    std::string generator;
    std::string device;     ///< for people: what tells it from other machines
    std::string precision;  ///< "f64"
    std::string objective;  ///< "factor_solve"
    std::string other;      ///< "m=4 workers=2"; mostly empty
    std::vector<Tuned> points = {};
};

/// They point into the records. `unusable` counts records whose times are no positive numbers.
struct Sweep {
    std::vector<Setting> settings;
    int unusable = 0;
};
Sweep sweep_of(const std::vector<Trial>& trials, const std::vector<Decision>& decisions);

/// The fastest but for the winner; null: there is none.
const Measured* runner_up(const Tuned& tuned);

/// Of the objective, the same for every solver (tools/bench/floor.hpp). Nothing where it is not known for one of its operations.
std::optional<double> flops(const Point& point);
/// The least time that the device needs. Nothing where its rates are not known.
std::optional<double> floor_seconds(const Machine& machine, const Point& point);

}  // namespace trifold::tune::report
