#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <deque>
#include <filesystem>

#include "runtime/base/files.hpp"
#include "runtime/tridiagonal/wisdom.hpp"
#include "tools/bench/ours.hpp"
#include "tools/bench/timing.hpp"
#include "tools/formats/file.hpp"
#include "tools/formats/npy.hpp"

namespace trifold::bench {
namespace {

void tell(std::vector<Result>& results, const Choice& choice, const std::string& schedule) {
    for (auto& result : results) {
        result.more = {{"schedule", schedule}, {"variant", choice.variant}, {"rung", to_string(choice.rung)}, {"row", choice.row}};
        result.remark = schedule + ", " + choice.variant;
    }
}

/// E with its blocks by rows or by columns.
std::vector<double> by_order(const formats::System& system, Order order) {
    auto e = system.e;
    const auto n = system.block, square = n * n;
    for (std::int64_t k = 0; order == Order::column_major && k < static_cast<std::int64_t>(e.size()); ++k) {
        const auto row = k % square / n, column = k % n;
        e[static_cast<std::size_t>(k)] = system.e[static_cast<std::size_t>(k / square * square + column * n + row)];
    }
    return e;
}

class OurChain : public Contender {
  public:
    OurChain(const Plan& plan, const formats::System& system, Order order, const DeviceTools& tools)
        : solver_(plan),
          precision_(plan.choice().spec.precision),
          columns_(system.rhs),
          d_(tools, system.d, precision_),
          e_(tools, by_order(system, order), precision_),
          b_(tools, system.b, precision_),
          x_(tools, system.b, precision_),
          stream_{tools.stream()} {
        x_.take();
    }
    std::vector<Step> steps() override { return precision_ == Precision::f32 ? steps_in<float>() : steps_in<double>(); }
    std::vector<double> take_solution() override { return x_.take(); }
    void complete(std::vector<Result>& results) override {
        solver_.check();
        tell(results, solver_.plan().choice(), solver_.plan().choice().schedule.name);
    }

  private:
    template <class Real>
    std::vector<Step> steps_in() {
        const auto *d = d_.as<const Real>(), *e = e_.as<const Real>(), *b = b_.as<const Real>();
        auto* x = x_.as<Real>();
        FactorOptions<Real> with;
        with.columns = columns_;
        return {{"factor", [=, this] { solver_.factor(d, e, stream_); }},
                {.operation = "solve", .call = [=, this] { solver_.solve(b, x, stream_, {.columns = columns_}); }, .solves = true},
                {.operation = "factor_solve", .call = [=, this] { solver_.factor_solve(d, e, b, x, stream_, with); }, .solves = true}};
    }
    Solver solver_;
    Precision precision_;
    std::int64_t columns_;
    Array d_, e_, b_, x_;
    Stream stream_;
};

Plan plan_of(const ChainProblem& problem, const Device& device, const Tuning& tuning, const ChainForm& form) {
    auto spec = problem.spec;
    spec.order = form.order;
    if (form.panel > 0) spec.rhs = form.panel;
    spec.operations = {Operation::factor, Operation::solve, Operation::factor_solve};
    return Plan(spec, device, tuning);
}

/// The systems of a batch, each by a solver of its own: a factor of each is left behind, as a batch leaves it.
template <class Real>
class OneByOne : public Contender {
  public:
    OneByOne(const ChainProblem& problem, const Device& device)
        : system_(problem.system),
          d_(system_.d.begin(), system_.d.end()),
          e_(system_.e.begin(), system_.e.end()),
          b_(system_.b.begin(), system_.b.end()),
          x_(b_.size()) {
        auto spec = problem.spec;
        spec.batch = 1;
        const Plan plan(spec, device, {"auto", "auto", 1});
        for (std::int64_t member = 0; member < system_.batch; ++member) solvers_.emplace_back(plan);
    }
    std::vector<Step> steps() override {
        return {
            {"factor", [this] { each([](Solver& s, const Real* d, const Real* e, const Real*, Real*) { s.factor(d, e); }); }},
            {.operation = "factor_solve",
             .call = [this] { each([](Solver& s, const Real* d, const Real* e, const Real* b, Real* x) { s.factor_solve(d, e, b, x); }); },
             .solves = true}};
    }
    std::vector<double> take_solution() override { return {x_.begin(), x_.end()}; }

