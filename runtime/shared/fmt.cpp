// Code of fmt's library, for the shared library to have inside: its users need not have fmt, or may have another version of it.
// Debian has no archive of fmt to link, and compiling every file with FMT_HEADER_ONLY takes three times as long.
#include <fmt/format-inl.h>

template std::locale fmt::detail::locale_ref::get<std::locale>() const;
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref);
