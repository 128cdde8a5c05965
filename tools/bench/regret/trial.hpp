#pragma once
#include <cstdint>
#include <memory>
#include <trifold/trifold.hpp>

#include "tools/bench/device_tools.hpp"
#include "tools/bench/regret/records.hpp"
#include "tools/formats/assemble.hpp"

namespace trifold::regret {

/// The data of one point on the device. Systems of a large batch repeat: a few are made, and copied over and over.
class Data {
  public:
    Data(const Point& point, std::uint64_t seed, DeviceTools& tools);
    template <class Real>
    const Real* d() const {
        return static_cast<const Real*>(d_.get());
    }
    template <class Real>
    const Real* e() const {
        return static_cast<const Real*>(e_.get());
    }
    template <class Real>
    const Real* b() const {
        return static_cast<const Real*>(b_.get());
    }
    template <class Real>
    Real* x() const {
        return static_cast<Real*>(x_.get());
    }
    void poison() const;      ///< x becomes NaN
    double residual() const;  ///< of x: the worst of the first systems and of the last
    const Point& point() const { return point_; }

  private:
    std::shared_ptr<void> repeated(const std::vector<double>& values) const;
    double residual_of(std::int64_t first_member) const;

    Point point_;
    DeviceTools& tools_;
    formats::System system_;  ///< of the systems that differ
    std::shared_ptr<void> d_, e_, b_, x_;
};

/// Fills in a record's times of these operations (factor, factor_solve), residual and kernels. Throws what the library throws.
void measure(Record& record, const Operations& operations, const Data& data, const Device& device, DeviceTools& tools);

}  // namespace trifold::regret
