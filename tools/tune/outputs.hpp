#pragma once
#include <map>
#include <string>
#include <trifold/precision.hpp>
#include <vector>

namespace trifold::tune {

/// Results of the operations of a Spec, by name: solutions of the first members, log determinants and the like.
struct Outputs {
    std::map<std::string, std::vector<double>> values;
    std::vector<std::string> status;  ///< how each member fared, in words that are the same whatever the order of elimination
};

/// The largest relative residual that is taken, of families whose solutions are exact but for rounding.
double tolerance_of(Precision precision);

/// How the second differ from the first by more than solutions with such residuals do: "inverse, by 3e-2". Empty: they agree.
std::string difference(const Outputs& first, const Outputs& second, Precision precision, double (*tolerance)(Precision) = tolerance_of);

}  // namespace trifold::tune
