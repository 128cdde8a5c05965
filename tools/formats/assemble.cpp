#include "tools/formats/assemble.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>

#include "tools/formats/file.hpp"

namespace trifold::formats {
namespace {

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

/// Judges whether the triangles of A agree but for rounding, for it is the lower one that is solved. Differences are compared
/// with sqrt(|a_ii a_jj|), the size of the two rows, which bounds a_ij of a positive definite A in any units, or with the larger entry if
/// that is more. Python's trifold/symmetry.py and the kernels of cg have the same rule.
class Symmetry {
  public:
    explicit Symmetry(Precision precision) : bound_(precision == Precision::f32 ? 0x1p-18 : 0x1p-44) {}
    /// Whether a_ij = `low` and a_ji = `high` agree, of rows with these entries on the diagonal.
    bool holds(double low, double high, double row, double column) {
        if (low == high) return true;
        const auto size = std::max({std::abs(low), std::abs(high), std::sqrt(std::abs(row)) * std::sqrt(std::abs(column))});
        const auto difference = std::abs(low - high) / size;
        if (difference <= bound_) largest_ = std::max(largest_, difference);
        return difference <= bound_;
    }
    std::string limit() const { return fmt::format("they may differ by {:.1e} of the size of their rows", bound_); }
    void note(System& system) const {
        if (largest_ > 0)
            system.notes.push_back(
                fmt::format("the triangles of A differ by up to {:.1e} of the size of their rows; the lower triangle is taken", largest_));
    }

  private:
    double bound_, largest_ = 0;
};

/// D, E and b as zeros, once it is known that they fit: a small file can describe a system of any size.
void allocate(System& system) {
    const auto square = system.block * system.block;
    const auto d = checked_multiply(system.horizon, square, "size of D"), e = checked_multiply(system.couplings(), square, "size of E");
    const auto b = checked_multiply(checked_multiply(system.horizon, system.block, "size of b"), system.rhs, "size of b");
    const auto bytes =
        checked_multiply(checked_add(checked_add(d, e, "size of A"), b, "size of A and b"), sizeof(double), "size of A and b in bytes");
    const auto memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
    if (constexpr double gibibyte = 1 << 30; static_cast<double>(bytes) > memory)
        throw MemoryError(fmt::format("{} blocks of {} by {} need {:.1f} GiB of memory, this machine has {:.1f} GiB", system.horizon,
                                      system.block, system.block, static_cast<double>(bytes) / gibibyte, memory / gibibyte));
    system.d.resize(index(d));
    system.e.resize(index(e));
    system.b.resize(index(b));
}

/// Puts sparse entries into blocks and finds repeated ones.
class Scatter {
  public:
    Scatter(System& system, const SparseMatrix& a)
        : system_(system), symmetric_(a.symmetric), seen_d_(system.d.size()), seen_e_(system.e.size()) {
        if (!symmetric_) upper_.resize(system.e.size()), seen_upper_.resize(system.e.size());
    }
    void add(const Entry& entry, std::size_t number) {
        const auto n = system_.block;
        const bool mirrored = entry.row < entry.column;
        const auto row = mirrored && symmetric_ ? entry.column : entry.row, column = mirrored && symmetric_ ? entry.row : entry.column;
        const auto i = row / n, j = column / n, r = row % n, c = column % n;
        if (system_.ring && std::abs(i - j) == system_.horizon - 1) return close(i == 0, i == 0 ? r : c, i == 0 ? c : r, entry, number);
        if (std::abs(i - j) > 1) return outside(entry, number);
        if (i == j)
            put(system_.d, seen_d_, (i * n + r) * n + c, entry, number);
        else if (i > j)
            put(system_.e, seen_e_, (j * n + r) * n + c, entry, number);
        else
            put(upper_, seen_upper_, (i * n + c) * n + r, entry, number);
    }
    /// Compares both triangles of a general matrix, or mirrors the lower one.
    void finish(Precision precision) {
        const auto n = system_.block;
        Symmetry symmetry(precision);
        for (std::int64_t row = 0; row < n * system_.horizon; ++row) {
            const auto first = row / n * n;
            for (std::int64_t c = 0; first > 0 && c < n && !symmetric_; ++c) {
                const auto at = index((row - n) * n + c);
                compare(symmetry, row, first - n + c, system_.e[at], upper_[at]);
            }
            for (auto column = first; column < row; ++column) {
                auto& high = system_.d[index(column * n + row - first)];
                const auto low = system_.d[index(row * n + column - first)];
                if (symmetric_)
                    high = low;
                else
                    compare(symmetry, row, column, low, high);
            }
        }
        const auto last = n * (system_.horizon - 1);
        for (std::int64_t at = 0; system_.ring && !symmetric_ && at < n * n; ++at)
            compare(symmetry, at / n, last + at % n, system_.e[index(last * n + at)], upper_[index(last * n + at)]);
        symmetry.note(system_);
        if (zeros_ > 0) system_.notes.push_back(zeros_text());
    }

