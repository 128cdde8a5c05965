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

/// A .npy file of which only parts are read, in C order. Throws InputError, also where parts of it cannot be read alone.
class NpyFile {
  public:
    explicit NpyFile(const std::string& name);
    ~NpyFile();
    NpyFile(const NpyFile&) = delete;
    NpyFile& operator=(const NpyFile&) = delete;
    const std::vector<std::int64_t>& shape() const { return shape_; }
    Precision precision() const { return precision_; }
    /// The entries [first, first + count) of the first axis.
    std::vector<double> part(std::int64_t first, std::int64_t count) const;

  private:
    std::string name_;
    std::string_view mapped_, data_;
    std::vector<std::int64_t> shape_;
    Precision precision_ = Precision::f64;
    bool swap_ = false;
};

/// The head of such a file, which stands before its values.
std::string npy_header(const std::vector<std::int64_t>& shape, Precision precision);

/// A little-endian .npy file of format 1, in the array's precision.
std::string format_npy(const Array& array);

/// "(3, 4)", as NumPy writes it.
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace trifold::formats
