#pragma once
#include <nanobind/nanobind.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace trifold::python {

/// Options of a call by name: whole numbers, words, and True or False.
nlohmann::json settings_of(const nanobind::dict& given);

/// One that is no field of a Spec, taken out of the others.
template <class Value>
Value taken(nlohmann::json& settings, const char* name) {
    auto value = settings.at(name).get<Value>();
    settings.erase(name);
    return value;
}

/// Fields of a family's Spec, for trifold/options.py: the default of each name, and the words that it knows, none for a number.
nanobind::dict fields_of(const std::string& family);

}  // namespace trifold::python
