#pragma once
#include <optional>
#include <trifold/solver.hpp>
#include <vector>

#include "runtime/python/binding/chain.hpp"

namespace trifold::python {

/// trifold.Solver: the calls of a Solver on arrays of Python. It has a Solver of its own, or works on a value, as trifold/factors_of.hpp
/// explains.
class BoundSolver : public BoundChain {
  public:
    /// `value`: None, or bytes in the Plan's memory that will be, or have been, factored into. `members` says what they hold.
    /// `widens`: a sweep of many right-hand sides moves the value to a Plan for as many (Plan::widened), once.
    BoundSolver(std::shared_ptr<Factors> factors, nb::handle value, Members members, bool widens = false);
    ~BoundSolver() override;

    /// Copies blocks of D and E to the workspace, from block `first` on.
    void load(nb::handle d, nb::handle e, std::int64_t first);
    /// One factorization and all that follows from it: (x, log det A, b' A^-1 b, diagonal, lower).
    nb::object marginals(nb::handle d, nb::handle e, nb::handle b, const Options& options);
    /// The forward sweep and b' A^-1 b of it: (y, quadratic).
    nb::object forward_quadratic(nb::handle b, nb::handle out, nb::handle quadratic);
    nb::object log_determinant(nb::handle out);
    nb::object status();
    /// Columns of statuses in memory of the device.
    nb::object copy_status();
    /// A step of refinement of x, in its place; returns backward errors. A value moves to a Plan that can, once.
    nb::object refine(nb::handle d, nb::handle e, nb::handle b, nb::handle x, const Options& options);
    nb::object refinement();
    /// For D, E and what was added to them when they were factored.
    nb::object reciprocal_condition(nb::handle d, nb::handle e, const Options& options);
    void check();
    /// Seconds that one call of the C++ library takes the host, of `repeats` calls without Python between them: the binding is measured
    /// against it. The first is of a Solver with memory of its own, the second of one on a value, which it factors into again.
    double seconds_of_solve(nb::handle b, nb::handle out, int repeats);
    double seconds_of_factor_solve(nb::handle d, nb::handle e, nb::handle b, nb::handle out, int repeats);
    void synchronize();
    nb::object value() const { return held_->value.object().is_valid() ? nb::borrow(held_->value.object()) : nb::none(); }
    Members members() const { return members_; }
    const std::shared_ptr<Factors>& factors() const { return held_->factors; }

  private:
    /// A value and the solvers that work on it. A call keeps those that it began with, for another thread may widen meanwhile.
    struct Held {
        std::shared_ptr<Factors> factors;
        Array value;
    };
    const Spec& spec() const { return held_->factors->plan().choice().spec; }
    std::int64_t block() const override { return spec().block; }
    std::int64_t blocks() const override { return spec().horizon; }
    std::int64_t couplings() const override { return couplings_of(spec()); }
    std::int64_t batch() const override { return spec().batch; }
    std::int64_t border() const override { return spec().border; }
    bool has_lengths() const override { return spec().lengths; }
    bool has_sizes() const override { return spec().sizes; }
    std::int64_t bandwidth() const override { return spec().bandwidth; }
    MatrixKind matrix() const override { return spec().matrix; }
    bool ring() const override { return spec().ring; }
    bool loads() const override { return spec().operations.contains(Operation::load); }
    void run(Operation operation, const Inputs& in, std::initializer_list<AnyArray> arrays, const Options& options) override;
    void widen(std::int64_t columns) override;
    /// Moves the value to a Plan for that Spec, which differs in rhs alone, or has refine in addition.
    void move_to(const Spec& spec, const Tuning& tuning);
    /// The shape of quadratics, one for each right-hand side.
    std::vector<std::int64_t> shape_of_quadratic(const Inputs& in) const;
    nb::object read_or_make(Array& array, nb::handle given, const char* name, std::span<const std::int64_t> shape, Element element) const {
        return Bound::read_or_make(array, given, name, shape, element, library_);
    }
    /// body(Solver&, Stream), with the lock of Python given up.
    template <class Body>
    void lend(Members members, bool factors, bool masked, bool checked, Body body);
    template <class Body>
    void lend(Body body) {
        lend(members_, false, false, false, body);
    }
    template <class Call>
    double seconds_of(int repeats, Call call);

    std::shared_ptr<Held> held_;
    std::int64_t widened_for_;  // columns of a sweep, at most, for which there is nothing to widen
    std::unique_ptr<Solver> own_;
};

}  // namespace trifold::python
