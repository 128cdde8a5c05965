#include "runtime/python/binding/bound.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <trifold/error.hpp>

namespace trifold::python {

void Bound::take_place(const Array& array) const {
    if (array.place() != place_)
        throw SpecError(
            fmt::format("{} is on {} and {} {}; {}", array.name(), to_string(array.place()), fits_.place, to_string(place_), fits_.move));
    if (!on_host() && array.library() != library_)
        throw SpecError(fmt::format("{} is of {} and {} {}, which have streams of their own; give arrays of one library", array.name(),
                                    library_name(array.library()), fits_.library, library_name(library_)));
}

void Bound::expect_real(const Array& array) const {
    if (array.element() != element_)
        throw SpecError(
            fmt::format("{} is {}{} {}{}", array.name(), array.describe(), fits_.element, element_name(element_), fits_.convert));
}

void Bound::expect_shape(const Array& array, std::span<const std::int64_t> shape) {
    if (!std::ranges::equal(array.shape(), shape))
        throw SpecError(fmt::format("{} has shape {}; give {}", array.name(), show(array.shape()), show(shape)));
}

void Bound::read_real(Array& array, nb::handle given, const char* name) const {
    array.read(given, name);
    take_place(array);
    expect_real(array);
}

nb::object Bound::read_or_make(Array& array, nb::handle given, const char* name, std::span<const std::int64_t> shape, Element element,
                               Library library) const {
    auto object = given.is_none() ? make_array(library, place_, shape, element) : nb::borrow(given);
    array.read(object, name, true);
    take_place(array);
    expect_shape(array, shape);
    if (array.element() != element) throw SpecError(fmt::format("{} is {}; give {}", name, array.describe(), element_name(element)));
    array.make_contiguous();
    return object;
}

nb::object Bound::finish(const Array& like, const nb::object& result) {
    return like.foreign() ? helper("give_back")(like.original(), result) : result;
}

Stream Bound::stream() const {
    if (was_forked() && !on_host())
        throw DeviceError("this process was forked, and a GPU cannot be used on both sides of a fork; start processes by 'spawn'");
    return current_stream(library_, place_);
}

bool Bound::is_capturing() const {
    return !on_host() && library_ != Library::numpy &&
           nb::cast<bool>(helper("is_capturing")(library_ == Library::torch ? "torch" : "cupy"));
}

nlohmann::json settings_of(const nb::dict& given) {
    auto settings = nlohmann::json::object();
    for (const auto [name, value] : given) {
        auto& setting = settings[nb::cast<std::string>(name)];
        if (nb::isinstance<bool>(value))
            setting = nb::cast<bool>(value);
        else if (nb::isinstance<nb::int_>(value))
            setting = nb::cast<std::int64_t>(value);
        else
            setting = nb::cast<std::string>(value);
    }
    return settings;
}

}  // namespace trifold::python
