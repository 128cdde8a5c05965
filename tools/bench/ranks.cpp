#include "tools/bench/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/bench/timing.hpp"

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

/// Results that ranks have measured together.
class Measured : public Contender {
  public:
    std::vector<Step> steps() override {
        std::vector<Step> all = steps_;
        for (std::size_t k = 0; k < all.size(); ++k) {
            all[k].call = all[k].prepare = {};
            all[k].samples = [seconds = results_[k].seconds.sorted](const Budget&) { return seconds; };
        }
        return all;
    }
    std::vector<double> take_solution() override { return x_; }
    void complete(std::vector<Result>& results) override {
        for (std::size_t k = 0; k < results_.size(); ++k) {
            if (k == results.size()) results.push_back(results_[k]);
            results[k].more = results_[k].more;
            results[k].remark = results_[k].remark;
        }
    }
    void run_rank(const std::shared_ptr<Transport>& transport, const Device& device, const Budget& budget, bool gathers,
                  const MakeRank& make) {
        DeviceTools tools(device);
        const auto contender = make(transport, device, tools);
        auto& hosts = transport->hosts();
        const auto steps = contender->steps();
        std::vector<Result> results;
        std::vector<double> x;
        for (const auto& step : steps) {
            results.push_back({"", step.operation, summarize(time_together(hosts, tools, step, budget)), step.work});
            if (step.solves) x = contender->take_solution();
        }
        contender->complete(results);
        if (gathers) x = gathered(hosts, std::move(x));
        if (transport->rank() != 0) return;
        steps_ = steps;
        results_ = std::move(results);
        x_ = std::move(x);
    }

  private:
    std::vector<Step> steps_;
    std::vector<Result> results_;
    std::vector<double> x_;
};

class OurRank : public Contender {
  public:
    OurRank(const RankPlan& plan, const formats::System& system, const DeviceTools& tools)
        : solver_(plan),
          d_(tools, part(system.d, system.block * system.block, blocks()), precision()),
          e_(tools, part(system.e, system.block * system.block, std::min(blocks(), system.horizon - 1 - first())), precision()),
          b_(tools, part(system.b, system.block * system.rhs, blocks()), precision()),
          x_(tools, part(system.b, system.block * system.rhs, blocks()), precision()),
          with_{.columns = system.rhs, .stream = {tools.stream()}} {
        solver_.prepare();
    }
    std::vector<Step> steps() override {
        return {{"factor", [this] { solver_.factor(d_.any(), e_.any(), with_); }},
                {.operation = "solve", .call = [this] { solver_.solve(b_.any(), x_.any(), with_); }, .solves = true},
                {.operation = "factor_solve",
                 .call = [this] { solver_.factor_solve(d_.any(), e_.any(), b_.any(), x_.any(), with_); },
                 .solves = true}};
    }
    std::vector<double> take_solution() override { return x_.take(); }
    void complete(std::vector<Result>& results) override {
        solver_.check();
        const auto& choice = solver_.plan().choice();
        for (auto& result : results) {
            result.more = {{"schedule", choice.tuning.schedule}, {"variant", choice.variant}, {"shards", solver_.plan().spec().shards}};
            result.remark =
                fmt::format("{}, {}, shards of {}", choice.tuning.schedule, choice.variant, fmt::join(solver_.plan().spec().shards, " "));
        }
    }

  private:
    std::int64_t first() const { return solver_.plan().spec().first_block(); }
    std::int64_t blocks() const { return solver_.plan().spec().blocks(); }
    Precision precision() const { return solver_.plan().spec().spec.precision; }
    std::vector<double> part(const std::vector<double>& all, std::int64_t each, std::int64_t count) const {
        return {all.begin() + first() * each, all.begin() + (first() + count) * each};
    }
    RankSolver solver_;
    Array d_, e_, b_, x_;
    RankOptions with_;
};

/// Systems of a batch, which are independent: each rank has its share and sends no messages.
ChainProblem share_of(const ChainProblem& whole, int rank, int ranks) {
    const auto& all = whole.system;
    const auto first = all.batch * rank / ranks, count = all.batch * (rank + 1) / ranks - first;
    const auto part = [&](const std::vector<double>& values) {
        const auto each = static_cast<std::int64_t>(values.size()) / all.batch;
        return std::vector(values.begin() + first * each, values.begin() + (first + count) * each);
    };
    ChainProblem share{whole.spec, {all.block, all.horizon, all.rhs, count, all.rows, part(all.d), part(all.e), part(all.b), {}}};
    share.spec.batch = count;
    return share;
}

class Messages : public Contender {
  public:
    Messages(std::shared_ptr<Transport> transport, const DeviceTools& tools) : transport_(std::move(transport)), stream_{tools.stream()} {
        for (std::int64_t bytes = 64; bytes <= 16 << 20; bytes *= 12) {
            out_.push_back(tools.allocate(bytes));
            in_.push_back(tools.allocate(bytes));
            bytes_.push_back(bytes);
        }
    }
    std::vector<Step> steps() override {
        std::vector<Step> all;
        for (std::size_t k = 0; k < bytes_.size(); ++k)
            all.push_back({.operation = fmt::format("{} bytes", bytes_[k]),
                           .call = [this, k] { pass(k); },
                           .work = {static_cast<double>(bytes_[k]), 0}});
        return all;
    }
    std::vector<double> take_solution() override { return {}; }

  private:
    void pass(std::size_t k) {
        const int rank = transport_->rank(), ranks = transport_->ranks();
        transport_->begin_group();
        transport_->send((rank + 1) % ranks, out_[k].get(), bytes_[k], stream_);
        transport_->receive((rank + ranks - 1) % ranks, in_[k].get(), bytes_[k], stream_);
        transport_->end_group();
    }
    std::shared_ptr<Transport> transport_;
    Stream stream_;
    std::vector<std::shared_ptr<void>> out_, in_;
    std::vector<std::int64_t> bytes_;
};

}  // namespace

std::unique_ptr<Contender> on_ranks(const Ranks& ranks, const Budget& budget, bool gathers, const MakeRank& make) {
    auto measured = std::make_unique<Measured>();
    ranks.run([&](const std::shared_ptr<Transport>& transport) {
        measured->run_rank(transport, ranks.device_of(transport->rank()), budget, gathers, make);
    });
    return measured;
}

std::unique_ptr<Contender> our_chain(const ChainProblem& problem, const Ranks& ranks, const Tuning& tuning,
                                     const std::vector<std::int64_t>& shards, const Budget& budget) {
    return on_ranks(
        ranks, budget, true,
        [&](const std::shared_ptr<Transport>& transport, const Device& device, const DeviceTools& tools) -> std::unique_ptr<Contender> {
            if (problem.spec.batch == 1)
                return std::make_unique<OurRank>(RankPlan(problem.spec, transport, device, tuning, shards), problem.system, tools);
            return our_chain(share_of(problem, transport->rank(), transport->ranks()), device, tuning, {}, tools);
        });
}

std::unique_ptr<Contender> messages(const Ranks& ranks, const Budget& budget) {
    return on_ranks(ranks, budget, false, [](std::shared_ptr<Transport> transport, const Device& device, const DeviceTools& tools) {
        if (device.backend() != Backend::cpu) transport = std::make_shared<NcclTransport>(transport, device);
        return std::make_unique<Messages>(std::move(transport), tools);
    });
}

}  // namespace trifold::bench
