#pragma once
#include <cstring>
#include <string>

#include "tests/support/families/runner.hpp"
#include "tests/support/guarded.hpp"

namespace trifold::test {

/// An array of a call between guard zones, where its runner's device reads it.
class Buffer {
  public:
    Buffer(const DeviceMemory& memory, const std::vector<double>& values, Precision precision)
        : memory_(memory),
          reals_(precision == Precision::f32 ? Precision::f32 : Precision::f64),
          host_(element_bytes(reals_) * std::ssize(values)) {
        if (reals_ == Precision::f32)
            std::ranges::copy(std::vector<float>(values.begin(), values.end()), reinterpret_cast<float*>(host_.data()));
        else
            std::ranges::copy(values, reinterpret_cast<double*>(host_.data()));
        before_.assign(host_.data(), static_cast<std::size_t>(host_.size()));
        if (!memory_.allocate) return;
        device_ = memory_.allocate(std::ssize(host_.all()));
        memory_.upload(device_.get(), host_.all().data(), std::ssize(host_.all()));
    }
    AnyArray array(bool on_host) {
        if (on_host || !device_) return {host_.data(), on_host, reals_};
        return {static_cast<char*>(device_.get()) + host_.first(), false, reals_};
    }
    /// Reads the results of a call that has ended.
    void fetch(bool on_host) {
        if (!on_host && device_) memory_.download(host_.all().data(), device_.get(), std::ssize(host_.all()));
    }
    bool intact() const { return host_.intact(); }
    bool unchanged() { return std::ranges::equal(host_.values(), before_); }
    std::vector<double> values() {
        if (reals_ == Precision::f64) return copy_of<double>();
        const auto narrow = copy_of<float>();
        return {narrow.begin(), narrow.end()};
    }

  private:
    template <class Real>
    std::vector<Real> copy_of() {
        std::vector<Real> all(static_cast<std::size_t>(host_.size()) / sizeof(Real));
        std::memcpy(all.data(), host_.data(), all.size() * sizeof(Real));
        return all;
    }
    const DeviceMemory& memory_;
    Precision reals_;
    Guarded<char> host_;
    std::string before_;
    std::shared_ptr<void> device_;
};

}  // namespace trifold::test
