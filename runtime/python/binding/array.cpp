#include "runtime/python/binding/array.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <trifold/error.hpp>
#include <vector>

#include "runtime/python/binding/objects.hpp"

namespace trifold::python {
namespace {

/// Names that every call looks up. Never freed: modules outlive their interpreter's last call.
struct Names {
    PyObject *data_ptr, *dtype, *shape, *get_device, *is_contiguous, *requires_grad, *data, *ptr, *device_id, *flags, *c_contiguous,
        *is_neg, *is_cpu, *is_cuda, *numel;
    static PyObject* make(const char* text) { return PyUnicode_InternFromString(text); }
};
const Names& names() {
    static const Names all{
        Names::make("data_ptr"),      Names::make("dtype"),  Names::make("shape"),  Names::make("get_device"), Names::make("is_contiguous"),
        Names::make("requires_grad"), Names::make("data"),   Names::make("ptr"),    Names::make("device_id"),  Names::make("flags"),
        Names::make("c_contiguous"),  Names::make("is_neg"), Names::make("is_cpu"), Names::make("is_cuda"),    Names::make("numel")};
    return all;
}

/// The table of functions that torch puts on its type from 2.10 on, as DLPack 1.2 defines it: what an array says of itself and the current
/// stream, without an attribute looked up or an object made.
struct Exchange {
    std::uint32_t major, minor;
    Exchange* older;
    void *allocate, *export_owned, *import_owned;
    int (*describe)(void* object, nb::dlpack::dltensor* tensor);
    int (*current_stream)(int kind, std::int32_t ordinal, void** stream);
};
const Exchange* exchange_of(nb::handle type) {
    if (!nb::hasattr(type, "__dlpack_c_exchange_api__")) return nullptr;
    const nb::object capsule = type.attr("__dlpack_c_exchange_api__");
    const auto* table = static_cast<const Exchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    if (table == nullptr) PyErr_Clear();
    while (table != nullptr && table->major != 1) table = table->older;
    return table == nullptr || table->describe == nullptr ? nullptr : table;
}

Element element_of(nb::dlpack::dtype dtype) {
    using nb::dlpack::dtype_code;
    const auto is = [&](dtype_code code, int bits) {
        return dtype.code == static_cast<std::uint8_t>(code) && dtype.bits == bits && dtype.lanes == 1;
    };
    if (is(dtype_code::Float, 64)) return Element::f64;
    if (is(dtype_code::Float, 32)) return Element::f32;
    if (is(dtype_code::Int, 32)) return Element::i32;
    return is(dtype_code::UInt, 8) ? Element::u8 : Element::other;
}

/// A library's types of arrays and elements, looked up once it has been imported by somebody.
struct Torch {
    nb::object f32, f64, i32, u8, grad_mode, raw_stream;
    const Exchange* exchange;
    bool hip;
    Torch() {
        const auto module = nb::module_::import_("torch");
        f32 = module.attr("float32");
        f64 = module.attr("float64");
        i32 = module.attr("int32");
        u8 = module.attr("uint8");
        grad_mode = module.attr("is_grad_enabled");
        const auto internal = module.attr("_C");
        if (nb::hasattr(internal, "_cuda_getCurrentRawStream")) raw_stream = internal.attr("_cuda_getCurrentRawStream");
        exchange = exchange_of(module.attr("Tensor"));
        hip = !nb::object(module.attr("version").attr("hip")).is_none();
    }
    Element element(nb::handle dtype) const {
        return dtype.is(f64)   ? Element::f64
               : dtype.is(f32) ? Element::f32
               : dtype.is(i32) ? Element::i32
               : dtype.is(u8)  ? Element::u8
                               : Element::other;
    }
};
const Torch& torch() { return looked_up<Torch>(); }

struct Cupy {
    nb::object stream, f32, f64, i32, u8;
    Cupy() {
        stream = nb::module_::import_("cupy").attr("cuda").attr("get_current_stream");
        const auto dtype = nb::module_::import_("numpy").attr("dtype");
        f32 = dtype("float32");
        f64 = dtype("float64");
        i32 = dtype("int32");
        u8 = dtype("uint8");
    }
    Element element(nb::handle dtype) const {
        // NumPy has one object for each of these, but for those that were unpickled.
        const auto same = [&](const nb::object& known) { return dtype.is(known) || dtype.equal(known); };
        return same(f64) ? Element::f64 : same(f32) ? Element::f32 : same(i32) ? Element::i32 : same(u8) ? Element::u8 : Element::other;
    }
};
const Cupy& cupy() { return looked_up<Cupy>(); }

/// Which library's arrays a type has; nothing for other types. Types are compared by address, so a lookup costs nanoseconds.
std::optional<Library> library_of(nb::handle type) {
    static auto& known = *new std::vector<std::pair<nb::object, std::optional<Library>>>;
    for (const auto& [one, library] : known)
        if (type.is(one)) return library;
    const auto name = nb::cast<std::string>(helper("library_of")(type));
    std::optional<Library> library;
    if (name == "numpy") library = Library::numpy;
    if (name == "torch") library = Library::torch;
    if (name == "cupy") library = Library::cupy;
    if (known.size() < 64) known.emplace_back(nb::borrow(type), library);
    return library;
}

bool is_cpu(nb::dlpack::device device) {
    const auto kind = device.device_type;
    return kind == nb::device::cpu::value || kind == nb::device::cuda_host::value || kind == nb::device::rocm_host::value;
}

Element element_of(const Py_buffer& buffer) {
    const char* format = buffer.format == nullptr ? "B" : buffer.format;
    if (*format == '@' || *format == '=' || *format == '<') ++format;  // x86-64 and 64-bit ARM are little-endian
    if (format[0] == '\0' || format[1] != '\0') return Element::other;
    if (*format == 'd') return Element::f64;
    if (*format == 'f') return Element::f32;
    if ((*format == 'i' || *format == 'l') && buffer.itemsize == 4) return Element::i32;
    return *format == 'B' ? Element::u8 : Element::other;
}

}  // namespace

nb::handle helper(const char* name) {
    static auto& known = *new std::vector<std::pair<const char*, nb::object>>;  // never freed, as above
    for (const auto& [one, function] : known)
        if (one == name) return function;
    return known.emplace_back(name, nb::module_::import_("trifold.arrays").attr(name)).second;
}

const char* library_name(Library library) { return library == Library::torch ? "torch" : library == Library::cupy ? "cupy" : "numpy"; }

const char* element_name(Element element) {
    constexpr const char* all[]{"float32", "float64", "int32", "uint8", "other"};
    return all[static_cast<std::size_t>(element)];
}

std::string show(std::span<const std::int64_t> shape) {
    return shape.size() == 1 ? fmt::format("({},)", shape[0]) : fmt::format("({})", fmt::join(shape, ", "));
}

nb::tuple tuple_of(std::span<const std::int64_t> shape) {
    auto tuple = nb::steal<nb::tuple>(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
    for (std::size_t k = 0; k < shape.size(); ++k) PyTuple_SetItem(tuple.ptr(), static_cast<Py_ssize_t>(k), PyLong_FromLongLong(shape[k]));
    return tuple;
}

nb::object make_array(Library library, Place place, std::span<const std::int64_t> shape, Element element) {
    return helper("empty")(library_name(library), tuple_of(shape), element_name(element), place.ordinal);
}

std::string to_string(Place place) { return place.ordinal < 0 ? "the CPU" : fmt::format("GPU {}", place.ordinal); }

Backend backend_of(Library library, Place place) {
    if (place.ordinal < 0) return Backend::cpu;
    const bool hip = nb::cast<bool>(helper("is_hip")(library == Library::torch ? "torch" : "cupy"));
    return hip ? Backend::hip : Backend::cuda;
}

Stream current_stream(Library library, Place place) {
    if (place.ordinal < 0 || library == Library::numpy) return {};
    const auto* exchange = library == Library::torch ? torch().exchange : nullptr;
    if (exchange != nullptr) {
        Stream stream;
        if (exchange->current_stream(torch().hip ? nb::device::rocm::value : nb::device::cuda::value, place.ordinal, &stream.handle) != 0)
            nb::raise_python_error();
        return stream;
    }
    const auto address =
        library == Library::torch ? integer(torch().raw_stream(place.ordinal)) : integer(get(cupy().stream(), names().ptr));
    return {reinterpret_cast<void*>(address)};
}

bool has_memory(nb::handle tensor) {
    if (const auto* exchange = torch().exchange; exchange != nullptr) {
        nb::dlpack::dltensor said;
        if (exchange->describe(tensor.ptr(), &said) == 0) {
            const auto kind = said.device.device_type;
            const bool known = is_cpu(said.device) || kind == nb::device::cuda::value || kind == nb::device::rocm::value;
            return known && (said.data != nullptr || std::count(said.shape, said.shape + said.ndim, 0) > 0);
        }
    } else if (is_true(get(tensor, names().is_cpu)) || is_true(get(tensor, names().is_cuda))) {
        PyObject* self = tensor.ptr();
        const auto address = nb::steal(PyObject_VectorcallMethod(names().data_ptr, &self, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
        if (address.is_valid()) return integer(address) != 0 || integer(call(tensor, names().numel)) == 0;
    }
    PyErr_Clear();
    return false;
}

Array::Array(nb::handle object, const char* name, bool written) { read(object, name, written); }

void Array::release() {
    if (exported_) PyBuffer_Release(&buffer_);
    exported_ = false;
}

void Array::fail(const std::string& what) const { throw SpecError(fmt::format("{} {}", name_, what)); }

void Array::read(nb::handle object, const char* name, bool written) {
    release();
    name_ = name;
    written_ = written;
    object_ = nb::borrow(object);
    original_.reset();
    auto library = library_of(object.type());
    foreign_ = !library;
    if (foreign_) {
        if (written) fail(fmt::format("is a {}; results go into arrays of NumPy, torch or CuPy", nb::type_name(object.type()).c_str()));
        original_ = object_;
        object_ = helper("adapt")(object, name);
        library = library_of(object_.type());
        if (!library) fail("is no array");
    }
    library_ = *library;
    if (library_ == Library::numpy) read_numpy();
    if (library_ == Library::torch) read_torch();
    if (library_ == Library::cupy) read_cupy();
}

void Array::read_shape(nb::handle tuple) {
    dims_ = static_cast<std::size_t>(PyTuple_Size(tuple.ptr()));
    if (dims_ > max_dims) fail(fmt::format("has {} axes; give at most {}", dims_, max_dims));
    for (std::size_t k = 0; k < dims_; ++k) shape_[k] = integer(PyTuple_GetItem(tuple.ptr(), static_cast<Py_ssize_t>(k)));
}

void Array::read_numpy() {
    if (PyObject_GetBuffer(object_.ptr(), &buffer_, PyBUF_STRIDES | PyBUF_FORMAT | (written_ ? PyBUF_WRITABLE : 0)) != 0) {
        PyErr_Clear();
        element_ = Element::other;  // such as dates, which have no format
        if (written_) fail("cannot be written to; give an array whose flag `writeable` is set");
        return read_shape(nb::object(object_.attr("shape")));
    }
    exported_ = true;
    if (static_cast<std::size_t>(buffer_.ndim) > max_dims) fail(fmt::format("has {} axes; give at most {}", buffer_.ndim, max_dims));
    dims_ = static_cast<std::size_t>(buffer_.ndim);
    for (std::size_t k = 0; k < dims_; ++k) shape_[k] = buffer_.shape[k];
    element_ = element_of(buffer_);
    place_ = {};
    data_ = buffer_.buf;
    contiguous_ = PyBuffer_IsContiguous(&buffer_, 'C') != 0;
}

void Array::read_exchanged(int (*ask)(void*, nb::dlpack::dltensor*)) {
    nb::dlpack::dltensor tensor;
    if (ask(object_.ptr(), &tensor) != 0) nb::raise_python_error();
    element_ = python::element_of(tensor.dtype);
    if (static_cast<std::size_t>(tensor.ndim) > max_dims) fail(fmt::format("has {} axes; give at most {}", tensor.ndim, max_dims));
    dims_ = static_cast<std::size_t>(tensor.ndim);
    std::copy_n(tensor.shape, dims_, shape_.begin());
    place_ = {is_cpu(tensor.device) ? -1 : tensor.device.device_id};
    data_ = static_cast<char*>(tensor.data) + tensor.byte_offset;
    contiguous_ = true;
    std::int64_t expected = 1;
    for (std::size_t k = dims_; k-- > 0; expected *= shape_[k])
        if (tensor.strides != nullptr && shape_[k] != 1 && tensor.strides[k] != expected) contiguous_ = false;
    if (expected == 0) contiguous_ = true;  // no elements, in any order
}

void Array::read_torch() {
    const auto& known = names();
    if (is_true(get(object_, known.requires_grad)) && is_true(torch().grad_mode()))
        fail("requires a gradient, which this function does not pass on; use trifold.torch, or give " + std::string(name_) + ".detach()");
    if (!written_ && is_true(call(object_, known.is_neg))) object_ = helper("settled")(object_);
    if (const auto* exchange = torch().exchange; exchange != nullptr) return read_exchanged(exchange->describe);
    element_ = torch().element(get(object_, known.dtype));
    read_shape(get(object_, known.shape));
    place_ = {static_cast<int>(integer(call(object_, known.get_device)))};
    contiguous_ = is_true(call(object_, known.is_contiguous));
    data_ = reinterpret_cast<void*>(integer(call(object_, known.data_ptr)));
}

void Array::read_cupy() {
    const auto& known = names();
    element_ = cupy().element(get(object_, known.dtype));
    read_shape(get(object_, known.shape));
    const auto memory = get(object_, known.data);
    place_ = {static_cast<int>(integer(get(memory, known.device_id)))};
    contiguous_ = is_true(get(get(object_, known.flags), known.c_contiguous));
    data_ = reinterpret_cast<void*>(integer(get(memory, known.ptr)));
}

void Array::make_contiguous() {
    const auto unaligned = reinterpret_cast<std::uintptr_t>(data_) % (element_ == Element::f64 ? 8 : element_ == Element::u8 ? 1 : 4) != 0;
    if (contiguous_ && !unaligned) return;
    if (written_) fail("has gaps between its elements, or they are in another order; results go into contiguous arrays");
    const auto given = original_;
    const auto was_foreign = foreign_;
    read(helper("contiguous")(object_, name_), name_);
    original_ = given;
    foreign_ = was_foreign;
}

std::int64_t Array::size() const {
    return std::accumulate(shape_.begin(), shape_.begin() + static_cast<std::ptrdiff_t>(dims_), std::int64_t{1}, std::multiplies<>());
}

std::string Array::describe() const {
    std::string kind = "?";
    if (object_.is_valid() && nb::hasattr(object_, "dtype")) kind = nb::str(nb::object(object_.attr("dtype"))).c_str();
    return fmt::format("({}) {} on {}", fmt::join(shape(), ", "), kind, to_string(place_));
}

}  // namespace trifold::python
