#pragma once
#include <trifold/generate.hpp>

#include "tools/tune/point.hpp"

/// Points of the tuner as Specs.
namespace trifold::tune::tridiagonal {

/// Throws SpecError.
Spec spec_of(const Point& point);
Point point_of(const Spec& spec, int workers = 1);
/// Throws SpecError.
Operation operation_named(std::string_view name);
/// The chooser's choice for a candidate. Throws SpecError where the generator refuses it.
Choice choice_of(const Point& point, const Target& target, const std::string& schedule, const std::string& variant);

}  // namespace trifold::tune::tridiagonal
