#include "tests/support/families/conform.hpp"

#include <algorithm>
#include <map>
#include <trifold/error.hpp>

#include "tests/support/families/buffer.hpp"
#include "tests/support/families/oracle.hpp"
#include "tests/support/test.hpp"

namespace trifold::test {
namespace {

using nlohmann::json;
using Results = std::map<std::string, std::vector<double>>;  // "solve X"

/// How the calls of a case are made.
struct Way {
    int workers = 1;
    std::int64_t turn = 0;                 ///< places by which members are rotated
    bool in_place = false, stale = false;  ///< stale: after other values
    std::int64_t spoiled = -1;             ///< a member that cannot be factored
};

std::string stem_of(std::string_view operation) {
    for (const std::string_view prefix : {"factor_"})
        if (operation.starts_with(prefix)) operation.remove_prefix(prefix.size());
    if (const auto at = operation.find("_transposed"); at != operation.npos) operation.remove_suffix(operation.size() - at);
    return std::string(operation);
}

double largest(const Dense& a) { return a.size() == 0 ? 0 : a.cwiseAbs().maxCoeff(); }

class Conformance {
  public:
    Conformance(const AnyRunner& runner, const AnyCase& one)
        : runner_(runner),
          one_(one),
          family_(*one.family),
          oracle_(oracle_of(family_.name)),
          precision_(value_named<Precision>(one.problem.at("precision").get<std::string>(), "precision")),
          on_host_(one.seed % 2 == 0) {
        for (const auto& row : family_.operations)
            for (const auto& array : row.arrays)
                if (row.factors && is_value(array) && std::ranges::find(value_names_, array.name) == value_names_.end())
                    value_names_.emplace_back(array.name);
        for (std::int64_t m = 0; m < one.counts.members; ++m) {
            values_.push_back(oracle_.values(one.problem, static_cast<unsigned>(one.seed + static_cast<std::uint64_t>(100 * m))));
            for (auto& values : values_.back()) rounded(values, true);
            matrices_.push_back(oracle_.matrix(one.problem, values_.back()));
        }
        Random random(one.seed);
        for (auto* right : {&b_, &c_}) {
            right->resize(static_cast<std::size_t>(one.counts.members * each(oracle_.right_side(family_))));
            for (auto& value : *right) value = std::uniform_real_distribution(-1.0, 1.0)(random);
            rounded(*right, true);
        }
    }

    Faults judge() {
        base_ = pass({}, true);
        for (const auto& row : family_.operations)
            for (const auto& array : row.arrays)
                if (array.access != Access::read && one_.plans(row)) expect(row, array);
        same("three workers after other values", pass({.workers = 3, .stale = true}));
        same("other places in the batch", pass({.turn = 1}));
        same("X in the place of B", pass({.in_place = true}));
        spoil();
        return faults_;
    }

  private:
    static bool is_value(const ArrayRow& array) { return std::string_view(array.name) != "B" && std::string_view(array.name) != "X"; }
    bool is_narrow() const { return precision_ == Precision::f32; }
    double bound() const { return oracle_.tolerance(one_.problem); }
    void rounded(std::vector<double>& values, bool scaled) const {
        for (auto& value : values) {
            if (is_narrow()) value = static_cast<double>(static_cast<float>(value));
            if (scaled) value = std::ldexp(value, one_.exponent);
        }
    }
    void fault(const std::string& text) { faults_.push_back(text); }
    void check(bool right, const std::string& text) {
        if (!right) fault(text);
    }
    void near(double error, double most, const std::string& what) {
        if (!(error <= most)) fault(fmt::format("{}: {} is above {}", what, error, most));
    }
    /// Elements of one member.
    std::int64_t each(const ArrayRow& array) const {
        if (const auto at = std::ranges::find(value_names_, array.name); at != value_names_.end())
            return std::ssize(values_.front()[static_cast<std::size_t>(at - value_names_.begin())]);
        std::int64_t product = 1;
        for (const auto size : shape_of(array, [&](auto name) { return oracle_.extent(one_.problem, name); }, {1, one_.counts.columns}))
            product *= size;
        return product;
    }
    /// Whether it is the adjoint of a row above it.
    bool is_adjoint(const OperationRow& row) const {
        return !row.adjoint.empty() && family_.operation(row.adjoint) < family_.operation(row.name);
    }

