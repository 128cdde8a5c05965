#pragma once
// AnyPlan of a family that states all of itself: its tables, and a Code with the types Spec, Tuning, Args and Outcome, and
//     const Family& family();
//     FamilyWords words;
//     Program generate(const Spec&, const Target&, const Tuning&);                   throws SpecError
//     Args operands(const StatedCall&);                                              what kernels are given, for a panel of columns
//     std::vector<Outcome> outcomes(Session::Call&, const Spec&, CallCounts last);       one for each member
// A Spec has the members batch and precision, a Tuning workers. Where an Outcome has a field "ok", check() throws on one that is not.
// Operations of the Program have the names of the table's.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/session/family.hpp"
#include "runtime/session/prepared.hpp"
#include "runtime/session/session.hpp"

namespace trifold {

/// A call, or a panel of its columns, whose arrays are where the device sees them.
struct StatedCall {
    std::size_t operation;
    std::span<void* const> arrays;
    CallCounts counts;
    std::int64_t first_column, used_columns;  ///< columns of the panel
    void* workspace;
};

template <class Code>
struct StatedState {
    typename Code::Spec spec;
    std::shared_ptr<const Prepared> prepared;
    std::int64_t extent(std::string_view name) const { return (*Code::family().spec)[name].get(&spec); }
    std::int64_t rhs() const {
        const auto fields = Code::family().spec->all;
        return std::ranges::find(fields, "rhs", &Field::name) == fields.end() ? 1 : extent("rhs");
    }
};

template <class Code>
class StatedSolver final : public AnySolver {
  public:
    StatedSolver(std::shared_ptr<const StatedState<Code>> state, void* workspace, std::int64_t bytes)
        : state_(std::move(state)),
          session_(make_session(*state_, workspace, bytes)),
          table_(Code::family(), state_->spec.precision, {state_->spec.batch, state_->rhs()},
                 [this](std::string_view name) { return state_->extent(name); }) {}

    void run(std::size_t operation, std::span<const AnyArray> arrays, Stream stream, const nlohmann::json& options) override {
        Session::Call call(session_);
        CallCounts given;
        read_json(*Code::family().options, &given, options);
        const auto counts = table_.resolve(operation, given, factored_);
        std::array<CallArray, max_arrays> room;
        call.bind(table_.arrays(operation, arrays, counts, room), arrays, stream);
        std::array<void*, max_arrays> places{};
        for (std::size_t k = 0; k < arrays.size(); ++k) places[k] = call.at(k);
        const auto& row = Code::family().operations[operation];
        const auto number = session_.operation(row.name);
        for (std::int64_t first = 0; first < counts.columns; first += state_->rhs()) {
            const auto args = Code::operands({operation, std::span<void* const>(places).first(arrays.size()), counts, first,
                                              std::min(state_->rhs(), counts.columns - first), session_.workspace()});
            const std::array operands{Operand{&args, sizeof args, counts.members}};
            call.run(number, operands);
        }
        call.finish();
        if (row.factors) factored_ = std::max(factored_, counts.members);
        last_ = counts;
    }
    nlohmann::json outcomes() override {
        Session::Call call(session_);
        auto rows = nlohmann::json::array();
        for (const auto& outcome : Code::outcomes(call, state_->spec, last_)) rows.push_back(to_json(*Code::family().outcome, &outcome));
        return rows;
    }
    void check() override {
        for (const auto& row : outcomes())
            if (const auto ok = row.find("ok"); ok != row.end() && *ok == false)
                throw Unsolvable(fmt::format("one of the {} has failed: {}", Code::family().members, row.dump()));
    }
    void prepare() override { session_.prepare(); }
    void synchronize() override { session_.synchronize(); }

  private:
    static Session make_session(const StatedState<Code>& state, void* workspace, std::int64_t bytes) {
        const std::array<void*, max_arrays> none{};
        const auto args = Code::operands(
            {0, std::span<void* const>(none).first(Code::family().operations.front().arrays.size()), {state.spec.batch, 1}, 0, 1, nullptr});
        const std::array stand_in{Operand{&args, sizeof args, state.spec.batch}};
        return {state.prepared, stand_in, workspace, bytes};
    }

    std::shared_ptr<const StatedState<Code>> state_;
    Session session_;
    CallTable table_;
    std::int64_t factored_ = 0;
    CallCounts last_;
};

template <class Code>
class StatedPlan final : public AnyPlan {
  public:
    StatedPlan(const typename Code::Spec& spec, const Device& device, const typename Code::Tuning& tuning) {
        const auto& family = Code::family();
        auto described = fmt::format(R"("family":"{}","spec":{})", family.name, to_json(*family.spec, &spec).dump());
        auto prepared = trifold::prepare(device, Code::words, [&] {
            return Preparation{.program = Code::generate(spec, device.target(), tuning),
                               .members = spec.batch,
                               .summary = to_text(*family.spec, &spec),
                               .described = std::move(described)};
        });
        state_ = std::make_shared<const StatedState<Code>>(spec, std::move(prepared));
    }
    const Program& program() const override { return state_->prepared->program; }
    const Device& device() const override { return state_->prepared->device; }
    nlohmann::json spec() const override { return to_json(*Code::family().spec, &state_->spec); }
    std::int64_t extent(std::string_view name) const override { return state_->extent(name); }
    std::unique_ptr<AnySolver> solver(void* workspace, std::int64_t bytes) const override {
        return std::make_unique<StatedSolver<Code>>(state_, workspace, bytes);
    }

  private:
    std::shared_ptr<const StatedState<Code>> state_;
};

/// A Spec has all operations, which a list may name.
template <class Object>
Object object_of(const Fields& fields, nlohmann::json tree) {
    Object object;
    if (tree.is_object()) tree.erase("operations");
    read_json(fields, &object, tree);
    check_ranges(fields, &object);
    return object;
}

/// The functions of a Family.
template <class Code>
nlohmann::json read_stated(const nlohmann::json& given) {
    const auto spec = object_of<typename Code::Spec>(*Code::family().spec, given);
    auto tree = to_json(*Code::family().spec, &spec);
    tree["family"] = Code::family().name;
    for (const auto& operation : Code::family().operations) tree["operations"].push_back(operation.name);
    return tree;
}
template <class Code>
std::unique_ptr<AnyPlan> make_stated(const nlohmann::json& spec, const Device& device, const nlohmann::json& tuning) {
    return std::make_unique<StatedPlan<Code>>(object_of<typename Code::Spec>(*Code::family().spec, spec), device,
                                              object_of<typename Code::Tuning>(*Code::family().tuning, tuning));
}
template <class Code>
Program generate_stated(const nlohmann::json& spec, const Target& target, const nlohmann::json& tuning) {
    return Code::generate(object_of<typename Code::Spec>(*Code::family().spec, spec), target,
                          object_of<typename Code::Tuning>(*Code::family().tuning, tuning));
}

}  // namespace trifold
