#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/python/binding/options.hpp"
#include "runtime/python/binding/parts.hpp"

namespace trifold::python {
namespace {

constexpr std::size_t max_methods = 48, max_arguments = 16;

/// A method as nanobind has it, and what Python knows it by. Never freed, as the module is not.
struct BuiltIn {
    PyObject* method = nullptr;
    std::string name, text;
    PyMethodDef definition{};
};
std::array<BuiltIn, max_methods> built_in;
std::size_t built_in_count = 0;

/// Says which name a method does not know, where there is one, and those that it does.
void name_unknown(const BuiltIn& method, PyObject* names) {
    const auto signature = method.text.substr(0, method.text.find('\n'));
    for (Py_ssize_t k = 0; k < PyTuple_Size(names); ++k) {
        auto* const name = PyTuple_GetItem(names, k);
        const auto text = " " + nb::cast<std::string>(nb::handle(name));
        const auto is_known = [&](char end) { return signature.find(text + end) != std::string::npos; };
        if (is_known('=') || is_known(',') || is_known(')')) continue;
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R; it takes %s", method.name.c_str(), name,
                     signature.c_str() + signature.find(' ') + 1);
        return;
    }
}

template <std::size_t place>
PyObject* pass_on(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    const auto all = count + (names == nullptr ? 0 : PyTuple_Size(names));
    std::array<PyObject*, max_arguments + 2> arguments;  // one in front for who is called, as the protocol wants it
    if (all > static_cast<Py_ssize_t>(max_arguments)) {
        PyErr_Format(PyExc_TypeError, "%s() got %zd arguments, which are too many", built_in[place].name.c_str(), all);
        return nullptr;
    }
    arguments[0] = nullptr;
    arguments[1] = self;
    std::copy_n(given, all, arguments.begin() + 2);
    const auto flags = static_cast<std::size_t>(count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET;
    auto* const result = PyObject_Vectorcall(built_in[place].method, arguments.data() + 1, flags, names);
    if (result == nullptr && names != nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) name_unknown(built_in[place], names);
    return result;
}

using Pass = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
template <std::size_t... places>
constexpr std::array<Pass, sizeof...(places)> passes(std::index_sequence<places...>) {
    return {pass_on<places>...};
}

/// Options of a call one by one, in place of their type.
std::string with_options(std::string signature) {
    static constexpr std::string_view start = "**options: Unpack[";
    const auto from = signature.find(start);
    if (from == std::string::npos) return signature;
    const auto end = signature.find(']', from);
    const auto type = signature.substr(from + start.size(), end - from - start.size());
    return signature.replace(from, end + 1 - from, "*, " + show_options(type));
}

/// "solve($self, b, out=None)" of "def solve(self, b: ArrayLike, out: ArrayLike | None = None) -> Any".
std::string without_types(std::string_view signature) {
    std::string text;
    int depth = 0;
    bool is_type = false;
    const auto end = signature.rfind(')');
    for (const char c : signature.substr(4, end - 4)) {
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (depth == 1 && c == ',') is_type = false;
        if (is_type && c == '=') {
            while (text.ends_with(' ')) text.pop_back();
            is_type = false;
        }
        if (depth == 1 && c == ':') is_type = true;
        if (!is_type && !(c == ' ' && (text.ends_with('=') || text.ends_with(' ')))) text += c;
    }
    return text.insert(text.find("self"), "$") + ")";
}

}  // namespace

void make_built_in(nb::handle type) {
    static constexpr auto functions = passes(std::make_index_sequence<max_methods>{});
    const auto names = nb::steal<nb::list>(PySequence_List(nb::object(type.attr("__dict__")).ptr()));
    for (const auto key : names) {
        const nb::object method = type.attr(key);
        if (nb::cast<std::string>(key).starts_with('_') || !nb::hasattr(method, "__nb_signature__")) continue;
        const nb::object said = method.attr("__nb_signature__")[0];
        auto& entry = built_in.at(built_in_count);
        entry.name = nb::cast<std::string>(key);
        entry.text = without_types(with_options(nb::cast<std::string>(said[0]))) + "\n--\n\n" + nb::cast<std::string>(said[1]);
        entry.method = method.inc_ref().ptr();
        entry.definition = {entry.name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(functions[built_in_count])),
                            METH_FASTCALL | METH_KEYWORDS, entry.text.c_str()};
        type.attr(key) = nb::steal(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), &entry.definition));
        ++built_in_count;
    }
}

}  // namespace trifold::python