  private:
    void each(const auto& call) {
        const auto n = system_.block, rows = system_.horizon * n;
        std::int64_t member = 0;
        for (auto& solver : solvers_) {
            call(solver, d_.data() + member * rows * n, e_.data() + member * (rows - n) * n, b_.data() + member * rows * system_.rhs,
                 x_.data() + member * rows * system_.rhs);
            ++member;
        }
    }
    const formats::System& system_;
    std::vector<Real> d_, e_, b_, x_;
    std::deque<Solver> solvers_;
};

class AtRates : public Contender {
  public:
    AtRates(std::unique_ptr<Contender> solver, Step step, std::vector<double> rates, DeviceTools& tools)
        : solver_(std::move(solver)), step_(std::move(step)), rates_(std::move(rates)), tools_(tools) {}
    std::vector<Step> steps() override {
        std::vector<Step> all;
        add(all, step_.operation, by_host_clock(tools_, step_.call));
        if (solver_ && tools_.stream() != nullptr)
            add(all, step_.operation + ", kernels", [replay = tools_.capture_timed(step_.call)] { return replay() * 1e-3; });
        return all;
    }
    std::vector<double> take_solution() override { return solver_->take_solution(); }
    void complete(std::vector<Result>& results) override {
        if (solver_) solver_->complete(results);
        for (std::size_t k = 0; k < results.size(); ++k) results[k].calls_per_second = rates_[k % rates_.size()];
    }

  private:
    void add(std::vector<Step>& all, const std::string& operation, const std::function<double()>& call) const {
        for (const auto rate : rates_)
            all.push_back({.operation = operation, .solves = step_.solves, .samples = [call, rate](const Budget& budget) {
                               return time_calls(call, 1 / rate, budget);
                           }});
    }
    std::unique_ptr<Contender> solver_;
    Step step_;
    std::vector<double> rates_;
    DeviceTools& tools_;
};

/// Standard output of a shell command.
std::string output_of(const std::string& command) {
    std::string text;
    auto* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) throw Error("cannot start a process for the compile suite");
    char part[4096];
    for (std::size_t count = 0; (count = std::fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, count);
    ::pclose(pipe);
    return text;
}

/// `trifold solve` in processes of their own, with a cache of their own that is empty at first. NVRTC keeps nothing.
class Starts : public Contender {
  public:
    Starts(const ChainProblem& problem, const std::string& device, const Tuning& tuning)
        : choice_(choose_by_wisdom(problem.spec, Device::parse(device), {tuning.schedule, "auto", tuning.workers})),
          path_(directory_.path()) {
        const auto& [spec, system] = problem;
        const auto n = system.block, horizon = system.horizon, batch = system.batch;
        const auto write = [&](const char* name, const std::vector<std::int64_t>& shape, const std::vector<double>& values) {
            formats::write_file(path_ / name, formats::format_npy({shape, spec.precision, values}));
        };
        write("D.npy", {batch, horizon, n, n}, system.d);
        write("E.npy", {batch, horizon - 1, n, n}, system.e);
        write("b.npy", {batch, horizon, n, system.rhs}, system.b);
        command_ = fmt::format(
            "cd '{}' && CUDA_CACHE_DISABLE=1 TRIFOLD_CACHE_DIR=cache '{}' solve D.npy E.npy b.npy --json --device {} --schedule {}{}{} "
            "2>&1",
            path_.string(), std::filesystem::read_symlink("/proc/self/exe").string(), device, tuning.schedule,
            spec.precision == Precision::mixed ? " --precision mixed" : "",
            tuning.workers > 1 ? fmt::format(" --workers {}", tuning.workers) : "");
    }
    std::vector<Step> steps() override {
        const auto runs = [this](bool cold) {
            return [this, cold](const Budget&) {
                std::vector<double> seconds;
                for (int k = 0; k < 3; ++k) seconds.push_back(start(cold));
                return seconds;
            };
        };
        return {{.operation = "cold start", .solves = true, .samples = runs(true)},
                {.operation = "warm start", .solves = true, .samples = runs(false)}};
    }
    std::vector<double> take_solution() override { return {}; }
    void check(const Problem&, Result& result) override { result.residual = residual_; }
    void complete(std::vector<Result>& results) override { tell(results, choice_, schedule_); }

