#pragma once
#include <trifold/sparse_args.h>

#include <memory>
#include <span>
#include <trifold/sparse.hpp>
#include <vector>

#include "generator/sparse/generate.hpp"
#include "runtime/device/turns.hpp"
#include "runtime/session/family.hpp"
#include "runtime/session/prepared.hpp"
#include "runtime/session/session.hpp"

namespace trifold {

/// The part of a plan that solvers share. Immutable once built.
struct SparsePlan::State {
    SparseChoice choice;
    SparsePattern pattern;
    SparseSummary summary;
    std::vector<sparse::Content> contents;  ///< first contents of the workspace of each solver
    std::shared_ptr<const Prepared> prepared;
};

/// The work behind every overload, for all precisions.
struct SparseSolver::Impl {
    Impl(const SparsePlan& plan, void* workspace, std::int64_t bytes, Holds holds = Holds::nothing);

    /// Goes on in a workspace in which another solver of the plan has taken that many sets of values, by work that is on the stream.
    void adopt(void* workspace, Stream stream, std::int64_t members);
    /// Writes the lists of the pattern into a workspace that was not this solver's before.
    void write_contents();

    void update(const AnyArray& values, Stream stream, const SparseOptions& options);
    void run(SparseOperation operation, std::span<const AnyArray> given, Stream stream, const SparseOptions& options);
    const std::vector<SparseValues>& values();
    const std::vector<SparseOutcome>& outcomes();
    std::vector<double> history(std::int64_t member, std::int64_t column);

    bool has_solved() const { return !outcomes_.empty(); }
    std::int64_t columns() const { return last_.columns; }  ///< right-hand sides of the last solution

    SparsePlan plan;
    Session session;
    CallTable table;
    std::int64_t updated = 0;  ///< members with values

  private:
    /// Fills in what options leave open. Throws SpecError where they do not fit the Spec.
    SparseOptions resolve(const SparseOptions& options, std::size_t operation) const;
    trifold_sparse_args args_of(const SparseOptions& options, std::int64_t first) const;
    std::function<void(const ToHost&)> watched(const SparseOptions& options, std::int64_t columns) const;
    void enqueue(Session::Call& call, std::string_view operation, const trifold_sparse_args& args) const;
    void read_outcomes(Session::Call& call, std::int64_t used);

    std::vector<SparseValues> values_;
    std::vector<SparseOutcome> outcomes_;
    SparseOptions last_;           ///< options of the last solution
    std::int64_t last_panel_ = 0;  ///< columns of its last panel
    bool has_contents_ = false;
    bool outcomes_pending_ = false;  ///< those of the last panel are still in the workspace
};

}  // namespace trifold
