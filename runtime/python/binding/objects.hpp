#pragma once
#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>

namespace trifold::python {

namespace nb = nanobind;

inline nb::object steal(PyObject* object) {
    if (object == nullptr) nb::raise_python_error();
    return nb::steal(object);
}

/// An attribute, by an interned name.
inline nb::object get(nb::handle object, PyObject* name) { return steal(PyObject_GetAttr(object.ptr(), name)); }

inline nb::object call(nb::handle object, PyObject* method) {
    PyObject* self = object.ptr();
    return steal(PyObject_VectorcallMethod(method, &self, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

inline bool is_true(const nb::object& value) { return value.ptr() == Py_True; }

inline std::int64_t integer(nb::handle value) {
    const auto result = PyLong_AsLongLong(value.ptr());
    if (result == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
    return result;
}

/// Names of a library, looked up once and never freed. A static that one thread initializes would be waited for by another one with
/// Python's lock, which the first one needs. So two threads may both look, and one result is left.
template <class Names>
const Names& looked_up() {
    static std::atomic<const Names*> known = nullptr;
    if (known == nullptr) known = new Names;
    return *known;
}

}  // namespace trifold::python
