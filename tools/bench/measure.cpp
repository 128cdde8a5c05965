#include "tools/bench/measure.hpp"

#include <algorithm>
#include <cmath>
#include <trifold/error.hpp>

#include "runtime/tridiagonal/wisdom.hpp"
#include "tools/bench/start.hpp"
#include "tools/formats/residual.hpp"
#include "tools/problems/problems.hpp"

namespace trifold::bench {
namespace {

using formats::System;

constexpr std::string_view our_name = "trifold";

Spec spec_of(const Size& size, const Request& request, Precision precision) {
    return {.block = size.block,
            .horizon = size.horizon,
            .precision = precision,
            .rhs = request.rhs,
            .batch = size.batch,
            .operations = {Operation::factor, Operation::solve, Operation::factor_solve}};
}

/// What a device holds in single precision is what its solution is checked against.
void round_to_single(System& system) {
    for (auto* values : {&system.d, &system.e, &system.b})
        for (auto& value : *values) value = static_cast<double>(static_cast<float>(value));
}

double worst_residual(const System& system, const std::vector<double>& x) {
    double worst = 0;
    for (const auto residual : formats::relative_residuals(system, x)) worst = formats::worse(worst, residual);
    return worst;
}

void take_choice(const Choice& choice, Result& result) {
    result.schedule = choice.schedule.name;
    result.variant = choice.variant;
    result.rung = to_string(choice.rung);
    result.row = choice.row;
}

/// One case: a system in one precision, on which the solvers take turns.
class Case {
  public:
    Case(const Suite& suite, const System& system, const Spec& spec, const Request& request, const Listener& listener)
        : suite_(suite), system_(system), spec_(spec), request_(request), listener_(listener), tools_(request.device) {}

    void run_ours(const Tuning& tuning) {
        const Plan plan(spec_, request_.device, tuning);
        Ours ours(plan, system_, tools_);
        const auto& choice = plan.choice();
        auto results = suite_.mode == Mode::latency ? calls_of(ours) : operations_of(ours);
        ours.check();
        report(our_name, results, [&](Result& result) { take_choice(choice, result); });
    }

    void run_peer(const Peer& peer) {
        const auto contender = peer.make(system_, spec_.precision, tools_);
        auto results = operations_of(*contender);
        report(peer.name, results, [](Result&) {});
    }

    /// The least that a call can be, at the same rates: its tail is that of the driver and the host.
    void run_alone() {
        const auto memory = tools_.allocate(16);
        auto* bytes = static_cast<char*>(memory.get());
        std::vector<Result> results;
        at_each_rate(results, "8-byte copy", by_host_clock(tools_, [&] { tools_.copy(bytes, bytes + 8, 8); }));
        report("no solver", results, [](Result&) {});
    }

    void run_compile(const Tuning& tuning) {
        const auto choice = choose_by_wisdom(spec_, request_.device, {tuning.schedule, "auto", tuning.workers});
        const Starts starts(system_, spec_.precision, request_.device_name, tuning);
        std::vector<double> cold, warm;
        Start last{};
        for (int k = 0; k < compile_runs; ++k) {
            cold.push_back(starts.cold().seconds);
            last = starts.warm();
            warm.push_back(last.seconds);
        }
        std::vector<Result> results{timed("cold start", cold), timed("warm start", warm)};
        for (auto& result : results) result.residual = last.residual;
        report(our_name, results, [&](Result& result) {
            take_choice(choice, result);
            result.schedule = last.schedule;
        });
    }

  private:
    static constexpr int compile_runs = 3;

    Result timed(const std::string& operation, std::vector<double> seconds) const {
        Result result;
        result.suite = suite_.name;
        result.spec = spec_;
        result.operation = operation;
        result.seconds = summarize(std::move(seconds));
        return result;
    }

    std::vector<Result> operations_of(Contender& contender) {
        std::vector<Result> results;
        double residual = 0;
        for (const auto& step : contender.steps()) {
            results.push_back(timed(step.operation, time_step(tools_, step, request_.budget)));
            if (step.solves) check(contender, residual);
        }
        for (auto& result : results) result.residual = residual;
        return results;
    }

