#pragma once
#include <fmt/format.h>

#include <initializer_list>
#include <trifold/solver.hpp>
#include <utility>
#include <vector>

#include "runtime/python/binding/bound.hpp"
#include "runtime/python/binding/gil.hpp"
#include "runtime/python/binding/options.hpp"

namespace trifold::python {

/// The systems of a call, and whether its arrays have an axis for them. Without that axis there is one system: so each array is as large as
/// what is written into it.
struct Members {
    std::int64_t count = 1;
    bool batched = false;
    std::vector<std::int64_t> shape(std::initializer_list<std::int64_t> of_one) const;
};

/// Words of messages for what takes D, E and b.
struct ChainWords {
    Fits fits;
    const char *takes, *owner;  ///< "D has 5 members; " takes " 1 to 4. Give a larger batch to " owner
};

/// A chain of blocks, or one rank's part of it: the calls that both have, on arrays of Python.
class BoundChain : protected Bound {
  public:
    void factor(nb::handle d, nb::handle e, const Options& options);
    /// The operation is factor_forward or factor_solve.
    nb::object factor_along(Operation operation, nb::handle d, nb::handle e, nb::handle b, nb::handle out, const Options& options);
    /// The operation is forward, backward, solve or solve_transposed.
    nb::object sweep(Operation operation, nb::handle b, nb::handle out, const Options& options);
    /// `out` is a pair of arrays, or None.
    nb::object selected_inverse(nb::handle out, const Options& options);

  protected:
    /// The arrays of one call.
    struct Inputs {
        explicit Inputs(const Members& of) : members(of) {}
        Array d, e, u, b, x, shift, diagonal, active, lengths, sizes;
        Array f, c, tip_b, tip_x;       // those of a border
        nb::object result, tip_result;  // x as Python has it, and its tip
        Members members;
        std::int64_t columns = 0;
        bool has_columns = false;  // whether b has an axis for them
    };

    explicit BoundChain(const ChainWords& words) : Bound(words.fits), words_(words) {}
    virtual ~BoundChain() = default;
    virtual std::int64_t block() const = 0;
    /// Blocks of D, and of E.
    virtual std::int64_t blocks() const = 0;
    virtual std::int64_t couplings() const = 0;
    virtual std::int64_t batch() const = 0;
    /// Rows of a border; 0: none.
    virtual std::int64_t border() const { return 0; }
    /// Whether members have lengths, and blocks sizes, of their own.
    virtual bool has_lengths() const { return false; }
    virtual bool has_sizes() const { return false; }
    /// Blocks below each diagonal block.
    virtual std::int64_t bandwidth() const { return 1; }
    virtual MatrixKind matrix() const { return MatrixKind::positive_definite; }
    virtual bool ring() const { return false; }
    /// Whether D and E may have been loaded before a factorization.
    virtual bool loads() const { return false; }
    /// Makes a call, with the lock of Python given up.
    virtual void run(Operation operation, const Inputs& in, std::initializer_list<AnyArray> arrays, const Options& options) = 0;
    /// Before a sweep of that many right-hand sides.
    virtual void widen(std::int64_t) {}
    /// Reasons that messages give for the shapes of D and E.
    virtual std::string reason_for_d() const { return {}; }
    virtual std::string reason_for_e() const { return {}; }

    void read_system(Inputs& in, nb::handle d, nb::handle e, const Options& options);
    /// E, or `upper` of a general matrix, of that shape.
    void read_coupling(const Inputs& in, Array& array, nb::handle given, const char* name, const std::vector<std::int64_t>& shape);
    /// D, of `blocks` blocks. What it is for is the call's place and library.
    void read_diagonal(Inputs& in, nb::handle d, std::int64_t blocks);
    void read_active(Inputs& in, nb::handle active) const;
    /// b, without its result.
    void read_right_side(Inputs& in, nb::handle b);
    void read_rhs(Inputs& in, nb::handle b, nb::handle out);
    /// x in the library of b; with a border a pair of x and its tip.
    nb::object finished(const Inputs& in) const;
    /// An array as the library takes it; null where it is not given.
    AnyArray any(const Array& array) const { return {array.data(), false, element_ == Element::f32 ? Precision::f32 : Precision::f64}; }
    CallOptions sweep_options(const Inputs& in, Stream stream) const {
        return with_border({.active = in.active.as<const int>(), .members = in.members.count, .columns = in.columns, .stream = stream}, in);
    }
    CallOptions options_of(const Inputs& in, const Options& given, Stream stream) const;
    /// Later calls go by these members, unless this one was refused before it began.
    template <class Body>
    void with_members(const Inputs& in, Body body) {
        const auto before = std::exchange(members_, in.members);
        try {
            body();
        } catch (const SpecError&) {
            members_ = before;
            throw;
        }
    }
    /// Shapes of a selected inverse's parts: of a band, of the blocks that it is solved by.
    std::vector<std::int64_t> diagonal_of_inverse(const Members& members) const;
    std::vector<std::int64_t> lower_of_inverse(const Members& members) const;
    static nb::object status_of(const std::vector<Outcome>& outcomes, bool batched);
    static nb::object refinement_of(const std::vector<Refinement>& refinements, bool batched);

