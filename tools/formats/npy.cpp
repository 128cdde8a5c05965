#include "tools/formats/npy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <tuple>
#include <utility>

#include "tools/formats/file.hpp"

namespace trifold::formats {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t max_dimensions = 32;  // NumPy's own limit

[[noreturn]] void fail(std::string_view name, std::string_view what) {
    throw InputError(fmt::format("'{}' is not a usable .npy file: {}", name, what));
}

/// The header is a Python dictionary literal: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
class Header {
  public:
    Header(std::string_view text, std::string_view name) : text_(text), name_(name) {
        read_list("{", "}", [this] { read_item(); });
        if (accept(""); !text_.empty()) fail(name_, "the header goes on after its dictionary");
        if (!has_descr_ || !has_order_ || !has_shape_) fail(name_, "the header lacks 'descr', 'fortran_order' or 'shape'");
    }
    std::string descr;
    bool fortran = false;
    std::vector<std::int64_t> shape;

  private:
    /// Passes over spaces, and over what is wanted if it is there.
    bool accept(std::string_view wanted) {
        text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size()));
        if (!text_.starts_with(wanted)) return false;
        text_.remove_prefix(wanted.size());
        return true;
    }
    void expect(std::string_view wanted) {
        if (!accept(wanted)) fail(name_, fmt::format("the header is malformed; '{}' is missing", wanted));
    }
    /// Items with commas between them, or after each.
    void read_list(std::string_view begin, std::string_view end, const auto& read) {
        expect(begin);
        while (!accept(end)) {
            read();
            if (!accept(",") && !text_.starts_with(end)) fail(name_, fmt::format("the header is malformed; ',' or '{}' is missing", end));
        }
    }
    std::string quoted() {
        for (const char quote : {'\'', '"'})
            if (accept({&quote, 1})) {
                const auto end = text_.find(quote);
                if (end == std::string_view::npos) fail(name_, "the header is malformed; a quote is not closed");
                std::string result(text_.substr(0, end));
                text_.remove_prefix(end + 1);
                return result;
            }
        fail(name_, "the header is malformed; a quoted name is missing (arrays of records are not accepted)");
    }
    void read_item() {
        const auto key = quoted();
        expect(":");
        if (key == "descr" && !std::exchange(has_descr_, true)) {
            descr = quoted();
        } else if (key == "fortran_order" && !std::exchange(has_order_, true)) {
            fortran = accept("True");
            if (!fortran && !accept("False")) fail(name_, "'fortran_order' is neither True nor False");
        } else if (key == "shape" && !std::exchange(has_shape_, true)) {
            read_list("(", ")", [this] { read_extent(); });
        } else {
            fail(name_, fmt::format("the header has an unknown or repeated key '{}'", key));
        }
    }
    void read_extent() {
        accept("");
        auto& extent = shape.emplace_back();
        const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
        if (error != std::errc{} || extent < 0) fail(name_, "an extent in 'shape' is not a whole number from 0 to 2^63 - 1");
        text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
        if (shape.size() > max_dimensions) fail(name_, fmt::format("it has more than {} dimensions", max_dimensions));
    }
    std::string_view text_, name_;
    bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

std::uint64_t little_endian(std::string_view bytes) {
    std::uint64_t value = 0;
    for (std::size_t k = bytes.size(); k-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[k]);
    return value;
}

/// Splits off the preamble and header; `bytes` is left at the data.
Header take_header(std::string_view& bytes, std::string_view name) {
    if (const auto foreign = foreign_kind(bytes); !foreign.empty()) fail(name, foreign);
    if (!bytes.starts_with(magic)) fail(name, "it does not start with the NumPy signature");
    if (bytes.size() < magic.size() + 4) fail(name, "it ends within the header");
    const int version = static_cast<unsigned char>(bytes[magic.size()]);
    if (version < 1 || version > 3) fail(name, fmt::format("format version {} is unknown; 1 to 3 are read", version));
    bytes.remove_prefix(magic.size() + 2);
    const std::size_t width = version == 1 ? 2 : 4;
    if (bytes.size() < width) fail(name, "it ends within the header");
    const auto length = little_endian(bytes.substr(0, width));
    bytes.remove_prefix(width);
    if (length > bytes.size()) fail(name, fmt::format("the header announces {} bytes, {} are left", length, bytes.size()));
    Header header(bytes.substr(0, length), name);
    bytes.remove_prefix(length);
    return header;
}

std::int64_t element_count(const std::vector<std::int64_t>& shape, std::string_view name) {
    std::int64_t count = 1;
    for (const auto extent : shape) {
        if (extent == 0) return 0;
    }
    for (const auto extent : shape) {
        if (__builtin_mul_overflow(count, extent, &count))
            fail(name, fmt::format("shape {} is too large for a 64-bit size", shape_text(shape)));
    }
    return count;
}

/// Values of the file's type and byte order.
template <class Real>
std::vector<double> widened(std::string_view bytes, bool swap) {
    std::vector<double> values;
    values.reserve(bytes.size() / sizeof(Real));
    for (; !bytes.empty(); bytes.remove_prefix(sizeof(Real))) {
        std::array<char, sizeof(Real)> one;
        std::copy_n(bytes.begin(), one.size(), one.begin());
        if (swap) std::ranges::reverse(one);
        values.push_back(static_cast<double>(std::bit_cast<Real>(one)));
    }
    return values;
}

