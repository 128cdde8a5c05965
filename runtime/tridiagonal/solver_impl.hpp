#pragma once
#include <array>
#include <memory>
#include <span>
#include <trifold/plan.hpp>
#include <trifold/solver.hpp>

#include "generator/tridiagonal/operands.hpp"
#include "runtime/session/prepared.hpp"
#include "runtime/session/session.hpp"
#include "runtime/tridiagonal/request.hpp"

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

    /// Arrays where the device reads them; enqueues on the stream.
    void run(Request request, Stream stream);
    /// Arrays in host memory, with their sizes in elements where they are known (-1 where not); returns when done.
    using Sizes = std::array<std::int64_t, array_count>;
    void run_on_host(Request request, const Sizes& sizes);

    /// Throws SpecError unless host arrays D and E fit a factorization of `members` members.
    template <class Real>
    void check_readable(Request request, std::span<const Real> d, std::span<const Real> e) const {
        check_precision(sizeof(Real) == 4 ? Precision::f32 : Precision::f64);
        Sizes sizes;
        sizes.fill(-1);
        request[Array::d] = d.data(), request[Array::e] = e.data();
        sizes[static_cast<std::size_t>(Array::d)] = static_cast<std::int64_t>(d.size());
        sizes[static_cast<std::size_t>(Array::e)] = static_cast<std::int64_t>(e.size());
        resolve(plan.choice().spec, request);
        check_sizes(request, sizes);
    }

    const std::vector<Outcome>& status();
    const std::vector<double>& log_determinant();
    const std::vector<double>& quadratic();
    void copy_log_determinant(double* to, std::int64_t members, Stream stream);
    void copy_quadratic(double* to, std::int64_t members, Stream stream, std::int64_t columns);
    const std::vector<Refinement>& refinement();
    bool ok();
    void check_precision(Precision precision) const;

    Plan plan;
    Session session;
    std::int64_t factored = 0;                          ///< members that a factor call has covered
    std::int64_t swept_members = 0, swept_columns = 0;  ///< in the last forward sweep
    std::int64_t solved = 0, inverted = 0;              ///< members that the last solution or inverse covered, since they were factored

  private:
    void prepare(Request& request) const;
    void enqueue(Session::Call& call, const Request& request);
    void copy_factor(Impl& other);
    void require_planned(Operation operation, const char* why) const;
    void require_factor(std::string_view what) const;
    void check_sizes(const Request& request, const Sizes& sizes) const;
    bool quadratic_known() const;
    void require_quadratic() const;
    void read_refinement(Session::Call& call);
    void read_status(Session::Call& call);

    std::array<std::size_t, 7> numbers_{};  // numbers of the Program's operations, by Operation
    // Arguments of kernels, whose sizes stay as they are from call to call.
    std::int64_t kernel_columns_;
    std::array<KernelArgs, 3> args_{};
    std::array<Operand, 3> operands_{};
    // Results that the caller is given, and room for what is read.
    std::vector<Outcome> outcomes_;
    std::vector<Refinement> refinements_;
    std::vector<double> log_determinants_, quadratics_;
};

}  // namespace trifold
