#pragma once
#include <map>
#include <string>

#include "tools/tune/report/sweep.hpp"

namespace trifold::tune::report {

/// Each schedule or variant that won has a colour of its own, the most frequent ones first. Arguments and knobs are left out of the names.
struct Winners {
    std::map<std::string, std::size_t> variants, schedules;  ///< by name, the number of its colour
};
Winners winners_of(const Sweep& sweep);
/// "tile:halves=1" is of the family "tile".
std::string family_of(const std::string& name);

/// All heat maps: a section for each setting with its legends and a table for each number of systems and each N. A cell has all of its
/// pictures in it; the page's style shows one of them.
std::string maps_html(const Sweep& sweep, const Winners& winners);

/// What a point's cell says when it is pointed at; HTML, in lines.
std::string details_html(const Setting& setting, const Tuned& tuned);
/// "multi-stage, tiles:halves=1"; HTML.
std::string name_html(const Candidate& candidate);

}  // namespace trifold::tune::report
