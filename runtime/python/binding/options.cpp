#include "runtime/python/binding/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include <utility>
#include <vector>

namespace trifold::python {
namespace {

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

}  // namespace

void read_option(Options& options, const Option& option, nb::handle value) {
    std::visit(Reader{options, value, option.name}, option.member);
}

nb::object usual_value(const Option& option) {
    if (std::holds_alternative<double CallOptions::*>(option.member)) return nb::float_(0.0);
    if (std::holds_alternative<bool CallOptions::*>(option.member)) return nb::bool_(false);
    return nb::none();
}

std::string show_options(std::string_view type) {
    std::vector<std::string> shown;
    for (const auto& [name, kind] : types)
        for (const auto& option : all_options)
            if (name == type && option.is_of(kind))
                shown.push_back(fmt::format("{}={}", option.name, nb::repr(usual_value(option)).c_str()));
    return fmt::format("{}", fmt::join(shown, ", "));
}

}  // namespace trifold::python
