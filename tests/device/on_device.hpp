#pragma once
#include <vector>

#include "tools/bench/device_tools.hpp"

namespace trifold::test {

/// A device copy of a host array.
template <class Real>
class OnDevice {
  public:
    OnDevice(const DeviceTools& tools, const std::vector<Real>& host)
        : tools_(tools), size_(host.size()), memory_(tools.allocate(bytes())) {
        tools_.upload(memory_.get(), host.data(), bytes());
    }
    Real* get() const { return static_cast<Real*>(memory_.get()); }
    std::vector<Real> host() const {
        std::vector<Real> result(size_);
        tools_.synchronize();
        tools_.download(result.data(), memory_.get(), bytes());
        return result;
    }

  private:
    std::int64_t bytes() const { return static_cast<std::int64_t>(size_ * sizeof(Real)); }
    const DeviceTools& tools_;
    std::size_t size_;
    std::shared_ptr<void> memory_;
};

}  // namespace trifold::test
