#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <trifold/error.hpp>

#include "tools/formats/assemble.hpp"
#include "tools/formats/file.hpp"
#include "tools/formats/symmetry.hpp"

namespace trifold::formats {
namespace {

using Extents = std::vector<std::int64_t>;

void check_values(const Array& array, const Extents& shape, std::string_view name, Precision precision) {
    const double largest = precision == Precision::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    const auto bad = std::ranges::find_if_not(array.values, [&](double value) { return std::abs(value) <= largest; });
    if (bad == array.values.end()) return;
    auto rest = bad - array.values.begin();
    auto position = shape;
    for (std::size_t k = shape.size(); k-- > 0;) position[k] = rest % shape[k], rest /= shape[k];
    throw InputError(fmt::format("{}{} is {}, which is not a finite {} number (member, {}row, column, from 0)", name, shape_text(position),
                                 *bad, to_string(precision),
                                 shape.size() == 3   ? ""
                                 : shape.size() == 4 ? "block, "
                                                     : "block, neighbour, "));
}

bool is_lower_triangular(const double* block, std::int64_t n) {
    for (std::int64_t r = 0; r < n; ++r)
        if (std::any_of(block + r * n + r + 1, block + (r + 1) * n, [](double value) { return value != 0; })) return false;
    return true;
}

/// Throws where a triangle of a square block differs from the other; a member has `each` blocks.
void check_symmetry(const Array& array, std::string_view name, std::int64_t n, std::int64_t each, Symmetry& symmetry) {
    for (std::int64_t block = 0; block * n * n < static_cast<std::int64_t>(array.values.size()); ++block) {
        const auto* values = array.values.data() + block * n * n;
        if (is_lower_triangular(values, n)) continue;
        for (std::int64_t r = 0; r < n; ++r)
            for (std::int64_t c = 0; c < r; ++c) {
                const auto low = values[r * n + c], high = values[c * n + r];
                if (symmetry.holds(low, high, values[r * n + r], values[c * n + c])) continue;
                throw InputError(
                    fmt::format("{0} is not symmetric: member {1}, block {2}: {0}({3}, {4}) = {5} but {0}({4}, {3}) = {6} (from 0); {7}; "
                                "give symmetric "
                                "blocks, or zeros above the diagonal",
                                name, block / each, block % each, r, c, low, high, symmetry.limit()));
            }
    }
}

class Reader {
  public:
    explicit Reader(const Arrays& arrays) : arrays_(arrays), lead_(arrays.d.shape.size() == 4 ? 1 : 0) {}

    System read(Precision precision) {
        read_sizes();
        if (arrays_.f != nullptr) read_border();
        read_e();
        read_rhs();
        check_finite(precision);
        check_symmetric();
        take_values();
        auto rows = arrays_.b != nullptr ? arrays_.b->values : std::vector<double>(static_cast<std::size_t>(system_.batch * system_.rows));
        if (is_band_) system_ = folded();
        pad(system_, rows);
        return std::move(system_);
    }

  private:
    [[noreturn]] void fail(std::string_view what) const {
        auto shapes = fmt::format("D has shape {}, E {}", shape_text(arrays_.d.shape), shape_text(arrays_.e.shape));
        for (const auto& [name, array] : {std::pair{"U", arrays_.u}, {"b", arrays_.b}, {"F", arrays_.f}, {"C", arrays_.c}})
            if (array != nullptr) shapes += fmt::format(", {} {}", name, shape_text(array->shape));
        throw InputError(fmt::format("{}: {}", shapes, what));
    }
    /// With the batch in front where there is one.
    Extents of_all(Extents of_member) const {
        if (lead_ > 0) of_member.insert(of_member.begin(), system_.batch);
        return of_member;
    }
    /// An extent that is open has a letter: "(4, a, 3)".
    std::string open_text(std::string_view letter, const Extents& behind) const {
        auto text = shape_text(of_all({system_.horizon}));
        text.erase(text.find_last_not_of(",)") + 1);
        text += fmt::format(", {}", letter);
        for (const auto extent : behind) text += fmt::format(", {}", extent);
        return text + ")";
    }

