#include "runtime/python/binding/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "generator/tridiagonal/fields.hpp"
#include "runtime/python/binding/gil.hpp"
#include "runtime/python/binding/objects.hpp"

namespace trifold::python {
namespace {

std::string text_of(nb::handle object) { return nb::str(object).c_str(); }

/// Devices are looked for once: finding out what a processor is takes longer than a solution.
Device cpu() {
    static const auto found = Device::cpu();
    return found;
}

/// NVRTC may be in a wheel that only Python finds.
struct Nvrtc {
    Nvrtc() { nb::module_::import_("trifold.toolkit").attr("load_nvrtc")(); }
};

}  // namespace

Device device_at(Library library, Place place) {
    const auto backend = backend_of(library, place);
    if (backend == Backend::cpu) return cpu();
    looked_up<Nvrtc>();
    return backend == Backend::hip ? Device::hip(place.ordinal) : Device::cuda(place.ordinal);
}

Device device_of(nb::handle device) {
    auto text = text_of(device);
    if (text == "cpu") return cpu();
    constexpr std::string_view of_cupy = "<CUDA Device ";
    if (text.starts_with(of_cupy)) text = "cuda:" + text.substr(of_cupy.size(), text.size() - of_cupy.size() - 1);
    if (!text.starts_with("hip")) looked_up<Nvrtc>();
    const GilRelease unlocked;
    return Device::parse(text);
}

Precision precision_of(nb::handle dtype) {
    const auto text = nb::hasattr(dtype, "__name__") ? text_of(dtype.attr("__name__")) : text_of(dtype);
    const auto name = text.substr(text.rfind('.') + 1);
    if (name == "float32") return Precision::f32;
    if (name == "float64") return Precision::f64;
    if (name == "mixed") return Precision::mixed;
    throw SpecError(fmt::format("dtype = {} is not known; give float32, float64, or 'mixed' for float64 arrays factored in float32", text));
}

void choose_matrix(Spec& spec, const std::string& word) { spec_fields["matrix"].set(&spec, word, "matrix"); }
std::string matrix_text(const Spec& spec) { return spec_fields["matrix"].get(&spec).get<std::string>(); }

std::shared_ptr<Factors> factors_for(const Array& d, const Array* b, const PlanSettings& settings) {
    const auto shape = d.shape();
    const auto dims = shape.size();
    if (dims != 3 && dims != 4)
        throw SpecError(fmt::format("D has shape ({}); give (N, n, n), or (batch, N, n, n)", fmt::join(shape, ", ")));
    if (d.element() != Element::f32 && d.element() != Element::f64)
        throw SpecError(fmt::format("D is {}; convert it to float32 or float64", d.describe()));
    for (const auto size : shape)
        if (size == 0) throw SpecError(fmt::format("D has shape ({}): an axis of size 0 has nothing to solve", fmt::join(shape, ", ")));
    if (shape[dims - 1] != shape[dims - 2])
        throw SpecError(fmt::format("D has shape ({}); its last two axes must be equal: give square blocks", fmt::join(shape, ", ")));
    if (settings.mixed && d.element() != Element::f64) throw SpecError("mixed precision takes float64 arrays");
    Spec spec{.block = shape[dims - 1], .horizon = shape[dims - 3], .rhs = settings.rhs};
    spec.precision = settings.mixed ? Precision::mixed : d.element() == Element::f32 ? Precision::f32 : Precision::f64;
    spec.batch = dims == 4 ? shape[0] : 1;
    if (b != nullptr && b->shape().size() == dims) spec.rhs = std::max<std::int64_t>(b->shape()[dims - 1], 1);
    spec.border = settings.border;
    spec.ring = settings.ring;
    spec.lengths = settings.lengths;
    spec.sizes = settings.sizes;
    spec.bandwidth = settings.bandwidth;
    choose_matrix(spec, settings.matrix);
    if (!settings.operations.empty()) spec.operations = parse_operations(settings.operations);
    const auto library = d.library();
    const auto place = d.place();
    const auto device = device_at(library, place);
    const GilRelease unlocked;
    return Factors::shared(spec, device, settings.tuning());
}

}  // namespace trifold::python