    std::vector<Result> calls_of(Contender& contender) {
        std::vector<Result> results;
        const auto step = contender.steps().back();
        double residual = 0;
        at_each_rate(results, step.operation, by_host_clock(tools_, step.call));
        check(contender, residual);
        if (tools_.stream() != nullptr) {
            const auto replay = tools_.capture_timed(step.call);
            at_each_rate(results, step.operation + ", kernels", [&] { return replay() * 1e-3; });
            check(contender, residual);
        }
        for (auto& result : results) result.residual = residual;
        return results;
    }

    void at_each_rate(std::vector<Result>& results, const std::string& operation, const std::function<double()>& call) const {
        for (const auto rate : request_.calls_per_second) {
            results.push_back(timed(operation, time_calls(call, 1 / rate, request_.budget)));
            results.back().calls_per_second = rate;
        }
    }

    void check(Contender& contender, double& worst) const {
        const auto residual = worst_residual(system_, contender.take_solution());
        if (!(residual <= worst) && !std::isnan(worst)) worst = residual;
    }

    void report(std::string_view solver, std::vector<Result>& results, const std::function<void(Result&)>& finish) const {
        const auto rates = bench::rates(request_.device);
        const auto tolerance = request_.tolerance.value_or(spec_.precision == Precision::f32 ? 1e-6 : 1e-14);
        for (auto& result : results) {
            result.solver = solver;
            if (result.residual) result.accurate = *result.residual <= tolerance;
            for (const auto operation : spec_.operations)
                if (spec_.precision != Precision::mixed && to_string(operation) == result.operation) result.work = work(spec_, operation);
            if (result.work && rates) result.floor_seconds = floor_seconds(*result.work, *rates, spec_.precision);
            finish(result);
            listener_.result(result);
        }
    }

    const Suite& suite_;
    const System& system_;
    const Spec& spec_;
    const Request& request_;
    const Listener& listener_;
    DeviceTools tools_;
};

}  // namespace

std::string refusal_of(const Spec& spec, const Device& device, const Tuning& tuning) {
    try {
        choose(spec, device.target(), tuning);
        return "";
    } catch (const SpecError& error) {
        return error.what();
    }
}

void measure(const Suite& suite, const Size& size, const Request& request, const Listener& listener) {
    System system;
    for (const auto precision : request.precisions) {
        const auto spec = spec_of(size, request, precision);
        validate(spec);
        if (system.d.empty()) system = problems::make(suite.problem, {size.block, size.horizon, request.rhs, size.batch}, request.seed);
        if (precision == Precision::f32) round_to_single(system);
        Case one(suite, system, spec, request, listener);
        const auto attempt = [&](std::string_view solver, const std::function<void()>& run) {
            try {
                run();
            } catch (const std::exception& error) {
                listener.failure({std::string(suite.name), std::string(solver), size, precision, error.what()});
            }
        };
        const auto refusal = [&](const Tuning& tuning) { return refusal_of(spec, request.device, tuning); };
        const bool has_others = std::ranges::any_of(request.tunings, [&](const Tuning& tuning) { return refusal(tuning).empty(); });
        for (const auto& tuning : request.tunings)
            if (const auto why = refusal(tuning); has_others && !why.empty())
                listener.left_out({std::string(suite.name), std::string(our_name), size, precision, why});
            else
                attempt(our_name, [&] { suite.mode == Mode::compile ? one.run_compile(tuning) : one.run_ours(tuning); });
        if (suite.mode == Mode::latency && precision == request.precisions.front()) attempt("no solver", [&] { one.run_alone(); });
        if (suite.mode != Mode::throughput || precision == Precision::mixed) continue;  // peers have no such thing
        for (const auto& peer : request.peers)
            if (peer.problem.empty() && peer.fits(spec)) attempt(peer.name, [&] { one.run_peer(peer); });
    }
}

}  // namespace trifold::bench
