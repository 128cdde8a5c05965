#include "runtime/python/binding/grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <trifold/error.hpp>
#include <utility>

#include "runtime/python/binding/plan.hpp"
#include "runtime/python/binding/unlocked.hpp"

namespace trifold::python {
namespace {

constexpr std::int64_t entries_of_stencil = 9;
constexpr std::size_t most_batch_axes = Array::most_dims - 3;

template <class Enum>
Enum word(const std::string& given, const char* what, std::array<Enum, 2> all) {
    for (const auto one : all)
        if (trifold::to_string(one) == given) return one;
    throw SpecError(
        fmt::format("{} = '{}' is not known; give '{}' or '{}'", what, given, trifold::to_string(all[0]), trifold::to_string(all[1])));
}

std::int64_t product(std::span<const std::int64_t> shape) {
    std::int64_t result = 1;
    for (const auto size : shape) result *= size;
    return result;
}

/// The Spec for stencils of this shape.
GridSpec spec_for(const Array& stencil, const GridWishes& wishes) {
    const auto shape = stencil.shape();
    const auto dims = shape.size();
    if (dims < 3 || shape[dims - 1] != entries_of_stencil)
        throw SpecError(fmt::format("stencil has shape {}; give (H, W, 9), or (..., H, W, 9) for many images", show(shape)));
    if (dims - 3 > most_batch_axes)
        throw SpecError(fmt::format("stencil has {} axes of images; give at most {}", dims - 3, most_batch_axes));
    if (stencil.element() != Element::f32 && stencil.element() != Element::f64)
        throw SpecError(fmt::format("stencil is {}; convert it to float32 or float64", stencil.describe()));
    if (product(shape) == 0) throw SpecError(fmt::format("stencil has shape {}: an axis of size 0 has nothing to solve", show(shape)));
    auto spec = grid_spec_of(wishes);
    spec.height = shape[dims - 3];
    spec.width = shape[dims - 2];
    spec.precision = stencil.element() == Element::f32 ? Precision::f32 : Precision::f64;
    spec.batch = product(shape.first(dims - 3));
    return spec;
}

template <class Real>
const Real* reals(const Array& array) {
    return static_cast<const Real*>(array.data());
}
template <class Real>
Real* written_reals(const Array& array) {
    return static_cast<Real*>(array.data());
}
template <class Real>
std::span<const Real> all_of(const Array& array) {
    return {reals<Real>(array), static_cast<std::size_t>(product(array.shape()))};
}
template <class Real>
std::span<Real> written_all_of(const Array& array) {
    return {written_reals<Real>(array), static_cast<std::size_t>(product(array.shape()))};
}

}  // namespace

GridSpec grid_spec_of(const GridWishes& wishes) {
    GridSpec spec;
    spec.matrix = word(wishes.matrix, "matrix", std::array{GridMatrix::general, GridMatrix::symmetric});
    spec.pivoting = word(wishes.pivoting, "pivoting", std::array{GridPivoting::partial, GridPivoting::none});
    spec.boundary = word(wishes.boundary, "boundary", std::array{GridBoundary::natural, GridBoundary::fixed});
    spec.rhs = wishes.rhs;
    return spec;
}

nb::tuple grid_outcome(const GridOutcome& o) {
    return nb::make_tuple(std::string(trifold::to_string(o.problem)), o.pixel_x, o.pixel_y,
                          nb::make_tuple(o.front.x0, o.front.x1, o.front.y0, o.front.y1), o.level, o.least_pivot, o.growth, o.solution);
}

BoundGrid::BoundGrid(nb::handle stencil, const GridWishes& wishes, const GridOperations& operations)
    : forks_(forks()), accept_(wishes.accept_nearly_singular) {
    stencil_.read(stencil, "stencil");
    library_ = stencil_.library();
    place_ = stencil_.place();
    auto spec = spec_for(stencil_, wishes);
    spec.operations = operations;
    stencil_.make_contiguous();
    const auto device = device_at(library_, place_);
    const auto stream = current_stream(library_, place_);
    const Unlocked unlocked;
    loan_ = std::make_unique<GridLoan>(spec, device, GridTuning{.workers = wishes.workers}, stream);
}

BoundGrid::~BoundGrid() = default;

void BoundGrid::take_place(const Array& array) const {
    if (array.place() != place_)
        throw SpecError(
            fmt::format("{} is on {} and the stencil on {}; move one of them", array.name(), to_string(array.place()), to_string(place_)));
    if (place_.ordinal >= 0 && array.library() != library_)
        throw SpecError(fmt::format("{} is of {} and the stencil of {}, which have streams of their own; give arrays of one library",
                                    array.name(), library_name(array.library()), library_name(library_)));
}

void BoundGrid::expect_real(const Array& array) const {
    if (array.element() != stencil_.element())
        throw SpecError(fmt::format("{} is {} and the stencil {}; convert one of them", array.name(), array.describe(),
                                    element_name(stencil_.element())));
}

std::int64_t BoundGrid::read_rhs(Array& array, nb::handle given, const char* name) const {
    array.read(given, name);
    take_place(array);
    expect_real(array);
    const auto shape = array.shape(), pixels = stencil_.shape().first(stencil_.shape().size() - 1);
    const bool alone = shape.size() == pixels.size(), columns = shape.size() == pixels.size() + 1;
    if ((!alone && !columns) || !std::ranges::equal(shape.first(pixels.size()), pixels) || (columns && shape.back() < 1))
        throw SpecError(fmt::format("{} has shape {}; give ({}), or ({}, m) for m right-hand sides", name, show(shape),
                                    fmt::join(pixels, ", "), fmt::join(pixels, ", ")));
    array.make_contiguous();
    return columns ? shape.back() : 1;
}

nb::object BoundGrid::read_or_make(Array& array, nb::handle given, const char* name, std::span<const std::int64_t> shape,
                                   Library library) const {
    auto object = given.is_none() ? make_array(library, place_, shape, stencil_.element()) : nb::borrow(given);
    array.read(object, name, true);
    take_place(array);
    expect_real(array);
    if (!std::ranges::equal(array.shape(), shape))
        throw SpecError(fmt::format("{} has shape {}; give {}", name, show(array.shape()), show(shape)));
    array.make_contiguous();
    return object;
}

nb::object BoundGrid::finish(const Array& like, const nb::object& result) const {
    return like.foreign() ? helper("give_back")(like.original(), result) : result;
}

template <class Body>
void BoundGrid::run(Body body) {
    if (forks_ != forks()) {
        if (place_.ordinal >= 0)
            throw DeviceError("this process was forked, and a GPU cannot be used on both sides of a fork; start processes by 'spawn'");
        static_cast<void>(in_call_.release());  // another thread of the parent may have held it
        in_call_ = std::make_unique<std::mutex>();
        forks_ = forks();
    }
    const auto stream = current_stream(library_, place_);
    const Unlocked unlocked;
    const std::scoped_lock lock(*in_call_);
    loan_->goes_to(stream);
    if (spec().precision == Precision::f32)
        body(**loan_, float{}, stream);
    else
        body(**loan_, double{}, stream);
}

void BoundGrid::factor(std::optional<bool> asked) {
    run([&]<class Real>(GridSolver& solver, Real, Stream stream) {
        if (on_host())
            solver.factor(all_of<Real>(stencil_), options());
        else
            solver.factor(reals<Real>(stencil_), stream, options());
        if (checks(asked)) solver.check();
    });
}

nb::object BoundGrid::factor_solve(nb::handle b, nb::handle out, int refine, std::optional<bool> asked) {
    Array of_b, of_x;
    const auto asked_for = options(read_rhs(of_b, b, "b"));
    const auto x = read_or_make(of_x, out, "out", of_b.shape(), of_b.library());
    run([&]<class Real>(GridSolver& solver, Real, Stream stream) {
        if (on_host())
            solver.factor_solve(all_of<Real>(stencil_), all_of<Real>(of_b), written_all_of<Real>(of_x), asked_for);
        else
            solver.factor_solve(reals<Real>(stencil_), reals<Real>(of_b), written_reals<Real>(of_x), stream, asked_for);
        for (int step = 0; step < refine; ++step)
            solver.refine(reals<Real>(stencil_), reals<Real>(of_b), written_reals<Real>(of_x), false, stream, asked_for);
        if (checks(asked)) solver.check();
    });
    return finish(of_b, x);
}

nb::object BoundGrid::solve(nb::handle b, nb::handle out, bool transposed) {
    Array of_b, of_x;
    const GridOptions options{.columns = read_rhs(of_b, b, "b")};
    const auto x = read_or_make(of_x, out, "out", of_b.shape(), of_b.library());
    run([&]<class Real>(GridSolver& solver, Real, Stream stream) {
        if (transposed)
            solver.solve_transposed(reals<Real>(of_b), written_reals<Real>(of_x), stream, options);
        else
            solver.solve(reals<Real>(of_b), written_reals<Real>(of_x), stream, options);
    });
    return finish(of_b, x);
}

nb::object BoundGrid::refine(nb::handle b, nb::handle x, nb::handle out, bool transposed) {
    Array of_b, of_x, of_out;
    const GridOptions options{.columns = read_rhs(of_b, b, "b")};
    read_rhs(of_x, x, "x");
    if (!std::ranges::equal(of_x.shape(), of_b.shape()))
        throw SpecError(fmt::format("x has shape {} and b {}; give x in the shape of b", show(of_x.shape()), show(of_b.shape())));
    const auto result = read_or_make(of_out, out, "out", of_b.shape(), of_b.library());
    if (of_out.data() != of_x.data()) helper("copy_into")(of_out.object(), of_x.object());
    run([&]<class Real>(GridSolver& solver, Real, Stream stream) {
        solver.refine(reals<Real>(stencil_), reals<Real>(of_b), written_reals<Real>(of_out), transposed, stream, options);
    });
    return finish(of_b, result);
}

nb::tuple BoundGrid::gradients(nb::handle x, nb::handle by_x) {
    Array of_x, of_by_x, of_by_b, of_by_stencil;
    const GridOptions options{.columns = read_rhs(of_x, x, "x")};
    read_rhs(of_by_x, by_x, "by_x");
    if (!std::ranges::equal(of_x.shape(), of_by_x.shape()))
        throw SpecError(fmt::format("by_x has shape {} and x {}; give by_x in the shape of x", show(of_by_x.shape()), show(of_x.shape())));
    const auto by_b = read_or_make(of_by_b, nb::none(), "by_b", of_x.shape(), of_x.library());
    const auto by_stencil = read_or_make(of_by_stencil, nb::none(), "by_stencil", stencil_.shape(), of_x.library());
    run([&]<class Real>(GridSolver& solver, Real, Stream stream) {
        solver.gradients(reals<Real>(of_x), reals<Real>(of_by_x), written_reals<Real>(of_by_b), written_reals<Real>(of_by_stencil), stream,
                         options);
    });
    return nb::make_tuple(finish(of_x, by_b), finish(of_x, by_stencil));
}

nb::list BoundGrid::log_determinant() {
    std::vector<GridDeterminant> all;
    run([&](GridSolver& solver, auto, Stream) { all = solver.log_determinant(); });
    nb::list rows;
    for (const auto& one : all) rows.append(nb::make_tuple(one.log, one.sign));
    return rows;
}

nb::list BoundGrid::status() {
    std::vector<GridOutcome> all;
    run([&](GridSolver& solver, auto, Stream) { all = solver.status(); });
    nb::list rows;
    for (const auto& one : all) rows.append(grid_outcome(one));
    return rows;
}

nb::list BoundGrid::reciprocal_condition() {
    const auto host = on_host() ? nb::borrow(stencil_.object()) : nb::object(helper("on_host")(stencil_.object()));
    Array of_host;
    of_host.read(host, "stencil");
    of_host.make_contiguous();
    std::vector<double> all;
    run([&]<class Real>(GridSolver& solver, Real, Stream) { all = solver.reciprocal_condition(all_of<Real>(of_host)); });
    nb::list rows;
    for (const auto one : all) rows.append(one);
    return rows;
}

void BoundGrid::check() {
    run([](GridSolver& solver, auto, Stream) { solver.check(); });
}

nb::tuple BoundGrid::batch_shape() const { return tuple_of(stencil_.shape().first(stencil_.shape().size() - 3)); }

}  // namespace trifold::python
