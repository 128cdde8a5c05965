#include "runtime/python/binding/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include <array>
#include <utility>
#include <variant>
#include <vector>

namespace trifold::python {
namespace {

using Member = std::variant<nb::handle Options::*, std::optional<bool> Options::*, double CallOptions::*, bool CallOptions::*>;

/// An option, and the calls that take it.
struct Option {
    const char* name;
    Member member;
    bool in_sweep, in_system;
    bool is_of(OptionsOf kind) const { return kind == OptionsOf::factorization || (kind == OptionsOf::sweep ? in_sweep : in_system); }
};
constexpr std::array all{
    Option{"shift", &Options::shift, false, true},
    Option{"diagonal", &Options::diagonal, false, true},
    Option{"active", &Options::active, true, true},
    Option{"check", &Options::check, true, false},
    Option{"pivot_floor", &CallOptions::pivot_floor, false, false},
    Option{"accept_nearly_singular", &CallOptions::accept_nearly_singular, false, false},
};
constexpr std::pair<std::string_view, OptionsOf> types[]{
    {"Sweep", OptionsOf::sweep}, {"System", OptionsOf::system}, {"Factorization", OptionsOf::factorization}};

/// A value of another type than the usual one, by the reader of trifold/options.py, which throws where it is none.
nb::object read_by(const char* reader, nb::handle value, const char* name) {
    return nb::module_::import_("trifold.options").attr(reader)(value, name);
}
bool is_truth(nb::handle value) { return value.ptr() == Py_True || value.ptr() == Py_False; }

struct Reader {
    Options& options;
    nb::handle value;
    const char* name;
    void operator()(nb::handle Options::* member) const { options.*member = value; }
    void operator()(std::optional<bool> Options::* member) const {
        const auto truth = value.is_none() || is_truth(value) ? nb::borrow(value) : read_by("truth", value, name);
        options.*member = truth.is_none() ? std::nullopt : std::optional(truth.ptr() == Py_True);
    }
    void operator()(double CallOptions::* member) const {
        options.numbers.*member = nb::cast<double>(PyFloat_Check(value.ptr()) ? nb::borrow(value) : read_by("real", value, name));
    }
    void operator()(bool CallOptions::* member) const {
        options.numbers.*member = (is_truth(value) ? value.ptr() : read_by("flag", value, name).ptr()) == Py_True;
    }
};

/// A name's place. Most names are the very objects that Python's code holds.
std::size_t find(nb::handle name) {
    static const auto& interned = *new auto([] {
        std::array<PyObject*, all.size()> names{};
        for (std::size_t k = 0; k < all.size(); ++k) names[k] = PyUnicode_InternFromString(all[k].name);
        return names;
    }());
    for (std::size_t k = 0; k < all.size(); ++k)
        if (interned[k] == name.ptr()) return k;
    std::size_t k = 0;
    while (k < all.size() && PyUnicode_CompareWithASCIIString(name.ptr(), all[k].name) != 0) ++k;
    return k;
}

[[noreturn]] void refuse(const char* call, OptionsOf kind, nb::handle name) {
    std::vector<std::string_view> taken;
    for (const auto& option : all)
        if (option.is_of(kind)) taken.emplace_back(option.name);
    throw nb::type_error(
        fmt::format("{}() got an unexpected keyword argument {}; it takes {}", call, nb::repr(name).c_str(), fmt::join(taken, ", "))
            .c_str());
}

}  // namespace

Options read_options(const char* call, OptionsOf kind, const nb::kwargs& given) {
    Options options;
    for (const auto [name, value] : given) {
        const auto k = find(name);
        if (k == all.size() || !all[k].is_of(kind)) refuse(call, kind, name);
        std::visit(Reader{options, value, all[k].name}, all[k].member);
    }
    return options;
}

std::string show_options(std::string_view type) {
    std::vector<std::string> shown;
    for (const auto& [name, kind] : types)
        for (const auto& option : all)
            if (name == type && option.is_of(kind))
                shown.push_back(fmt::format("{}={}", option.name,
                                            std::holds_alternative<double CallOptions::*>(option.member) ? "0.0"
                                            : std::holds_alternative<bool CallOptions::*>(option.member) ? "False"
                                                                                                         : "None"));
    return fmt::format("{}", fmt::join(shown, ", "));
}

}  // namespace trifold::python
