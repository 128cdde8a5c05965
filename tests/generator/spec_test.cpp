#include <trifold/spec.hpp>

#include "tests/support/test.hpp"

using namespace trifold;

namespace {

constexpr auto huge = std::numeric_limits<std::int64_t>::max();
const Spec good{.block = 3, .horizon = 5, .rhs = 2, .batch = 4};

Spec with(auto change) {
    auto spec = good;
    change(spec);
    return spec;
}

/// The offsets of all elements that strides reach.
std::set<std::int64_t> offsets(const Strides& s, std::int64_t rows, std::int64_t columns, std::int64_t stages, std::int64_t members) {
    std::set<std::int64_t> result;
    for (std::int64_t b = 0; b < members; ++b)
        for (std::int64_t i = 0; i < stages; ++i)
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t c = 0; c < columns; ++c) result.insert(b * s.member + i * s.stage + r * s.row + c * s.column);
    return result;
}

}  // namespace

TEST_CASE("good specs pass") {
    validate(good);
    validate({.block = 1, .horizon = 1});
    validate({.block = 4096, .horizon = 1'000'000, .precision = Precision::f32, .rhs = 1000, .batch = 100});
    validate(with([](Spec& s) { s.d = {.leading = 8, .stage = 0, .member = 0}; }));
    validate(with([](Spec& s) { s.e = {.leading = 3, .stage = 9, .member = 0}; }));
    validate(with([](Spec& s) { s.d.stage = 9 + 100; }));
}

TEST_CASE("bad specs are refused") {
    const Spec bad[] = {
        {},
        with([](Spec& s) { s.block = 0; }),
        with([](Spec& s) { s.block = -1; }),
        with([](Spec& s) { s.block = 4097; }),
        with([](Spec& s) { s.block = huge; }),
        with([](Spec& s) { s.horizon = 0; }),
        with([](Spec& s) { s.horizon = -7; }),
        with([](Spec& s) { s.horizon = huge; }),
        with([](Spec& s) { s.horizon = huge / 72 + 1; }),
        with([](Spec& s) { s.rhs = 0; }),
        with([](Spec& s) { s.rhs = huge; }),
        with([](Spec& s) { s.batch = 0; }),
        with([](Spec& s) { s.batch = huge; }),
        with([](Spec& s) { s.d.leading = 2; }),
        with([](Spec& s) { s.d.leading = 0; }),
        with([](Spec& s) { s.d.leading = huge; }),
        with([](Spec& s) { s.d.leading = -2; }),
        with([](Spec& s) { s.d.stage = 8; }),
        with([](Spec& s) { s.d.stage = -2; }),
        with([](Spec& s) { s.d.stage = huge; }),
        with([](Spec& s) { s.d.member = 44; }),
        with([](Spec& s) { s.d.member = -5; }),
        with([](Spec& s) { s.d.member = huge; }),
        with([](Spec& s) { s.e.leading = 1; }),
        with([](Spec& s) { s.e.stage = 5; }),
        with([](Spec& s) { s.e.member = 35; }),
        with([](Spec& s) { s.order = Order::column_major, s.e.member = 35; }),
    };
    for (const auto& spec : bad) {
        CAPTURE(&spec - bad);
        CHECK_THROWS_AS(validate(spec), SpecError);
    }
}

TEST_CASE("messages say what was given and what to give") {
    CHECK_THROWS_WITH(validate(with([](Spec& s) { s.block = 0; })), "block = 0 is out of range; give 1 to 4096");
    CHECK_THROWS_WITH(validate(with([](Spec& s) { s.horizon = 0; })), "horizon = 0 is out of range; give at least 1");
    CHECK_THROWS_WITH(validate(with([](Spec& s) { s.horizon = huge; })), "D: 9223372036854775807 x 9 is too large for a 64-bit size");
    CHECK_THROWS_WITH(validate(with([](Spec& s) { s.rhs = huge; })), doctest::Contains("size of B"));
    CHECK_THROWS_WITH(validate(with([](Spec& s) { s.d.leading = 2; })),
                      doctest::Contains("leading dimension of D is 2; give at least the block size 3"));
}

