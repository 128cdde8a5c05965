#pragma once
#include <trifold/sparse_args.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <trifold/sparse_spec.hpp>
#include <vector>

#include "generator/program/words.hpp"
#include "generator/sparse/arrangement.hpp"

namespace trifold::sparse {

/// The bytes of a list, which it keeps: lists of large patterns are not copied.
class ListBytes {
  public:
    template <class T>
    explicit ListBytes(std::vector<T> list) {
        const auto kept = std::make_shared<const std::vector<T>>(std::move(list));
        bytes_ = std::as_bytes(std::span(*kept));
        list_ = kept;
    }
    /// Bytes in memory of another.
    ListBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> memory) : list_(std::move(memory)), bytes_(bytes) {}
    std::span<const std::byte> get() const { return bytes_; }
    std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }

  private:
    std::shared_ptr<const void> list_;
    std::span<const std::byte> bytes_;
};

/// Contents of a buffer before the first call: the pattern as kernels read it.
struct Content {
    std::string buffer;
    ListBytes bytes;
};

/// Patterns and sizes of A and its factors, as a backend stores them.
struct Stored {
    using Place = trifold_int trifold_sparse_launch::*;
    std::vector<Content> contents;                          ///< the pattern
    std::vector<Place> places;                              ///< where launches have the place of each content
    std::int64_t matrix_elements = 0, factor_elements = 0;  ///< elements of a member
    template <class T>
    void add(std::string buffer, Place place, std::vector<T> list) {
        contents.push_back({std::move(buffer), ListBytes(std::move(list))});
        places.push_back(place);
    }
    void add(Transposed transposed) {
        add("transposed_starts", &trifold_sparse_launch::transposed_starts, std::move(transposed.starts));
        add("transposed_rows", &trifold_sparse_launch::transposed_rows, std::move(transposed.rows));
        add("transposed_entries", &trifold_sparse_launch::transposed_entries, std::move(transposed.entries));
    }
};

/// Places of all data in the workspace, and what launches tell of them.
struct Layout {
    std::vector<Buffer> buffers;
    std::int64_t bytes = 0;
    trifold_sparse_launch launch{};  ///< without a step
    std::vector<Content> contents;
};

bool solves(const SparseSpec& spec);
/// Whether A' is needed as lists of columns.
bool needs_transposed(const SparseSpec& spec);
bool has_factors(const SparseSpec& spec);
std::int64_t factor_bytes(const SparseSpec& spec);
/// `launch`: what a backend has decided. Throws SpecError when a size leaves 63 bits.
Layout layout_of(const SparseSpec& spec, const Arrangement& arrangement, Stored stored, const trifold_sparse_launch& launch);

/// A backend's part of a Program.
struct Backing {
    Unit unit;
    Stored stored;
    trifold_sparse_launch launch{};  ///< rows of a slice, and all about shared memory
    std::int64_t scratch_bytes = 0;  ///< CPU: of a worker
};
/// A task has a subdomain, or as many rows as others have. L, then D and U of each subdomain lie row after row.
Backing cpu_backing(const SparseSpec& spec, const Target& target, const Arrangement& arrangement, const Knobs& knobs);
/// A thread block has a subdomain, with its vector in shared memory, or some chunks of rows. A lies in chunks of rows; L, then D and U of
/// each subdomain level by level. Throws SpecError where a subdomain does not fit the device's shared memory, with the size that does.
Backing gpu_backing(const SparseSpec& spec, const Target& target, const Arrangement& arrangement, const Knobs& knobs);

/// The kernels of a unit. `iterate`: GPU, where solutions take one launch.
TRIFOLD_NAMED_ENUM(Kernel, kernel_names, gather, compare, factor, finish, precondition, order, product, residual, begin, update, judge,
                   deliver, gradient, apply, iterate);

/// Whether a thread block has a subdomain, and not some of all rows.
constexpr bool has_subdomain(Kernel kernel) {
    return kernel == Kernel::factor || kernel == Kernel::precondition || kernel == Kernel::apply || kernel == Kernel::iterate;
}

/// Launches and repetitions of all operations.
void add_launches(Program& program, const SparseSpec& spec, const trifold_sparse_launch& launch);

template <class T>
std::string bytes_of(const std::vector<T>& list) {
    return {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T)};
}

/// The kind in kernels' names: b3_f64_ildu0_bicgstab.
std::string kind_of(const SparseSpec& spec);
/// Comment at the start of a unit, which says what the unit is for.
std::string title_of(const SparseSpec& spec, const Target& target);
/// Lines of the constants that all backends have.
std::string common_constants(const SparseSpec& spec);

}  // namespace trifold::sparse
