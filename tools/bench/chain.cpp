#include <fmt/format.h>

#include <cstdio>
#include <deque>
#include <filesystem>

#include "generator/tridiagonal/wisdom.hpp"
#include "runtime/base/files.hpp"
#include "runtime/wisdom/wisdom.hpp"
#include "tools/bench/ours.hpp"
#include "tools/formats/file.hpp"

namespace trifold::bench {
namespace {

void tell(std::vector<Result>& results, const Choice& choice, const std::string& schedule) {
    for (auto& result : results) {
        result.more = {{"schedule", schedule}, {"variant", choice.variant}, {"rung", to_string(choice.rung)}, {"row", choice.row}};
        result.remark = schedule + ", " + choice.variant;
    }
}

/// Blocks of n by rows or by columns.
std::vector<double> by_order(const std::vector<double>& values, std::int64_t n, Order order) {
    auto blocks = values;
    const auto square = n * n;
    for (std::int64_t k = 0; order == Order::column_major && k < static_cast<std::int64_t>(blocks.size()); ++k) {
        const auto row = k % square / n, column = k % n;
        blocks[static_cast<std::size_t>(k)] = values[static_cast<std::size_t>(k / square * square + column * n + row)];
    }
    return blocks;
}

struct OurChain {
    OurChain(const Plan& plan, const ChainProblem& problem, Order order, const DeviceTools& tools)
        : OurChain(plan, problem.arrays(), order, tools) {
        lengths = uploaded(problem.lengths, tools), sizes = uploaded(problem.sizes, tools);
    }
    OurChain(const Plan& plan, const formats::System& system, Order order, const DeviceTools& tools)
        : solver(plan),
          columns(system.rhs),
          has_border(system.border > 0),
          d(tools, by_order(system.d, system.block, order), plan.choice().spec.precision),
          e(tools, by_order(system.e, system.block, order), plan.choice().spec.precision),
          u(tools, by_order(system.u, system.block, order), plan.choice().spec.precision),
          f(tools, system.f, plan.choice().spec.precision),
          c(tools, system.c, plan.choice().spec.precision),
          b(tools, formats::parted(system, system.b).first, plan.choice().spec.precision),
          x(tools, b.host(), plan.choice().spec.precision),
          tip_b(tools, formats::parted(system, system.b).second, plan.choice().spec.precision),
          tip_x(tools, tip_b.host(), plan.choice().spec.precision),
          stream{tools.stream()} {
        x.take();
        tip_x.take();
    }
    static std::shared_ptr<void> uploaded(const std::vector<int>& numbers, const DeviceTools& tools) {
        if (numbers.empty()) return nullptr;
        const auto bytes = static_cast<std::int64_t>(numbers.size() * sizeof(int));
        auto memory = tools.allocate(bytes);
        tools.upload(memory.get(), numbers.data(), bytes);
        return memory;
    }
    Solver solver;
    std::int64_t columns;
    bool has_border;
    std::shared_ptr<void> lengths, sizes;
    Array d, e, u, f, c, b, x, tip_b, tip_x;
    Stream stream;
};

template <class Real>
std::vector<Step> steps_in(const std::shared_ptr<OurChain>& one) {
    const auto *d = one->d.as<const Real>(), *e = one->e.as<const Real>(), *b = one->b.as<const Real>();
    auto* x = one->x.as<Real>();
    FactorOptions<Real> with;
    SweepOptions sweep;
    with.columns = sweep.columns = one->columns;
    with.lengths = static_cast<const int*>(one->lengths.get()), with.sizes = static_cast<const int*>(one->sizes.get());
    if (one->solver.plan().choice().spec.matrix == MatrixKind::general) with.u = one->u.as<const Real>();
    if (one->has_border) {
        with.f = one->f.as<const Real>(), with.c = one->c.as<const Real>();
        with.tip_b = one->tip_b.as<const Real>(), with.tip_x = one->tip_x.as<Real>();
        sweep.tip_b = with.tip_b, sweep.tip_x = with.tip_x;
    }
    return {{"factor", [=] { one->solver.factor(d, e, one->stream, with); }},
            {.operation = "solve", .call = [=] { one->solver.solve(b, x, one->stream, sweep); }, .solves = true},
            {.operation = "factor_solve", .call = [=] { one->solver.factor_solve(d, e, b, x, one->stream, with); }, .solves = true}};
}

/// The systems of a batch, each by a solver of its own: a factor of each is left behind, as a batch leaves it.
template <class Real>
struct OneByOne {
    explicit OneByOne(const ChainProblem& problem)
        : system(problem.system),
          d(system.d.begin(), system.d.end()),
          e(system.e.begin(), system.e.end()),
          b(system.b.begin(), system.b.end()),
          x(b.size()) {
        auto spec = problem.spec;
        spec.batch = 1;
        const Plan plan(spec, Device::cpu(), {"auto", "auto", 1});
        for (std::int64_t member = 0; member < system.batch; ++member) solvers.emplace_back(plan);
    }
    void each(const auto& call) {
        const auto n = system.block, rows = system.horizon * n;
        std::int64_t member = 0;
        for (auto& solver : solvers) {
            call(solver, d.data() + member * rows * n, e.data() + member * (rows - n) * n, b.data() + member * rows * system.rhs,
                 x.data() + member * rows * system.rhs);
            ++member;
        }
    }
    const formats::System& system;
    std::vector<Real> d, e, b, x;
    std::deque<Solver> solvers;
};

template <class Real>
Contender one_by_one(const ChainProblem& problem) {
    const auto all = std::make_shared<OneByOne<Real>>(problem);
    const auto factor = [](Solver& s, const Real* d, const Real* e, const Real*, Real*) { s.factor(d, e); };
    const auto factor_solve = [](Solver& s, const Real* d, const Real* e, const Real* b, Real* x) { s.factor_solve(d, e, b, x); };
    return {.steps = {{"factor", [=] { all->each(factor); }},
                      {.operation = "factor_solve", .call = [=] { all->each(factor_solve); }, .solves = true}},
            .take_solution = [all] { return std::vector<double>(all->x.begin(), all->x.end()); }};
}

void add_at_rates(Contender& to, const std::string& operation, bool solves, const std::vector<double>& rates,
                  const std::function<double()>& call) {
    for (const auto rate : rates)
        to.steps.push_back({.operation = operation, .solves = solves, .samples = [call, rate](const Budget& budget) {
                                return time_calls(call, 1 / rate, budget);
                            }});
}

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
struct Starts {
    Starts(const ChainProblem& problem, const std::string& device, const Tuning& tuning) {
        const auto& spec = problem.spec;
        const auto& system = problem.arrays();
        const auto n = system.block, horizon = system.horizon, batch = system.batch;
        const auto write = [&](const char* name, const std::vector<std::int64_t>& shape, const std::vector<double>& values) {
            formats::write_file(directory.path() / name, formats::format_npy({shape, spec.precision, values}));
        };
        write("D.npy", {batch, horizon, n, n}, system.d);
        const bool is_band = problem.band.has_value();
        write("E.npy", is_band ? std::vector{batch, horizon, system.bandwidth, n, n} : std::vector{batch, system.couplings(), n, n},
              system.e);
        const auto a = system.border;
        write("b.npy", a > 0 ? std::vector{batch, system.rows, system.rhs} : std::vector{batch, horizon, n, system.rhs}, system.b);
        write("U.npy", {batch, system.couplings(), n, n}, system.u);
        write("F.npy", {batch, horizon, a, n}, system.f);
        write("C.npy", {batch, a, a}, system.c);
        command = fmt::format(
            "cd '{}' && CUDA_CACHE_DISABLE=1 TRIFOLD_CACHE_DIR=cache '{}' solve D.npy E.npy {}b.npy{}{} --json --device {} --schedule "
            "{}{}{}{} "
            "2>&1",
            directory.path().string(), std::filesystem::read_symlink("/proc/self/exe").string(), system.general ? "U.npy " : "",
            a > 0 ? " F.npy C.npy" : "", is_band && system.ring ? " --ring" : "", device, tuning.schedule,
            spec.matrix == MatrixKind::symmetric ? " --matrix symmetric" : "",
            spec.precision == Precision::mixed ? " --precision mixed" : "",
            tuning.workers > 1 ? fmt::format(" --workers {}", tuning.workers) : "");
    }
    double start(bool cold) {
        if (cold) std::filesystem::remove_all(directory.path() / "cache");
        const auto text = output_of(command);
        const auto json = nlohmann::json::parse(text, nullptr, false);
        if (json.is_discarded() || !json.contains("seconds")) throw Error(fmt::format("'{}' failed: {}", command, text));
        residual = json["relative_residual"].get<double>();
        schedule = json["schedule"].get<std::string>();
        double seconds = 0;
        for (const auto* part : {"generate", "compile", "load"}) seconds += json["seconds"][part].get<double>();
        return seconds;
    }
    PrivateDirectory directory;
    std::string command, schedule;
    double residual = 0;
};

}  // namespace

Contender our_chain(const ChainProblem& problem, const Device& device, const Tuning& tuning, const ChainForm& form,
                    const DeviceTools& tools) {
    auto spec = problem.spec;
    spec.order = form.order;
    if (form.panel > 0) spec.rhs = form.panel;
    spec.operations = {Operation::factor, Operation::solve, Operation::factor_solve};
    const auto one = std::make_shared<OurChain>(Plan(spec, device, tuning), problem, form.order, tools);
    return {.steps = spec.precision == Precision::f32 ? steps_in<float>(one) : steps_in<double>(one),
            .take_solution = [one, members = problem.system.batch] { return formats::joined(members, one->x.take(), one->tip_x.take()); },
            .complete =
                [one](std::vector<Result>& results) {
                    one->solver.check();
                    tell(results, one->solver.plan().choice(), one->solver.plan().choice().schedule.name);
                }};
}

std::vector<Peer> our_peers(int workers) {
    auto one_thread = peer_of<ChainProblem>(
        "one-thread", [workers](const ChainProblem&) { return workers > 1; },
        [] {
            return [](const ChainProblem& one, const DeviceTools& tools) {
                return our_chain(one, Device::cpu(), {"auto", "auto", 1}, {}, tools);
            };
        });
    auto each = peer_of<ChainProblem>(
        "one-by-one", [](const ChainProblem& one) { return one.spec.batch > 1 && one.spec.precision != Precision::mixed; },
        [] {
            return [](const ChainProblem& one, const DeviceTools&) {
                return one.spec.precision == Precision::f32 ? one_by_one<float>(one) : one_by_one<double>(one);
            };
        });
    one_thread.by_name = each.by_name = true;
    return {one_thread, each};
}

Contender at_rates(const Contender& solver, const std::vector<double>& calls_per_second, DeviceTools& tools) {
    const auto& step = solver.steps.back();
    Contender result = solver;
    result.steps.clear();
    add_at_rates(result, step.operation, step.solves, calls_per_second, by_host_clock(tools, step.call));
    if (solver.complete && tools.stream() != nullptr)  // a copy has no kernels
        add_at_rates(result, step.operation + ", kernels", step.solves, calls_per_second,
                     [replay = tools.capture_timed(step.call)] { return replay() * 1e-3; });
    result.complete = [complete = solver.complete, calls_per_second](std::vector<Result>& results) {
        if (complete) complete(results);
        for (std::size_t k = 0; k < results.size(); ++k) results[k].calls_per_second = calls_per_second[k % calls_per_second.size()];
    };
    return result;
}

Contender copy_at_rates(const std::vector<double>& calls_per_second, DeviceTools& tools) {
    const auto copy = [memory = tools.allocate(16), &tools] {
        auto* bytes = static_cast<char*>(memory.get());
        tools.copy(bytes, bytes + 8, 8);
    };
    return at_rates({.steps = {{"8-byte copy", copy}}}, calls_per_second, tools);
}

Contender starts(const ChainProblem& problem, const std::string& device, const Tuning& tuning) {
    const auto one = std::make_shared<Starts>(problem, device, tuning);
    const auto runs = [one](bool cold) {
        return [one, cold](const Budget&) { return std::vector{one->start(cold), one->start(cold), one->start(cold)}; };
    };
    return {
        .steps = {{.operation = "cold start", .solves = true, .samples = runs(true)},
                  {.operation = "warm start", .solves = true, .samples = runs(false)}},
        .complete = [one, choice = choose_by_wisdom(problem.spec, Device::parse(device), Tuning{tuning.schedule, "auto", tuning.workers})](
                        std::vector<Result>& results) { tell(results, choice, one->schedule); },
        .check = [one](Result& result) { result.residual = one->residual; }};
}

}  // namespace trifold::bench
