#include "tools/tune/prepared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

namespace trifold::tune {
namespace {

constexpr double share_of_memory = 0.9;

Plan fitting_plan(const Point& point, const Candidate& candidate, const Device& device, const Data& data) {
    Plan plan(point.spec, device, {candidate.schedule, candidate.variant, point.workers});
    check_memory(plan, data.sets() * data_bytes(data.spec()), device);
    return plan;
}

}  // namespace

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

std::int64_t spill_bytes(const nlohmann::ordered_json& kernels) {
    std::int64_t total = 0;
    for (const auto& kernel : kernels) total += std::max<std::int64_t>(0, kernel.at("spill_bytes"));  // -1: not known
    return total;
}

void check_memory(const Plan& plan, std::int64_t data_bytes, const Device& device) {
    const auto needed = static_cast<double>(Solver::workspace_bytes(plan) + data_bytes);
    if (device.memory_bytes() > 0 && needed > share_of_memory * static_cast<double>(device.memory_bytes()))
        throw TooLarge(fmt::format("it needs {:.1f} GB of the device's memory", needed * 1e-9));
}

bool still_works(const DeviceTools& tools) {
    try {
        const auto memory = tools.allocate(8);
        const double value = 0;
        tools.upload(memory.get(), &value, 8);
        tools.synchronize();
        return true;
    } catch (const DeviceError&) {
        return false;
    }
}

Prepared::Prepared(const Point& point, const Candidate& candidate, const Device& device, const Data& data, DeviceTools& tools)
    : data_(data), tools_(tools), plan_(fitting_plan(point, candidate, device, data)), solver_(plan_) {}

template <class Real>
std::function<void(std::int64_t)> Prepared::call_in(Operation operation) {
    const Stream stream{tools_.stream()};
    const auto* data = &data_;
    auto* solver = &solver_;
    switch (operation) {
        case Operation::factor:
            return [=](std::int64_t k) { solver->factor(data->d<Real>(k), data->e<Real>(k), stream); };
        case Operation::forward:
            return [=](std::int64_t k) { solver->forward(data->b<Real>(k), data->x<Real>(k), stream); };
        case Operation::backward:
            return [=](std::int64_t k) { solver->backward(data->b<Real>(k), data->x<Real>(k), stream); };
        case Operation::solve:
            return [=](std::int64_t k) { solver->solve(data->b<Real>(k), data->x<Real>(k), stream); };
        case Operation::factor_forward:
            return [=](std::int64_t k) {
                solver->factor_forward(data->d<Real>(k), data->e<Real>(k), data->b<Real>(k), data->x<Real>(k), stream);
            };
        case Operation::factor_solve:
            return [=](std::int64_t k) {
                solver->factor_solve(data->d<Real>(k), data->e<Real>(k), data->b<Real>(k), data->x<Real>(k), stream);
            };
        case Operation::inverse:
            break;
    }
    const auto& spec = data_.spec();
    const auto diagonal = spec.batch * spec.horizon * spec.block * spec.block;
    if (!inverse_) inverse_ = tools_.allocate(2 * diagonal * static_cast<std::int64_t>(sizeof(Real)));
    auto* const to = static_cast<Real*>(inverse_.get());
    return [=](std::int64_t) { solver->selected_inverse(to, to + diagonal, stream); };
}

std::function<void(std::int64_t)> Prepared::call_of(Operation operation) {
    return data_.spec().precision == Precision::f32 ? call_in<float>(operation) : call_in<double>(operation);
}

/// By whichever operation of the Spec does so.
void Prepared::factor() {
    for (const auto operation : {Operation::factor, Operation::factor_solve, Operation::factor_forward})
        if (has(operation)) return call_of(operation)(0);
}

double Prepared::residual() {
    data_.poison();
    if (has(Operation::factor_solve)) {
        call_of(Operation::factor_solve)(0);
    } else if (has(Operation::solve)) {
        factor();
        call_of(Operation::solve)(0);
    } else {
        factor();
        tools_.synchronize();
        solver_.check();
        return 0;  // nothing in the Spec solves
    }
    tools_.synchronize();
    solver_.check();
    return data_.residual();
}

Timed Prepared::timed(Operation operation) {
    const auto call = call_of(operation);
    factor();
    tools_.synchronize();
    const auto sets = data_.sets();
    const auto next = std::make_shared<std::int64_t>(0);
    if (tools_.stream() == nullptr) {
        return [tools = &tools_, call, next, sets] {
            const auto set = (*next)++ % sets;
            tools->start();
            call(set);
            return tools->stop() * 1e-3;
        };
    }
    std::vector<std::function<double()>> replays;  // a graph has its pointers in it
    for (std::int64_t set = 0; set < sets; ++set) replays.push_back(tools_.capture_timed([call, set] { call(set); }));
    return [replays, next] { return replays[static_cast<std::size_t>((*next)++) % replays.size()]() * 1e-3; };
}

}  // namespace trifold::tune