    void read_sizes() {
        const auto& shape = arrays_.d.shape;
        if (shape.size() != 3 && lead_ == 0) fail("D must be (N, n, n), or (batch, N, n, n)");
        system_.batch = lead_ > 0 ? shape[0] : 1;
        system_.horizon = shape[lead_];
        system_.block = shape[lead_ + 1];
        if (shape[lead_ + 2] != system_.block) fail("the blocks of D must be square");
        if (system_.batch < 1 || system_.horizon < 1 || system_.block < 1 || system_.block > max_block)
            fail(fmt::format("D must hold at least one block of 1 to {} rows", max_block));
        system_.rows = checked_multiply(system_.block, system_.horizon, "rows of A");
    }
    void read_border() {
        const auto& shape = arrays_.f->shape;
        const auto a = shape.size() == lead_ + 3 ? shape[lead_ + 1] : 0;
        if (a < 1 || a > max_border || shape != of_all({system_.horizon, a, system_.block}))
            fail(fmt::format("F must be {}, where a is 1 to {}", open_text("a", {system_.block}), max_border));
        if (const auto expected = of_all({a, a}); arrays_.c->shape != expected) fail(fmt::format("C must be {}", shape_text(expected)));
        system_.border = a;
        system_.rows = checked_add(system_.rows, a, "rows of A");
    }
    void read_e() {
        const auto& shape = arrays_.e.shape;
        const auto n = system_.block, horizon = system_.horizon;
        const bool is_chain = arrays_.b == nullptr;
        is_band_ = !is_chain && arrays_.u == nullptr && shape.size() == lead_ + 4;
        if (is_band_) {
            const auto w = system_.bandwidth = shape[lead_ + 1];
            if (w < 1 || w > max_block / n || shape != of_all({horizon, w, n, n}))
                fail(fmt::format("E of a band must be {}, where w is 1 to {}", open_text("w", {n, n}), max_block / n));
            system_.ring = arrays_.ring;
            return validate({.block = n, .horizon = horizon, .ring = arrays_.ring, .bandwidth = w});
        }
        const auto fits = [&](const Extents& one) { return shape == of_all(one) || (lead_ > 0 && shape == one); };
        system_.ring = !is_chain && fits({horizon, n, n});
        if (!system_.ring && !fits({horizon - 1, n, n}))
            fail(fmt::format(
                "E must be {}{}", shape_text(of_all({horizon - 1, n, n})),
                look_swapped() ? "; they look swapped, give D before E"
                : is_chain     ? ""
                : arrays_.u != nullptr
                    ? ", or as many blocks as D has where A is a ring"
                    : fmt::format(", or as many blocks as D has where A is a ring, or {} where it is a band", open_text("w", {n, n}))));
        if (arrays_.u == nullptr) return;
        system_.general = true;
        if (const Extents one{system_.couplings(), n, n}; arrays_.u->shape != of_all(one) && (lead_ == 0 || arrays_.u->shape != one))
            fail(fmt::format("U must be {}, as many blocks as E has", shape_text(of_all(one))));
    }
    /// Whether E would be a D, and D its E.
    bool look_swapped() const {
        auto coupling = arrays_.e.shape;
        const auto dimensions = coupling.size();
        if (dimensions != lead_ + 3 || coupling[dimensions - 2] != coupling[dimensions - 1]) return false;
        --coupling[dimensions - 3];
        return coupling == arrays_.d.shape;
    }
    void read_rhs() {
        if (arrays_.b == nullptr) return;
        const auto& shape = arrays_.b->shape;
        const auto vectors = of_all(system_.border > 0 ? Extents{system_.rows} : Extents{system_.horizon, system_.block});
        auto expected = vectors;
        if (shape.size() == vectors.size() + 1) expected.push_back(system_.rhs = shape.back());
        if (shape != expected || system_.rhs < 1)
            fail(fmt::format("b must be {}, or the same with a last axis of right-hand sides", shape_text(vectors)));
    }

