#pragma once
#include <string>
#include <trifold/program.hpp>
#include <trifold/ranks.hpp>
#include <vector>

#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/ranks/tree.hpp"

namespace trifold::ranks {

/// The operands of a rank's launches. Its own path and that of its separator have two each, as Operands says.
enum RankOperands : std::size_t {
    own,
    own_in_x,
    joint,
    joint_in_x,
    deliver,           ///< X of its blocks, to the caller
    deliver_inverse,   ///< likewise
    deliver_coupling,  ///< the inverse's, where no front of this rank stands between two separators
    own_diagonal,      ///< a diagonal that the caller adds, to the path
    joint_diagonal,
    clear_own,  ///< a word of each member's range
    clear_joint,
    rank_operand_count
};

/// The separators of an interval, as a path knows them.
struct Ends {
    std::int64_t left, right;  ///< blocks of the path; none
    std::int64_t coupling;     ///< the place of their coupling in the buffers of couplings
    int side = 0;              ///< on GPUs: 0 what the path leaves, 1 and 2 what comes to it from the lower and the higher interval
};

/// One of a rank's two paths, an ordinary solver with a part of the rank's workspace.
class Part {
  public:
    /// `prefix`: of its buffers' names. It begins at `base`.
    Part(Choice choice, std::string prefix, std::int64_t base);

    const Design& design() const { return design_; }
    const Program& program() const { return program_; }
    /// Its buffers in the rank's workspace, among them those of X, of a diagonal and of the selected inverse, which kernels of a rank find
    /// in the workspace. A block that is not eliminated here has a verdict that changes nothing.
    const std::vector<Buffer>& buffers() const { return buffers_; }
    std::int64_t end() const { return end_; }

    /// Adds what an interval leaves to its ends: updates and coupling of a factorization, updates of right-hand sides.
    void add_updates(std::vector<Piece>& pieces, const Ends& ends, bool factors, bool sweeps) const;
    /// Adds X of the ends.
    void add_solution(std::vector<Piece>& pieces, const Ends& ends) const;
    /// Adds the selected inverse of the ends.
    void add_inverse(std::vector<Piece>& pieces, const Ends& ends) const;
    Piece solution(std::int64_t block) const;

  private:
    void add(std::string name, std::int64_t count, std::int64_t elements);
    Piece block_of(std::string_view name, std::int64_t elements, std::int64_t block) const;
    void add_passed(std::vector<Piece>& pieces, const Ends& ends, bool factors, bool sweeps) const;
    bool on_gpu() const { return design_.target.backend != Backend::cpu; }
    Piece slot(std::string_view name, std::int64_t elements, int side, std::int64_t block) const;
    Piece poison(int side, std::int64_t block) const;
    Piece coupling(std::string_view name, std::int64_t index) const;
    std::int64_t place(std::int64_t block) const;
    std::int64_t offset(std::string_view name) const;

    Design design_;
    Program program_;
    std::string prefix_;
    std::vector<Buffer> buffers_;
    std::int64_t end_, real_, group_, groups_;
};

}  // namespace trifold::ranks
