#include "tools/bench/contender.hpp"

#include <limits>

namespace trifold::bench {

Array::Array(const DeviceTools& tools, const std::vector<double>& values, Precision precision)
    : tools_(tools),
      precision_(precision == Precision::f32 ? Precision::f32 : Precision::f64),
      count_(values.size()),
      bytes_(static_cast<std::int64_t>(count_) * element_bytes(precision_)),
      memory_(tools.allocate(bytes_)) {
    upload(values);
}

void Array::upload(const std::vector<double>& values) {
    if (precision_ == Precision::f64)
        tools_.upload(memory_.get(), values.data(), bytes_);
    else
        tools_.upload(memory_.get(), std::vector<float>(values.begin(), values.end()).data(), bytes_);
}

std::vector<double> Array::host() const {
    tools_.synchronize();
    std::vector<double> values(count_);
    if (precision_ == Precision::f64) {
        tools_.download(values.data(), memory_.get(), bytes_);
        return values;
    }
    std::vector<float> single(count_);
    tools_.download(single.data(), memory_.get(), bytes_);
    return {single.begin(), single.end()};
}

std::vector<double> Array::take() {
    auto values = host();
    upload(std::vector<double>(count_, std::numeric_limits<double>::quiet_NaN()));
    return values;
}

std::shared_ptr<void> integers(const DeviceTools& tools, const std::vector<int>& values) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(int));
    auto memory = tools.allocate(bytes);
    tools.upload(memory.get(), values.data(), bytes);
    return memory;
}

}  // namespace trifold::bench
