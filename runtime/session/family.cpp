#include "runtime/session/family.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/program/words.hpp"

namespace trifold {
namespace {

std::int64_t extent_of(std::string_view word, const Extent& extent) {
    const auto number = parse_number<std::int64_t>(word);
    return number ? *number : extent(word);
}

template <class All, class Name>
std::size_t place_in(const All& all, std::string_view name, std::string_view what, Name name_of_one) {
    std::vector<std::string_view> names;
    for (const auto& one : all) names.push_back(name_of_one(one));
    return place_of(name, names, what);
}

}  // namespace

void OperationRow::expect_arrays(std::size_t count) const {
    if (count != arrays.size()) throw SpecError(fmt::format("{} has {} arrays, not {}", name, arrays.size(), count));
}

std::size_t Family::operation(std::string_view wanted) const {
    return place_in(operations, wanted, fmt::format("operation of {}", members), [](const auto& one) { return one.name; });
}

const Family& family_named(std::string_view name) {
    return *families()[place_in(families(), name, "family", [](const auto* one) { return one->name; })];
}

std::vector<std::int64_t> shape_of(const ArrayRow& array, const Extent& extent, CallCounts counts) {
    std::vector<std::int64_t> shape;
    for (const auto word : split(array.extents, ' '))
        shape.push_back(word == "members" ? counts.members : word == "columns" ? counts.columns : extent_of(word, extent));
    return shape;
}

std::int64_t size_of(const ArrayRow& array, const Extent& extent, CallCounts counts) {
    std::int64_t size = 1;
    for (const auto axis : shape_of(array, extent, counts)) size = checked_multiply(size, axis, array.name);
    return size;
}

std::int64_t columns_of(const OperationRow& operation, const Extent& extent, std::int64_t members, std::span<const std::int64_t> elements) {
    for (std::size_t k = 0; k < elements.size(); ++k) {
        const auto& array = operation.arrays[k];
        if (elements[k] < 0 || !array.extents.ends_with("columns")) continue;
        return std::max<std::int64_t>(1, elements[k] / std::max<std::int64_t>(1, size_of(array, extent, {members, 1})));
    }
    return 1;
}

CallTable::CallTable(const Family& family, Precision precision, CallCounts spec, const Extent& extent)
    : family_(family), precision_(precision == Precision::f32 ? Precision::f32 : Precision::f64), spec_(spec) {
    for (const auto& operation : family.operations) {
        auto& sizes = sizes_.emplace_back();
        for (const auto& array : operation.arrays) {
            auto& size = sizes.emplace_back();
            for (const auto word : split(array.extents, ' ')) {
                size.by_columns = size.by_columns || word == "columns";
                if (word != "members" && word != "columns") size.each = checked_multiply(size.each, extent_of(word, extent), array.name);
            }
        }
    }
}

CallCounts CallTable::resolve(std::size_t operation, CallCounts given, std::int64_t factored) const {
    const auto& row = family_.operations[operation];
    resolve_count(given.columns, spec_.columns, std::int64_t{1} << 32, "columns");
    resolve_count(given.members, spec_.members, spec_.members, "members");
    if (row.factors || given.members <= factored) return given;
    std::vector<std::string_view> makers;
    for (const auto& one : family_.operations)
        if (one.factors) makers.push_back(one.name);
    if (makers.empty()) return given;
    throw SpecError(fmt::format("{} for {} {}, but {} have been factored; call {} first", row.name, given.members, family_.members,
                                factored, fmt::join(makers, " or ")));
}

CallArray CallTable::array(std::size_t operation, std::size_t k, const AnyArray& given, CallCounts counts) const {
    const auto& row = family_.operations[operation].arrays[k];
    const auto& size = sizes_[operation][k];
    if (given.precision != precision_)
        throw SpecError(fmt::format("{} is {} and the {} is specialized for arrays in {}", row.name, to_string(given.precision),
                                    family_.plan, to_string(precision_)));
    const auto each = size.by_columns ? checked_multiply(size.each, counts.columns, row.name) : size.each;
    const auto elements = checked_multiply(counts.members, each, row.name);
    if (given.size >= 0 && given.size != elements)
        throw SpecError(fmt::format("{} has {} elements; {} {} with {} each need {}", row.name, given.size, counts.members, family_.members,
                                    each, elements));
    const auto real = element_bytes(precision_);
    return {.name = row.name,
            .data = given.data,
            .bytes = checked_multiply(elements, real, row.name),
            .alignment = static_cast<int>(real),
            .access = row.access,
            .may_equal = row.may_equal};
}

std::span<CallArray> CallTable::arrays(std::size_t operation, std::span<const AnyArray> given, CallCounts counts,
                                       std::span<CallArray> room) const {
    family_.operations[operation].expect_arrays(given.size());
    for (std::size_t k = 0; k < given.size(); ++k) room[k] = array(operation, k, given[k], counts);
    return room.first(given.size());
}

}  // namespace trifold
