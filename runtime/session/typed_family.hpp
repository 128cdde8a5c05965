#pragma once
// AnyPlan of a family whose plans and solvers have types of their own. Its Faces say: Plan, Solver and Options; family; make(problem,
// device, tuning); spec(plan) in JSON; extent(plan, name); run(solver, operation, arrays, stream, options); outcomes(solver), one for each
// member.
#include <memory>
#include <utility>

#include "runtime/session/family.hpp"

namespace trifold {

template <class Faces>
class TypedSolver final : public AnySolver {
  public:
    explicit TypedSolver(typename Faces::Solver solver) : solver_(std::move(solver)) {}
    void run(std::size_t operation, std::span<const AnyArray> arrays, Stream stream, const nlohmann::json& given) override {
        typename Faces::Options options;
        read_json(*Faces::family().options, &options, given);
        Faces::run(solver_, operation, arrays, stream, options);
    }
    nlohmann::json outcomes() override {
        auto rows = nlohmann::json::array();
        for (const auto& outcome : Faces::outcomes(solver_)) rows.push_back(to_json(*Faces::family().outcome, &outcome));
        return rows;
    }
    void check() override { solver_.check(); }
    void prepare() override { solver_.prepare(); }
    void synchronize() override { solver_.synchronize(); }

  private:
    typename Faces::Solver solver_;
};

template <class Faces>
class TypedPlan final : public AnyPlan {
  public:
    explicit TypedPlan(typename Faces::Plan plan) : plan_(std::move(plan)) {}
    const Program& program() const override { return plan_.program(); }
    const Device& device() const override { return plan_.device(); }
    nlohmann::json spec() const override { return Faces::spec(plan_); }
    std::int64_t extent(std::string_view name) const override { return Faces::extent(plan_, name); }
    std::unique_ptr<AnySolver> solver(void* workspace, std::int64_t bytes) const override {
        using Solver = typename Faces::Solver;
        return std::make_unique<TypedSolver<Faces>>(workspace == nullptr ? Solver(plan_) : Solver(plan_, workspace, bytes));
    }

  private:
    typename Faces::Plan plan_;
};

/// For Family::make.
template <class Faces>
std::unique_ptr<AnyPlan> make_plan(const nlohmann::json& problem, const Device& device, const nlohmann::json& given) {
    typename Faces::Tuning tuning;
    read_json(*Faces::family().tuning, &tuning, given);
    return std::make_unique<TypedPlan<Faces>>(Faces::make(problem, device, tuning));
}

}  // namespace trifold
