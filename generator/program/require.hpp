#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace trifold {

/// States what the generator's own work must fulfil, whatever the caller asks for. Throws std::logic_error where it does not: that is a
/// mistake of Trifold, which would otherwise show as a kernel that hangs or writes where it should not.
template <class... Values>
void require(bool holds, fmt::format_string<Values...> what, Values&&... values) {
    if (holds) return;
    throw std::logic_error(fmt::format("internal error: {}; this is a mistake in Trifold, please report it",
                                       fmt::format(what, std::forward<Values>(values)...)));
}

}  // namespace trifold
