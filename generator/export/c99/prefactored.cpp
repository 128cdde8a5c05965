#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "generator/export/c99/parts.hpp"

namespace trifold {
namespace {

/// A matrix by the blocks that it has on and below its diagonal, as the caller's D and E lie.
class Blocks {
  public:
    Blocks(const Spec& spec, const Prefactored& a) : n_(spec.block), d_(a.d), e_(a.e) {}
    std::int64_t block_of(std::int64_t row) const { return row / n_; }
    /// First column of a row that is stored.
    std::int64_t first(std::int64_t row) const { return std::max<std::int64_t>(row / n_ - 1, 0) * n_; }
    double& at(std::int64_t row, std::int64_t column) {
        auto& blocks = row / n_ == column / n_ ? d_ : e_;
        return blocks[static_cast<std::size_t>((column / n_ * n_ + row % n_) * n_ + column % n_)];
    }
    const std::vector<double>& d() const { return d_; }
    const std::vector<double>& e() const { return e_; }

  private:
    std::int64_t n_;
    std::vector<double> d_, e_;
};

[[noreturn]] void fail(double shift, double pivot, std::int64_t block, std::int64_t row) {
    throw IndefiniteMatrix(
        fmt::format("A + {} I is not positive definite: the pivot of block {}, row {} (from 0) is {}, and has to be above 0 "
                    "and finite; give a larger shift, or another matrix",
                    shift, block, row, pivot),
        block, row);
}

/// Tests a pivot as the exported solver does at run time: it has a reciprocal in the precision.
void check_pivot(double shift, double pivot, std::int64_t block, std::int64_t row, Precision precision) {
    if (!(pivot > 0 && pivot <= std::numeric_limits<double>::max())) fail(shift, pivot, block, row);
    const auto largest = largest_finite(precision);
    if (!(pivot > 1 / largest && pivot <= largest))
        throw SpecError(
            fmt::format("A + {} I: the pivot of block {}, row {} (from 0) is {}; those of an {} solver are above {} and at most {}; "
                        "scale the matrix",
                        shift, block, row, pivot, to_string(precision), 1 / largest, largest));
}

[[noreturn]] void fail_nearly_singular(double shift, double least, std::int64_t block, std::int64_t row, Precision precision) {
    throw NearlySingular(
        fmt::format(
            "A + {} I is nearly singular: the pivot of block {}, row {} (from 0) is {:.1e} of the diagonal entry that it began with; "
            "in {} rounding decides what is below {:.1e}; give a larger shift, another matrix, or --accept-nearly-singular",
            shift, block, row, least, to_string(precision), nearly_zero(precision)),
        {{0, least}});
}

/// L of A + shift I by rows, with reciprocals on its diagonal and zeros above.
Blocks factor(const ExportRequest& request, double shift) {
    const auto n = request.spec.block;
    const auto precision = request.spec.precision;
    Blocks l(request.spec, *request.prefactored);
    double least = 1;
    std::int64_t min_row = 0;
    for (std::int64_t row = 0; row < n * request.spec.horizon; ++row) {
        for (auto column = l.first(row); column <= row; ++column) {
            const double entry = l.at(row, column) + (row == column ? shift : 0);
            double sum = entry;
            for (auto k = l.first(row); k < column; ++k) sum -= l.at(row, k) * l.at(column, k);
            if (row > column) {
                l.at(row, column) = sum * l.at(column, column);
            } else {
                check_pivot(shift, sum, row / n, row % n, precision);
                if (sum / entry < least) {
                    least = sum / entry;
                    min_row = row;
                }
                l.at(row, row) = 1 / std::sqrt(sum);
            }
        }
        for (auto column = row + 1; column < (row / n + 1) * n; ++column) l.at(row, column) = 0;
    }
    if (least < nearly_zero(precision) && !request.prefactored->accept_nearly_singular)
        fail_nearly_singular(shift, least, min_row / n, min_row % n, precision);
    return l;
}

void check_range(const std::vector<double>& values, double shift, Precision precision) {
    for (const auto value : values)
        if (!(std::fabs(value) <= largest_finite(precision)))
            throw SpecError(fmt::format("the factor of A + {} I holds {}, which is no finite {} number; scale the matrix", shift, value,
                                        to_string(precision)));
}

}  // namespace

std::string c99_factors(const ExportRequest& request) {
    const auto precision = request.spec.precision;
    std::string tables[2];
    const auto add = [&](std::string& table, const std::vector<double>& values, double shift) {
        check_range(values, shift, precision);
        table += fmt::format("{}{}", table.empty() ? "" : ",\n", c99_values(values, precision));
    };
    for (const auto shift : request.prefactored->shifts) {
        const auto l = factor(request, shift);
        add(tables[0], l.d(), shift);
        add(tables[1], l.e(), shift);
    }
    return fmt::format(
        "/* The factors: see btd_solver.h. */\n"
        "#include \"btd_solver.h\"\n\n"
        "/* What stands before the constants; it may be set on the compiler's command line, to an attribute that puts them into fast "
        "memory. "
        "*/\n"
        "#ifndef BTD_TABLES\n"
        "#define BTD_TABLES\n"
        "#endif\n\n"
        "BTD_TABLES const btd_real btd_factor_diagonal[BTD_SHIFTS][BTD_HORIZON * BTD_BLOCK * BTD_BLOCK] = {{\n{}}};\n\n"
        "BTD_TABLES const btd_real btd_factor_coupling[BTD_SHIFTS][BTD_COUPLINGS * BTD_BLOCK * BTD_BLOCK] = {{\n{}}};\n",
        tables[0], tables[1]);
}

}  // namespace trifold