  private:
    /// Takes an entry between row r of block 0 and row c of the last block: of A(0, N-1), or mirrored.
    void close(bool is_first_row, std::int64_t r, std::int64_t c, const Entry& entry, std::size_t number) {
        const auto at = ((system_.horizon - 1) * system_.block + r) * system_.block + c;
        if (is_first_row || symmetric_)
            put(system_.e, seen_e_, at, entry, number);
        else
            put(upper_, seen_upper_, at, entry, number);
    }
    /// A zero that is written out says nothing of A.
    void outside(const Entry& entry, std::size_t number) {
        if (entry.value == 0) {
            if (zeros_++ == 0) first_zero_ = entry;
            return;
        }
        throw InputError(
            fmt::format("entry {} of A, at row {} and column {} (from 1), is outside the block-tridiagonal band of block size {}; "
                        "give a larger --block, or none to have it inferred",
                        number + 1, entry.row + 1, entry.column + 1, system_.block));
    }
    void put(std::vector<double>& values, std::vector<bool>& seen, std::int64_t at, const Entry& entry, std::size_t number) {
        if (seen[index(at)])
            throw InputError(fmt::format("entry {} of A, at row {} and column {} (from 1), was given before{}; give every entry once",
                                         number + 1, entry.row + 1, entry.column + 1,
                                         symmetric_ ? " (a symmetric file holds one of each mirrored pair)" : ""));
        seen[index(at)] = true;
        values[index(at)] = entry.value;
    }
    std::string zeros_text() const {
        return fmt::format(
            "zeros that A's file holds outside the blocks of {} by {} do not count: {}, the first at row {} and column {} (from 1)",
            system_.block, system_.block, zeros_, first_zero_.row + 1, first_zero_.column + 1);
    }
    double diagonal(std::int64_t row) const { return system_.d[index(row * system_.block + row % system_.block)]; }
    void compare(Symmetry& symmetry, std::int64_t row, std::int64_t column, double low, double high) const {
        if (symmetry.holds(low, high, diagonal(row), diagonal(column))) return;
        throw InputError(
            fmt::format("A is not symmetric: A({}, {}) = {} but A({}, {}) = {} (rows and columns from 1); {}; give a symmetric A, or its "
                        "lower triangle in a file that says symmetric",
                        row + 1, column + 1, low, column + 1, row + 1, high, symmetry.limit()));
    }
    System& system_;
    bool symmetric_;
    std::vector<double> upper_;
    std::vector<bool> seen_d_, seen_e_, seen_upper_;
    std::int64_t zeros_ = 0;  ///< outside the blocks
    Entry first_zero_{};
};

struct Shapes {
    const Array &d, &e;
    const Array* b;  ///< null: there is none
    [[noreturn]] void fail(std::string_view what) const {
        throw InputError(fmt::format("D has shape {}, E {}{}: {}", shape_text(d.shape), shape_text(e.shape),
                                     b == nullptr ? "" : ", b " + shape_text(b->shape), what));
    }
    /// Whether E would be a D, and D its E.
    bool look_swapped() const {
        const auto dimensions = e.shape.size();
        if (dimensions != d.shape.size() || dimensions < 3) return false;
        auto coupling = e.shape;
        --coupling[dimensions - 3];
        return coupling == d.shape && e.shape[dimensions - 2] == e.shape[dimensions - 1];
    }
};

bool is_lower_triangular(const double* block, std::int64_t n) {
    for (std::int64_t r = 0; r < n; ++r)
        if (std::any_of(block + r * n + r + 1, block + (r + 1) * n, [](double value) { return value != 0; })) return false;
    return true;
}

void check_block_symmetry(System& system, Precision precision) {
    const auto n = system.block;
    Symmetry symmetry(precision);
    for (std::int64_t block = 0; block < system.batch * system.horizon; ++block) {
        const auto* values = system.d.data() + block * n * n;
        if (is_lower_triangular(values, n)) continue;
        for (std::int64_t r = 0; r < n; ++r) {
            for (std::int64_t c = 0; c < r; ++c) {
                const auto low = values[r * n + c], high = values[c * n + r];
                if (symmetry.holds(low, high, values[r * n + r], values[c * n + c])) continue;
                throw InputError(fmt::format(
                    "D is not symmetric: member {}, block {}: D({}, {}) = {} but D({}, {}) = {} (from 0); {}; give symmetric blocks, or "
                    "zeros above the diagonal",
                    block / system.horizon, block % system.horizon, r, c, low, c, r, high, symmetry.limit()));
            }
        }
    }
    symmetry.note(system);
}

void check_values(const std::vector<double>& values, Precision precision, std::string_view what, const std::vector<std::int64_t>& shape) {
    const double largest = precision == Precision::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    const auto bad = std::ranges::find_if_not(values, [&](double value) { return std::abs(value) <= largest; });
    if (bad == values.end()) return;
    auto rest = bad - values.begin();
    std::vector<std::int64_t> position(shape.size());
    for (std::size_t k = shape.size(); k-- > 0;) position[k] = rest % shape[k], rest /= shape[k];
    throw InputError(fmt::format("{}{} is {}, which is not a finite {} number (member, block, row, column, from 0)", what,
                                 shape_text(position), *bad, to_string(precision)));
}

}  // namespace

namespace {

/// The smallest n whose pattern of a row holds A. Throws InputError.
std::int64_t infer_block(const SparseMatrix& a) {
    // Only the furthest entry of each row below the diagonal matters.
    std::vector<std::pair<std::int64_t, std::int64_t>> reach;
    std::int64_t width = 0;
    for (const auto& entry : a.entries) {
        if (entry.value == 0) continue;
        const auto row = std::max(entry.row, entry.column), column = std::min(entry.row, entry.column);
        if (!reach.empty() && reach.back().first == row)
            reach.back().second = std::min(reach.back().second, column);
        else
            reach.emplace_back(row, column);
        width = std::max(width, row - column);
    }
    std::ranges::sort(reach);
    const auto same_row = [](const auto& left, const auto& right) { return left.first == right.first; };
    reach.erase(std::unique(reach.begin(), reach.end(), same_row), reach.end());
    const auto holds = [&](std::int64_t n) {
        return std::ranges::all_of(reach, [&](const auto& r) { return r.first / n - r.second / n <= 1; });
    };
    auto block = std::max<std::int64_t>((width + 2) / 2, 1);
    while (block <= max_block && !holds(block)) ++block;
    if (block > max_block)
        throw InputError(
            fmt::format("A has entries {} off the diagonal, so no block size up to {} holds them; reorder it to a smaller bandwidth", width,
                        max_block));
    return block;
}

/// Whether blocks of n make A a ring of three or more: some entry couples the last one to the first, and none is elsewhere.
bool is_ring(const SparseMatrix& a, std::int64_t n) {
    const auto last = a.rows / n - 1;
    if (a.rows % n != 0 || last < 2) return false;
    const auto apart = [&](const Entry& entry) { return entry.value == 0 ? 0 : std::abs(entry.row / n - entry.column / n); };
    return std::ranges::all_of(a.entries, [&](const Entry& entry) { return apart(entry) <= 1 || apart(entry) == last; }) &&
           std::ranges::any_of(a.entries, [&](const Entry& entry) { return apart(entry) == last; });
}

/// The smallest n of a ring; 0: there is none.
std::int64_t infer_ring(const SparseMatrix& a) {
    for (std::int64_t n = 1; n <= std::min(a.rows / 3, max_block); ++n)
        if (is_ring(a, n)) return n;
    return 0;
}

}  // namespace

Shape infer_shape(const SparseMatrix& a) {
    constexpr double chain_flops = 7, ring_flops = 19;  // of a front, in thirds of n^3
    const auto ring = infer_ring(a);
    const auto costs = [](double flops, std::int64_t n) { return flops * static_cast<double>(n) * static_cast<double>(n); };
    if (ring == 0) return {infer_block(a)};
    try {
        if (const auto block = infer_block(a); costs(chain_flops, block) <= costs(ring_flops, ring)) return {block};
    } catch (const InputError&) {  // no row of blocks holds it
    }
    return {ring, true};
}

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

System assemble(const SparseMatrix& a, const DenseMatrix& b, std::optional<std::int64_t> block, Precision precision) {
    if (a.rows != a.columns) throw InputError(fmt::format("A is {} by {}; give a square matrix", a.rows, a.columns));
    if (b.rows != a.rows) throw InputError(fmt::format("b has {} rows, A has {}; give as many", b.rows, a.rows));
    // A matrix with rows but no entries in them could ask for any amount of memory.
    if (constexpr std::int64_t generous = 1 << 16; a.rows > generous && a.rows > static_cast<std::int64_t>(a.entries.size()))
        throw InputError(fmt::format("A has {} rows but only {} entries, so some rows are empty and it is not positive definite", a.rows,
                                     a.entries.size()));
    if (block && (*block < 1 || *block > max_block))
        throw InputError(fmt::format("block size n = {} is out of range; give 1 to {}", *block, max_block));
    System system;
    system.rows = a.rows;
    const auto shape = block ? Shape{*block, is_ring(a, *block)} : infer_shape(a);
    system.block = shape.block;
    system.ring = shape.ring;
    if (system.ring) system.notes.emplace_back("the last block is coupled to the first, so A is taken as a ring");
    system.horizon = (a.rows + system.block - 1) / system.block;
    system.rhs = b.columns;
    allocate(system);
    Scatter scatter(system, a);
    for (std::size_t k = 0; k < a.entries.size(); ++k) scatter.add(a.entries[k], k);
    const auto n = system.block;
    for (auto row = system.rows; row < n * system.horizon; ++row) system.d[index(row * n + row % n)] = 1;
    scatter.finish(precision);
    std::ranges::copy(b.values, system.b.begin());
    return system;
}

namespace {

/// The sizes, once D and E are known to fit each other.
System sizes_of(const Shapes& shapes) {
    const auto& [d, e] = std::tie(shapes.d, shapes.e);
    const bool batched = d.shape.size() == 4;
    if (d.shape.size() != 3 && !batched) shapes.fail("D must be (N, n, n), or (batch, N, n, n)");
    const auto lead = batched ? 1U : 0U;
    const auto horizon = d.shape[lead], n = d.shape[lead + 1];
    System system{.block = n, .horizon = horizon, .batch = batched ? d.shape[0] : 1};
    if (d.shape[lead + 2] != n) shapes.fail("the blocks of D must be square");
    if (system.batch < 1 || horizon < 1 || n < 1 || n > max_block)
        shapes.fail(fmt::format("D must hold at least one block of 1 to {} rows", max_block));
    system.rows = checked_multiply(n, horizon, "rows of A");
    auto expected = d.shape;
    // D and E alone are for exports, which have no rings.
    const bool rings = shapes.b != nullptr;
    system.ring = rings && (e.shape == expected || (batched && std::ranges::equal(e.shape, std::span(expected).subspan(1))));
    if (!system.ring) --expected[lead];
    const bool shared = batched && std::ranges::equal(e.shape, std::span(expected).subspan(1));
    if (!shared && e.shape != expected)
        shapes.fail(fmt::format("E must be {}{}", shape_text(expected),
                                shapes.look_swapped() ? "; they look swapped, give D before E"
                                : rings               ? ", or as many blocks as D has where A is a ring"
                                                      : ""));
    return system;
}

/// Without b the right-hand side is zero.
System assemble_arrays(const Shapes& shapes) {
    auto system = sizes_of(shapes);
    system.d = shapes.d.values;
    const bool shared = shapes.e.shape.size() < shapes.d.shape.size();  // one E for every member of a batch
    for (std::int64_t member = 0; member < (shared ? system.batch : 1); ++member)
        system.e.insert(system.e.end(), shapes.e.values.begin(), shapes.e.values.end());
    if (const auto* b = shapes.b; b != nullptr) {
        auto expected = shapes.d.shape;
        expected.pop_back();
        const auto vectors = expected;
        if (b->shape.size() == expected.size() + 1) expected.push_back(system.rhs = b->shape.back());
        if (b->shape != expected || system.rhs < 1)
            shapes.fail(fmt::format("b must be {}, or the same with a last axis of right-hand sides", shape_text(vectors)));
        system.b = b->values;
    } else {
        system.b.resize(index(system.batch * system.rows));
    }
    check_finite(system, Precision::f64);
    check_block_symmetry(system, shapes.d.precision);
    return system;
}

}  // namespace

System assemble(const Array& d, const Array& e, const Array& b) { return assemble_arrays({d, e, &b}); }

System assemble(const Array& d, const Array& e) { return assemble_arrays({d, e, nullptr}); }

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

void check_finite(const System& system, Precision precision) {
    const auto n = system.block;
    check_values(system.d, precision, "D", {system.batch, system.horizon, n, n});
    check_values(system.e, precision, "E", {system.batch, system.couplings(), n, n});
    check_values(system.b, precision, "b", {system.batch, system.horizon, n, system.rhs});
}

SparseMatrix to_sparse(const System& system) {
    SparseMatrix a{system.rows, system.rows, true, {}};
    for_each_entry(system, 0, [&](std::int64_t row, std::int64_t column, double value) {
        if (row < system.rows && value != 0) a.entries.push_back({row, column, value});
    });
    return a;
}

}  // namespace trifold::formats
