#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// What the parts of the page of a sweep are made of.
namespace trifold::tune::report {

/// Text as HTML shows it, whatever is in it: safe in elements and in attributes with double quotes.
std::string escape(std::string_view text);

/// A background, and whether dark text is readable on it; otherwise light text is.
struct Colour {
    std::string fill;
    bool takes_dark_text = false;
};
/// Of the map viridis, whose steps look equally large to all eyes: 0 is dark, 1 is bright. Others are taken for the nearer end.
Colour scale_colour(double share);
/// Of seven that the colour-blind tell apart; all others are grey.
Colour category_colour(std::size_t index);

std::string time_html(double seconds);    ///< "46.1 us", three digits
std::string ratio_html(double ratio);     ///< "1.24&times;"
std::string percent_html(double share);   ///< "38 %"; two digits, or three behind the point
std::string number_html(double value);    ///< "812", "8.12": three digits
std::string size_html(std::size_t size);  ///< "12 345", with narrow spaces

/// 0 where there are none; they need not be sorted. `share` 0.5 is the median, between two by their distance.
double quantile(std::vector<double> values, double share);
/// 1 where there are none.
double geometric_mean(const std::vector<double>& values);

}  // namespace trifold::tune::report
