#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generator/sparse/knobs.hpp"
#include "runtime/sparse/plan.hpp"
#include "tools/bench/ours.hpp"

namespace trifold::bench {
namespace {

/// The subdomains that a plan has made, for its peers.
std::vector<std::int32_t> parts_of(const SparsePlan& plan, const SparseProblem& one) {
    const auto& choice = plan.choice();
    const auto usual = sparse::usual_rows(one.spec, choice.target, one.pattern.rows(), sparse::pinned_by(choice.tuning, choice.target));
    return sparse::parts_of(one.pattern, one.partition, one.spec.preconditioner, usual).of_row;
}

/// On one device, or as one of several ranks, which only solve.
class OurSparse {
  public:
    OurSparse(const SparseProblem& one, const SparsePlan& plan, int ranks, const DeviceTools& tools)
        : one_(one),
          plan_(plan),
          ranks_(ranks),
          begin_(now()),
          solver_(plan),
          a_(tools, one.values(), one.spec.precision),
          b_(tools, one.b, one.spec.precision),
          x_(tools, one.b, one.spec.precision),
          stream_{tools.stream()},
          tables_(now() - begin_) {}

    std::vector<Step> steps() {
        std::vector<Step> all;
        if (ranks_ == 1) all.push_back({.operation = "tables", .samples = [this](const Budget&) { return std::vector{tables_}; }});
        all.push_back(
            {.operation = "update", .call = [this] { solver_.update(a_.any(), stream_); }, .work = {3 * matrix() + factors(), 0}});
        using enum SparseOperation;
        for (const auto& [operation, bytes] :
             {std::pair{apply, factors()}, {apply_transposed, factors()}, {multiply, matrix()}, {multiply_transposed, matrix()}})
            if (ranks_ == 1 && one_.spec.operations.contains(operation))
                all.push_back({.operation = std::string(to_string(operation)),
                               .call = [this, operation] { call(operation); },
                               .work = {bytes + 2 * vector(), 0}});
        if (one_.spec.operations.contains(solve)) all.push_back({.operation = "solve", .call = [this] { call(solve); }, .solves = true});
        return all;
    }
    std::vector<double> take_solution() { return solution_ = x_.host(); }
    void complete(std::vector<Result>& results) {
        if (!solver_.outcomes().empty() && one_.spec.operations.contains(SparseOperation::solve)) tell_of_solution(results);
        if (ranks_ > 1 || !one_.spec.operations.contains(SparseOperation::apply)) return;
        call(SparseOperation::apply);
        one_.ours->applied = x_.host();
        one_.ours->parts = parts_of(plan_, one_);
    }

  private:
    void tell_of_solution(std::vector<Result>& results) {
        const auto outcome = solver_.outcomes().front();
        auto& found = results.back();
        found.more = {{"iterations", outcome.iterations}, {"end", to_string(outcome.end)}};
        found.remark = fmt::format("{} after {} iterations", to_string(outcome.end), outcome.iterations);
        auto& ours = *one_.ours;
        if (ranks_ == 1) {
            ours.x = solution_;
            ours.history = solver_.history();
        } else if (!ours.x.empty()) {
            const bool same = ours.x == solution_ && ours.history == solver_.history();
            found.more["same_bits"] = same;
            found.remark += same ? ", the bits of one device" : ", OTHER BITS than one device";
        }
        // An iteration of BiCGSTAB moves two applications, two products, and vectors around them.
        constexpr double vectors = 18;
        Result each{"", "iteration", found.seconds};
        for (auto& seconds : each.seconds.sorted) seconds /= static_cast<double>(std::max<std::int64_t>(1, outcome.iterations));
        each.seconds = summarize(std::move(each.seconds.sorted));
        if (one_.spec.method == SparseMethod::bicgstab && ranks_ == 1) each.work.bytes = 2 * (matrix() + factors()) + vectors * vector();
        results.push_back(std::move(each));
    }
    void call(SparseOperation operation) {
        const std::array two{b_.any(), x_.any()};
        solver_.run(operation, two, stream_, {.rtol = one_.rtol});
    }
    double square() const { return static_cast<double>(one_.spec.block * one_.spec.block); }
    double real() const { return static_cast<double>(element_bytes(one_.spec.precision)); }
    double matrix() const { return static_cast<double>(plan_.summary().entries) * square() * real(); }
    double vector() const { return static_cast<double>(one_.pattern.rows() * one_.spec.block) * real(); }
    double factors() const {
        return static_cast<double>(plan_.summary().factored) * square() * (one_.spec.precision == Precision::f64 ? 8 : 4);
    }

    const SparseProblem& one_;
    const SparsePlan plan_;
    int ranks_;
    double begin_;
    SparseSolver solver_;
    Array a_, b_, x_;
    Stream stream_;
    double tables_;
    std::vector<double> solution_;
};

Contender contender(const SparseProblem& problem, const SparsePlan& plan, int ranks, const DeviceTools& tools) {
    const auto one = std::make_shared<OurSparse>(problem, plan, ranks, tools);
    auto steps = one->steps();
    return {.steps = std::move(steps),
            .take_solution = [one] { return one->take_solution(); },
            .complete = [one](std::vector<Result>& results) { one->complete(results); }};
}

}  // namespace

Contender our_sparse(const SparseProblem& problem, const Device& device, const SparseTuning& tuning,
                     const std::function<void(const SparseSummary&)>& planned, const DeviceTools& tools) {
    const SparsePlan plan(problem.spec, problem.pattern, device, problem.partition, tuning);
    planned(plan.summary());
    return contender(problem, plan, 1, tools);
}

Contender our_sparse(const SparseProblem& problem, const Ranks& ranks, const SparseTuning& tuning, const Budget& budget) {
    auto spec = problem.spec;
    spec.operations = {SparseOperation::solve};
    return on_ranks(ranks, budget, false, [&](const std::shared_ptr<Transport>& transport, const Device& device, const DeviceTools& tools) {
        const SparsePlan plan(spec, problem.pattern, transport, device, problem.partition, tuning);
        return contender(problem, plan, transport->ranks(), tools);
    });
}

}  // namespace trifold::bench
