#include <fmt/format.h>

#include <algorithm>

#include "tools/bench/ours.hpp"

namespace trifold::bench {
namespace {

/// Parts of a solution, in the order of the ranks, on the first of them.
std::vector<double> gathered(Transport& hosts, std::vector<double> mine) {
    auto count = static_cast<std::int64_t>(mine.size());
    constexpr auto number = static_cast<std::int64_t>(sizeof(double));
    if (hosts.rank() != 0) {
        hosts.send(0, &count, sizeof count);
        hosts.send(0, mine.data(), count * number);
        return {};
    }
    for (int rank = 1; rank < hosts.ranks(); ++rank) {
        hosts.receive(rank, &count, sizeof count);
        std::vector<double> part(static_cast<std::size_t>(count));
        hosts.receive(rank, part.data(), count * number);
        mine.insert(mine.end(), part.begin(), part.end());
    }
    return mine;
}

struct OurRank {
    OurRank(const RankPlan& plan, const formats::System& system, const DeviceTools& tools)
        : solver(plan),
          d(part(tools, system.d, system.block * system.block, blocks())),
          e(part(tools, system.e, system.block * system.block, std::min(blocks(), system.horizon - 1 - spec().first_block()))),
          b(part(tools, system.b, system.block * system.rhs, blocks())),
          x(part(tools, system.b, system.block * system.rhs, blocks())),
          with{.columns = system.rhs, .stream = {tools.stream()}} {
        solver.prepare();
    }
    void complete(std::vector<Result>& results) {
        solver.check();
        const auto& choice = solver.plan().choice();
        for (auto& result : results) {
            result.more = {{"schedule", choice.tuning.schedule}, {"variant", choice.variant}, {"shards", spec().shards}};
            result.remark = fmt::format("{}, {}, shards of {}", choice.tuning.schedule, choice.variant, fmt::join(spec().shards, " "));
        }
    }
    const RankSpec& spec() const { return solver.plan().spec(); }
    std::int64_t blocks() const { return spec().blocks(); }
    Array part(const DeviceTools& tools, const std::vector<double>& all, std::int64_t each, std::int64_t count) const {
        const auto first = all.begin() + spec().first_block() * each;
        return {tools, {first, first + count * each}, spec().spec.precision};
    }
    RankSolver solver;
    Array d, e, b, x;
    RankOptions with;
};

Contender contender(const RankPlan& plan, const formats::System& system, const DeviceTools& tools) {
    const auto one = std::make_shared<OurRank>(plan, system, tools);
    return {.steps = {{"factor", [one] { one->solver.factor(one->d.any(), one->e.any(), one->with); }},
                      {.operation = "solve", .call = [one] { one->solver.solve(one->b.any(), one->x.any(), one->with); }, .solves = true},
                      {.operation = "factor_solve",
                       .call = [one] { one->solver.factor_solve(one->d.any(), one->e.any(), one->b.any(), one->x.any(), one->with); },
                       .solves = true}},
            .take_solution = [one] { return one->x.take(); },
            .complete = [one](std::vector<Result>& results) { one->complete(results); }};
}

/// Systems of a batch, which are independent: each rank has its share and sends no messages.
ChainProblem share_of(const ChainProblem& whole, int rank, int ranks) {
    const auto batch = whole.system.batch;
    std::vector<std::int64_t> members;
    for (auto member = batch * rank / ranks; member < batch * (rank + 1) / ranks; ++member) members.push_back(member);
    ChainProblem share{whole.spec, formats::members_of(whole.system, members)};
    share.spec.batch = share.system.batch;
    return share;
}

/// One message between two neighbours of the ring of all ranks.
Step message_of(const std::shared_ptr<Transport>& transport, std::int64_t bytes, const DeviceTools& tools) {
    const int rank = transport->rank(), ranks = transport->ranks();
    return {.operation = fmt::format("{} bytes", bytes),
            .call =
                [=, out = tools.allocate(bytes), in = tools.allocate(bytes), stream = Stream{tools.stream()}] {
                    transport->begin_group();
                    transport->send((rank + 1) % ranks, out.get(), bytes, stream);
                    transport->receive((rank + ranks - 1) % ranks, in.get(), bytes, stream);
                    transport->end_group();
                },
            .work = {static_cast<double>(bytes), 0}};
}

/// What the first rank has measured.
struct Measured {
    std::vector<Step> steps;
    std::vector<Result> results;
    std::vector<double> x;
};

Measured run_rank(const std::shared_ptr<Transport>& transport, const Device& device, const Budget& budget, bool gathers,
                  const MakeRank& make) {
    DeviceTools tools(device);
    const auto contender = make(transport, device, tools);
    auto& hosts = transport->hosts();
    Measured all;
    for (const auto& step : contender.steps) {
        all.results.push_back({"", step.operation, summarize(time_together(hosts, tools, step, budget)), step.work});
        if (step.solves) all.x = contender.take_solution();
        all.steps.push_back({.operation = step.operation,
                             .solves = step.solves,
                             .work = step.work,
                             .samples = [seconds = all.results.back().seconds.sorted](const Budget&) { return seconds; }});
    }
    if (contender.complete) contender.complete(all.results);
    if (gathers) all.x = gathered(hosts, std::move(all.x));
    return all;
}

}  // namespace

Contender on_ranks(const Ranks& ranks, const Budget& budget, bool gathers, const MakeRank& make) {
    Measured all;
    ranks.run([&](const std::shared_ptr<Transport>& transport) {
        auto mine = run_rank(transport, ranks.device_of(transport->rank()), budget, gathers, make);
        if (transport->rank() == 0) all = std::move(mine);
    });
    return {.steps = std::move(all.steps),
            .take_solution = [x = std::move(all.x)] { return x; },
            .complete =
                [of_ranks = std::move(all.results)](std::vector<Result>& results) {
                    for (std::size_t k = 0; k < of_ranks.size(); ++k) {
                        if (k == results.size()) results.push_back(of_ranks[k]);
                        results[k].more = of_ranks[k].more;
                        results[k].remark = of_ranks[k].remark;
                    }
                }};
}

Contender our_chain(const ChainProblem& problem, const Ranks& ranks, const Tuning& tuning, const std::vector<std::int64_t>& shards,
                    const Budget& budget) {
    return on_ranks(ranks, budget, true, [&](const std::shared_ptr<Transport>& transport, const Device& device, const DeviceTools& tools) {
        if (problem.spec.batch == 1) return contender(RankPlan(problem.spec, transport, device, tuning, shards), problem.system, tools);
        return our_chain(share_of(problem, transport->rank(), transport->ranks()), device, tuning, {}, tools);
    });
}

Contender messages(const Ranks& ranks, const Budget& budget) {
    return on_ranks(ranks, budget, false, [](std::shared_ptr<Transport> transport, const Device& device, const DeviceTools& tools) {
        if (device.backend() != Backend::cpu) transport = std::make_shared<NcclTransport>(transport, device);
        Contender all;
        for (std::int64_t bytes = 64; bytes <= 16 << 20; bytes *= 12) all.steps.push_back(message_of(transport, bytes, tools));
        return all;
    });
}

}  // namespace trifold::bench
