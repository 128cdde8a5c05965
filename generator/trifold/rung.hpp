#pragma once
#include <string_view>

namespace [[gnu::visibility("default")]] trifold {

/// Source of the decision about the kernels: the caller, at least about a part; a row of wisdom for this very problem and device, or for a
/// near one; the generator's own rows and models.
enum class DecisionSource { pinned, exact, nearest, model };
/// "pinned", "wisdom: exact", "wisdom: nearest", "model".
std::string_view to_string(DecisionSource rung);

}  // namespace trifold