    std::vector<double> input(const OperationRow& row, const ArrayRow& array, const Way& way, const Results& results) const {
        const std::string_view name = array.name;
        if (const auto at = std::ranges::find(value_names_, name); at != value_names_.end()) {
            std::vector<double> all;
            for (std::size_t m = 0; m < values_.size(); ++m) {
                auto values = values_[m][static_cast<std::size_t>(at - value_names_.begin())];
                if (static_cast<std::int64_t>(m) == way.spoiled)
                    std::ranges::fill(values, oracle_.names_nan && one_.seed % 2 == 0 ? std::nan("") : 0.0);
                all.insert(all.end(), values.begin(), values.end());
            }
            return all;
        }
        const bool refines = name == "X" && array.access == Access::update;
        if (const auto first = results.find("solve X"); refines && first != results.end()) return first->second;
        if (array.access != Access::read)
            return std::vector<double>(static_cast<std::size_t>(one_.counts.members * each(array)), refines ? 0.0 : 7.0);
        return name == "X" || is_adjoint(row) ? c_ : b_;
    }
    std::vector<double> turned(std::vector<double> all, std::int64_t places) const {
        std::ranges::rotate(all, all.begin() + std::ssize(all) / one_.counts.members * places);
        return all;
    }
    json options() const {
        auto all = oracle_.options(one_.problem);
        all["members"] = one_.counts.members;
        all["columns"] = one_.counts.columns;
        return all;
    }

