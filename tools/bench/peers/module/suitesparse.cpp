#include <cholmod.h>
#include <umfpack.h>

#include <array>
#include <stdexcept>
#include <string>

#include "tools/bench/peers/host.hpp"

namespace trifold::bench {
namespace {

/// By columns; with `lower` the lower triangle alone.
struct Columns {
    Columns(const formats::BlockRows& a, bool lower) : starts(static_cast<std::size_t>(a.rows() + 1)) {
        const auto walk = [&](const auto& visit) {  // row by row, so that rows of a column rise
            for_each_entry(a, [&](std::int64_t row, std::int64_t column, double value) {
                if (!lower || row >= column) visit(row, static_cast<std::size_t>(column), value);
            });
        };
        walk([&](std::int64_t, std::size_t column, double) { ++starts[column + 1]; });
        for (std::size_t k = 1; k < starts.size(); ++k) starts[k] += starts[k - 1];
        rows.resize(static_cast<std::size_t>(starts.back()));
        values.resize(rows.size());
        auto next = starts;
        walk([&](std::int64_t row, std::size_t column, double value) {
            const auto k = static_cast<std::size_t>(next[column]++);
            rows[k] = static_cast<int>(row);
            values[k] = value;
        });
    }
    std::vector<int> starts, rows;
    std::vector<double> values;
};

/// Its analysis is done when it is made, as that of the next one.
class Umfpack {
  public:
    Umfpack(const formats::BlockRows& a, bool metis) : order_(static_cast<int>(a.rows())), columns_(a, false) {
        umfpack_di_defaults(control_.data());
        control_[UMFPACK_ORDERING] = metis ? UMFPACK_ORDERING_METIS : UMFPACK_ORDERING_AMD;
        control_[UMFPACK_IRSTEP] = 0;
        void* made = nullptr;
        check(umfpack_di_symbolic(order_, order_, columns_.starts.data(), columns_.rows.data(), columns_.values.data(), &made,
                                  control_.data(), nullptr));
        symbolic_ = {made, [](void* ended) { umfpack_di_free_symbolic(&ended); }};
    }
    void factor() {
        numeric_.reset();
        void* made = nullptr;
        check(umfpack_di_numeric(columns_.starts.data(), columns_.rows.data(), columns_.values.data(), symbolic_.get(), &made,
                                 control_.data(), nullptr));
        numeric_ = {made, [](void* ended) { umfpack_di_free_numeric(&ended); }};
    }
    void solve(const std::vector<double>& b, std::vector<double>& x) {
        x.resize(b.size());
        check(umfpack_di_solve(UMFPACK_A, columns_.starts.data(), columns_.rows.data(), columns_.values.data(), x.data(), b.data(),
                               numeric_.get(), control_.data(), nullptr));
    }

  private:
    static void check(int status) {
        if (status != UMFPACK_OK) throw std::runtime_error("UMFPACK says " + std::to_string(status));
    }
    int order_;
    Columns columns_;
    std::array<double, UMFPACK_CONTROL> control_{};
    std::shared_ptr<void> symbolic_, numeric_;
};

class Cholmod {
  public:
    Cholmod(const formats::BlockRows& a, bool metis) : columns_(a, true) {
        cholmod_start(common_.get());
        common_->nmethods = 1;
        common_->method[0].ordering = metis ? CHOLMOD_METIS : CHOLMOD_AMD;
        common_->supernodal = CHOLMOD_SUPERNODAL;
        matrix_.nrow = matrix_.ncol = static_cast<std::size_t>(a.rows());
        matrix_.nzmax = columns_.rows.size();
        matrix_.p = columns_.starts.data();
        matrix_.i = columns_.rows.data();
        matrix_.x = columns_.values.data();
        matrix_.stype = -1;
        matrix_.itype = CHOLMOD_INT;
        matrix_.xtype = CHOLMOD_REAL;
        matrix_.dtype = CHOLMOD_DOUBLE;
        matrix_.sorted = matrix_.packed = 1;
        factor_ = {cholmod_analyze(&matrix_, common_.get()),
                   [common = common_](auto* ended) { cholmod_free_factor(&ended, common.get()); }};
    }
    void factor() {
        if (cholmod_factorize(&matrix_, factor_.get(), common_.get()) == 0 || common_->status != CHOLMOD_OK)
            throw std::runtime_error("CHOLMOD failed");
    }
    void solve(const std::vector<double>& b, std::vector<double>& x) {
        auto copy = b;
        cholmod_dense rhs{};
        rhs.nrow = rhs.d = rhs.nzmax = b.size();
        rhs.ncol = 1;
        rhs.x = copy.data();
        rhs.xtype = CHOLMOD_REAL;
        rhs.dtype = CHOLMOD_DOUBLE;
        auto* found = cholmod_solve(CHOLMOD_A, factor_.get(), &rhs, common_.get());
        const auto* values = static_cast<const double*>(found->x);
        x.assign(values, values + b.size());
        cholmod_free_dense(&found, common_.get());
    }

  private:
    Columns columns_;
    std::shared_ptr<cholmod_common> common_{new cholmod_common{}, [](cholmod_common* ended) {
                                                cholmod_finish(ended);
                                                delete ended;
                                            }};
    cholmod_sparse matrix_{};
    std::shared_ptr<cholmod_factor> factor_;
};

template <class Solver>
std::function<HostSolver(const HostProblem&)> maker(bool metis) {
    return [metis](const HostProblem& problem) {
        HostSolver host;
        const auto solver = std::make_shared<Solver>(problem.a, metis);
        host.steps = {{"factor", [solver] { solver->factor(); }},
                      {"solve", [solver, &b = problem.b, x = host.x] { solver->solve(b, *x); }, true}};
        return host;
    };
}

}  // namespace

void add_suitesparse(HostPeers& peers) {
    for (const bool metis : {false, true}) {
        const std::string order = metis ? "-metis" : "";
        peers["umfpack" + order] = maker<Umfpack>(metis);
        peers["cholmod" + order] = maker<Cholmod>(metis);
    }
}

}  // namespace trifold::bench
