#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <trifold/rank_solver.hpp>
#include <vector>

#include "runtime/python/binding/chain.hpp"

namespace trifold::python {

/// trifold.LocalRanks: threads of this process as ranks.
class BoundLocalRanks {
  public:
    BoundLocalRanks(int ranks, double timeout);
    std::shared_ptr<Transport> take(int rank) { return all_.take(rank); }
    std::chrono::milliseconds time_limit() const { return time_limit_; }

  private:
    std::chrono::milliseconds time_limit_;
    LocalRanks all_;
};

/// trifold._core.Transport: messages between hosts, and the device of the arrays that they are about. A solver takes it over.
class BoundTransport {
  public:
    BoundTransport(std::shared_ptr<Transport> transport, std::chrono::milliseconds time_limit);
    /// Takes an object of Python with rank, ranks, send(to, buffer) and receive(from, buffer).
    BoundTransport(nb::handle object, double timeout);
    Transport& there() const;
    /// The number that each rank gives, on all of them.
    std::vector<std::int64_t> gather(std::int64_t mine) const;
    /// Sets the device of the arrays. `nccl`: the address of an ncclComm_t, or None.
    void place(nb::handle device, nb::handle nccl);
    const Device& device() const { return device_; }
    /// For a solver. All ranks call it together: GPUs then get messages of NCCL.
    std::shared_ptr<Transport> take();

  private:
    std::shared_ptr<Transport> transport_;
    Device device_;
    NcclOptions nccl_;
};

/// trifold.RankSolver: the calls of a RankSolver on arrays of Python.
class BoundRanks : public BoundChain {
  public:
    BoundRanks(BoundTransport& transport, const Spec& spec, const Tuning& tuning, std::vector<std::int64_t> shards);
    ~BoundRanks() override;

    /// Corrects x. The arrays may be of float64 although the ranks' are of float32.
    nb::object refine(nb::handle d, nb::handle e, nb::handle b, nb::handle x, const Options& options);
    nb::object log_determinant();
    nb::object quadratic();
    nb::object status();
    void check();
    /// The next rank's first block of b, which gives its own to the rank before; None on the last rank.
    nb::object next_block(nb::handle b);
    const RankSpec& spec() const { return solver_->plan().spec(); }
    std::int64_t block() const override { return spec().spec.block; }
    std::int64_t blocks() const override { return spec().blocks(); }
    std::int64_t couplings() const override { return spec().blocks() - (spec().rank + 1 == spec().ranks() ? 1 : 0); }
    const std::string& schedule() const { return solver_->plan().choice().tuning.schedule; }

  private:
    std::int64_t batch() const override { return spec().spec.batch; }
    std::string reason_for_d() const override;
    std::string reason_for_e() const override;
    /// Numbers of float64 that the host has, as an array of the last call's library.
    nb::object give(const std::vector<double>& values, const std::vector<std::int64_t>& shape) const;
    void run(Operation operation, const Inputs& in, std::initializer_list<AnyArray> arrays, const Options& options) override;
    /// body(RankSolver&, Stream), with the lock of Python given up.
    template <class Body>
    void lend(bool checked, Body body);

    Device device_;
    std::shared_ptr<Transport> transport_;
    std::unique_ptr<RankSolver> solver_;
    bool columns_ = false;  // whether b of the last forward sweep had an axis for right-hand sides
};

void bind_ranks(nb::module_& module);

}  // namespace trifold::python