  private:
    double start(bool cold) {
        if (cold) std::filesystem::remove_all(path_ / "cache");
        const auto text = output_of(command_);
        const auto json = nlohmann::json::parse(text, nullptr, false);
        if (json.is_discarded() || !json.contains("seconds")) throw Error(fmt::format("'{}' failed: {}", command_, text));
        residual_ = json["relative_residual"].get<double>();
        schedule_ = json["schedule"].get<std::string>();
        double seconds = 0;
        for (const auto* part : {"generate", "compile", "load"}) seconds += json["seconds"][part].get<double>();
        return seconds;
    }
    Choice choice_;
    PrivateDirectory directory_;
    std::filesystem::path path_;
    std::string command_, schedule_;
    double residual_ = 0;
};

}  // namespace

std::unique_ptr<Contender> our_chain(const ChainProblem& problem, const Device& device, const Tuning& tuning, const ChainForm& form,
                                     const DeviceTools& tools) {
    return std::make_unique<OurChain>(plan_of(problem, device, tuning, form), problem.system, form.order, tools);
}

std::vector<Peer> our_peers(int workers) {
    const auto peer = [](const char* name, const auto& fits, const auto& make) {
        return Peer{
            .name = name,
            .families = {Family::tridiagonal},
            .by_name = true,
            .fits = [fits](const Problem& problem) { return fits(std::get<ChainProblem>(problem).spec); },
            .make = [make](const Problem& problem,
                           const DeviceTools& tools) { return std::unique_ptr<Contender>(make(std::get<ChainProblem>(problem), tools)); }};
    };
    return {peer(
                "one-thread", [workers](const Spec&) { return workers > 1; },
                [](const ChainProblem& problem, const DeviceTools& tools) {
                    return our_chain(problem, Device::cpu(), {"auto", "auto", 1}, {}, tools);
                }),
            peer(
                "one-by-one", [](const Spec& spec) { return spec.batch > 1 && spec.precision != Precision::mixed; },
                [](const ChainProblem& problem, const DeviceTools&) -> std::unique_ptr<Contender> {
                    if (problem.spec.precision == Precision::f32) return std::make_unique<OneByOne<float>>(problem, Device::cpu());
                    return std::make_unique<OneByOne<double>>(problem, Device::cpu());
                })};
}

std::unique_ptr<Contender> at_rates(std::unique_ptr<Contender> solver, const std::vector<double>& calls_per_second, DeviceTools& tools) {
    auto step = solver->steps().back();
    return std::make_unique<AtRates>(std::move(solver), std::move(step), calls_per_second, tools);
}

std::unique_ptr<Contender> copy_at_rates(const std::vector<double>& calls_per_second, DeviceTools& tools) {
    const auto copy = [memory = tools.allocate(16), &tools] {
        auto* bytes = static_cast<char*>(memory.get());
        tools.copy(bytes, bytes + 8, 8);
    };
    return std::make_unique<AtRates>(nullptr, Step{"8-byte copy", copy}, calls_per_second, tools);
}

std::unique_ptr<Contender> starts(const ChainProblem& problem, const std::string& device, const Tuning& tuning) {
    return std::make_unique<Starts>(problem, device, tuning);
}

}  // namespace trifold::bench
