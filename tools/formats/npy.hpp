#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <trifold/spec.hpp>
#include <vector>

namespace trifold::formats {

/// A NumPy array of real numbers, in C order whatever the order and byte order of the file.
struct Array {
    std::vector<std::int64_t> shape;
    Precision precision = Precision::f64;  ///< of the file; values are widened without loss
    std::vector<double> values;
};

/// `bytes` is a whole .npy file, format 1 to 3, of f4 or f8; `name` stands in messages. Throws InputError.
/// Nothing is allocated by what the header announces before the file is known to hold it.
Array parse_npy(std::string_view bytes, std::string_view name);

/// A little-endian .npy file of format 1, in the array's precision.
std::string format_npy(const Array& array);

/// "(3, 4)", as NumPy writes it.
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace trifold::formats
