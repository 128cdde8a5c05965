#pragma once
// The part of a family in the runtime: its operands, and the arrays that its calls read and write.
#include <memory>

#include "runtime/session/session.hpp"
#include "tests/family/triangular.hpp"

namespace trifold::test {

inline constexpr FamilyWords triangular_words{"TriangularPlan", "TriangularSolver", "give a smaller batch"};

inline std::shared_ptr<const Prepared> prepare_triangular(const TriangularSpec& spec, const Device& device, int workers = 1,
                                                          std::int64_t rows_of_a_group = 3) {
    return prepare(device, triangular_words, [&] {
        auto program = generate_triangular(spec, device.target(), workers, rows_of_a_group);
        return Preparation{std::move(program), spec.batch, 0, "triangular", R"("family":"triangular","spec":{})"};
    });
}

/// y = L' (w .* (L x)) for a batch.
class TriangularSolver {
  public:
    TriangularSolver(const TriangularSpec& spec, std::shared_ptr<const Prepared> prepared, void* workspace = nullptr,
                     std::int64_t bytes = 0)
        : spec_(spec), session_(make_session(spec, std::move(prepared), workspace, bytes)) {}

    void apply(const double* l, const double* x, double* y, std::int64_t members, Stream stream = {}) {
        Session::Call call(session_);
        call.bind(arrays_of(l, x, y, members), stream);
        run(call, "apply", members);
    }
    void apply_on_host(const double* l, const double* x, double* y, std::int64_t members) {
        Session::Call call(session_);
        const auto arrays = arrays_of(l, x, y, members);
        call.bind_host(arrays);
        run(call, "apply", members);
        call.finish();
    }
    /// y = 3 * 2^-k x. L is not read.
    void shrink(const double* l, const double* x, double* y, std::int64_t members, Stream stream = {}) {
        Session::Call call(session_);
        call.bind(arrays_of(l, x, y, members), stream);
        run(call, "shrink", members);
    }
    void shrink_on_host(const double* l, const double* x, double* y, std::int64_t members) {
        Session::Call call(session_);
        const auto arrays = arrays_of(l, x, y, members);
        call.bind_host(arrays);
        run(call, "shrink", members);
        call.finish();
    }
    /// Weights that were not known when the plan was made.
    void set_weights(std::span<const double> weights, std::int64_t first = 0) {
        Session::Call(session_).write("weights", first * 8, std::as_bytes(weights));
    }
    /// w .* (L x) of the last call.
    std::vector<double> product(std::int64_t members) {
        Session::Call call(session_);
        const auto values = call.read<double>("product", members * spec_.block);
        return {values.begin(), values.end()};
    }
    Session& session() { return session_; }

  private:
    static Session make_session(const TriangularSpec& spec, std::shared_ptr<const Prepared> prepared, void* workspace, std::int64_t bytes) {
        TriangularArgs args{};
        args.members = spec.batch;
        const std::array stand_in{Operand{&args, sizeof args, args.members}};
        return {std::move(prepared), stand_in, workspace, bytes};
    }
    std::array<CallArray, 3> arrays_of(const double* l, const double* x, double* y, std::int64_t members) const {
        const auto n = spec_.block;
        return {CallArray{.name = "L", .data = l, .bytes = members * n * n * 8, .alignment = 8},
                CallArray{.name = "x", .data = x, .bytes = members * n * 8, .alignment = 8},
                CallArray{.name = "y", .data = y, .bytes = members * n * 8, .alignment = 8, .access = Access::write}};
    }
    void run(Session::Call& call, std::string_view operation, std::int64_t members) {
        const TriangularArgs args{static_cast<const double*>(call.at(0)), static_cast<const double*>(call.at(1)),
                                  static_cast<double*>(call.at(2)), static_cast<char*>(session_.workspace()), members};
        const std::array operands{Operand{&args, sizeof args, members}};
        call.run(session_.operation(operation), operands);
    }

    TriangularSpec spec_;
    Session session_;
};

/// The result that shrink() must have for the first members of x, and how many turns that takes.
inline std::vector<double> shrunk(std::vector<double> x, std::int64_t members, std::int64_t batch, std::int64_t most, std::int64_t& turns) {
    x.resize(x.size() / static_cast<std::size_t>(batch) * static_cast<std::size_t>(members));
    const auto is_large = [](double value) { return std::abs(value) > 0.001; };
    turns = 0;
    do {
        for (auto& value : x) value *= 0.5;
    } while (++turns < most && std::ranges::any_of(x, is_large));
    for (auto& value : x) value *= 3;
    return x;
}

}  // namespace trifold::test