    /// `b`: in the place of the input B.
    void call(AnyFace& face, const OperationRow& row, const Way& way, Results& results, const std::vector<double>* b = nullptr) {
        std::vector<std::unique_ptr<Buffer>> buffers;
        std::vector<AnyArray> arrays;
        std::vector<std::size_t> places;
        const auto place_of_name = [&](std::string_view name) {
            return static_cast<std::size_t>(std::ranges::find(row.arrays, name, &ArrayRow::name) - row.arrays.begin());
        };
        for (const auto& array : row.arrays) {
            if (way.in_place && array.may_equal != nullptr)
                places.push_back(places[place_of_name(array.may_equal)]);
            else {
                places.push_back(buffers.size());
                const bool given = b != nullptr && std::string_view(array.name) == "B";
                buffers.push_back(
                    std::make_unique<Buffer>(runner_.memory, turned(given ? *b : input(row, array, way, results), way.turn), precision_));
            }
            arrays.push_back(buffers[places.back()]->array(on_host_));
        }
        face.run(row.name, arrays, options());
        face.synchronize();
        check(face.intact(), fmt::format("{} writes next to the workspace", row.name));
        for (const auto& buffer : buffers) {
            buffer->fetch(on_host_);
            check(buffer->intact(), fmt::format("{} writes next to an array", row.name));
        }
        for (std::size_t k = 0; k < arrays.size(); ++k) {
            const auto& array = row.arrays[k];
            auto& buffer = *buffers[places[k]];
            const bool shared = std::ranges::count(places, places[k]) > 1;
            if (array.access == Access::read) check(shared || buffer.unchanged(), fmt::format("{} changes {}", row.name, array.name));
            if (array.access != Access::read)
                results[fmt::format("{} {}", row.name, array.name)] =
                    turned(buffer.values(), (one_.counts.members - way.turn) % one_.counts.members);
        }
    }
    std::unique_ptr<AnyFace> face_of(const Way& way) const {
        auto tuning = one_.tuning;
        tuning["workers"] = way.workers;
        return runner_.make(family_.name, one_.problem, runner_.device, tuning, {.given = !runner_.memory.allocate && way.workers == 1});
    }
    /// Every operation, first those that factor. `more`: also sums and products of linear ones.
    Results pass(const Way& way, bool more = false) {
        Results results;
        const auto face = face_of(way);
        for (const bool factoring : {true, false})
            for (const auto& row : family_.operations) {
                if (row.factors != factoring || !one_.plans(row)) continue;
                if (way.stale && factoring && way.turn == 0) call(*face, row, {.turn = one_.counts.members - 1, .spoiled = 0}, results);
                call(*face, row, way, results);
                if (stem_of(row.name) == "solve") judged_[fmt::format("{} {}", row.name, way.spoiled)] = outcomes(*face, way);
                if (more && !factoring) products(*face, row, results);
            }
        return results;
    }
    json outcomes(AnyFace& face, const Way& way) {
        auto all = face.outcomes();
        bool is_well = true;
        try {
            face.check();
        } catch (const Unsolvable& error) {
            is_well = false;
            if (way.spoiled < 0) fault(fmt::format("check() says {}; {}", error.what(), all.dump()));
        }
        if (way.spoiled >= 0) check(!is_well, "check() finds no fault in a member that cannot be factored");
        return all;
    }
    /// Results of an operation without a dense counterpart: of B and C, and of its adjoint.
    void products(AnyFace& face, const OperationRow& row, Results& results) {
        const auto stem = stem_of(row.name);
        if (row.adjoint.empty() || stem == "solve" || stem == "multiply") return;
        auto sum = b_;
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += c_[k];
        rounded(sum, false);
        Results of_b, of_c, of_sum;
        call(face, row, {}, of_b, &b_);
        call(face, row, {}, of_c, &c_);
        call(face, row, {}, of_sum, &sum);
        const auto name = fmt::format("{} X", row.name);
        for (std::int64_t m = 0; m < one_.counts.members; ++m) {
            const Dense x = columns(of_b[name], m), y = columns(of_c[name], m), both = columns(of_sum[name], m);
            near(largest(x + y - both), loose() * (largest(x) + largest(y)), fmt::format("{} is not linear", row.name));
        }
        if (!is_adjoint(row)) return;
        const auto of = fmt::format("{} X", row.adjoint);
        if (!results.contains(of)) return;
        for (std::int64_t m = 0; m < one_.counts.members; ++m) {
            const Dense left = columns(results[of], m).cwiseProduct(columns(c_, m)),
                        right = columns(results[name], m).cwiseProduct(columns(b_, m));
            near(std::abs(left.sum() - right.sum()), loose() * (left.cwiseAbs().sum() + right.cwiseAbs().sum()),
                 fmt::format("{} is not the adjoint of {}", row.name, row.adjoint));
        }
        if (stem != "backward") return;
        call(face, row, {}, of_b, &results[of]);
        solves(of_b[name], b_, false, "forward and backward");
    }
    /// The bound for results in single precision, or with factors in it.
    double loose() const { return precision_ == Precision::f64 ? 1e-12 : 1e-5; }

