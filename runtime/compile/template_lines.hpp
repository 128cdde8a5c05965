#pragma once
#include <string>
#include <string_view>

namespace trifold {

/// A compiler's log with the template's line behind each line of the log that names a place in the unit:
///     kernel.cu(123): error: ... [templates/gpu/tridiagonal/fused/factor.cuh:45]
/// Places that come from no template stay as they are.
std::string with_template_lines(std::string_view log, std::string_view unit);

}  // namespace trifold
