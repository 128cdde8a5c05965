#include <algorithm>
#include <map>
#include <trifold/schedule.hpp>

#include "tools/bench/peers/peers.hpp"

namespace trifold::bench {
namespace {

// Values of cuBLAS's own enumerations.
constexpr int left = 0, right = 1, lower = 0, plain = 0, transposed = 1, non_unit = 0;

struct Libraries {
    // cuBLAS opens first, and its other half before it, since they need each other wherever they lie.
    Library light{{"libcublasLt.so.13", "libcublasLt.so.12"}}, blas{{"libcublas.so.13", "libcublas.so.12"}},
        solver{{"libcusolver.so.12", "libcusolver.so.11"}};
};

/// Three matrices or vectors of each problem of a batched call, as arrays of pointers on the device.
struct Batch {
    int count;
    std::shared_ptr<void> memory;
    double** operand(int k) const { return static_cast<double**>(memory.get()) + static_cast<std::ptrdiff_t>(k) * count; }
};

/// The k-th fronts of all chains of a level need one batched call each. Blocks are column-major, and a coupling between blocks p < q is
/// always A(p, q), which is E as our layout stores it. So a pivot's coupling to a later block lies on its right and to an earlier one on
/// its left: X = L^-1 A(p, q) or X = A(q, p) L^-T.
enum List {
    pivots,          ///< D_p
    later,           ///< L_p, X, D_q
    earlier,         ///< likewise
    fill,            ///< X of the earlier neighbour, X of the later one, their new coupling
    pivot_rows,      ///< L_p, x_p
    later_rows,      ///< X, x_p, x_q
    earlier_rows,    ///< likewise
    later_pivots,    ///< X, x_q, x_p
    earlier_pivots,  ///< likewise
    lists
};
using Stage = std::array<Batch, lists>;

/// A block or a part of x: the first member's, and from one member to the next.
struct Place {
    double* first;
    std::int64_t stride;
};
using Couplings = std::map<std::pair<std::int64_t, std::int64_t>, Place>;

class Composition {
  public:
    Composition(const Libraries& libraries, const std::string& schedule, const formats::System& system, const DeviceTools& tools)
        : libraries_(libraries),
          tools_(tools),
          n_(static_cast<int>(system.block)),
          horizon_(system.horizon),
          members_(system.batch),
          d_(tools, system.d, Precision::f64),
          e_(tools, system.e, Precision::f64),
          b_(tools, system.b, Precision::f64),
          l_(tools, system.d, Precision::f64),
          r_(tools, system.e, Precision::f64),
          g_(tools.allocate(d_.bytes())),
          x_(tools, system.b, Precision::f64),
          info_(tools.allocate(static_cast<std::int64_t>(sizeof(int)) * horizon_ * members_)),
          blas_(libraries.blas.make("cublasCreate_v2", "cublasDestroy_v2")),
          solver_(libraries.solver.make("cusolverDnCreate", "cusolverDnDestroy")) {
        libraries_.blas.call("cublasSetStream_v2", blas_.get(), tools.stream());
        libraries_.solver.call("cusolverDnSetStream", solver_.get(), tools.stream());
        plan(parse_schedule(schedule, horizon_));
    }
    std::vector<Step> steps() {
        return {{.operation = "factor",
                 .call = replayed([this] { factor(); }),
                 .prepare =
                     [this] {
                         tools_.copy(l_.data(), d_.data(), d_.bytes());
                         tools_.copy(r_.data(), e_.data(), e_.bytes());
                     }},
                {.operation = "solve",
                 .call = replayed([this] { solve(); }),
                 .prepare = [this] { tools_.copy(x_.data(), b_.data(), b_.bytes()); },
                 .solves = true}};
    }
    std::vector<double> take_solution() { return x_.take(); }

  private:
    /// One graph in place of many launches, as ours is, where the libraries let themselves be captured. The first call is made as it is,
    /// since they set up then what they need.
    std::function<void()> replayed(const std::function<void()>& work) const {
        work();
        tools_.synchronize();
        try {
            return tools_.capture(work);
        } catch (const Error&) {
            return work;
        }
    }

    void plan(const Schedule& schedule) {
        Couplings couplings;
        for (std::int64_t i = 0; i + 1 < horizon_; ++i) couplings[{i, i + 1}] = {block(r_.data(), i), (horizon_ - 1) * n_ * n_};
        for (const auto& level : schedule.levels) {
            std::vector<std::vector<Front>> steps;  // the k-th fronts of all chains
            for (const auto& run : level.runs) {
                for (std::int64_t c = 0; c < run.count; ++c) {
                    const auto fronts = chain_fronts(level, run, c);
                    if (steps.size() < fronts.size()) steps.resize(fronts.size());
                    for (std::size_t k = 0; k < fronts.size(); ++k) steps[k].push_back(fronts[k]);
                }
            }
            for (const auto& fronts : steps) stages_.push_back(stage(fronts, couplings));
        }
    }

