#include "runtime/python/binding/grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <trifold/error.hpp>
#include <utility>

#include "generator/grid/fields.hpp"
#include "runtime/python/binding/gil.hpp"
#include "runtime/python/binding/plan.hpp"

namespace trifold::python {
namespace {

constexpr std::int64_t entries_of_stencil = 9;
constexpr std::size_t max_batch_axes = Array::max_dims - 3;

constexpr Fits fits_stencil{.place = "the stencil on",
                            .move = "move one of them",
                            .element = " and the stencil",
                            .convert = "; convert one of them",
                            .library = "the stencil of"};

/// Gives the Spec the sizes of a stencil.
void fit(GridSpec& spec, const Array& stencil) {
    const auto shape = stencil.shape();
    const auto dims = shape.size();
    if (dims < 3 || shape[dims - 1] != entries_of_stencil)
        throw SpecError(fmt::format("stencil has shape {}; give (H, W, 9), or (..., H, W, 9) for many images", show(shape)));
    if (dims - 3 > max_batch_axes) throw SpecError(fmt::format("stencil has {} axes of images; give at most {}", dims - 3, max_batch_axes));
    if (stencil.element() != Element::f32 && stencil.element() != Element::f64)
        throw SpecError(fmt::format("stencil is {}; convert it to float32 or float64", stencil.describe()));
    if (stencil.size() == 0) throw SpecError(fmt::format("stencil has shape {}: an axis of size 0 has nothing to solve", show(shape)));
    spec.height = shape[dims - 3];
    spec.width = shape[dims - 2];
    spec.precision = stencil.element() == Element::f32 ? Precision::f32 : Precision::f64;
    spec.batch = stencil.size() / (spec.height * spec.width * entries_of_stencil);
}

}  // namespace

nb::tuple grid_outcome(const GridOutcome& o) {
    return nb::make_tuple(std::string(trifold::to_string(o.problem)), o.pixel_x, o.pixel_y,
                          nb::make_tuple(o.front.x0, o.front.x1, o.front.y0, o.front.y1), o.level, o.least_pivot, o.growth, o.solution);
}

BoundGrid::BoundGrid(nb::handle stencil, const nb::dict& settings, const GridOperations& operations) : Bound(fits_stencil) {
    auto given = settings_of(settings);
    accept_ = taken<bool>(given, "accept_nearly_singular");
    const GridTuning tuning{.workers = taken<int>(given, "workers")};
    GridSpec spec;
    read_json(grid_fields, &spec, given);
    stencil_.read(stencil, "stencil");
    library_ = stencil_.library();
    place_ = stencil_.place();
    element_ = stencil_.element();
    fit(spec, stencil_);
    spec.operations = operations;
    stencil_.make_contiguous();
    const auto device = device_at(library_, place_);
    const auto stream = current_stream(library_, place_);
    const GilRelease unlocked;
    pooled_ = std::make_unique<PooledGridSolver>(spec, device, tuning, stream);
}

std::int64_t BoundGrid::read_rhs(Array& array, nb::handle given, const char* name) const {
    read_real(array, given, name);
    const auto shape = array.shape(), pixels = stencil_.shape().first(stencil_.shape().size() - 1);
    const bool alone = shape.size() == pixels.size(), columns = shape.size() == pixels.size() + 1;
    if ((!alone && !columns) || !std::ranges::equal(shape.first(pixels.size()), pixels) || (columns && shape.back() < 1))
        throw SpecError(fmt::format("{} has shape {}; give ({}), or ({}, m) for m right-hand sides", name, show(shape),
                                    fmt::join(pixels, ", "), fmt::join(pixels, ", ")));
    array.make_contiguous();
    return columns ? shape.back() : 1;
}

template <class Body>
void BoundGrid::run(Body body) {
    const auto stream = this->stream();
    const GilRelease unlocked;
    const std::scoped_lock lock(*in_call_);
    pooled_->goes_to(stream);
    body(**pooled_, stream);
}

AnyArray BoundGrid::sized(const Array& array) const {
    AnyArray result(array.data(), on_host(), spec().precision);
    if (on_host()) result.size = array.size();
    return result;
}

void BoundGrid::factor(std::optional<bool> asked) {
    run([&](GridSolver& solver, Stream stream) {
        solver.run(GridOperation::factor, {sized(stencil_)}, stream, options());
        if (checks(asked)) solver.check();
    });
}

nb::object BoundGrid::factor_solve(nb::handle b, nb::handle out, int refine, std::optional<bool> asked) {
    Array of_b, of_x;
    const auto asked_for = options(read_rhs(of_b, b, "b"));
    const auto x = result(of_x, out, "out", of_b);
    run([&](GridSolver& solver, Stream stream) {
        solver.run(GridOperation::factor_solve, {sized(stencil_), sized(of_b), sized(of_x)}, stream, asked_for);
        for (int step = 0; step < refine; ++step)
            solver.run(GridOperation::refine, {plain(stencil_), plain(of_b), plain(of_x)}, stream, asked_for);
        if (checks(asked)) solver.check();
    });
    return finish(of_b, x);
}

nb::object BoundGrid::solve(nb::handle b, nb::handle out, bool transposed) {
    Array of_b, of_x;
    const GridOptions options{.columns = read_rhs(of_b, b, "b")};
    const auto x = result(of_x, out, "out", of_b);
    const auto operation = transposed ? GridOperation::solve_transposed : GridOperation::solve;
    run([&](GridSolver& solver, Stream stream) { solver.run(operation, {plain(of_b), plain(of_x)}, stream, options); });
    return finish(of_b, x);
}

nb::object BoundGrid::refine(nb::handle b, nb::handle x, nb::handle out, bool transposed) {
    Array of_b, of_x, of_out;
    const GridOptions options{.columns = read_rhs(of_b, b, "b")};
    read_rhs(of_x, x, "x");
    if (!std::ranges::equal(of_x.shape(), of_b.shape()))
        throw SpecError(fmt::format("x has shape {} and b {}; give x in the shape of b", show(of_x.shape()), show(of_b.shape())));
    const auto refined = result(of_out, out, "out", of_b);
    if (of_out.data() != of_x.data()) helper("copy_into")(of_out.object(), of_x.object());
    run([&](GridSolver& solver, Stream stream) {
        solver.run(GridOperation::refine, {plain(stencil_), plain(of_b), plain(of_out)}, stream, options, transposed);
    });
    return finish(of_b, refined);
}

nb::tuple BoundGrid::gradients(nb::handle x, nb::handle by_x) {
    Array of_x, of_by_x, of_by_b, of_by_stencil;
    const GridOptions options{.columns = read_rhs(of_x, x, "x")};
    read_rhs(of_by_x, by_x, "by_x");
    if (!std::ranges::equal(of_x.shape(), of_by_x.shape()))
        throw SpecError(fmt::format("by_x has shape {} and x {}; give by_x in the shape of x", show(of_by_x.shape()), show(of_x.shape())));
    const auto by_b = result(of_by_b, nb::none(), "by_b", of_x);
    const auto by_stencil = read_or_make(of_by_stencil, nb::none(), "by_stencil", stencil_.shape(), element_, of_x.library());
    run([&](GridSolver& solver, Stream stream) {
        solver.run(GridOperation::gradient, {plain(of_x), plain(of_by_x), plain(of_by_b), plain(of_by_stencil)}, stream, options);
    });
    return nb::make_tuple(finish(of_x, by_b), finish(of_x, by_stencil));
}

nb::list BoundGrid::log_determinant() {
    std::vector<GridDeterminant> all;
    run([&](GridSolver& solver, Stream) { all = solver.log_determinant(); });
    return listed(all, [](const GridDeterminant& one) { return nb::make_tuple(one.log, one.sign); });
}

nb::list BoundGrid::status() {
    std::vector<GridOutcome> all;
    run([&](GridSolver& solver, Stream) { all = solver.status(); });
    return listed(all, grid_outcome);
}

nb::list BoundGrid::reciprocal_condition() {
    const auto host = on_host() ? nb::borrow(stencil_.object()) : nb::object(helper("on_host")(stencil_.object()));
    Array of_host;
    of_host.read(host, "stencil");
    of_host.make_contiguous();
    std::vector<double> all;
    run([&](GridSolver& solver, Stream) {
        with_real([&]<class Real>(Real) { all = solver.reciprocal_condition(of_host.all<const Real>()); });
    });
    return listed(all, [](double one) { return one; });
}

void BoundGrid::check() {
    run([](GridSolver& solver, Stream) { solver.check(); });
}

nb::tuple BoundGrid::batch_shape() const { return tuple_of(stencil_.shape().first(stencil_.shape().size() - 3)); }

}  // namespace trifold::python
