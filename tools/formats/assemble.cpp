#include "tools/formats/assemble.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>

#include "tools/formats/file.hpp"
#include "tools/formats/symmetry.hpp"

namespace trifold::formats {
namespace {

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

/// All arrays as zeros, once it is known that they fit: a small file can describe a system of any size.
void allocate(System& system) {
    const auto square = system.block * system.block, a = system.border;
    const std::tuple<std::vector<double>&, std::int64_t, std::int64_t> arrays[]{{system.d, system.horizon, square},
                                                                                {system.e, system.couplings(), square},
                                                                                {system.u, system.general ? system.couplings() : 0, square},
                                                                                {system.f, system.chain_rows(), a},
                                                                                {system.c, a, a},
                                                                                {system.b, system.chain_rows() + a, system.rhs}};
    std::int64_t all = 0;
    for (const auto& [values, count, each] : arrays)
        all = checked_add(all, checked_multiply(count, each, "size of A and b"), "size of A and b");
    const auto bytes = checked_multiply(all, sizeof(double), "size of A and b in bytes");
    const auto memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
    if (constexpr double gibibyte = 1 << 30; static_cast<double>(bytes) > memory)
        throw MemoryError(fmt::format("{} blocks of {} by {} need {:.1f} GiB of memory, this machine has {:.1f} GiB", system.horizon,
                                      system.block, system.block, static_cast<double>(bytes) / gibibyte, memory / gibibyte));
    for (const auto& [values, count, each] : arrays) values.resize(index(count * each));
}

/// Puts sparse entries into blocks and finds repeated ones.
class Scatter {
  public:
    Scatter(System& system, const SparseMatrix& a)
        : system_(system),
          symmetric_(a.symmetric),
          chain_(system.rows - system.border),
          upper_e_(symmetric_ ? 0 : system.e.size()),
          upper_f_(symmetric_ ? 0 : system.f.size()) {}
    void add(const Entry& entry, std::size_t number) {
        const auto n = system_.block, w = system_.bandwidth;
        const bool mirrored = entry.row < entry.column;
        const auto row = mirrored && symmetric_ ? entry.column : entry.row, column = mirrored && symmetric_ ? entry.row : entry.column;
        if (std::max(row, column) >= chain_) return add_to_border(row, column, entry, number);
        const auto i = row / n, j = column / n, r = row % n, c = column % n;
        const auto apart = std::abs(row / (n / w) - column / (n / w));
        const bool closes = system_.ring && std::abs(i - j) == system_.horizon - 1;
        if ((closes ? system_.horizon * w - apart : apart) > w) return outside(entry, number);
        if (closes) return close(i == 0, i == 0 ? r : c, i == 0 ? c : r, entry, number);
        if (i == j)
            put(d_, (i * n + r) * n + c, entry, number);
        else if (i > j)
            put(e_, (j * n + r) * n + c, entry, number);
        else
            put(high_e_, (i * n + c) * n + r, entry, number);
    }
    void finish(Precision precision) {
        if (symmetric_ || !system_.general) match_triangles(precision);
        if (system_.general) take_upper(symmetric_ ? system_.e : upper_e_);
        if (zeros_ > 0) system_.notes.push_back(zeros_text());
    }

