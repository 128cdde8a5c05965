#include <algorithm>
#include <map>
#include <memory>
#include <trifold/schedule.hpp>

#include "tools/bench/peers/peers.hpp"

namespace trifold::bench {
namespace {

// Values of cuBLAS's own enumerations.
enum Side { left = 0, right = 1 };
enum Half { lower = 0 };
enum Transpose { plain = 0, transposed = 1 };
enum Diagonal { non_unit = 0 };

struct Libraries {
    // cuBLAS opens first, and its other half before it, since they need each other wherever they lie.
    Library light{{"libcublasLt.so.13", "libcublasLt.so.12"}}, blas{{"libcublas.so.13", "libcublas.so.12"}},
        solver{{"libcusolver.so.12", "libcusolver.so.11"}};
};

/// Three matrices or vectors of each problem of a batched call, as arrays of pointers on the device.
class Batch {
  public:
    using Triple = std::array<double*, 3>;
    Batch() = default;
    Batch(const DeviceTools& tools, const std::vector<Triple>& triples) : count_(triples.size()) {
        std::vector<double*> pointers;
        for (std::size_t k = 0; k < 3; ++k)
            for (const auto& triple : triples) pointers.push_back(triple[k]);
        const auto bytes = static_cast<std::int64_t>(pointers.size() * sizeof(double*));
        memory_ = tools.allocate(bytes);
        tools.upload(memory_.get(), pointers.data(), bytes);
    }
    int count() const { return static_cast<int>(count_); }
    double** operand(std::size_t k) const { return static_cast<double**>(memory_.get()) + k * count_; }

  private:
    std::size_t count_ = 0;
    std::shared_ptr<void> memory_;
};

/// What the k-th fronts of all chains of a level need: one batched call each. Blocks are column-major, and a coupling between blocks
/// p < q is always A(p, q), which is E as our layout stores it. So a pivot's coupling to a later block lies on its right and to an
/// earlier one on its left: X = L^-1 A(p, q) or X = A(q, p) L^-T.
struct Stage {
    Batch pivots;                        ///< D_p
    Batch later, earlier;                ///< L_p, X, D_q
    Batch fill;                          ///< X of the earlier neighbour, X of the later one, their new coupling
    Batch pivot_rows;                    ///< L_p, x_p
    Batch later_rows, earlier_rows;      ///< X, x_p, x_q
    Batch later_pivots, earlier_pivots;  ///< X, x_q, x_p
};

/// A block or a part of x: the first member's, and from one member to the next.
struct Place {
    double* first;
    std::int64_t stride;
};
using Couplings = std::map<std::pair<std::int64_t, std::int64_t>, Place>;

class Composition : public Contender {
  public:
    Composition(Libraries libraries, const std::string& schedule, const formats::System& system, const DeviceTools& tools)
        : libraries_(std::move(libraries)),
          tools_(tools),
          n_(static_cast<int>(system.block)),
          horizon_(system.horizon),
          members_(system.batch),
          d_(tools, system.d, Precision::f64),
          e_(tools, system.e, Precision::f64),
          b_(tools, system.b, Precision::f64),
          l_(tools.allocate(d_.bytes())),
          r_(tools.allocate(e_.bytes())),
          g_(tools.allocate(d_.bytes())),
          x_(tools, system.b, Precision::f64),
          info_(tools.allocate(static_cast<std::int64_t>(sizeof(int)) * horizon_ * members_)) {
        libraries_.blas.call("cublasCreate_v2", &blas_);
        libraries_.blas.call("cublasSetStream_v2", blas_, tools.stream());
        libraries_.solver.call("cusolverDnCreate", &solver_);
        libraries_.solver.call("cusolverDnSetStream", solver_, tools.stream());
        plan(parse_schedule(schedule, horizon_));
    }

    ~Composition() override {
        libraries_.solver.find<int(void*)>("cusolverDnDestroy")(solver_);
        libraries_.blas.find<int(void*)>("cublasDestroy_v2")(blas_);
    }

