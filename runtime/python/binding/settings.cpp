#include "runtime/python/binding/settings.hpp"

#include <nanobind/stl/string.h>

#include <trifold/error.hpp>

#include "generator/grid/fields.hpp"
#include "generator/sparse/fields.hpp"
#include "runtime/python/binding/bound.hpp"

namespace trifold::python {
namespace {

nb::object object_of(const nlohmann::json& value) {
    if (value.is_number_integer()) return nb::int_(value.get<std::int64_t>());
    return nb::cast(value.is_string() ? value.get<std::string>() : value.dump());
}

nb::dict described(const Fields& fields) {
    nb::dict result;
    for (const auto& field : fields.all) {
        const auto words = listed(field.words, [](std::string_view word) { return nb::str(word.data(), word.size()); });
        result[nb::str(field.name.data(), field.name.size())] = nb::make_tuple(object_of(field.get(fields.usual)), nb::tuple(words));
    }
    return result;
}

}  // namespace

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

nb::dict fields_of(const std::string& family) { return described(family == "grid" ? grid_fields : sparse_fields); }

}  // namespace trifold::python
