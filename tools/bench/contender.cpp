#include "tools/bench/contender.hpp"

#include <algorithm>
#include <limits>

namespace trifold::bench {
namespace {

template <class To, class From>
std::vector<To> converted(const std::vector<From>& from) {
    return {from.begin(), from.end()};
}

}  // namespace

Array::Array(const DeviceTools& tools, const std::vector<double>& values, Precision precision)
    : tools_(tools),
      precision_(precision),
      count_(values.size()),
      bytes_(static_cast<std::int64_t>(count_) * element_bytes(precision)),
      memory_(tools.allocate(bytes_)) {
    upload(values);
}

void Array::upload(const std::vector<double>& values) {
    if (precision_ != Precision::f32)
        tools_.upload(memory_.get(), values.data(), bytes_);
    else
        tools_.upload(memory_.get(), converted<float>(values).data(), bytes_);
}

std::vector<double> Array::take() {
    std::vector<double> values(count_);
    if (precision_ != Precision::f32) {
        tools_.download(values.data(), memory_.get(), bytes_);
    } else {
        std::vector<float> single(count_);
        tools_.download(single.data(), memory_.get(), bytes_);
        values = converted<double>(single);
    }
    upload(std::vector<double>(count_, std::numeric_limits<double>::quiet_NaN()));
    return values;
}

Ours::Ours(const Plan& plan, const formats::System& system, const DeviceTools& tools)
    : solver_(plan),
      precision_(plan.choice().spec.precision),
      d_(tools, system.d, precision_),
      e_(tools, system.e, precision_),
      b_(tools, system.b, precision_),
      x_(tools, system.b, precision_),
      stream_{tools.stream()} {
    x_.take();
}

template <class Real>
std::vector<Step> Ours::steps_in() {
    const auto *d = d_.as<const Real>(), *e = e_.as<const Real>(), *b = b_.as<const Real>();
    auto* x = x_.as<Real>();
    return {{"factor", [=, this] { solver_.factor(d, e, stream_); }},
            {.operation = "solve", .call = [=, this] { solver_.solve(b, x, stream_); }, .solves = true},
            {.operation = "factor_solve", .call = [=, this] { solver_.factor_solve(d, e, b, x, stream_); }, .solves = true}};
}

std::vector<Step> Ours::steps() { return precision_ != Precision::f32 ? steps_in<double>() : steps_in<float>(); }

std::shared_ptr<void> integers(const DeviceTools& tools, const std::vector<int>& values) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(int));
    auto memory = tools.allocate(bytes);
    tools.upload(memory.get(), values.data(), bytes);
    return memory;
}

}  // namespace trifold::bench
