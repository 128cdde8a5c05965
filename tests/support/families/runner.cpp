#include "tests/support/families/runner.hpp"

#include <trifold/trifold.h>

#include <stdexcept>
#include <trifold/error.hpp>

namespace trifold::test {
namespace {

using nlohmann::json;

class CppFace final : public AnyFace {
  public:
    CppFace(const Family& family, const AnyPlan& plan, const Room& room) : family_(family) {
        const auto bytes = plan.program().workspace_bytes;
        if (room.given) workspace_ = Guarded<char>(bytes);
        solver_ = plan.solver(room.given ? workspace_.data() + room.shift : nullptr, bytes - room.less);
    }
    void run(std::string_view operation, std::span<const AnyArray> arrays, const json& options) override {
        solver_->run(family_.operation(operation), arrays, {}, options);
    }
    json outcomes() override { return solver_->outcomes(); }
    void check() override { solver_->check(); }
    void synchronize() override { solver_->synchronize(); }

  private:
    const Family& family_;
    std::unique_ptr<AnySolver> solver_;
};

void expect_ok(trifold_code code) {
    if (code == TRIFOLD_OK) return;
    if (code == TRIFOLD_BAD_ARGUMENT) throw SpecError(trifold_last_error());
    if (code < TRIFOLD_BAD_ARGUMENT) throw Unsolvable(trifold_last_error());
    throw std::runtime_error(trifold_last_error());
}

class CFace final : public AnyFace {
  public:
    CFace(std::string_view family, const json& problem, const std::string& device, const json& tuning, const Room& room) {
        trifold_any_plan* plan = nullptr;
        expect_ok(
            trifold_any_plan_create(std::string(family).c_str(), problem.dump().c_str(), device.c_str(), tuning.dump().c_str(), &plan));
        const std::unique_ptr<trifold_any_plan, decltype(&trifold_any_plan_destroy)> owned(plan, trifold_any_plan_destroy);
        trifold_any_solver* solver = nullptr;
        const auto bytes = trifold_any_plan_workspace_bytes(plan);
        if (room.given) workspace_ = Guarded<char>(bytes);
        expect_ok(trifold_any_solver_create(plan, room.given ? workspace_.data() + room.shift : nullptr, bytes - room.less, &solver));
        solver_.reset(solver);
    }
    void run(std::string_view operation, std::span<const AnyArray> arrays, const json& options) override {
        trifold_call call;
        trifold_call_init(&call);
        std::vector<const void*> places;
        for (const auto& array : arrays) {
            call.precision = array.precision == Precision::f32 ? TRIFOLD_F32 : TRIFOLD_F64;
            call.on_host = array.on_host ? 1 : 0;
            places.push_back(array.data);
        }
        expect_ok(trifold_any_run(solver_.get(), std::string(operation).c_str(), &call, places.data(), std::ssize(places),
                                  options.dump().c_str()));
    }
    json outcomes() override {
        const char* text = nullptr;
        expect_ok(trifold_any_outcomes(solver_.get(), &text));
        return json::parse(text);
    }
    void check() override { expect_ok(trifold_any_check(solver_.get())); }
    void synchronize() override { expect_ok(trifold_any_synchronize(solver_.get())); }

  private:
    std::unique_ptr<trifold_any_solver, decltype(&trifold_any_solver_destroy)> solver_{nullptr, trifold_any_solver_destroy};
};

}  // namespace

AnyRunner cpp_runner() {
    return {[](std::string_view name, const json& problem, const std::string& device, const json& tuning,
               const Room& room) -> std::unique_ptr<AnyFace> {
                const auto& family = family_named(name);
                return std::make_unique<CppFace>(family, *family.make(problem, Device::parse(device), tuning), room);
            },
            true};
}

AnyRunner c_runner() {
    return {[](std::string_view family, const json& problem, const std::string& device, const json& tuning,
               const Room& room) -> std::unique_ptr<AnyFace> { return std::make_unique<CFace>(family, problem, device, tuning, room); },
            false};
}

}  // namespace trifold::test
