#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/tune/prepared.hpp"
#include "tools/tune/sparse/spec.hpp"

namespace trifold::tune::sparse {

/// Bytes of the values, B and X of a call.
std::int64_t data_bytes(const Problem& problem);
/// The largest |b - A x| / |b| that solutions are asked for.
double asked_of(Precision precision);

/// A diffusion with some convection on the pattern of a problem, on a device, with random B. Where the method needs a symmetric matrix
/// there is no convection. All members have the same values.
class Systems : public PointData {
  public:
    /// `sets`: how many copies of all arrays there are, for calls that take one after the other.
    Systems(const Problem& problem, std::uint64_t seed, DeviceTools& tools, std::int64_t sets);
    std::unique_ptr<Prepared> prepare(const Point& point, const Candidate& candidate, const Device& device) const override;

    AnyArray values(std::int64_t set) const { return any(values_, set); }
    AnyArray b(std::int64_t set) const { return any(b_, set); }
    AnyArray x(std::int64_t set) const { return any(x_, set); }
    AnyArray like_values() const { return any(like_values_, 0); }  ///< room for a gradient
    std::int64_t sets() const { return sets_; }
    const Problem& problem() const { return problem_; }
    const SparseSpec& spec() const { return problem_.spec; }
    const SparsePattern& pattern() const { return pattern_; }

    void poison() const;                   ///< X of the first set becomes NaN
    std::vector<double> solution() const;  ///< X of the first set
    std::vector<double> gradient() const;  ///< what stands in like_values, of the first member
    double residual() const;               ///< |b - A x| / |b| of the first set, the worst of all right-hand sides

  private:
    /// One array of all sets.
    struct Place {
        std::shared_ptr<void> memory;
        std::int64_t bytes = 0;  // of a set
    };
    Place placed(std::vector<double>& of_member) const;
    std::vector<double> read(const Place& place, std::int64_t numbers) const;
    AnyArray any(const Place& place, std::int64_t set) const;
    double residual_of(const std::vector<double>& x, std::int64_t member, std::int64_t column) const;

    Problem problem_;
    SparsePattern pattern_;
    DeviceTools& tools_;
    std::int64_t sets_;
    std::vector<double> host_values_, host_b_;  // of a member
    Place values_, b_, x_, like_values_;
};

}  // namespace trifold::tune::sparse
