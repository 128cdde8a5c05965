#pragma once
#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <trifold/solver.hpp>
#include <utility>
#include <variant>

namespace trifold::python {

namespace nb = nanobind;

/// Options of a call on a chain of blocks; None where an array is not given. The arrays are the caller's.
struct Options {
    nb::handle shift = Py_None, diagonal = Py_None, active = Py_None, border = Py_None, lengths = Py_None, sizes = Py_None, upper = Py_None;
    std::optional<bool> check;
    CallOptions numbers = {};
};

/// Options by name that calls take, as TypedDicts of trifold/factor.py: "**options: Unpack[Sweep]" is what a signature says of them.
enum class OptionsOf { sweep, system, factorization };

using OptionMember = std::variant<nb::handle Options::*, std::optional<bool> Options::*, double CallOptions::*, bool CallOptions::*>;

/// An option, and the calls that take it.
struct Option {
    const char* name = "";
    OptionMember member;
    bool in_sweep = false, in_system = false;
    constexpr bool is_of(OptionsOf kind) const {
        return kind == OptionsOf::factorization || (kind == OptionsOf::sweep ? in_sweep : in_system);
    }
};
inline constexpr std::array all_options{
    Option{"shift", &Options::shift, false, true},
    Option{"diagonal", &Options::diagonal, false, true},
    Option{"active", &Options::active, true, true},
    Option{"border", &Options::border, false, true},
    Option{"lengths", &Options::lengths, false, true},
    Option{"sizes", &Options::sizes, false, true},
    Option{"upper", &Options::upper, false, true},
    Option{"check", &Options::check, true, false},
    Option{"pivot_floor", &CallOptions::pivot_floor, false, false},
    Option{"accept_nearly_singular", &CallOptions::accept_nearly_singular, false, false},
};
template <OptionsOf kind>
constexpr auto options_of_kind = [] {
    std::array<Option, std::ranges::count_if(all_options, [](const Option& one) { return one.is_of(kind); })> taken{};
    std::ranges::copy_if(all_options, taken.begin(), [](const Option& one) { return one.is_of(kind); });
    return taken;
}();

/// Throws SpecError on a value of another type.
void read_option(Options& options, const Option& option, nb::handle value);
nb::object usual_value(const Option& option);

template <std::size_t>
struct OneHandle {
    using type = nb::handle;
};
/// Binds a method of that many arguments and of options by name: call(self, arguments.., options). nanobind takes each option as an
/// argument, since a dict of them would cost a small system's call a tenth of its time.
template <OptionsOf kind, std::size_t arguments, class Class, class Call, class... Extra>
void bind_with_options(nb::class_<Class>& type, const char* name, Call call, const Extra&... extra) {
    static constexpr auto& taken = options_of_kind<kind>;
    const auto bind = [&]<std::size_t... i, std::size_t... k>(std::index_sequence<i...>, std::index_sequence<k...>) {
        const auto read_and_call = [call](Class& self, typename OneHandle<i>::type... given, typename OneHandle<k>::type... values) {
            Options options;
            (read_option(options, taken[k], values), ...);
            return call(self, given..., options);
        };
        type.def(name, read_and_call, extra..., nb::kw_only(), (nb::arg(taken[k].name).none() = usual_value(taken[k]))...);
    };
    bind(std::make_index_sequence<arguments>{}, std::make_index_sequence<taken.size()>{});
}

/// "active=None, check=None" of "Sweep".
std::string show_options(std::string_view type);

}  // namespace trifold::python
