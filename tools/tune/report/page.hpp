#pragma once
#include <string_view>
#include <vector>

namespace trifold::tune::report {

/// A file of tools/tune/report, built in: "page.html", "style.css", "page.js". Throws SpecError when there is none.
std::string_view page_text(std::string_view name);
std::vector<std::string_view> page_names();

}  // namespace trifold::tune::report