    Stage stage(const std::vector<Front>& fronts, Couplings& couplings) {
        std::array<std::array<std::vector<double*>, 3>, lists> pointers;
        const auto add = [&](List list, const std::array<Place, 3>& operands) {
            for (std::size_t k = 0; k < operands.size(); ++k)
                for (std::int64_t member = 0; member < members_; ++member)
                    pointers[list][k].push_back(operands[k].first + member * operands[k].stride);
        };
        const auto diagonal = [&](std::int64_t i) { return Place{block(l_.data(), i), horizon_ * n_ * n_}; };
        const auto row = [&](std::int64_t i) { return Place{x_.as<double>() + i * n_, horizon_ * n_}; };
        for (const auto& front : fronts) {
            const auto p = front.pivot;
            add(pivots, {diagonal(p), diagonal(p), diagonal(p)});
            add(pivot_rows, {diagonal(p), row(p), row(p)});
            std::vector<std::int64_t> neighbours;
            for (const auto q : {front.next, front.behind})
                if (q >= 0) neighbours.push_back(q);
            std::ranges::sort(neighbours);
            for (const auto q : neighbours) {
                const auto x = couplings.at(std::minmax({p, q}));
                add(q > p ? later : earlier, {diagonal(p), x, diagonal(q)});
                add(q > p ? later_rows : earlier_rows, {x, row(p), row(q)});
                add(q > p ? later_pivots : earlier_pivots, {x, row(q), row(p)});
            }
            if (neighbours.size() < 2) continue;
            const auto before = neighbours[0], after = neighbours[1];
            const Place made{block(g_.get(), p), horizon_ * n_ * n_};
            add(fill, {couplings.at({before, p}), couplings.at({p, after}), made});
            couplings[{before, after}] = made;
        }
        Stage stage;
        for (std::size_t list = 0; list < stage.size(); ++list) {
            auto& all = pointers[list][0];
            stage[list].count = static_cast<int>(all.size());
            for (std::size_t k = 1; k < 3; ++k) all.insert(all.end(), pointers[list][k].begin(), pointers[list][k].end());
            stage[list].memory = on_device(tools_, all);
        }
        return stage;
    }

    void factor() const {
        for (const auto& stage : stages_) {
            libraries_.solver.call("cusolverDnDpotrfBatched", solver_.get(), lower, n_, stage[pivots].operand(0), n_,
                                   static_cast<int*>(info_.get()), stage[pivots].count);
            trsm(left, plain, stage[later], n_);
            trsm(right, transposed, stage[earlier], n_);
            gemm(transposed, plain, stage[later], {1, 1, 2}, n_, 1);
            gemm(plain, transposed, stage[earlier], {1, 1, 2}, n_, 1);
            gemm(plain, plain, stage[fill], {0, 1, 2}, n_, 0);
        }
    }

    void solve() const {
        for (const auto& stage : stages_) {
            trsm(left, plain, stage[pivot_rows], 1);
            gemm(transposed, plain, stage[later_rows], {0, 1, 2}, 1, 1);
            gemm(plain, plain, stage[earlier_rows], {0, 1, 2}, 1, 1);
        }
        for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
            gemm(plain, plain, (*stage)[later_pivots], {0, 1, 2}, 1, 1);
            gemm(transposed, plain, (*stage)[earlier_pivots], {0, 1, 2}, 1, 1);
            trsm(left, transposed, (*stage)[pivot_rows], 1);
        }
    }

    /// B = L^-1 B, L^-T B or B L^-T.
    void trsm(int side, int transpose, const Batch& batch, int columns) const {
        const double one = 1;
        if (batch.count == 0) return;
        libraries_.blas.call("cublasDtrsmBatched", blas_.get(), side, lower, transpose, non_unit, n_, columns, &one, batch.operand(0), n_,
                             batch.operand(1), n_, batch.count);
    }

    /// C = beta C - A B, C n by columns; `abc` says which operands these are.
    void gemm(int of_a, int of_b, const Batch& batch, const std::array<int, 3>& abc, int columns, double beta) const {
        const double alpha = -1;
        if (batch.count == 0) return;
        libraries_.blas.call("cublasDgemmBatched", blas_.get(), of_a, of_b, n_, columns, n_, &alpha, batch.operand(abc[0]), n_,
                             batch.operand(abc[1]), n_, &beta, batch.operand(abc[2]), n_, batch.count);
    }

    double* block(void* memory, std::int64_t index) const { return static_cast<double*>(memory) + index * n_ * n_; }

    const Libraries libraries_;
    const DeviceTools& tools_;
    int n_;
    std::int64_t horizon_, members_;
    Array d_, e_, b_, l_, r_;
    std::shared_ptr<void> g_;
    Array x_;
    std::shared_ptr<void> info_, blas_, solver_;
    std::vector<Stage> stages_;
};

}  // namespace

Peer cublas(const std::string& name, const std::string& schedule) {
    const auto fits = [sweep = schedule == "sequential"](const ChainProblem& one) {
        return one.spec.rhs == 1 && one.spec.precision == Precision::f64 && sweep == (one.spec.batch > 1);
    };
    return peer_of<ChainProblem>(name, fits, [&] {
        return [libraries = Libraries(), schedule](const ChainProblem& one, const DeviceTools& tools) {
            const auto all = std::make_shared<Composition>(libraries, schedule, one.system, tools);
            return Contender{.steps = all->steps(), .take_solution = [all] { return all->take_solution(); }};
        };
    });
}

}  // namespace trifold::bench
