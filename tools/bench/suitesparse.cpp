#include "tools/bench/suitesparse.hpp"

#ifdef TRIFOLD_HAS_SUITESPARSE
#include <cholmod.h>
#include <umfpack.h>

#include <array>
#include <memory>
#include <stdexcept>
#endif

namespace trifold::bench {

#ifndef TRIFOLD_HAS_SUITESPARSE
std::vector<std::string> suitesparse_names(bool) { return {}; }
Rival suitesparse_rival(std::size_t, const formats::SparseMatrix&, bool) { return {}; }
#else
namespace {

/// By columns; with `lower` the lower triangle alone.
struct Columns {
    Columns(const formats::SparseMatrix& a, bool lower) : starts(static_cast<std::size_t>(a.columns + 1)) {
        const auto counts = [&](const formats::Entry& entry) { return !lower || entry.row >= entry.column; };
        for (const auto& entry : a.entries)
            if (counts(entry)) ++starts[static_cast<std::size_t>(entry.column + 1)];
        for (std::size_t k = 1; k < starts.size(); ++k) starts[k] += starts[k - 1];
        rows.resize(static_cast<std::size_t>(starts.back()));
        values.resize(rows.size());
        auto next = starts;
        for (const auto& entry : a.entries) {  // row by row, so that rows of a column rise
            if (!counts(entry)) continue;
            const auto k = static_cast<std::size_t>(next[static_cast<std::size_t>(entry.column)]++);
            rows[k] = static_cast<int>(entry.row);
            values[k] = entry.value;
        }
    }
    std::vector<int> starts, rows;
    std::vector<double> values;
};

class Umfpack {
  public:
    Umfpack(const formats::SparseMatrix& a, double ordering) : order_(static_cast<int>(a.rows)), columns_(a, false) {
        umfpack_di_defaults(control_.data());
        control_[UMFPACK_ORDERING] = ordering;
        check(umfpack_di_symbolic(order_, order_, columns_.starts.data(), columns_.rows.data(), columns_.values.data(), &symbolic_,
                                  control_.data(), nullptr));
    }
    Umfpack(const Umfpack&) = delete;
    Umfpack& operator=(const Umfpack&) = delete;
    ~Umfpack() {
        umfpack_di_free_numeric(&numeric_);
        umfpack_di_free_symbolic(&symbolic_);
    }
    void factor() {
        umfpack_di_free_numeric(&numeric_);
        check(umfpack_di_numeric(columns_.starts.data(), columns_.rows.data(), columns_.values.data(), symbolic_, &numeric_,
                                 control_.data(), nullptr));
    }
    std::vector<double> solve(const std::vector<double>& b) {
        std::vector<double> x(b.size());
        control_[UMFPACK_IRSTEP] = 0;
        check(umfpack_di_solve(UMFPACK_A, columns_.starts.data(), columns_.rows.data(), columns_.values.data(), x.data(), b.data(),
                               numeric_, control_.data(), nullptr));
        return x;
    }

  private:
    static void check(int status) {
        if (status != UMFPACK_OK) throw std::runtime_error("UMFPACK says " + std::to_string(status));
    }
    int order_;
    Columns columns_;
    std::array<double, UMFPACK_CONTROL> control_{};
    void *symbolic_ = nullptr, *numeric_ = nullptr;
};

class Cholmod {
  public:
    Cholmod(const formats::SparseMatrix& a, int ordering) : columns_(a, true) {
        cholmod_start(&common_);
        common_.nmethods = 1;
        common_.method[0].ordering = ordering;
        common_.supernodal = CHOLMOD_SUPERNODAL;
        matrix_.nrow = matrix_.ncol = static_cast<std::size_t>(a.rows);
        matrix_.nzmax = columns_.rows.size();
        matrix_.p = columns_.starts.data();
        matrix_.i = columns_.rows.data();
        matrix_.x = columns_.values.data();
        matrix_.stype = -1;
        matrix_.itype = CHOLMOD_INT;
        matrix_.xtype = CHOLMOD_REAL;
        matrix_.dtype = CHOLMOD_DOUBLE;
        matrix_.sorted = matrix_.packed = 1;
        factor_ = cholmod_analyze(&matrix_, &common_);
    }
    Cholmod(const Cholmod&) = delete;
    Cholmod& operator=(const Cholmod&) = delete;
    ~Cholmod() {
        cholmod_free_factor(&factor_, &common_);
        cholmod_finish(&common_);
    }
    void factor() {
        if (cholmod_factorize(&matrix_, factor_, &common_) == 0 || common_.status != CHOLMOD_OK) throw std::runtime_error("CHOLMOD failed");
    }
    std::vector<double> solve(std::vector<double> b) {
        cholmod_dense rhs{};
        rhs.nrow = rhs.d = rhs.nzmax = b.size();
        rhs.ncol = 1;
        rhs.x = b.data();
        rhs.xtype = CHOLMOD_REAL;
        rhs.dtype = CHOLMOD_DOUBLE;
        auto* x = cholmod_solve(CHOLMOD_A, factor_, &rhs, &common_);
        const auto* values = static_cast<const double*>(x->x);
        std::vector<double> result(values, values + b.size());
        cholmod_free_dense(&x, &common_);
        return result;
    }

  private:
    Columns columns_;
    cholmod_common common_{};
    cholmod_sparse matrix_{};
    cholmod_factor* factor_ = nullptr;
};

template <class Solver>
Rival rival(std::shared_ptr<Solver> solver) {
    return {[solver] { solver->factor(); }, [solver](const std::vector<double>& b) { return solver->solve(b); }};
}

}  // namespace

std::vector<std::string> suitesparse_names(bool positive_definite) {
    const std::string name = positive_definite ? "CHOLMOD" : "UMFPACK";
    return {name + ", AMD", name + ", METIS"};
}

Rival suitesparse_rival(std::size_t place, const formats::SparseMatrix& a, bool positive_definite) {
    const bool metis = place == 1;
    if (positive_definite) return rival(std::make_shared<Cholmod>(a, metis ? CHOLMOD_METIS : CHOLMOD_AMD));
    return rival(std::make_shared<Umfpack>(a, metis ? UMFPACK_ORDERING_METIS : UMFPACK_ORDERING_AMD));
}
#endif

}  // namespace trifold::bench
