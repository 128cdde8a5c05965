#pragma once
#include <optional>
#include <string>
#include <trifold/solver.hpp>

#include "runtime/python/binding/array.hpp"

namespace trifold::python {

/// Device of a name such as "cuda:1", or of any object with such a text, such as torch.device and cupy.cuda.Device.
Device device_of(nb::handle device);
/// Device on which arrays of this library lie.
Device device_at(Library library, Place place);
/// "float32", "float64" or "mixed", or a dtype of NumPy or torch, or a type of NumPy or jax.numpy.
Precision precision_of(nb::handle dtype);

/// trifold.Plan.
struct BoundPlan {
    std::shared_ptr<Factors> factors;
    const Plan& plan() const { return factors->plan(); }
    const Spec& spec() const { return plan().choice().spec; }
};

/// Spec::matrix by its word.
void choose_matrix(Spec& spec, const std::string& word);
std::string matrix_text(const Spec& spec);

/// How a Plan is chosen, where the caller may say.
struct PlanSettings {
    std::string schedule = "auto", variant = "auto", operations;
    int workers = 1;
    bool mixed = false;
    std::int64_t rhs = 1;  ///< right-hand sides at once, where b is not known
    std::int64_t border = 0;
    bool ring = false;
    bool lengths = false, sizes = false;
    std::int64_t bandwidth = 1;
    std::string matrix = "positive-definite";
    /// Sizes of arrays change from call to call, so that one compilation serves all.
    Tuning tuning() const { return {.schedule = schedule, .variant = variant, .workers = workers, .any_size = true}; }
};

/// The Plan for arrays of these shapes, types and places: D, and b where it is known.
std::shared_ptr<Factors> factors_for(const Array& d, const Array* b, const PlanSettings& settings);

}  // namespace trifold::python
