#include "tools/bench/measure.hpp"

#include "tools/bench/timing.hpp"
#include "tools/formats/residual.hpp"

namespace trifold::bench {
namespace {

/// A solver and what is known of it so far.
struct Runner {
    std::string name;
    std::unique_ptr<Contender> contender;
    std::vector<Step> steps;
    std::vector<Result> results = {};

    void add(const Contest& contest, const Step& step, std::vector<double> seconds) {
        Result result{name, step.operation, summarize(std::move(seconds)), step.work};
        if (step.solves) contender->check(contest.problem, result);
        results.push_back(std::move(result));
    }
    void report(const Contest& contest, const Listener& listener) {
        std::optional<double> worst;
        for (const auto& one : results)
            if (one.residual) worst = worst ? formats::worse(*worst, *one.residual) : *one.residual;
        contender->complete(results);
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
    for (const auto& runner : runners) all.insert(all.end(), runner.steps.begin(), runner.steps.end());
    auto seconds = time_by_turns(tools, all, contest.budget);
    std::size_t next = 0;
    for (auto& runner : runners)
        for (const auto& step : runner.steps) {
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
            Runner runner{entry.name, entry.make(tools), {}};
            runner.steps = runner.contender->steps();
            if (contest.by_turns) {
                runners.push_back(std::move(runner));
                return;
            }
            for (const auto& step : runner.steps) runner.add(contest, step, time_step(tools, step, contest.budget));
            runner.report(contest, listener);
        });
    if (runners.empty()) return;
    attempt("trifold", [&] { by_turns(contest, runners, tools); });
    for (auto& runner : runners)
        if (!runner.results.empty()) attempt(runner.name, [&] { runner.report(contest, listener); });
}

std::vector<Entry> entries_of(const std::vector<Peer>& peers, const Problem& problem) {
    std::vector<Entry> entries;
    for (const auto& peer : peers)
        if (peer.problem.empty() && peer.fits(problem))
            entries.push_back({peer.name, [&](DeviceTools& tools) { return peer.make(problem, tools); }});
    return entries;
}

}  // namespace trifold::bench