    /// A member's right-hand sides or solutions, which are in the table's order or stacked.
    Dense columns(const std::vector<double>& all, std::int64_t member) const {
        const auto width = one_.counts.columns, size = std::ssize(all) / one_.counts.members;
        const Eigen::Map<const Dense> stacked(all.data() + member * size, size / width, width),
            by_rows(stacked.data(), width, size / width);
        return oracle_.stacked && one_.problem.value("rhs_layout", "") == "stacked" ? Dense(stacked) : Dense(by_rows.transpose());
    }
    void solves(const std::vector<double>& x, const std::vector<double>& b, bool transposed, std::string_view what) {
        for (std::int64_t m = 0; m < one_.counts.members; ++m) {
            const auto& a = matrices_[static_cast<std::size_t>(m)];
            near(oracle_.residual(transposed ? Dense(a.transpose()) : a, columns(x, m), columns(b, m)), bound(),
                 fmt::format("residual of {}", what));
        }
    }
    void expect(const OperationRow& row, const ArrayRow& array) {
        const auto what = fmt::format("{} {}", row.name, array.name), stem = stem_of(row.name);
        const bool transposed = row.name.find("_transposed") != row.name.npos;
        const auto& found = base_[what];
        const auto& right = is_adjoint(row) ? c_ : b_;
        if (std::string_view(array.name) == "dE/dA") return expect_gradient(row, found);
        if (std::string_view(array.name) == "dE/dB") return solves(found, b_, true, what);
        if (std::string_view(array.name) != "X") return expect_inverse(row, array, found);
        if (stem == "solve" || array.access == Access::update) return solves(found, right, transposed, what);
        for (std::int64_t m = 0; m < one_.counts.members; ++m) {
            const Dense x = columns(found, m), b = columns(right, m);
            const Dense a = transposed ? Dense(matrices_[static_cast<std::size_t>(m)].transpose()) : matrices_[static_cast<std::size_t>(m)];
            if (stem == "multiply") near(largest(x - a * b), bound_of_products() * (a.cwiseAbs() * b.cwiseAbs()).maxCoeff(), what);
            if (row.factors && base_.contains(stem + " X"))
                near(largest(x - columns(base_[stem + " X"], m)), loose() * largest(x), what + " is another");
        }
    }
    double bound_of_products() const { return is_narrow() ? 1e-6 : 1e-14; }
    /// dE/dA of the table's row: -(dE/dB) X' where A has entries.
    void expect_gradient(const OperationRow& row, const std::vector<double>& found) {
        const auto own = base_.find(fmt::format("{} dE/dB", row.name));
        const auto size = std::ssize(found) / one_.counts.members;
        for (std::int64_t m = 0; m < one_.counts.members; ++m) {
            const Dense outer = -columns(own == base_.end() ? b_ : own->second, m) * columns(c_, m).transpose();
            const auto& a = matrices_[static_cast<std::size_t>(m)];
            auto values = values_[static_cast<std::size_t>(m)];
            const auto step = std::max<std::int64_t>(1, size / 100);
            for (auto k = static_cast<std::int64_t>(one_.seed) % step; k < size; k += step) {
                auto& value = values[0][static_cast<std::size_t>(k)];
                const auto kept = value;
                value += std::ldexp(1.0, one_.exponent);
                const Dense moved = (oracle_.matrix(one_.problem, values) - a) * std::ldexp(1.0, -one_.exponent);
                const auto expected = moved.cwiseProduct(outer).sum();
                value = kept;
                const auto is = found[static_cast<std::size_t>(m * size + k)];
                if (moved.cwiseAbs().maxCoeff() == 0)
                    check(is == 0 || is == 7, fmt::format("dE/dA of an entry that A does not have is {}", is));
                else
                    near(std::abs(is - expected), 10 * bound_of_products() * one_.counts.columns * largest(outer), "dE/dA");
            }
        }
    }
    void expect_inverse(const OperationRow& row, const ArrayRow& array, const std::vector<double>& found) {
        const auto which = static_cast<std::size_t>(&array - row.arrays.data());
        const auto size = std::ssize(found) / one_.counts.members;
        for (std::int64_t m = 0; m < one_.counts.members; ++m) {
            const Dense inverse = matrices_[static_cast<std::size_t>(m)].inverse();
            const auto expected = oracle_.inverse(one_.problem, inverse)[which];
            double most = 0;
            for (std::int64_t k = 0; k < size; ++k)
                most = std::max(most, std::abs(expected[static_cast<std::size_t>(k)] - found[static_cast<std::size_t>(m * size + k)]));
            near(most, 100 * bound() * largest(inverse), array.name);
        }
    }
    /// The bits of all members but one.
    void same(const std::string& how, const Results& results, std::int64_t but = -1) {
        for (const auto& [name, values] : results) {
            const auto size = std::ssize(values) / one_.counts.members;
            for (std::int64_t m = 0; m < one_.counts.members; ++m)
                if (m != but && std::memcmp(&values[static_cast<std::size_t>(m * size)], &base_[name][static_cast<std::size_t>(m * size)],
                                            static_cast<std::size_t>(size) * sizeof(double)) != 0)
                    fault(fmt::format("{}: other bits in {} of member {}", how, name, m));
        }
    }
    void spoil() {
        const auto member = static_cast<std::int64_t>(one_.seed) % one_.counts.members;
        const auto results = pass({.spoiled = member});
        same(fmt::format("member {} cannot be factored", member), results, member);
        for (const auto& [name, values] : results) {
            if (stem_of(name.substr(0, name.find(' '))) != "solve" || !oracle_.fails_to_nan) continue;
            const auto size = std::ssize(values) / one_.counts.members;
            for (auto k = member * size; k < (member + 1) * size; ++k)
                if (!std::isnan(values[static_cast<std::size_t>(k)]))
                    return fault(name + " of a member that cannot be factored is a number");
        }
        for (const auto& [name, rows] : judged_) {
            if (!name.ends_with(" -1")) continue;
            const auto& with = judged_[name.substr(0, name.size() - 2) + std::to_string(member)];
            const auto each = std::max<std::size_t>(1, rows.size() / static_cast<std::size_t>(one_.counts.members));
            for (std::size_t k = 0; k < rows.size(); ++k)
                check((rows[k] == with[k]) == (static_cast<std::int64_t>(k / each) != member),
                      fmt::format("outcome {} of {} with member {} spoiled: {}", k, name, member, with[k].dump()));
        }
    }

