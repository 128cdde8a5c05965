#pragma once
#include <map>
#include <string>
#include <trifold/trifold.hpp>
#include <vector>

#include "tools/tune/data.hpp"

namespace trifold::tune {

/// What the operations of a Spec compute, by name: solutions of the first systems, log determinants and the like.
struct Outputs {
    std::map<std::string, std::vector<double>> values;
    std::vector<Outcome> status;
};

/// Calls every operation of the Spec on the first set of the data. Throws what the library throws.
Outputs outputs_of(Solver& solver, const Data& data, DeviceTools& tools);

/// How the second differ from the first by more than rounding does: "inverse, by 3e-2". Empty: they agree.
std::string difference(const Outputs& first, const Outputs& second, Precision precision);

/// Of a relative residual.
double tolerance_of(Precision precision);

}  // namespace trifold::tune
