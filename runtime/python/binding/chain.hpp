#pragma once
#include <nanobind/stl/optional.h>

#include <initializer_list>
#include <optional>
#include <trifold/solver.hpp>
#include <vector>

#include "runtime/python/binding/bound.hpp"
#include "runtime/python/binding/gil.hpp"
#include "runtime/python/binding/texts.hpp"

namespace trifold::python {

/// Options of a factorization other than D and E; None if one is not given.
struct Options {
    nb::handle shift = Py_None, diagonal = Py_None, active = Py_None;
    double pivot_floor = 0;
    bool accept_nearly_singular = false;
    std::optional<bool> check;
};

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

/// Arrays of a chain of blocks, or of one rank's part of it.
class BoundChain : protected Bound {
  protected:
    /// The arrays of one call.
    struct Inputs {
        explicit Inputs(const Members& of) : members(of) {}
        Array d, e, b, x, shift, diagonal, active;
        nb::object result;  // x as Python has it
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
    /// Reasons that messages give for the shapes of D and E.
    virtual std::string reason_for_d() const { return {}; }
    virtual std::string reason_for_e() const { return {}; }

    void read_system(Inputs& in, nb::handle d, nb::handle e, const Options& options);
    void read_active(Inputs& in, nb::handle active) const;
    /// b, without its result.
    void read_right_side(Inputs& in, nb::handle b);
    void read_rhs(Inputs& in, nb::handle b, nb::handle out);
    static nb::object status_of(const std::vector<Outcome>& outcomes, bool batched);
    static nb::object refinement_of(const std::vector<Refinement>& refinements, bool batched);

  private:
    void read_coupling(Inputs& in, nb::handle e);
    /// An array of the shape, or a number that stands for one.
    void read_added(Array& array, nb::handle given, const char* name, const std::vector<std::int64_t>& shape) const;

    const ChainWords& words_;
};

/// Binds factor, factor_solve, factor_forward, solve, forward and backward.
template <class Chain>
void bind_calls(nb::class_<Chain>& solver) {
    using namespace nb::literals;
    namespace text = text_of_solver;
    const nb::call_guard<InCall> guarded;
    const auto none = nb::none();
    solver.def(
        "factor",
        [](Chain& self, nb::handle d, nb::handle e, nb::handle shift, nb::handle diagonal, nb::handle active, double pivot_floor,
           bool accept, std::optional<bool> check) { self.factor(d, e, {shift, diagonal, active, pivot_floor, accept, check}); },
        "D"_a.none(), "E"_a.none() = none, nb::kw_only(), "shift"_a = none, "diagonal"_a = none, "active"_a = none, "pivot_floor"_a = 0.0,
        "accept_nearly_singular"_a = false, "check"_a = none, nb::sig(text::factor.signature), text::factor.description, guarded);
    const auto bind_along = [&](const char* name, Operation operation, const Text& about) {
        solver.def(
            name,
            [operation](Chain& self, nb::handle d, nb::handle e, nb::handle b, nb::handle out, nb::handle shift, nb::handle diagonal,
                        nb::handle active, double pivot_floor, bool accept, std::optional<bool> check) {
                return self.factor_along(operation, d, e, b, out, {shift, diagonal, active, pivot_floor, accept, check});
            },
            "D"_a.none(), "E"_a.none(), "b"_a.none(), "out"_a = none, nb::kw_only(), "shift"_a = none, "diagonal"_a = none,
            "active"_a = none, "pivot_floor"_a = 0.0, "accept_nearly_singular"_a = false, "check"_a = none, nb::sig(about.signature),
            about.description, guarded);
    };
    bind_along("factor_solve", Operation::factor_solve, text::factor_solve);
    bind_along("factor_forward", Operation::factor_forward, text::factor_forward);
    const auto bind_sweep = [&](const char* name, Operation operation, const Text& about) {
        solver.def(
            name,
            [operation](Chain& self, nb::handle b, nb::handle out, nb::handle active, std::optional<bool> check) {
                return self.sweep(operation, b, out, active, check);
            },
            "b"_a.none(), "out"_a = none, nb::kw_only(), "active"_a = none, "check"_a = none, nb::sig(about.signature), about.description,
            guarded);
    };
    bind_sweep("solve", Operation::solve, text::solve);
    bind_sweep("forward", Operation::forward, text::forward);
    bind_sweep("backward", Operation::backward, text::backward);
}

}  // namespace trifold::python
