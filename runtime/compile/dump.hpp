#pragma once
#include <string>
#include <string_view>
#include <trifold/binary.hpp>

namespace trifold {

/// Writes the parts of a Binary that TRIFOLD_DUMP names into TRIFOLD_DUMP_DIR. Never throws: what cannot be written is reported once.
void dump(const Unit& unit, const Binary& binary) noexcept;
/// `text` as <unit><extension> when TRIFOLD_DUMP lists `what`.
void dump_text(std::string_view what, const Unit& unit, std::string_view extension, std::string_view text) noexcept;

/// The path of the source that did not compile, kept for a person; or why it could not be kept.
std::string keep_failed_source(const Unit& unit);

}  // namespace trifold
