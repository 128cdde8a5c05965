#include "tools/tune/prepared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trifold::tune {
namespace {

constexpr std::int64_t alignment = 256, max_made = 16, max_made_bytes = 128 << 20;
constexpr double rounding = 1e3;  // times the tolerance of a residual: what conditions of the test problems make of it

/// The largest difference over the largest value. NaN where one of them is, and infinity where they have not as many.
double relative(const std::vector<double>& first, const std::vector<double>& second) {
    if (first.size() != second.size()) return INFINITY;
    double largest = 0, worst = 0;
    for (std::size_t k = 0; k < first.size(); ++k) {
        if (std::isnan(first[k]) || std::isnan(second[k])) return NAN;
        largest = std::max(largest, std::abs(first[k]));
        worst = std::max(worst, std::abs(first[k] - second[k]));
    }
    return worst == 0 ? 0 : worst / largest;
}

/// In mixed precision only solutions have the accuracy of f64.
Precision precision_of(const std::string& name, Precision precision) {
    const bool is_solution = name.find("solve") != std::string::npos;
    return precision == Precision::mixed && !is_solution ? Precision::f32 : precision;
}

}  // namespace

void Arrays::add(const std::string& name, std::vector<double>& values, std::int64_t elements) { place(name, values, elements, sets_); }

void Arrays::add_zeros(const std::string& name, std::int64_t elements, bool in_every_set) {
    std::vector<double> zero(1, 0.0);
    place(name, zero, elements, in_every_set ? sets_ : 1);
}

void Arrays::place(const std::string& name, std::vector<double>& values, std::int64_t elements, std::int64_t sets) {
    const auto real = element_bytes(precision_), given = static_cast<std::int64_t>(values.size()) * real, all = elements * real;
    const auto room = (all + alignment - 1) / alignment * alignment;
    const Place place{tools_.allocate(room * sets), room, sets};
    auto* bytes = static_cast<char*>(place.memory.get());
    if (precision_ == Precision::f32) {
        const std::vector<float> single(values.begin(), values.end());
        std::ranges::copy(single, values.begin());  // what the device has is what its solutions are checked against
        tools_.upload(bytes, single.data(), std::min(given, all));
    } else {
        tools_.upload(bytes, values.data(), std::min(given, all));
    }
    for (auto filled = given; filled < all && filled > 0; filled *= 2) tools_.copy(bytes + filled, bytes, std::min(filled, all - filled));
    for (std::int64_t set = 1; set < sets; ++set) tools_.copy(bytes + set * room, bytes, all);
    tools_.synchronize();
    places_[name] = place;
}

void* Arrays::pointer(const std::string& name, std::int64_t set) const {
    const auto& place = places_.at(name);
    return static_cast<char*>(place.memory.get()) + set % place.sets * place.bytes;
}

AnyArray Arrays::at(const std::string& name, std::int64_t set) const {
    return {pointer(name, set), false, precision_ == Precision::f32 ? Precision::f32 : Precision::f64};
}

std::vector<double> Arrays::read(const std::string& name, std::int64_t first, std::int64_t count) const {
    const auto real = element_bytes(precision_);
    const auto download = [&](auto values) {
        tools_.download(values.data(), static_cast<const char*>(places_.at(name).memory.get()) + first * real, count * real);
        return std::vector<double>(values.begin(), values.end());
    };
    const auto size = static_cast<std::size_t>(count);
    return precision_ == Precision::f32 ? download(std::vector<float>(size)) : download(std::vector<double>(size));
}

void Arrays::poison(const std::string& name) const {
    const auto& place = places_.at(name);
    const std::vector<char> ones(static_cast<std::size_t>(place.bytes), '\xff');  // a NaN in both precisions
    tools_.upload(place.memory.get(), ones.data(), place.bytes);
}

double tolerance_of(Precision precision) { return precision == Precision::f32 ? 1e-6 : 1e-14; }

std::string difference(const Outputs& first, const Outputs& second, Precision precision, double (*tolerance)(Precision)) {
    for (const auto& [name, values] : first.values) {
        const auto found = second.values.find(name);
        if (found == second.values.end()) return name + ", which is not there";
        const auto worst = relative(values, found->second);
        if (!(worst <= rounding * tolerance(precision_of(name, precision)))) return fmt::format("{}, by {:.1e}", name, worst);
    }
    return first.status == second.status ? "" : "status";
}

std::int64_t different_members(std::int64_t batch, std::int64_t bytes_of_each) {
    return std::min(batch, std::clamp<std::int64_t>(max_made_bytes / bytes_of_each, 1, max_made));
}

}  // namespace trifold::tune