    const AnyRunner& runner_;
    const AnyCase& one_;
    const Family& family_;
    const Oracle& oracle_;
    Precision precision_;
    bool on_host_;
    std::vector<std::string> value_names_;
    std::vector<Values> values_;
    std::vector<Dense> matrices_;
    std::vector<double> b_, c_;
    Results base_;
    std::map<std::string, json> judged_;
    Faults faults_;
};

}  // namespace

Faults conform(const AnyRunner& runner, const AnyCase& one) {
    try {
        return Conformance(runner, one).judge();
    } catch (const std::exception& error) {
        return {error.what()};
    }
}

bool accepts(const AnyRunner& runner, const AnyCase& one) {
    try {
        runner.make(one.family->name, one.problem, runner.device, one.tuning, {.given = false});
        return true;
    } catch (const SpecError&) {
        return false;
    } catch (const Error&) {
        return true;  // a fault, which the judge meets again and says
    }
}

std::uint64_t asked_number(const char* variable, std::uint64_t usual) {
    const char* text = std::getenv(variable);
    return text == nullptr ? usual : std::stoull(text);
}

void check_cases(const Family& family, std::uint64_t seeds, const AnyRunner& runner, Faults (*judge)(const AnyRunner&, const AnyCase&),
                 std::uint64_t first) {
    const auto check = [&](const AnyCase& one) {
        if (judge(runner, one).empty()) return;
        const auto least = shrink(one, [&](const AnyCase& smaller) { return accepts(runner, smaller) && !judge(runner, smaller).empty(); });
        FAIL_CHECK(fmt::format("{}\nTRIFOLD_TEST_CASE='{}'\nof\n{}", fmt::join(judge(runner, least), "\n"), least.tree().dump(),
                               one.tree().dump()));
    };
    if (const char* text = std::getenv("TRIFOLD_TEST_CASE")) return check(case_of(nlohmann::json::parse(text)));
    for (auto seed = first; seed < first + seeds; ++seed)
        check(draw(family, seed, runner.device.starts_with("cpu"), [&](const AnyCase& one) { return accepts(runner, one); }));
}

}  // namespace trifold::test