std::vector<double> values_of(std::string_view bytes, Precision precision, bool swap) {
    return precision == Precision::f32 ? widened<float>(bytes, swap) : widened<double>(bytes, swap);
}

std::vector<double> to_c_order(const std::vector<double>& values, const std::vector<std::int64_t>& shape) {
    std::vector<double> result(values.size());
    std::vector<std::int64_t> index(shape.size(), 0);
    for (const auto value : values) {  // the first index runs fastest
        std::int64_t offset = 0;
        for (std::size_t k = 0; k < shape.size(); ++k) offset = offset * shape[k] + index[k];
        result[static_cast<std::size_t>(offset)] = value;
        for (std::size_t k = 0; k < shape.size() && ++index[k] == shape[k]; ++k) index[k] = 0;
    }
    return result;
}

/// How the values of a file lie.
struct Layout {
    std::vector<std::int64_t> shape;
    Precision precision;
    bool swap, fortran;
};

/// `bytes` is left at the data, of which there is as much as the shape says.
Layout take_layout(std::string_view& bytes, std::string_view name) {
    const auto header = take_header(bytes, name);
    const auto type = header.descr.size() == 3 ? std::string_view(header.descr).substr(1) : std::string_view{};
    const char order = header.descr.empty() ? '\0' : header.descr.front();
    if ((type != "f4" && type != "f8") || (order != '<' && order != '>' && order != '='))
        fail(name, fmt::format("its type is '{}'; give real numbers, f4 or f8 (array.astype('f8'))", header.descr));
    const auto precision = type == "f4" ? Precision::f32 : Precision::f64;
    const auto count = element_count(header.shape, name);
    const auto width = element_bytes(precision);
    std::int64_t size = 0;
    if (__builtin_mul_overflow(count, width, &size) || static_cast<std::uint64_t>(size) != bytes.size())
        fail(name, fmt::format("shape {} of '{}' needs {} x {} bytes of data, {} are there", shape_text(header.shape), header.descr, count,
                               width, bytes.size()));
    const bool swap = (order == '>') != (std::endian::native == std::endian::big) && order != '=';
    return {header.shape, precision, swap, header.fortran && header.shape.size() > 1};
}

}  // namespace

Array parse_npy(std::string_view bytes, std::string_view name) {
    const auto layout = take_layout(bytes, name);
    Array array{layout.shape, layout.precision, values_of(bytes, layout.precision, layout.swap)};
    if (layout.fortran) array.values = to_c_order(array.values, array.shape);
    return array;
}

NpyFile::NpyFile(const std::string& name) : name_(name) {
    const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw InputError(fmt::format("'{}' cannot be opened: {}", name, std::strerror(errno)));
    struct stat about{};
    void* mapped = MAP_FAILED;
    if (::fstat(file, &about) == 0 && about.st_size > 0)
        mapped = ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    ::close(file);
    if (mapped == MAP_FAILED)
        throw InputError(fmt::format("'{}' cannot be read in parts; give a file that is not empty, and no pipe", name));
    mapped_ = data_ = {static_cast<const char*>(mapped), static_cast<std::size_t>(about.st_size)};
    try {
        const auto layout = take_layout(data_, name);
        if (layout.fortran || layout.shape.empty())
            fail(name, "it has no first axis in C order, of which ranks read parts; write it by numpy.ascontiguousarray");
        std::tie(shape_, precision_, swap_) = std::tie(layout.shape, layout.precision, layout.swap);
    } catch (...) {
        ::munmap(mapped, mapped_.size());
        throw;
    }
}
NpyFile::~NpyFile() { ::munmap(const_cast<char*>(mapped_.data()), mapped_.size()); }

std::vector<double> NpyFile::part(std::int64_t first, std::int64_t count) const {
    if (count <= 0) return {};
    const auto each = data_.size() / static_cast<std::size_t>(shape_.front());
    return values_of(data_.substr(static_cast<std::size_t>(first) * each, static_cast<std::size_t>(count) * each), precision_, swap_);
}

std::string npy_header(const std::vector<std::int64_t>& shape, Precision precision) {
    static_assert(std::endian::native == std::endian::little);
    auto header = fmt::format("{{'descr': '<{}', 'fortran_order': False, 'shape': {}, }}", precision == Precision::f32 ? "f4" : "f8",
                              shape_text(shape));
    constexpr std::size_t alignment = 64, preamble = 10;
    header.append((2 * alignment - (preamble + header.size() + 1) % alignment) % alignment, ' ');
    header += '\n';
    std::string bytes(magic);
    bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
    return bytes + header;
}

std::string format_npy(const Array& array) {
    const bool narrow = array.precision == Precision::f32;
    auto bytes = npy_header(array.shape, array.precision);
    const auto start = bytes.size();
    const std::size_t width = narrow ? 4 : 8;
    bytes.resize(start + array.values.size() * width);
    for (std::size_t k = 0; k < array.values.size(); ++k) {
        const auto value = static_cast<float>(array.values[k]);
        std::memcpy(bytes.data() + start + k * width, narrow ? static_cast<const void*>(&value) : &array.values[k], width);
    }
    return bytes;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
    return shape.size() == 1 ? fmt::format("({},)", shape[0]) : fmt::format("({})", fmt::join(shape, ", "));
}

}  // namespace trifold::formats
