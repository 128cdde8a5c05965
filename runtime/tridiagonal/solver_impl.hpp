#pragma once
#include <array>
#include <memory>
#include <span>
#include <trifold/plan.hpp>
#include <trifold/solver.hpp>

#include "generator/tridiagonal/border.hpp"
#include "generator/tridiagonal/operands.hpp"
#include "generator/tridiagonal/wisdom.hpp"
#include "runtime/session/prepared.hpp"
#include "runtime/session/session.hpp"
#include "runtime/tridiagonal/request.hpp"
#include "runtime/wisdom/wisdom.hpp"

namespace trifold {

/// The part of a Plan that Solvers share. Immutable once built.
struct Plan::State {
    Choice choice;
    std::shared_ptr<const Prepared> prepared;
};

/// The work behind every overload, for both precisions.
struct Solver::Impl {
    Impl(const Plan& plan, void* workspace, std::int64_t bytes, Holds holds = Holds::nothing);

    /// Goes on in a workspace in which another Solver of the Plan has factored that many members, by work that is on the stream.
    void adopt(void* workspace, Stream stream, std::int64_t members);
    void take_factor(Impl& other);

    /// A call on the host's arrays returns when it is done.
    void run(Operation operation, std::span<const AnyArray> arrays, const CallOptions& options);
    /// Throws SpecError unless arrays D and E fit a factorization of `members` members.
    void check_readable(std::span<const AnyArray> arrays, std::int64_t members) const;

    const std::vector<Outcome>& status();
    const std::vector<double>& log_determinant();
    const std::vector<double>& quadratic();
    void copy_log_determinant(double* to, std::int64_t members, Stream stream);
    void copy_quadratic(double* to, std::int64_t members, Stream stream, std::int64_t columns);
    void copy_status(MemberStatus* to, std::int64_t members, Stream stream);
    void copy_inertia(MemberInertia* to, std::int64_t members, Stream stream);
    void copy_backward_error(double* to, std::int64_t members, Stream stream);
    const std::vector<Refinement>& refinement();
    bool ok();

    Plan plan;
    Session session;
    std::int64_t factored = 0;                          ///< members that a factor call has covered
    std::int64_t swept_members = 0, swept_columns = 0;  ///< in the last forward sweep
    std::int64_t solved = 0, inverted = 0,
                 refined = 0;  ///< members that the last solution, inverse or refinement covered since a factorization

  private:
    void prepare(Request& request) const;
    void enqueue(Session::Call& call, const Request& request);
    /// Checks a request's arrays and does it.
    void carry_out(Session::Call& call, Request request, std::span<const AnyArray> arrays, Stream stream);
    /// Loads D and E of a factorization, and leaves them out of its arrays. Throws SpecError if it has none, and they are not loaded.
    void load_given(Session::Call& call, Request& request, std::span<const AnyArray> arrays, Stream stream);
    void set_operands(const Request& request, std::int64_t first, std::int64_t columns);
    void copy_factor(Impl& other);
    void require_planned(Operation operation, const char* why) const;
    void require_factor(std::string_view what) const;
    /// Throws SpecError where fewer members have been factored.
    void require_factored(std::string_view what, std::int64_t members) const;
    /// Bytes in front of the inertias: statuses of all members that there is room for.
    std::int64_t inertia_offset() const;
    void check_sizes(const Request& request, std::span<const AnyArray> arrays) const;
    bool quadratic_known() const;
    void require_quadratic() const;
    void read_refinement(Session::Call& call);
    void read_status(Session::Call& call);
    void read_inertia(Session::Call& call);

    std::array<std::size_t, 10> numbers_{};  // numbers of the Program's operations, by Operation
    std::vector<std::int64_t> loaded_;       // members of each block whose D and E stand in the workspace
    // Arguments of kernels, whose sizes stay as they are from call to call.
    std::int64_t kernel_columns_;
    BorderPanels panels_{};
    std::vector<KernelArgs> args_;
    std::vector<Operand> operands_;
    // Results that the caller is given, and room for what is read.
    std::vector<Outcome> outcomes_;
    std::vector<Refinement> refinements_;
    std::vector<double> log_determinants_, quadratics_;
};

}  // namespace trifold
