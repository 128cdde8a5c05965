#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <trifold/call.hpp>
#include <trifold/device.hpp>
#include <trifold/program.hpp>
#include <vector>

#include "generator/program/fields.hpp"
#include "generator/program/knob.hpp"
#include "runtime/session/array.hpp"

/// Tables by which a family states its calls. Checks of arrays, C, Python and tests follow from them.
namespace trifold {

/// An array of an operation. `extents`: its axes, with a space between them: numbers, "members" and "columns" of a call, and sizes that the
/// family knows by name. `may_equal`: the input that this output may be.
struct ArrayRow {
    const char* name;
    std::string_view extents;
    Access access = Access::read;
    const char* may_equal = nullptr;
};

/// A call that people make. `factors`: it takes new values of A, which the operations without it use. `adjoint`: the operation with A' for
/// A, where the result is linear in the last input; `outer`: the operation that makes the gradient by A, of that result and of the
/// adjoint's.
struct OperationRow {
    std::string_view name;
    std::span<const ArrayRow> arrays;
    bool factors = false;
    std::string_view adjoint{}, outer{};
    /// Throws SpecError on another number of arrays.
    void expect_arrays(std::size_t count) const;
};

/// A solver of any family, for faces that learn at run time which. One call at a time.
class AnySolver {
  public:
    virtual ~AnySolver() = default;
    /// `options`: fields of a call.
    virtual void run(std::size_t operation, std::span<const AnyArray> arrays, Stream stream, const nlohmann::json& options) = 0;
    /// Outcomes of all members, by the columns of Family::outcome. Waits.
    virtual nlohmann::json outcomes() = 0;
    virtual void check() = 0;
    virtual void prepare() = 0;
    virtual void synchronize() = 0;
};

struct Family;

/// A plan of any family.
class AnyPlan {
  public:
    virtual ~AnyPlan() = default;
    virtual const Program& program() const = 0;
    virtual const Device& device() const = 0;
    /// A Spec, as JSON has it.
    virtual nlohmann::json spec() const = 0;
    /// A size by its name in extents, for the Spec's whole batch. Throws SpecError where there is none of the name.
    virtual std::int64_t extent(std::string_view name) const = 0;
    /// In the caller's workspace, or in one of its own where that is null.
    virtual std::unique_ptr<AnySolver> solver(void* workspace, std::int64_t bytes) const = 0;
};

/// A family, as its tables state it.
struct Family {
    std::string_view name;                     ///< "grid"
    std::string_view members;                  ///< members of a batch, in messages: "images"
    std::string_view plan;                     ///< class of its plans, in messages
    std::string_view size;                     ///< fields by which people say a size: "width height" for 129x65. Empty: there are none
    const Fields *spec, *tuning, *options;     ///< fields of a problem, of its kernels, of a call
    const Fields* outcome;                     ///< columns of a member's outcome
    std::span<const OperationRow> operations;  ///< in the order of their enumeration
    /// A Spec with all of its fields. Throws SpecError where it is none.
    nlohmann::json (*read)(const nlohmann::json& spec);
    /// Throws what the constructors of plans throw. `problem`: the Spec, and what else the family reads of a matrix.
    std::unique_ptr<AnyPlan> (*make)(const nlohmann::json& problem, const Device& device, const nlohmann::json& tuning);
    /// The Program alone, for any target; null where it takes more than a Spec.
    Program (*generate)(const nlohmann::json& spec, const Target& target, const nlohmann::json& tuning) = nullptr;
    /// The knobs that the tuning's variant may pin.
    std::span<const Knob> (*knobs)(const Target& target) = nullptr;
    /// The place of an operation. Throws SpecError with the names of all.
    std::size_t operation(std::string_view name) const;
};

/// All of them, to which a program may add its own.
std::vector<const Family*>& families();
/// Throws SpecError with the names of all.
const Family& family_named(std::string_view name);

struct CallCounts {
    std::int64_t members = 0, columns = 0;
};
/// Fields that the tunings and the calls of families have in common.
template <class Tuning>
constexpr Field workers_field = field<&Tuning::workers>("workers", "threads of a CPU", 1, max_workers);
template <class Tuning>
constexpr Field spin_field = field<&Tuning::spin_microseconds>("spin_microseconds", "that idle threads stay awake");
template <class Tuning>
constexpr Field variant_field = field<&Tuning::variant>("variant", "kernels, with knobs that are pinned");
template <class Options>
constexpr Field members_field = field<&Options::members>("members", "of the call; 0: the Spec's batch");
template <class Options>
constexpr Field columns_field = field<&Options::columns>("columns", "right-hand sides of the call; 0: the Spec's");
template <class Options>
constexpr Field accept_field =
    field<&Options::accept_nearly_singular>("accept_nearly_singular", "takes members as they are that rounding decides");

/// Sizes of a problem by their names in extents.
using Extent = std::function<std::int64_t(std::string_view)>;
/// The axes of an array.
std::vector<std::int64_t> shape_of(const ArrayRow& array, const Extent& extent, CallCounts counts);
/// Its elements.
std::int64_t size_of(const ArrayRow& array, const Extent& extent, CallCounts counts);
/// Right-hand sides of a call, from the elements of its arrays; -1: an array that is not there yet.
std::int64_t columns_of(const OperationRow& operation, const Extent& extent, std::int64_t members, std::span<const std::int64_t> elements);

/// The calls of a plan's solvers: which arrays an operation has, of which size, for how many members and columns. Calls allocate nothing.
class CallTable {
  public:
    /// `rhs`, `batch`: those of the Spec.
    CallTable(const Family& family, Precision precision, CallCounts spec, const Extent& extent);
    /// Fills in what a caller leaves open. `factored`: members with a factorization. Throws SpecError where there are too few of them, or a
    /// count is out of range.
    CallCounts resolve(std::size_t operation, CallCounts given, std::int64_t factored) const;
    /// The arrays of a call, in `room`. Throws SpecError where they are of another number, type or size.
    std::span<CallArray> arrays(std::size_t operation, std::span<const AnyArray> given, CallCounts counts, std::span<CallArray> room) const;
    /// One of them.
    CallArray array(std::size_t operation, std::size_t k, const AnyArray& given, CallCounts counts) const;

  private:
    struct Size {
        std::int64_t each = 1;  ///< elements for each member and column
        bool by_columns = false;
    };
    const Family& family_;
    Precision precision_;
    CallCounts spec_;
    std::vector<std::vector<Size>> sizes_;
};

}  // namespace trifold
