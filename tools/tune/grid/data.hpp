#pragma once
#include <cstdint>
#include <memory>
#include <trifold/grid_spec.hpp>
#include <vector>

#include "tools/formats/grid.hpp"
#include "tools/tune/prepared.hpp"

namespace trifold::tune::grid {

/// Bytes of the stencils, B and X of a call.
std::int64_t data_bytes(const GridSpec& spec);

/// Random images of a GridSpec on a device. A large batch repeats: a few are made, and copied over and over.
class Images : public PointData {
  public:
    /// `sets`: how many copies of all arrays there are, for calls that take one after the other.
    Images(const GridSpec& spec, std::uint64_t seed, DeviceTools& tools, std::int64_t sets);
    std::unique_ptr<Prepared> prepare(const Point& point, const Candidate& candidate, const Device& device) const override;

    template <class Real>
    const Real* stencil(std::int64_t set) const {
        return static_cast<const Real*>(stencil_.at(set));
    }
    template <class Real>
    const Real* b(std::int64_t set) const {
        return static_cast<const Real*>(b_.at(set));
    }
    template <class Real>
    Real* x(std::int64_t set) const {
        return static_cast<Real*>(x_.at(set));
    }
    std::int64_t sets() const { return sets_; }
    const GridSpec& spec() const { return spec_; }
    std::int64_t different() const { return system_.batch; }  ///< images that differ: member k has the data of image k modulo this

    void poison() const;                   ///< X of the first set becomes NaN
    double residual() const;               ///< of X of the first set: the worst of the first images and of the last
    std::vector<double> solution() const;  ///< X of the first set: of the first images

  private:
    /// One array of all sets.
    struct Place {
        std::shared_ptr<void> memory;
        std::int64_t bytes = 0;  // of a set
        void* at(std::int64_t set) const { return static_cast<char*>(memory.get()) + set * bytes; }
    };
    Place placed(std::vector<double>& values) const;
    std::vector<double> solution_of(std::int64_t first_member) const;

    GridSpec spec_;
    DeviceTools& tools_;
    std::int64_t sets_;
    formats::GridSystem system_;  ///< of the images that differ
    Place stencil_, b_, x_;
};

}  // namespace trifold::tune::grid
