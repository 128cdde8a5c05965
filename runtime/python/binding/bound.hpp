#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "runtime/base/forks.hpp"
#include "runtime/python/binding/array.hpp"

namespace trifold::python {

/// Words of messages for the array or the Plan that the other arrays of a solver have to fit.
struct Fits {
    const char *place, *move;       ///< "b is on GPU 0 and " place " the CPU; " move
    const char *element, *convert;  ///< "b is float32" element " float64" convert
    const char* library;            ///< "b is of torch and " library " cupy"
};

/// A solver for arrays of Python, whatever the family: where its arrays are and of what type, and what becomes of results.
class Bound {
  public:
    Bound(const Bound&) = delete;
    Bound& operator=(const Bound&) = delete;

  protected:
    explicit Bound(const Fits& fits) : fits_(fits) {}
    void take_place(const Array& array) const;
    void expect_real(const Array& array) const;
    static void expect_shape(const Array& array, std::span<const std::int64_t> shape);
    /// An argument that is read, with the solver's place and type.
    void read_real(Array& array, nb::handle given, const char* name) const;
    /// Array for a result: the given one, or else a new array of that library.
    nb::object read_or_make(Array& array, nb::handle given, const char* name, std::span<const std::int64_t> shape, Element element,
                            Library library) const;
    /// A result, in the library of the argument that it belongs to.
    static nb::object finish(const Array& like, const nb::object& result);
    bool on_host() const { return place_.ordinal < 0; }
    bool checks(std::optional<bool> asked) const { return asked.value_or(on_host()); }
    bool was_forked() const { return born_ != forks(); }
    /// The stream of a call. Throws DeviceError where it cannot be.
    Stream stream() const;
    /// Whether it is recording a graph.
    bool is_capturing() const;
    /// body(float{}) or body(double{}), as the arrays are.
    template <class Body>
    void with_real(Body body) const {
        if (element_ == Element::f32)
            body(float{});
        else
            body(double{});
    }

    Library library_ = Library::numpy;  // the last call's arrays are of it
    Place place_;
    Element element_ = Element::f64;

  private:
    const Fits& fits_;
    int born_ = forks();  // a fork takes a solver's threads from it
};

/// A list of what `convert` makes of each.
template <class Values, class Convert>
nb::list listed(const Values& values, Convert convert) {
    nb::list rows;
    for (const auto& value : values) rows.append(convert(value));
    return rows;
}

/// Options of a call by name: whole numbers, words, and True or False.
nlohmann::json settings_of(const nb::dict& given);

/// One that is no field of a Spec, taken out of the others.
template <class Value>
Value taken(nlohmann::json& settings, const char* name) {
    auto value = settings.at(name).get<Value>();
    settings.erase(name);
    return value;
}

}  // namespace trifold::python