    std::vector<Step> steps() override {
        const auto restore = [this] {
            tools_.copy(l_.get(), d_.data(), d_.bytes());
            tools_.copy(r_.get(), e_.data(), e_.bytes());
        };
        const auto load = [this] { tools_.copy(x_.data(), b_.data(), b_.bytes()); };
        restore();
        return {{.operation = "factor", .call = replayed([this] { factor(); }), .prepare = restore},
                {.operation = "solve", .call = replayed([this] { solve(); }), .prepare = load, .solves = true}};
    }
    std::vector<double> take_solution() override { return x_.take(); }

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
        for (std::int64_t i = 0; i + 1 < horizon_; ++i) couplings[{i, i + 1}] = {block(r_, i), (horizon_ - 1) * n_ * n_};
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
        enum List { pivots, later, earlier, fill, pivot_rows, later_rows, earlier_rows, later_pivots, earlier_pivots, lists };
        std::array<std::vector<Batch::Triple>, lists> triples;
        const auto add = [&](List list, const Place& a, const Place& b, const Place& c) {
            for (std::int64_t k = 0; k < members_; ++k)
                triples[list].push_back({a.first + k * a.stride, b.first + k * b.stride, c.first + k * c.stride});
        };
        const auto diagonal = [&](std::int64_t i) { return Place{block(l_, i), horizon_ * n_ * n_}; };
        const auto row = [&](std::int64_t i) { return Place{x_.as<double>() + i * n_, horizon_ * n_}; };
        for (const auto& front : fronts) {
            const auto p = front.pivot;
            add(pivots, diagonal(p), diagonal(p), diagonal(p));
            add(pivot_rows, diagonal(p), row(p), row(p));
            std::vector<std::int64_t> neighbours;
            for (const auto q : {front.next, front.behind})
                if (q >= 0) neighbours.push_back(q);
            std::ranges::sort(neighbours);
            for (const auto q : neighbours) {
                const auto x = couplings.at(std::minmax({p, q}));
                add(q > p ? later : earlier, diagonal(p), x, diagonal(q));
                add(q > p ? later_rows : earlier_rows, x, row(p), row(q));
                add(q > p ? later_pivots : earlier_pivots, x, row(q), row(p));
            }
            if (neighbours.size() < 2) continue;
            const auto before = neighbours[0], after = neighbours[1];
            const Place made{block(g_, p), horizon_ * n_ * n_};
            add(fill, couplings.at({before, p}), couplings.at({p, after}), made);
            couplings[{before, after}] = made;
        }
        const auto batch = [&](List list) { return Batch(tools_, triples[list]); };
        return {batch(pivots),     batch(later),        batch(earlier),      batch(fill),          batch(pivot_rows),
                batch(later_rows), batch(earlier_rows), batch(later_pivots), batch(earlier_pivots)};
    }

    void factor() const {
        for (const auto& stage : stages_) {
            libraries_.solver.call("cusolverDnDpotrfBatched", solver_, static_cast<int>(lower), n_, stage.pivots.operand(0), n_,
                                   static_cast<int*>(info_.get()), stage.pivots.count());
            trsm(left, plain, stage.later, n_);
            trsm(right, transposed, stage.earlier, n_);
            gemm(transposed, plain, {stage.later.operand(1), stage.later.operand(1), stage.later.operand(2)}, n_, -1, 1,
                 stage.later.count());
            gemm(plain, transposed, {stage.earlier.operand(1), stage.earlier.operand(1), stage.earlier.operand(2)}, n_, -1, 1,
                 stage.earlier.count());
            gemm(plain, plain, {stage.fill.operand(0), stage.fill.operand(1), stage.fill.operand(2)}, n_, -1, 0, stage.fill.count());
        }
    }

    void solve() const {
        const auto update = [&](Transpose transpose, const Batch& batch) {
            gemm(transpose, plain, {batch.operand(0), batch.operand(1), batch.operand(2)}, 1, -1, 1, batch.count());
        };
        for (const auto& stage : stages_) {
            trsm(left, plain, stage.pivot_rows, 1);
            update(transposed, stage.later_rows);
            update(plain, stage.earlier_rows);
        }
        for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
            update(plain, stage->later_pivots);
            update(transposed, stage->earlier_pivots);
            trsm(left, transposed, stage->pivot_rows, 1);
        }
    }

    /// B = L^-1 B, L^-T B or B L^-T.
    void trsm(Side side, Transpose transpose, const Batch& batch, int columns) const {
        const double one = 1;
        if (batch.count() == 0) return;
        libraries_.blas.call("cublasDtrsmBatched", blas_, static_cast<int>(side), static_cast<int>(lower), static_cast<int>(transpose),
                             static_cast<int>(non_unit), n_, columns, &one, batch.operand(0), n_, batch.operand(1), n_, batch.count());
    }

    /// C = alpha A B + beta C, C n by columns.
    void gemm(Transpose of_a, Transpose of_b, std::array<double**, 3> abc, int columns, double alpha, double beta, int count) const {
        if (count == 0) return;
        libraries_.blas.call("cublasDgemmBatched", blas_, static_cast<int>(of_a), static_cast<int>(of_b), n_, columns, n_, &alpha, abc[0],
                             n_, abc[1], n_, &beta, abc[2], n_, count);
    }

    double* block(const std::shared_ptr<void>& memory, std::int64_t index) const {
        return static_cast<double*>(memory.get()) + index * n_ * n_;
    }

    Libraries libraries_;
    const DeviceTools& tools_;
    int n_;
    std::int64_t horizon_, members_;
    Array d_, e_, b_;
    std::shared_ptr<void> l_, r_, g_;
    Array x_;
    std::shared_ptr<void> info_;
    void *blas_ = nullptr, *solver_ = nullptr;
    std::vector<Stage> stages_;
};

}  // namespace

Peer cublas(const std::string& name, const std::string& schedule) {
    return opened({.name = name, .families = {Family::tridiagonal}}, [&](Peer& peer) {
        peer.fits = of_family<ChainProblem>([sweep = schedule == "sequential"](const ChainProblem& one) {
            return one.spec.rhs == 1 && one.spec.precision == Precision::f64 && sweep == (one.spec.batch > 1);
        });
        peer.make = [libraries = Libraries(), schedule](const Problem& problem, const DeviceTools& tools) {
            return std::make_unique<Composition>(libraries, schedule, std::get<ChainProblem>(problem).system, tools);
        };
    });
}

}  // namespace trifold::bench
