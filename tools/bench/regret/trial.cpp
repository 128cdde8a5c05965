#include "tools/bench/regret/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/bench/statistics.hpp"
#include "tools/formats/residual.hpp"
#include "tools/problems/problems.hpp"

namespace trifold::regret {
namespace {

constexpr std::int64_t most_made = 16, most_made_bytes = 128 << 20;  // systems that differ
constexpr int warm_up = 2;
constexpr std::size_t least_runs = 5, most_runs = 50;
constexpr double enough_seconds = 0.01;
constexpr double share_of_memory = 0.9;

std::int64_t made(const Point& point) {
    const auto each = data_bytes(point) / point.size.batch;
    return std::min(point.size.batch, std::clamp<std::int64_t>(most_made_bytes / each, 1, most_made));
}

/// What the device holds is what a solution is checked against.
std::vector<double> rounded(std::vector<double> values, Precision precision) {
    if (precision == Precision::f32)
        for (auto& value : values) value = static_cast<double>(static_cast<float>(value));
    return values;
}

double median_of_replays(DeviceTools& tools, const std::function<void()>& call) {
    const auto replay = tools.capture_timed(call);
    for (int k = 0; k < warm_up; ++k) replay();
    std::vector<double> seconds;
    for (double total = 0; seconds.size() < least_runs || (total < enough_seconds && seconds.size() < most_runs);) {
        seconds.push_back(replay() * 1e-3);
        total += seconds.back();
    }
    return bench::summarize(std::move(seconds)).median;
}

nlohmann::ordered_json kernels_of(const Plan& plan) {
    auto result = nlohmann::ordered_json::array();
    for (const auto& unit : plan.program().units)
        for (const auto& kernel : unit.kernels) {
            const auto& known = plan.report().kernels;
            const auto found = std::ranges::find(known, kernel.name, &KernelResources::kernel);
            const auto resources = found == known.end() ? KernelResources{} : *found;
            const auto suffix = kernel.name.find("_n" + std::to_string(plan.choice().spec.block) + "_");
            result.push_back({{"kernel", kernel.name.substr(0, suffix)},
                              {"threads", kernel.threads},
                              {"dynamic_shared_bytes", kernel.shared_bytes},
                              {"static_shared_bytes", resources.shared_bytes},
                              {"registers", resources.registers},
                              {"spill_bytes", resources.spill_bytes}});
        }
    return result;
}

void check_memory(const Plan& plan, const Data& data, const Device& device) {
    const auto needed = static_cast<double>(Solver::workspace_bytes(plan) + data_bytes(data.point()));
    if (device.memory_bytes() > 0 && needed > share_of_memory * static_cast<double>(device.memory_bytes()))
        throw SpecError(fmt::format("it needs {:.1f} GB of the device's memory", needed * 1e-9));
}

template <class Real>
void measure_in(Record& record, const Operations& operations, const Data& data, const Device& device, DeviceTools& tools) {
    const auto& candidate = record.candidate;
    const Plan plan(spec_of(record.point, operations), device, {candidate.schedule, candidate.variant, record.workers});
    record.kernels = kernels_of(plan);
    check_memory(plan, data, device);
    Solver solver(plan);
    const Stream stream{tools.stream()};
    const auto factor = [&] { solver.factor(data.d<Real>(), data.e<Real>(), stream); };
    const auto both = [&] { solver.factor_solve(data.d<Real>(), data.e<Real>(), data.b<Real>(), data.x<Real>(), stream); };
    data.poison();
    both();
    tools.synchronize();
    solver.check();
    record.residual = data.residual();
    record.accurate = record.residual <= (record.point.precision == Precision::f32 ? 1e-6 : 1e-14);
    for (const auto operation : operations)
        record.seconds[std::string(to_string(operation))] =
            operation == Operation::factor ? median_of_replays(tools, factor) : median_of_replays(tools, both);
}

}  // namespace

Data::Data(const Point& point, std::uint64_t seed, DeviceTools& tools) : point_(point), tools_(tools) {
    const auto& [horizon, block, batch] = point.size;
    system_ = problems::make("dominant", {block, horizon, 1, made(point)}, seed);
    for (auto* values : {&system_.d, &system_.e, &system_.b}) *values = rounded(std::move(*values), point.precision);
    d_ = repeated(system_.d);
    e_ = repeated(system_.e);
    b_ = repeated(system_.b);
    x_ = repeated(std::vector<double>(system_.b.size()));
}

std::shared_ptr<void> Data::repeated(const std::vector<double>& values) const {
    const auto real = element_bytes(point_.precision);
    const auto given = static_cast<std::int64_t>(values.size()) * real, all = given / made(point_) * point_.size.batch;
    auto memory = tools_.allocate(all);
    auto* bytes = static_cast<char*>(memory.get());
    if (point_.precision == Precision::f32)
        tools_.upload(bytes, std::vector<float>(values.begin(), values.end()).data(), given);
    else
        tools_.upload(bytes, values.data(), given);
    for (auto filled = given; filled < all; filled *= 2) tools_.copy(bytes + filled, bytes, std::min(filled, all - filled));
    tools_.synchronize();
    return memory;
}

void Data::poison() const {
    const auto real = element_bytes(point_.precision), count = point_.size.horizon * point_.size.block * point_.size.batch;
    const std::vector<char> ones(static_cast<std::size_t>(count * real), '\xff');  // a NaN in both precisions
    tools_.upload(x_.get(), ones.data(), count * real);
}

double Data::residual_of(std::int64_t first_member) const {
    const auto count = system_.b.size(), each = count / static_cast<std::size_t>(made(point_));
    const auto real = static_cast<std::size_t>(element_bytes(point_.precision));
    const auto* from = static_cast<const char*>(x_.get()) + static_cast<std::size_t>(first_member) * each * real;
    std::vector<double> x(count);
    if (point_.precision == Precision::f32) {
        std::vector<float> single(count);
        tools_.download(single.data(), from, static_cast<std::int64_t>(count * real));
        x.assign(single.begin(), single.end());
    } else {
        tools_.download(x.data(), from, static_cast<std::int64_t>(count * real));
    }
    // Member k has the data of system k modulo the number made.
    const auto first = static_cast<std::size_t>(first_member % made(point_)) * each;
    std::ranges::rotate(x, x.end() - static_cast<std::ptrdiff_t>(first));
    double worst = 0;
    for (const auto residual : formats::relative_residuals(system_, x))
        if (!(residual <= worst) && !std::isnan(worst)) worst = residual;
    return worst;
}

double Data::residual() const {
    const auto first = residual_of(0), last = residual_of(point_.size.batch - made(point_));
    return first <= last || std::isnan(last) ? last : first;
}

void measure(Record& record, const Operations& operations, const Data& data, const Device& device, DeviceTools& tools) {
    record.point.precision == Precision::f32 ? measure_in<float>(record, operations, data, device, tools)
                                             : measure_in<double>(record, operations, data, device, tools);
}

}  // namespace trifold::regret