  private:
    /// Compares both triangles of a file that has both, or mirrors the lower one.
    void match_triangles(Precision precision) {
        const auto n = system_.block;
        Symmetry symmetry(precision);
        for (std::int64_t row = 0; row < chain_; ++row) {
            const auto first = row / n * n;
            for (std::int64_t c = 0; first > 0 && c < n && !symmetric_; ++c) {
                const auto at = index((row - n) * n + c);
                compare(symmetry, row, first - n + c, system_.e[at], upper_e_[at]);
            }
            for (auto column = first; column < row; ++column)
                agree(symmetry, row, column, system_.d[index(row * n + column - first)], system_.d[index(column * n + row - first)]);
        }
        const auto last = n * (system_.horizon - 1);
        for (std::int64_t at = 0; system_.ring && !symmetric_ && at < n * n; ++at)
            compare(symmetry, at / n, last + at % n, system_.e[index(last * n + at)], upper_e_[index(last * n + at)]);
        finish_border(symmetry);
        symmetry.note(system_);
    }
    /// An array that entries go to, and which of them have come.
    struct Half {
        explicit Half(std::vector<double>& of) : values(of), seen(of.size()) {}
        std::vector<double>& values;
        std::vector<bool> seen;
    };
    /// Takes the transposes of the blocks above the diagonal.
    void take_upper(const std::vector<double>& mirrored) {
        const auto n = system_.block, square = n * n;
        for (std::int64_t k = 0; k < std::ssize(mirrored); ++k)
            system_.u[index(k)] = mirrored[index(k / square * square + k % n * n + k % square / n)];
    }
    /// Takes an entry between row r of block 0 and row c of the last block: of A(0, N-1), or mirrored.
    void close(bool is_first_row, std::int64_t r, std::int64_t c, const Entry& entry, std::size_t number) {
        const auto at = ((system_.horizon - 1) * system_.block + r) * system_.block + c;
        put(is_first_row || symmetric_ ? e_ : high_e_, at, entry, number);
    }
    void add_to_border(std::int64_t row, std::int64_t column, const Entry& entry, std::size_t number) {
        if (std::min(row, column) >= chain_) return put(c_, (row - chain_) * system_.border + column - chain_, entry, number);
        put(row > column ? f_ : high_f_, place_in_f(std::max(row, column) - chain_, std::min(row, column)), entry, number);
    }
    std::int64_t place_in_f(std::int64_t row, std::int64_t column) const {
        const auto n = system_.block;
        return (column / n * system_.border + row) * n + column % n;
    }
    void finish_border(Symmetry& symmetry) {
        const auto a = system_.border;
        for (std::int64_t row = 0; row < a; ++row) {
            for (std::int64_t column = 0; column < chain_ && !symmetric_; ++column) {
                const auto at = index(place_in_f(row, column));
                compare(symmetry, chain_ + row, column, system_.f[at], upper_f_[at]);
            }
            for (std::int64_t column = 0; column < row; ++column)
                agree(symmetry, chain_ + row, chain_ + column, system_.c[index(row * a + column)], system_.c[index(column * a + row)]);
        }
    }
    /// A zero that is written out says nothing of A.
    void outside(const Entry& entry, std::size_t number) {
        if (entry.value == 0) {
            if (zeros_++ == 0) first_zero_ = entry;
            return;
        }
        throw InputError(fmt::format(
            "entry {} of A, at row {} and column {} (from 1), is outside the {}; give a larger --block, the number of last rows "
            "that couple to all as --border, or neither to have both inferred",
            number + 1, entry.row + 1, entry.column + 1, shape_text()));
    }
    std::string shape_text() const {
        const auto w = system_.bandwidth;
        return w == 1 ? fmt::format("block-tridiagonal band of block size {}", system_.block)
                      : fmt::format("band of {} blocks of {}", w, system_.block / w);
    }
    void put(Half& half, std::int64_t at, const Entry& entry, std::size_t number) {
        if (half.seen[index(at)])
            throw InputError(fmt::format("entry {} of A, at row {} and column {} (from 1), was given before{}; give every entry once",
                                         number + 1, entry.row + 1, entry.column + 1,
                                         symmetric_ ? " (a symmetric file holds one of each mirrored pair)" : ""));
        half.seen[index(at)] = true;
        half.values[index(at)] = entry.value;
    }
    std::string zeros_text() const {
        return fmt::format(
            "zeros that A's file holds outside the blocks of {} by {} do not count: {}, the first at row {} and column {} (from 1)",
            system_.block, system_.block, zeros_, first_zero_.row + 1, first_zero_.column + 1);
    }
    double diagonal(std::int64_t row) const {
        if (row >= chain_) return system_.c[index((row - chain_) * (system_.border + 1))];
        return system_.d[index(row * system_.block + row % system_.block)];
    }
    /// Makes a pair of entries agree, or looks whether they do, where one array holds both triangles.
    void agree(Symmetry& symmetry, std::int64_t row, std::int64_t column, double low, double& high) const {
        if (symmetric_)
            high = low;
        else
            compare(symmetry, row, column, low, high);
    }
    void compare(Symmetry& symmetry, std::int64_t row, std::int64_t column, double low, double high) const {
        if (symmetry.holds(low, high, diagonal(row), diagonal(column))) return;
        throw InputError(
            fmt::format("A is not symmetric: A({}, {}) = {} but A({}, {}) = {} (rows and columns from 1); {}; give a symmetric A, or its "
                        "lower triangle in a file that says symmetric",
                        row + 1, column + 1, low, column + 1, row + 1, high, symmetry.limit()));
    }
    System& system_;
    bool symmetric_;
    std::int64_t chain_;  ///< rows of the chain, without padding
    std::vector<double> upper_e_, upper_f_;
    Half d_{system_.d}, e_{system_.e}, f_{system_.f}, c_{system_.c}, high_e_{upper_e_}, high_f_{upper_f_};
    std::int64_t zeros_ = 0;  ///< outside the blocks
    Entry first_zero_{};
};

}  // namespace

std::optional<std::string> asymmetry(const SparseMatrix& a, Precision precision) {
    if (a.symmetric) return std::nullopt;
    std::vector<std::tuple<std::int64_t, std::int64_t, bool, double>>
        pairs;  // row and column of the lower one, whether it is the upper one
    std::vector<double> diagonal(index(std::max(a.rows, a.columns)));
    for (const auto& [row, column, value] : a.entries)
        if (row == column)
            diagonal[index(row)] = value;
        else
            pairs.emplace_back(std::max(row, column), std::min(row, column), row < column, value);
    std::ranges::sort(pairs);
    Symmetry symmetry(precision);
    for (std::size_t k = 0; k < pairs.size(); ++k) {
        const auto& [row, column, is_upper, value] = pairs[k];
        const bool is_pair = !is_upper && k + 1 < pairs.size() && std::get<0>(pairs[k + 1]) == row && std::get<1>(pairs[k + 1]) == column;
        const auto low = is_upper ? 0 : value, high = is_upper ? value : is_pair ? std::get<3>(pairs[k + 1]) : 0;
        if (!symmetry.holds(low, high, diagonal[index(row)], diagonal[index(column)]))
            return fmt::format("A({}, {}) = {} but A({}, {}) = {} (rows and columns from 1)", row + 1, column + 1, low, column + 1, row + 1,
                               high);
        if (is_pair) ++k;
    }
    return std::nullopt;
}

namespace {

void note_shape(System& system, const Stated& stated) {
    if (system.ring) system.notes.emplace_back("the last block is coupled to the first, so A is taken as a ring");
    if (system.bandwidth > 1 && !stated.bandwidth)
        system.notes.push_back(fmt::format("A is a band of {} blocks of {}, which is solved as a chain of blocks of {}", system.bandwidth,
                                           system.block / system.bandwidth, system.block));
    if (system.border > 0 && !stated.border)
        system.notes.push_back(fmt::format("A is taken with a border of {}: its last rows couple to rows far before them", system.border));
}

/// Entries of a file are finite; those of f32 have a smaller range.
void check_range(const SparseMatrix& a, const DenseMatrix& b, Precision precision) {
    const auto check = [=](std::string_view name, std::int64_t row, std::int64_t column, double value) {
        if (precision == Precision::f32 && !(std::abs(value) <= std::numeric_limits<float>::max()))
            throw InputError(
                fmt::format("{}({}, {}) = {} is not a finite f32 number (rows and columns from 1)", name, row + 1, column + 1, value));
    };
    for (const auto& entry : a.entries) check("A", entry.row, entry.column, entry.value);
    for (std::size_t k = 0; k < b.values.size(); ++k) {
        const auto at = static_cast<std::int64_t>(k);
        check("b", at / b.columns, at % b.columns, b.values[k]);
    }
}

}  // namespace

void pad(System& system, const std::vector<double>& rows) {
    const auto n = system.block, all = system.chain_rows();
    for (std::int64_t member = 0; member < system.batch; ++member)
        for (auto row = system.rows - system.border; row < all; ++row) system.d[index((member * all + row) * n + row % n)] = 1;
    system.b = with_padding(system, rows);
}

std::vector<double> with_padding(const System& system, const std::vector<double>& rows) {
    const auto m = system.rhs, own = system.rows - system.border;
    std::vector<double> result;
    for (std::int64_t member = 0; member < system.batch; ++member) {
        const auto from = rows.begin() + member * system.rows * m;
        result.insert(result.end(), from, from + own * m);
        result.resize(result.size() + index(system.padding() * m));
        result.insert(result.end(), from + own * m, from + system.rows * m);
    }
    return result;
}

std::vector<double> without_padding(const System& system, const std::vector<double>& rows) {
    const auto m = system.rhs, all = system.chain_rows() + system.border, own = system.rows - system.border;
    std::vector<double> result;
    for (std::int64_t member = 0; member < system.batch; ++member) {
        const auto from = rows.begin() + member * all * m;
        result.insert(result.end(), from, from + own * m);
        result.insert(result.end(), from + system.chain_rows() * m, from + all * m);
    }
    return result;
}

std::pair<std::vector<double>, std::vector<double>> parted(const System& system, const std::vector<double>& rows) {
    const auto chain = system.chain_rows() * system.rhs, tip = system.border * system.rhs;
    std::pair<std::vector<double>, std::vector<double>> parts;
    for (auto from = rows.begin(); from != rows.end(); from += chain + tip) {
        parts.first.insert(parts.first.end(), from, from + chain);
        parts.second.insert(parts.second.end(), from + chain, from + chain + tip);
    }
    return parts;
}

std::vector<double> joined(std::int64_t members, const std::vector<double>& chain, const std::vector<double>& tip) {
    std::vector<double> rows;
    for (std::int64_t member = 0; member < members; ++member)
        for (const auto* part : {&chain, &tip}) {
            const auto each = std::ssize(*part) / members;
            rows.insert(rows.end(), part->begin() + member * each, part->begin() + (member + 1) * each);
        }
    return rows;
}

System members_of(const System& system, const std::vector<std::int64_t>& members) {
    System part = system;
    part.batch = static_cast<std::int64_t>(members.size());
    for (const auto array : {&System::d, &System::e, &System::u, &System::b, &System::f, &System::c}) {
        const auto& all = system.*array;
        const auto size = static_cast<std::ptrdiff_t>(all.size()) / system.batch;
        (part.*array).clear();
        for (const auto member : members)
            (part.*array).insert((part.*array).end(), all.begin() + member * size, all.begin() + (member + 1) * size);
    }
    return part;
}

System assemble(const SparseMatrix& a, const DenseMatrix& b, const Stated& stated, Precision precision) {
    if (a.rows != a.columns) throw InputError(fmt::format("A is {} by {}; give a square matrix", a.rows, a.columns));
    if (b.rows != a.rows) throw InputError(fmt::format("b has {} rows, A has {}; give as many", b.rows, a.rows));
    // A matrix with rows but no entries in them could ask for any amount of memory.
    if (constexpr std::int64_t generous = 1 << 16; a.rows > generous && a.rows > static_cast<std::int64_t>(a.entries.size()))
        throw InputError(fmt::format("A has {} rows but only {} entries, so some rows are empty and it is not positive definite", a.rows,
                                     a.entries.size()));
    check_range(a, b, precision);
    const auto shape = infer_shape(a, stated);
    if (stated.general && shape.border > 0) throw InputError("a general matrix has no border; leave --border or --matrix general out");
    const auto n = shape.block;
    System system{.block = n, .horizon = (a.rows - shape.border + n - 1) / n, .rhs = b.columns, .rows = a.rows};
    system.ring = shape.ring;
    system.bandwidth = shape.bandwidth;
    system.border = shape.border;
    system.general = stated.general;
    note_shape(system, stated);
    allocate(system);
    Scatter scatter(system, a);
    for (std::size_t k = 0; k < a.entries.size(); ++k) scatter.add(a.entries[k], k);
    scatter.finish(precision);
    pad(system, b.values);
    return system;
}

DenseMatrix to_dense(const SparseMatrix& b, std::string_view name) {
    std::int64_t count = 0;
    if (constexpr std::int64_t most = std::int64_t{1} << 27; __builtin_mul_overflow(b.rows, b.columns, &count) || count > most)
        throw InputError(
            fmt::format("'{}' is {} by {} in coordinate format, more than {} values; give an array file", name, b.rows, b.columns, most));
    if (b.symmetric) throw InputError(fmt::format("'{}' is symmetric; give right-hand sides as a general matrix", name));
    DenseMatrix dense{b.rows, b.columns, std::vector<double>(index(count))};
    std::vector<bool> seen(index(count));
    for (const auto& entry : b.entries) {
        const auto at = index(entry.row * b.columns + entry.column);
        if (seen[at])
            throw InputError(
                fmt::format("'{}' gives the value at row {} and column {} (from 1) twice", name, entry.row + 1, entry.column + 1));
        seen[at] = true;
        dense.values[at] = entry.value;
    }
    return dense;
}

SparseMatrix to_sparse(const System& system) {
    SparseMatrix a{system.rows, system.rows, !system.general, {}};
    const auto own = system.rows - system.border, padding = system.padding();
    const auto row_of = [=](std::int64_t row) { return row < own ? row : row - padding; };
    for_each_entry(system, 0, [&](std::int64_t row, std::int64_t column, double value) {
        const bool is_padding = row >= own && row < own + padding;
        if (!is_padding && value != 0) a.entries.push_back({row_of(row), row_of(column), value});
    });
    return a;
}

}  // namespace trifold::formats