    void check_finite(Precision precision) const {
        const auto check = [&](std::string_view name, const Array* array, std::size_t axes) {
            if (array == nullptr) return;
            auto shape = array->shape;
            if (name == "b" && shape.size() < axes + lead_) shape.push_back(1);
            if (shape.size() <= axes) shape.insert(shape.begin(), 1);
            check_values(*array, shape, name, precision);
        };
        check("D", &arrays_.d, 3);
        check("E", &arrays_.e, is_band_ ? 4 : 3);
        check("U", arrays_.u, 3);
        check("b", arrays_.b, system_.border > 0 ? 2 : 3);
        check("F", arrays_.f, 3);
        check("C", arrays_.c, 2);
    }
    void check_symmetric() {
        Symmetry symmetry(arrays_.d.precision);
        if (!system_.general) check_symmetry(arrays_.d, "D", system_.block, system_.horizon, symmetry);
        if (arrays_.c != nullptr) check_symmetry(*arrays_.c, "C", system_.border, 1, symmetry);
        symmetry.note(system_);
    }
    void take_values() {
        system_.d = arrays_.d.values;
        take_couplings(arrays_.e, system_.e);
        if (system_.general) take_couplings(*arrays_.u, system_.u);
        if (arrays_.f != nullptr) system_.f = arrays_.f->values, system_.c = arrays_.c->values;
    }
    /// One E or U may be that of every member of a batch.
    void take_couplings(const Array& array, std::vector<double>& values) const {
        const bool shared = array.shape.size() < lead_ + (is_band_ ? 4 : 3);
        for (std::int64_t member = 0; member < (shared ? system_.batch : 1); ++member)
            values.insert(values.end(), array.values.begin(), array.values.end());
    }
    /// The chain of a band: w blocks at a time.
    System folded() const {
        const auto n = system_.block, horizon = system_.horizon, w = system_.bandwidth, a = system_.border;
        auto chain = system_;
        chain.block = w * n;
        chain.horizon = (horizon + w - 1) / w;
        const auto sized = [&](std::int64_t each) { return std::vector<double>(static_cast<std::size_t>(system_.batch * each)); };
        chain.d = sized(chain.chain_rows() * chain.block);
        chain.e = sized(chain.couplings() * chain.block * chain.block);
        chain.f = sized(chain.chain_rows() * a);
        for (std::int64_t at = 0; at < system_.batch * horizon; ++at) {
            const auto member = at / horizon, i = at % horizon;
            const auto put = [&](const double* from, std::int64_t row) {  // block (row, i), beyond N in a ring
                auto& to = row / w == i / w ? chain.d : chain.e;
                const auto block = row / w == i / w ? member * chain.horizon + i / w : member * chain.couplings() + i / w;
                for (std::int64_t r = 0; r < n; ++r)
                    std::copy_n(from + r * n, n, to.begin() + (block * chain.block + row % w * n + r) * chain.block + i % w * n);
            };
            put(system_.d.data() + at * n * n, i);
            for (std::int64_t k = 0; k < w && (system_.ring || i + k + 1 < horizon); ++k)
                put(system_.e.data() + (at * w + k) * n * n, i + k + 1);
            for (std::int64_t r = 0; r < a; ++r)
                std::copy_n(system_.f.begin() + (at * a + r) * n, n,
                            chain.f.begin() + ((member * chain.horizon + i / w) * a + r) * chain.block + i % w * n);
        }
        return chain;
    }

    const Arrays arrays_;
    const std::size_t lead_;
    bool is_band_ = false;
    System system_;
};

}  // namespace

System assemble(const Arrays& arrays, Precision precision) { return Reader(arrays).read(precision); }

}  // namespace trifold::formats
