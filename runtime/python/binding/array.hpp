#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <trifold/device.hpp>
#include <trifold/solver.hpp>

namespace trifold::python {

namespace nb = nanobind;

/// Whose array it is. Those of other libraries are read as one of these: `trifold.arrays` says how.
enum class Library { numpy, torch, cupy };
enum class Element { f32, f64, i32, u8, other };

/// Place of memory: the processor's when the ordinal is negative, else a GPU's.
struct Place {
    int ordinal = -1;
    bool operator==(const Place&) const = default;
};
std::string to_string(Place place);
/// The stream that is current in the library whose array it is.
Stream current_stream(Library library, Place place);
/// CUDA or HIP: what torch or CuPy was built for.
Backend backend_of(Library library, Place place);

/// The description that an array gives of itself. Holds the array, and NumPy's memory in its place, until it is destroyed, which needs the
/// GIL.
class Array {
  public:
    static constexpr std::size_t max_dims = 8;

    Array() = default;
    /// Throws SpecError on what no array can be made of; `name` is how messages call it. `written`: it must be writable and is never
    /// copied.
    Array(nb::handle object, const char* name, bool written = false);
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
    ~Array() { release(); }
    void read(nb::handle object, const char* name, bool written = false);

    explicit operator bool() const { return object_.is_valid(); }
    const char* name() const { return name_; }
    nb::handle object() const { return object_; }
    /// The argument: the array itself, or the one of another library that it was made of.
    nb::handle original() const { return original_.is_valid() ? original_ : object_; }
    /// Whether the array was made of one of another library, as results should be too.
    bool foreign() const { return foreign_; }
    Library library() const { return library_; }
    Element element() const { return element_; }
    Place place() const { return place_; }
    std::span<const std::int64_t> shape() const { return {shape_.data(), dims_}; }
    void* data() const { return data_; }
    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }
    /// All elements; none where there is no array.
    template <class T>
    std::span<T> all() const {
        return {as<T>(), object_.is_valid() ? static_cast<std::size_t>(size()) : 0};
    }
    std::int64_t size() const;
    /// Elements without gaps in the order of the indices; else an array that is read is copied.
    void make_contiguous();
    /// "(2, 3, 3) float64 on cuda:0", for messages.
    std::string describe() const;

  private:
    void release();
    void read_numpy();
    void read_torch();
    void read_exchanged(int (*ask)(void* object, nb::dlpack::dltensor* tensor));
    void read_cupy();
    void read_shape(nb::handle tuple);
    [[noreturn]] void fail(const std::string& what) const;

    nb::object object_, original_;
    const char* name_ = "";
    bool foreign_ = false, written_ = false, contiguous_ = false, exported_ = false;
    Library library_ = Library::numpy;
    Element element_ = Element::other;
    Place place_;
    std::size_t dims_ = 0;
    std::array<std::int64_t, max_dims> shape_{};
    void* data_ = nullptr;
    Py_buffer buffer_{};
};

/// Whether a tensor is memory of the processor or of a GPU. Others, such as those that torch's transforms wrap, are only read through its
/// dispatcher.
bool has_memory(nb::handle tensor);

const char* library_name(Library library);
const char* element_name(Element element);
/// "(3,)" or "(2, 3)", for messages.
std::string show(std::span<const std::int64_t> shape);
nb::tuple tuple_of(std::span<const std::int64_t> shape);
/// A new array of that library; what it holds is undefined.
nb::object make_array(Library library, Place place, std::span<const std::int64_t> shape, Element element);

/// A function of the module trifold.arrays, found by the address of its name: give a literal.
nb::handle helper(const char* name);

}  // namespace trifold::python
