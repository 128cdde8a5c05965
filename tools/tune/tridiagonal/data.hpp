#pragma once
#include <cstdint>
#include <memory>
#include <trifold/spec.hpp>
#include <vector>

#include "tools/bench/device_tools.hpp"
#include "tools/formats/assemble.hpp"
#include "tools/tune/prepared.hpp"

namespace trifold::tune::tridiagonal {

/// Random arrays of a Spec on a device, in its layouts. Systems of a large batch repeat: a few are made, and copied over and over.
class Data : public PointData {
  public:
    /// `sets`: how many copies of all arrays there are, for calls that take one after the other.
    Data(const Spec& spec, std::uint64_t seed, DeviceTools& tools, std::int64_t sets = 1);
    std::unique_ptr<tune::Prepared> prepare(const Point& point, const Candidate& candidate, const Device& device) const override;
    template <class Real>
    const Real* d(std::int64_t set = 0) const {
        return static_cast<const Real*>(d_.at(set));
    }
    template <class Real>
    const Real* e(std::int64_t set = 0) const {
        return static_cast<const Real*>(e_.at(set));
    }
    template <class Real>
    const Real* b(std::int64_t set = 0) const {
        return static_cast<const Real*>(b_.at(set));
    }
    template <class Real>
    Real* x(std::int64_t set = 0) const {
        return static_cast<Real*>(x_.at(set));
    }
    std::int64_t sets() const { return sets_; }
    const Spec& spec() const { return spec_; }
    std::int64_t different() const { return system_.batch; }  ///< systems that differ: member k has the data of system k modulo this

    void poison() const;                   ///< X of the first set becomes NaN
    double residual() const;               ///< of X of the first set: the worst of the first systems and of the last
    std::vector<double> solution() const;  ///< X of the first set: of the first systems, as [system][N][n][m]

  private:
    /// One array of all sets.
    struct Place {
        std::shared_ptr<void> memory;
        std::int64_t bytes = 0;  // of a set, and what one is rounded up to
        void* at(std::int64_t set) const { return static_cast<char*>(memory.get()) + set * bytes; }
    };
    Place placed(std::vector<double>& values, const Strides& strides, std::int64_t columns, std::int64_t stages, std::int64_t extent) const;
    std::vector<double> solution_of(std::int64_t first_member) const;
    double residual_of(std::int64_t first_member) const;

    Spec spec_;
    DeviceTools& tools_;
    std::int64_t sets_;
    formats::System system_;  ///< of the systems that differ
    Place d_, e_, b_, x_;
};

/// Bytes of D, E, B and X of a call.
std::int64_t data_bytes(const Spec& spec);

}  // namespace trifold::tune::tridiagonal
