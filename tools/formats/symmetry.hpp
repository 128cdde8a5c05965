#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tools/formats/assemble.hpp"

namespace trifold::formats {

/// Judges whether the triangles of A agree but for rounding, for it is the lower one that is solved. Differences are compared
/// with sqrt(|a_ii a_jj|), the size of the two rows, which bounds a_ij of a positive definite A in any units, or with the larger entry if
/// that is more. Python's trifold/symmetry.py and the kernels of cg have the same rule.
class Symmetry {
  public:
    explicit Symmetry(Precision precision) : bound_(precision == Precision::f32 ? 0x1p-18 : 0x1p-44) {}
    /// Whether a_ij = `low` and a_ji = `high` agree, of rows with these entries on the diagonal.
    bool holds(double low, double high, double row, double column) {
        if (low == high) return true;
        const auto size = std::max({std::abs(low), std::abs(high), std::sqrt(std::abs(row)) * std::sqrt(std::abs(column))});
        const auto difference = std::abs(low - high) / size;
        if (difference <= bound_) largest_ = std::max(largest_, difference);
        return difference <= bound_;
    }
    std::string limit() const { return fmt::format("they may differ by {:.1e} of the size of their rows", bound_); }
    void note(System& system) const {
        if (largest_ > 0)
            system.notes.push_back(
                fmt::format("the triangles of A differ by up to {:.1e} of the size of their rows; the lower triangle is taken", largest_));
    }

  private:
    double bound_, largest_ = 0;
};

}  // namespace trifold::formats
