#include "runtime/python/binding/chain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <trifold/error.hpp>

namespace trifold::python {

std::vector<std::int64_t> Members::shape(std::initializer_list<std::int64_t> of_one) const {
    std::vector<std::int64_t> result;
    if (batched) result.push_back(count);
    result.insert(result.end(), of_one);
    return result;
}

void BoundChain::factor(nb::handle d, nb::handle e, const Options& options) {
    Inputs in(members_);
    read_system(in, d, e, options);
    with_members(in, [&] { run(Operation::factor, in, {any(in.d), any(in.e)}, options); });
}

nb::object BoundChain::factor_along(Operation operation, nb::handle d, nb::handle e, nb::handle b, nb::handle out, const Options& options) {
    Inputs in(members_);
    read_system(in, d, e, options);
    read_rhs(in, b, out);
    with_members(in, [&] { run(operation, in, {any(in.d), any(in.e), any(in.b), any(in.x)}, options); });
    return finished(in);
}

nb::object BoundChain::sweep(Operation operation, nb::handle b, nb::handle out, const Options& options) {
    Inputs in(members_);
    read_rhs(in, b, out);
    read_active(in, options.active);
    widen(in.columns);
    run(operation, in, {any(in.b), any(in.x)}, options);
    return finished(in);
}

nb::object BoundChain::selected_inverse(nb::handle out, const Options& options) {
    Inputs in(members_);
    read_active(in, options.active);
    Array lower;
    nb::object first = nb::none(), second = nb::none();
    const auto shape = diagonal_of_inverse(in.members), below = lower_of_inverse(in.members);
    const auto make = [&](Array& array, const char* name, const std::vector<std::int64_t>& of) {
        return read_or_make(array, nb::none(), name, of, element_, library_);
    };
    if (border() > 0) {
        if (!out.is_none()) throw SpecError("out of selected_inverse is for chains without a border; leave it out");
        const auto diagonal = make(in.x, "diagonal", shape), under = make(lower, "lower", below);
        const auto arrow = make(in.f, "F", in.members.shape({blocks(), border(), block()})),
                   corner = make(in.c, "C", in.members.shape({border(), border()}));
        run(Operation::inverse, in, {any(in.x), any(lower)}, options);
        return nb::make_tuple(diagonal, under, arrow, corner);
    }
    if (!out.is_none()) {
        if (PyTuple_Check(out.ptr()) == 0 || nb::len(out) != 2) throw SpecError("out of selected_inverse is a pair: (diagonal, lower)");
        first = out[0];
        second = out[1];
    }
    in.result = read_or_make(in.x, first, "out[0]", shape, element_, library_);
    const auto coupling = read_or_make(lower, second, "out[1]", below, element_, library_);
    run(Operation::inverse, in, {any(in.x), any(lower)}, options);
    return nb::make_tuple(in.result, coupling);
}

CallOptions BoundChain::options_of(const Inputs& in, const Options& given, Stream stream) const {
    auto options = given.numbers;
    options.active = in.active.as<const int>();
    options.lengths = in.lengths.as<const int>();
    options.sizes = in.sizes.as<const int>();
    options.members = in.members.count;
    options.columns = in.columns;
    options.stream = stream;
    if (in.diagonal) options.diagonal = any(in.diagonal);
    if (in.shift) options.shift = any(in.shift);
    if (in.u) options.u = any(in.u);
    return with_border(options, in);
}

CallOptions BoundChain::with_border(CallOptions options, const Inputs& in) const {
    if (in.f) options.f = any(in.f);
    if (in.c) options.c = any(in.c);
    if (in.tip_b) options.tip_b = any(in.tip_b);
    if (in.tip_x) options.tip_x = any(in.tip_x);
    return options;
}

void BoundChain::read_border(Inputs& in, nb::handle given) const {
    if (given.is_none() && border() == 0) return;
    const auto f = in.members.shape({blocks(), border(), block()}), c = in.members.shape({border(), border()});
    if (border() == 0) throw SpecError("this solver has no border; make a Plan with border=a, the rows of F and C");
    const bool is_pair = (PyTuple_Check(given.ptr()) != 0 || PyList_Check(given.ptr()) != 0) && nb::len(given) == 2;
    if (!is_pair) throw SpecError(fmt::format("border is no pair of arrays; give (F, C) of {} and {}", show(f), show(c)));
    const auto read = [&](Array& array, std::size_t k, const char* name, const std::vector<std::int64_t>& shape) {
        read_real(array, given[k], name);
        expect_shape(array, shape);
        array.make_contiguous();
    };
    read(in.f, 0, "F of border", f);
    read(in.c, 1, "C of border", c);
}

std::vector<std::int64_t> BoundChain::tip_shape(const Inputs& in) const {
    auto shape = in.members.shape({border()});
    if (in.has_columns) shape.push_back(in.columns);
    return shape;
}

nb::object BoundChain::finished(const Inputs& in) const {
    if (border() == 0) return finish(in.b, in.result);
    return nb::make_tuple(finish(in.b, in.result), finish(in.tip_b, in.tip_result));
}

void BoundChain::read_diagonal(Inputs& in, nb::handle d, std::int64_t blocks) {
    const auto n = block();
    in.d.read(d, "D");
    library_ = in.d.library();
    take_place(in.d);
    expect_real(in.d);
    const auto dims = in.d.shape().size();
    const auto members = dims == 4 ? in.d.shape()[0] : 1;
    if (members < 1 || members > batch())
        throw SpecError(
            fmt::format("D has {} members; {} 1 to {}. Give a larger batch to {}", members, words_.takes, batch(), words_.owner));
    in.members = {members, dims == 4};
    if (!std::ranges::equal(in.d.shape(), in.members.shape({blocks, n, n})))
        throw SpecError(fmt::format("D has shape {}{}; give ({}, {}, {}), or (batch, {}, {}, {})", show(in.d.shape()), reason_for_d(),
                                    blocks, n, n, blocks, n, n));
    in.d.make_contiguous();
}

void BoundChain::read_system(Inputs& in, nb::handle d, nb::handle e, const Options& options) {
    const auto n = block();
    const bool is_loaded = loads() && d.is_none() && e.is_none();
    if (!is_loaded) read_diagonal(in, d, blocks());
    if (!is_loaded) read_coupling(in, in.e, e, "E", coupling_shape(in));
    read_upper(in, options.upper);
    read_border(in, options.border);
    read_added(in.shift, options.shift, "shift", in.members.shape({}));
    read_added(in.diagonal, options.diagonal, "diagonal", in.members.shape({blocks(), n}));
    read_active(in, options.active);
    if (!options.lengths.is_none() && !has_lengths()) throw SpecError("this solver has no lengths; make a Plan with lengths=True");
    if (!options.sizes.is_none() && !has_sizes()) throw SpecError("this solver has no sizes; make a Plan with sizes=True");
    read_numbers(in.lengths, options.lengths, "lengths", in.members.shape({}));
    read_numbers(in.sizes, options.sizes, "sizes", in.members.shape({blocks()}));
}

std::vector<std::int64_t> BoundChain::coupling_shape(const Inputs& in) const {
    if (bandwidth() == 1) return in.members.shape({couplings(), block(), block()});
    return in.members.shape({blocks(), bandwidth(), block(), block()});
}

std::vector<std::int64_t> BoundChain::diagonal_of_inverse(const Members& members) const {
    const auto n = bandwidth() * block();
    return members.shape({(blocks() + bandwidth() - 1) / bandwidth(), n, n});
}
std::vector<std::int64_t> BoundChain::lower_of_inverse(const Members& members) const {
    const auto n = bandwidth() * block();
    return members.shape({bandwidth() == 1 ? couplings() : ring() ? blocks() / bandwidth() : (blocks() - 1) / bandwidth(), n, n});
}

void BoundChain::read_coupling(const Inputs& in, Array& array, nb::handle given, const char* name, const std::vector<std::int64_t>& shape) {
    if (given.is_none() && std::ranges::count(shape, 0) > 0) return;
    if (given.is_none()) throw SpecError(fmt::format("{} is missing; give {}", name, show(shape)));
    read_real(array, given, name);
    if (array.shape().size() != shape.size())
        throw SpecError(fmt::format("{} has shape {} and D {}: one has a batch axis and the other has not; give {} as {}", name,
                                    show(array.shape()), show(in.d.shape()), name, show(shape)));
    if (!std::ranges::equal(array.shape(), shape))
        throw SpecError(fmt::format("{} has shape {}; give {}{}", name, show(array.shape()), show(shape), reason_for_e()));
    array.make_contiguous();
}

void BoundChain::read_upper(Inputs& in, nb::handle upper) {
    if (matrix() == MatrixKind::general)
        return read_coupling(in, in.u, upper, "upper, the blocks (i, i + 1) of a general matrix,", coupling_shape(in));
    if (!upper.is_none()) throw SpecError("upper is for general matrices; make a Plan with matrix='general', or leave upper out");
}

void BoundChain::read_added(Array& array, nb::handle given, const char* name, const std::vector<std::int64_t>& shape) const {
    if (given.is_none()) return;
    if (PyFloat_Check(given.ptr()) || PyLong_Check(given.ptr()))
        array.read(helper("full")(library_name(library_), tuple_of(shape), element_name(element_), place_.ordinal, given), name);
    else
        array.read(given, name);
    take_place(array);
    expect_real(array);
    expect_shape(array, shape);
    array.make_contiguous();
}

void BoundChain::read_active(Inputs& in, nb::handle active) const {
    if (active.is_none()) return;
    in.active.read(active, "active");
    if (in.active.element() != Element::i32) in.active.read(helper("mask")(in.active.object()), "active");
    take_place(in.active);
    if (in.active.element() != Element::i32) throw SpecError("active is " + in.active.describe() + "; give bool or int32");
    expect_shape(in.active, in.members.shape({}));
    in.active.make_contiguous();
}

void BoundChain::read_numbers(Array& array, nb::handle given, const char* name, const std::vector<std::int64_t>& shape) const {
    if (given.is_none()) return;
    if (PyLong_Check(given.ptr()) != 0)
        array.read(helper("full")(library_name(library_), tuple_of(shape), "int32", place_.ordinal, given), name);
    else
        array.read(given, name);
    const auto element = array.element();
    if (element == Element::f32 || element == Element::f64)
        throw SpecError(fmt::format("{} is {}; give whole numbers", name, array.describe()));
    if (element != Element::i32) array.read(helper("whole_numbers")(array.object()), name);
    if (array.shape().size() + 1 == shape.size() && !array.shape().empty() && array.shape()[0] == shape.back())
        array.read(helper("for_all")(array.object(), tuple_of(shape)), name);
    take_place(array);
    expect_shape(array, shape);
    array.make_contiguous();
}

void BoundChain::read_right_side(Inputs& in, nb::handle b) {
    in.b.read(b, "b");
    if (!in.d || on_host()) library_ = in.b.library();
    take_place(in.b);
    expect_real(in.b);
    auto shape = in.members.shape({blocks(), block()});
    in.has_columns = in.b.shape().size() == shape.size() + 1;
    in.columns = in.has_columns ? in.b.shape().back() : 1;
    if (in.has_columns) shape.push_back(in.columns);
    if (in.columns < 1 || !std::ranges::equal(in.b.shape(), shape)) {
        const auto one = fmt::format("{}", fmt::join(in.members.shape({blocks(), block()}), ", "));
        throw SpecError(fmt::format("b has shape {}; give ({}), or ({}, m) for m right-hand sides, as D has {} batch axis",
                                    show(in.b.shape()), one, one, in.members.batched ? "a" : "no"));
    }
    in.b.make_contiguous();
}

void BoundChain::read_rhs(Inputs& in, nb::handle b, nb::handle out) {
    if (border() == 0) {
        read_right_side(in, b);
        in.result = read_or_make(in.x, out, "out", in.b.shape(), in.b.element(), library_);
        return;
    }
    const auto part = [](nb::handle pair, std::size_t k, const char* name) {
        const bool is_pair = (PyTuple_Check(pair.ptr()) != 0 || PyList_Check(pair.ptr()) != 0) && nb::len(pair) == 2;
        if (!is_pair) throw SpecError(fmt::format("{} is no pair of arrays; with a border give that of the chain, and its tip", name));
        return nb::object(pair[k]);
    };
    read_right_side(in, part(b, 0, "b"));
    read_real(in.tip_b, part(b, 1, "b"), "the tip of b");
    expect_shape(in.tip_b, tip_shape(in));
    in.tip_b.make_contiguous();
    const auto of_out = [&](std::size_t k) { return out.is_none() ? nb::object(nb::none()) : part(out, k, "out"); };
    in.result = read_or_make(in.x, of_out(0), "out", in.b.shape(), in.b.element(), library_);
    in.tip_result = read_or_make(in.tip_x, of_out(1), "the tip of out", in.tip_b.shape(), in.b.element(), library_);
}

nb::object BoundChain::status_of(const std::vector<Outcome>& outcomes, bool batched) {
    const auto row = [](const Outcome& o) {
        return nb::make_tuple(o.block, o.row, o.floors, o.solution, o.inverse, o.quadratic, o.least_pivot, o.nearly_singular, o.negative,
                              o.growth);
    };
    return helper("status")(listed(outcomes, row), batched);
}

nb::object BoundChain::refinement_of(const std::vector<Refinement>& refinements, bool batched) {
    const auto row = [](const Refinement& r) { return nb::make_tuple(r.iterations, r.converged, r.backward_error); };
    return helper("refinement")(listed(refinements, row), batched);
}

}  // namespace trifold::python
