#pragma once
#include <trifold/tridiagonal_args.h>

#include <map>
#include <string>
#include <trifold/generate.hpp>

#include "tests/support/cpu/unit.hpp"

namespace trifold::test {

/// Runs the operations of one Program on arrays of the host: kernels, or a Solver.
class Runner {
  public:
    virtual ~Runner() = default;
    virtual const Choice& choice() const = 0;
    /// Forgets every earlier run.
    virtual void reset() = 0;
    virtual void run(Operation operation, const trifold_args& args) = 0;
    virtual trifold_status status(std::int64_t member) = 0;
    virtual trifold_inertia inertia(std::int64_t) { return {}; }
    virtual trifold_range range(std::int64_t member) = 0;
    virtual double log_determinant(std::int64_t member) = 0;
    virtual double quadratic(std::int64_t member, std::int64_t column) = 0;
};

/// Kernels of a CompiledProgram or of an EmulatedUnit. Each run takes the next of the ways, which are Splits or Runnings.
template <class Unit, class How>
class KernelRunner : public Runner {
  public:
    explicit KernelRunner(const Unit& unit, std::vector<How> ways = {{}})
        : unit_(unit), ways_(std::move(ways)), workspace_(unit.program()) {}
    const Choice& choice() const override { return unit_.choice(); }
    void reset() override { workspace_ = Workspace(unit_.program()); }
    void run(Operation operation, const trifold_args& given) override {
        auto args = given;
        args.workspace = workspace_.data();
        unit_.run(operation, args, ways_[runs_++ % ways_.size()]);
    }
    template <class T>
    const T* buffer(std::string_view name) const {
        return workspace_.buffer<T>(unit_.program(), name);
    }
    trifold_status status(std::int64_t member) override { return buffer<trifold_status>("status")[member]; }
    trifold_inertia inertia(std::int64_t member) override {
        const auto capacity =
            trifold::buffer(unit_.program(), "status").bytes / static_cast<std::int64_t>(sizeof(trifold_status) + sizeof(trifold_inertia));
        return reinterpret_cast<const trifold_inertia*>(buffer<trifold_status>("status") + capacity)[member];
    }
    trifold_range range(std::int64_t member) override { return buffer<trifold_range>("range")[member]; }
    double log_determinant(std::int64_t member) override { return buffer<double>("log_determinant")[member]; }
    double quadratic(std::int64_t member, std::int64_t column) override {
        return buffer<double>("quadratic")[member * choice().spec.rhs + column];
    }

  private:
    const Unit& unit_;
    std::vector<How> ways_;
    std::size_t runs_ = 0;
    Workspace workspace_;
};

/// Errors of results by their names, each relative to what is expected of the precision: at most 1 where all is right. The oracle is Eigen,
/// in double.
using Errors = std::map<std::string, double>;

struct Drawn {
    unsigned seed = 7;                      ///< of the systems
    std::int64_t members = 0, columns = 0;  ///< of a call; 0: as many as the Spec has
    bool in_place = true;                   ///< whether X also stands in B's place
    bool every_way = true;                  ///< each solution with X apart from B and in its place, not one of the two
};

/// Every operation that the Spec has but mixed precision, on random systems: residuals, oracles of what else they compute, equal bits by
/// equal ways, and guard zones around each output.
Errors errors_of(Runner& runner, const Drawn& drawn = {});

/// What else calls may ask for. A member has the same bits at another place of the batch; masked members and those beyond the call are left
/// alone, and so are their factors; a diagonal and shifts are added; a failed member is named and all of it is NaN, while the others keep
/// their bits; a pivot below the floor is raised and counted.
Errors option_errors_of(Runner& runner, const Drawn& drawn = {});

/// The Spec with a member for each of the units that `range_errors_of` takes: `parts` either way of scale 1.
Spec with_units(Spec spec, int parts);
/// Members in units over the whole range of exponents, against dense algebra at scale 1. Results beyond the range are said, and no longer
/// once they are within it. `exceptions`: of floating-point arithmetic none may be raised, but that b' A^-1 b may leave the range of f64.
Errors range_errors_of(Runner& runner, int parts, bool exceptions);

}  // namespace trifold::test