TEST_CASE("dense layouts fill their arrays without gap or overlap") {
    for (const auto order : {Order::row_major, Order::column_major}) {
        for (const auto coupling : {Coupling::lower, Coupling::upper}) {
            const auto spec = with([&](Spec& s) { s.order = order, s.coupling = coupling; });
            CHECK(diagonal_extent(spec, 4) == 4 * 5 * 9);
            CHECK(offsets(diagonal_strides(spec), 3, 3, 5, 4).size() == 4 * 5 * 9);
            CHECK(coupling_extent(spec, 4) == 4 * 4 * 9);
            CHECK(offsets(coupling_strides(spec), 3, 3, 4, 4).size() == 4 * 4 * 9);
        }
    }
    for (const auto layout : {RhsLayout::staged, RhsLayout::stacked}) {
        const auto spec = with([&](Spec& s) { s.rhs_layout = layout; });
        for (const std::int64_t columns : {1, 2, 7}) {
            const auto reached = offsets(rhs_strides(spec, columns), 3, columns, 5, 4);
            CHECK(rhs_extent(spec, 4, columns) == 4 * 5 * 3 * columns);
            CHECK(static_cast<std::int64_t>(reached.size()) == rhs_extent(spec, 4, columns));
            CHECK(*reached.rbegin() == rhs_extent(spec, 4, columns) - 1);
        }
    }
}

TEST_CASE("strides follow the layout") {
    CHECK(diagonal_strides(good) == Strides{3, 1, 9, 45});
    CHECK(diagonal_strides(with([](Spec& s) { s.order = Order::column_major; })) == Strides{1, 3, 9, 45});
    CHECK(coupling_strides(good) == Strides{3, 1, 9, 36});
    CHECK(coupling_strides(with([](Spec& s) { s.coupling = Coupling::upper; })) == Strides{1, 3, 9, 36});
    CHECK(coupling_strides(with([](Spec& s) { s.coupling = Coupling::upper, s.order = Order::column_major; })) == Strides{3, 1, 9, 36});
    CHECK(diagonal_strides(with([](Spec& s) { s.d.leading = 7; })) == Strides{7, 1, 21, 105});
    const auto shared = with([](Spec& s) { s.d = {.leading = dense, .stage = 0, .member = 0}; });
    CHECK(diagonal_strides(shared) == Strides{3, 1, 0, 0});
    CHECK(diagonal_extent(shared, 4) == 9);
    CHECK(coupling_extent({.block = 3, .horizon = 1}, 1) == 0);
    CHECK(rhs_strides(with([](Spec& s) { s.rhs_layout = RhsLayout::stacked; }), 2) == Strides{1, 15, 3, 30});
}

TEST_CASE("extents of padded layouts end at the last element, and may be what other arrays start at") {
    const auto spec = with([](Spec& s) { s.d = {.leading = 4, .stage = 20, .member = 128}; });
    validate(spec);
    const auto reached = offsets(diagonal_strides(spec), 3, 3, 5, 4);
    CHECK(reached.size() == 4 * 5 * 9);
    CHECK(*reached.rbegin() + 1 == diagonal_extent(spec, 4));
}

TEST_CASE("checked arithmetic") {
    CHECK(checked_multiply(1LL << 31, 1LL << 31, "x") == 1LL << 62);
    CHECK(checked_add(huge - 1, 1, "x") == huge);
    CHECK_THROWS_WITH_AS(checked_multiply(1LL << 32, 1LL << 31, "rows"), "rows: 4294967296 x 2147483648 is too large for a 64-bit size",
                         SpecError);
    CHECK_THROWS_AS(checked_add(huge, 1, "x"), SpecError);
}

TEST_CASE("operations") {
    CHECK(to_string(Operations{}) == "");
    CHECK(to_string(Operations{Operation::inverse, Operation::factor_solve, Operation::factor}) == "factor,factor_solve,inverse");
    CHECK(parse_operations("solve,factor,solve") == Operations{Operation::factor, Operation::solve});
    CHECK(parse_operations("all") == all_operations());
    CHECK(parse_operations(to_string(all_operations())) == all_operations());
    CHECK(all_operations().size() == usual_operations().size() + 1);
    CHECK(Spec{}.operations == usual_operations());
    for (const auto* text : {"", ",", "factor,", "factor, solve", "invert", "Factor", "all,factor"})
        CHECK_REFUSED("give all, or some of factor,forward", parse_operations(text));
    const Spec spec{.block = 2, .horizon = 3};
    for (const auto& operations : {Operations{}, Operations{Operation::solve, Operation::inverse}}) {
        auto without = spec;
        without.operations = operations;
        CHECK_REFUSED("add factor, factor_forward or factor_solve", validate(without));
    }
}

TEST_CASE("precisions") {
    CHECK(parse_precision("f32") == Precision::f32);
    CHECK(parse_precision("f64") == Precision::f64);
    CHECK(parse_precision("mixed") == Precision::mixed);
    CHECK(to_string(Precision::mixed) == "mixed");
    CHECK(element_bytes(Precision::f32) == 4);
    CHECK(element_bytes(Precision::f64) == 8);
    CHECK(element_bytes(Precision::mixed) == 8);
    for (const auto* text : {"", "f16", "double", "F64", "f64 "}) CHECK_THROWS_AS(parse_precision(text), SpecError);
}