    Members members_;  // the last factorization's. A call goes by its copy, for other threads may factor meanwhile

  private:
    void read_upper(Inputs& in, nb::handle upper);
    /// Throws SpecError where there is one and the solver has none, or the other way round.
    void read_border(Inputs& in, nb::handle border) const;
    /// Whole numbers of that shape, or one number, or those of one member for all.
    void read_numbers(Array& array, nb::handle given, const char* name, const std::vector<std::int64_t>& shape) const;
    std::vector<std::int64_t> tip_shape(const Inputs& in) const;
    std::vector<std::int64_t> coupling_shape(const Inputs& in) const;
    CallOptions with_border(CallOptions options, const Inputs& in) const;
    /// An array of the shape, or a number that stands for one.
    void read_added(Array& array, nb::handle given, const char* name, const std::vector<std::int64_t>& shape) const;

    const ChainWords& words_;
};

/// Binds factor, factor_solve, factor_forward, solve, forward and backward.
template <class Chain>
void bind_calls(nb::class_<Chain>& solver) {
    using namespace nb::literals;
    const nb::call_guard<InCall> guarded;
    const auto none = nb::none();
    bind_with_options<OptionsOf::factorization, 2>(
        solver, "factor", [](Chain& self, nb::handle d, nb::handle e, const Options& options) { self.factor(d, e, options); }, "D"_a.none(),
        "E"_a.none() = none,
        nb::sig("def factor(self, D: ArrayLike, E: ArrayLike | None = None, **options: Unpack[Factorization]) -> None"),
        R"(Factors A, for the sweeps that follow. D: (N, n, n), E: (N - 1, n, n), with the batch axis of D in both or in none.

With check raises NotPositiveDefinite or NearlySingular; SpecError on arrays that do not fit.)",
        guarded);
    const auto bind_along = [&](const char* name, Operation operation, const char* about) {
        const auto signature = fmt::format(
            "def {}(self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, out: ArrayLike | None = None, "
            "**options: Unpack[Factorization]) -> Any",
            name);
        bind_with_options<OptionsOf::factorization, 4>(
            solver, name,
            [operation](Chain& self, nb::handle d, nb::handle e, nb::handle b, nb::handle out, const Options& options) {
                return self.factor_along(operation, d, e, b, out, options);
            },
            "D"_a.none(), "E"_a.none(), "b"_a.none(), "out"_a = none, nb::sig(signature.c_str()), about, guarded);
    };
    bind_along("factor_solve", Operation::factor_solve,
               R"(factor(D, E) and A^-1 b in one. b and the result: (N, n), or (N, n, m), with the batch axis of D.

With check raises NotPositiveDefinite, NearlySingular, OutOfRange or NotConverged; SpecError on arrays that do not fit.)");
    bind_along("factor_forward", Operation::factor_forward,
               "factor(D, E) and forward(b) in one. Shapes and errors are those of factor_solve().");
    const auto bind_sweep = [&](const char* name, Operation operation, const char* about) {
        const auto signature =
            fmt::format("def {}(self, b: ArrayLike, out: ArrayLike | None = None, **options: Unpack[Sweep]) -> Any", name);
        bind_with_options<OptionsOf::sweep, 2>(
            solver, name,
            [operation](Chain& self, nb::handle b, nb::handle out, const Options& options) {
                return self.sweep(operation, b, out, options);
            },
            "b"_a.none(), "out"_a = none, nb::sig(signature.c_str()), about, guarded);
    };
    bind_sweep("solve", Operation::solve,
               R"(A^-1 b, of the last factorization. b and the result: (N, n), or (N, n, m), with the batch axis of what was factored.

With check raises what factor_solve() does; SpecError on arrays that do not fit, or where nothing was factored.)");
    bind_sweep("forward", Operation::forward,
               "y = L^-1 P b, where A is P' L L' P. The squares of y sum up to b' A^-1 b. Shapes and errors are those of solve().");
    bind_sweep(
        "backward", Operation::backward,
        R"(P' L^-T b: with b of forward() the solution, with independent standard normal numbers a draw of covariance A^-1. Shapes and errors
are those of solve().)");
}

}  // namespace trifold::python
