#pragma once
#include <string>
#include <vector>

#include "tools/tune/trial.hpp"

namespace trifold::tune {

/// One HTML page about a sweep, with all that it needs inside: it can be opened from a disk, mailed, kept. Its records are in it too, as
/// lines of JSON. What records say is shown as text, whatever it is. A time that is no positive number is not counted, and the page says
/// how many there were. Where a point was decided more than once, pictures show the last decision.
std::string report_html(const std::vector<Trial>& trials, const std::vector<Decision>& decisions);

/// Records as the page embeds them and `parse_records` reads them: a line of JSON each.
std::string record_lines(const std::vector<Trial>& trials, const std::vector<Decision>& decisions);

struct Records {
    std::vector<Trial> trials;
    std::vector<Decision> decisions;
};
/// Throws InputError with the number of the line that is no record. Empty lines are left out.
Records parse_records(std::string_view lines);

}  // namespace trifold::tune
