#include "tools/bench/measure.hpp"

#include <algorithm>
#include <limits>

#include "tools/formats/residual.hpp"

namespace trifold::bench {
namespace {

/// A solver and what is known of it so far.
struct Runner {
    std::string name;
    Contender contender;
    std::vector<Result> results = {};

    void add(const Contest& contest, const Step& step, std::vector<double> seconds) {
        Result result{name, step.operation, summarize(std::move(seconds)), step.work};
        if (step.solves && contender.check)
            contender.check(result);
        else if (step.solves)
            result.residual = residual_of(contest.problem, contender.take_solution());
        results.push_back(std::move(result));
    }
    void report(const Contest& contest, const Listener& listener) {
        std::optional<double> worst;
        for (const auto& one : results)
            if (one.residual) worst = worst ? formats::worse(*worst, *one.residual) : *one.residual;
        if (contender.complete) contender.complete(results);
        for (auto& result : results) {
            result.solver = name;
            if (worst) result.residual = worst;
            constexpr double too_far = 1e-6;  // that is another preconditioner
            result.accurate = (!worst || *worst <= contest.tolerance) && (!result.apart || *result.apart <= too_far);
            if (contest.work) result.work = contest.work(result.operation);
            if (contest.floor_seconds && result.work.bytes > 0) result.floor_seconds = contest.floor_seconds(result.work);
            listener.result(result);
        }
    }
};

void by_turns(const Contest& contest, std::vector<Runner>& runners, DeviceTools& tools) {
    std::vector<Step> all;
    for (const auto& runner : runners) all.insert(all.end(), runner.contender.steps.begin(), runner.contender.steps.end());
    auto seconds = time_by_turns(tools, all, contest.budget);
    std::size_t next = 0;
    for (auto& runner : runners)
        for (const auto& step : runner.contender.steps) {
            if (step.prepare) step.prepare();
            step.call();  // others have run since, and each step that solves is checked
            runner.add(contest, step, std::move(seconds[next++]));
        }
}

}  // namespace

void measure(const Contest& contest, DeviceTools& tools, const Listener& listener) {
    std::vector<Runner> runners;
    const auto attempt = [&](const std::string& name, const std::function<void()>& work) {
        try {
            work();
        } catch (const std::exception& error) {
            listener.failure(name, error.what());
        }
    };
    for (const auto& entry : contest.entries)
        attempt(entry.name, [&] {
            Runner runner{entry.name, entry.make(tools)};
            if (contest.by_turns) {
                runners.push_back(std::move(runner));
                return;
            }
            for (const auto& step : runner.contender.steps) runner.add(contest, step, time_step(tools, step, contest.budget));
            runner.report(contest, listener);
        });
    if (runners.empty()) return;
    attempt("trifold", [&] { by_turns(contest, runners, tools); });
    for (auto& runner : runners)
        if (!runner.results.empty()) attempt(runner.name, [&] { runner.report(contest, listener); });
}

void Contest::add(const std::vector<Peer>& peers) {
    for (const auto& peer : peers)
        if (peer.problem.empty() && peer.fits(problem))
            entries.push_back({peer.name, [&peer, &one = problem](DeviceTools& tools) { return peer.make(one, tools); }});
}

Work work(const Spec& spec, Operation operation) {
    const bool dissection = spec.batch == 1;
    const auto n = static_cast<double>(spec.block), m = static_cast<double>(spec.rhs);
    const auto blocks = static_cast<double>(spec.horizon) * static_cast<double>(spec.batch);
    const auto square = n * n, triangle = dissection ? square : n * (n + 1) / 2;  // of D and L a chain moves the lower half
    const auto panels = dissection ? 2.0 : 1.0;                                   // R and, where there is a separator behind, G
    const auto factors = triangle + panels * square;
    // D and E are read and the factors written; a sweep reads them twice, the forward one for nothing if it rides in the factorization.
    const Work factor{triangle + square + factors, (dissection ? 19.0 : 7.0) / 3 * n * n * n};
    const Work sweeps{2 * factors + 2 * n * m, 2 * (2 * panels + 1) * n * n * m};
    const Work fused{factor.bytes + sweeps.bytes - factors, factor.flops + sweeps.flops};
    const auto& one = operation == Operation::factor ? factor : operation == Operation::solve ? sweeps : fused;
    return {one.bytes * blocks * static_cast<double>(element_bytes(spec.precision)), one.flops * blocks};
}

std::optional<Rates> rates(std::string_view device) {
    // Device copy, f64 tensor instructions m16n8k16, f32 multiply-adds; measured with CUDA 13.0 at 1980 MHz.
    if (device == "NVIDIA H200") return Rates{4.27e12, 66.6e12, 55.7e12};
    if (device.starts_with("NVIDIA H100")) return Rates{3.0e12, 66.6e12, 55.7e12};  // the same multiprocessors and clocks
    return std::nullopt;
}

double floor_seconds(const Work& work, const Rates& rates, Precision precision) {
    return std::max(work.bytes / rates.bytes, work.flops / (precision == Precision::f64 ? rates.f64_flops : rates.f32_flops));
}

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
    const auto read = [&]<class Real>(std::vector<Real> values) {
        tools_.synchronize();
        tools_.download(values.data(), memory_.get(), bytes_);
        return std::vector<double>(values.begin(), values.end());
    };
    return precision_ == Precision::f64 ? read(std::vector<double>(count_)) : read(std::vector<float>(count_));
}

std::vector<double> Array::take() {
    auto values = host();
    upload(std::vector<double>(count_, std::numeric_limits<double>::quiet_NaN()));
    return values;
}

}  // namespace trifold::bench
