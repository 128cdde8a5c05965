#include <nanobind/nanobind.h>

#include <new>
#include <regex>
#include <string>
#include <trifold/error.hpp>
#include <trifold/transport.hpp>

#include "runtime/python/binding/grid.hpp"
#include "runtime/python/binding/parts.hpp"
#include "runtime/python/binding/sparse.hpp"

namespace nb = nanobind;

namespace trifold::python {
namespace {

nb::object kind(const char* name) { return nb::module_::import_("trifold.errors").attr(name); }

void raise(const char* name, const char* text) { PyErr_SetString(kind(name).ptr(), text); }

/// With a list of what failed, from which the error takes its attributes.
void raise(const char* name, const char* text, const nb::list& failures) {
    const auto type = kind(name);
    const auto error = type(text, failures);
    PyErr_SetObject(type.ptr(), error.ptr());
}

/// Images are indexed by rows first in Python.
std::string with_pixels_by_row(const std::string& text) {
    static const std::regex pixel(R"(pixel \((\d+), (\d+)\))");
    return std::regex_replace(text, pixel, "pixel [$2, $1]");
}

/// The library speaks of Specs, of which Python has none: what they hold is a Plan's.
std::string in_words_of_python(const std::string& text) {
    static const std::regex spec("the (Grid)?Spec's "), ranks("(this|the|a) RankPlan");
    return std::regex_replace(std::regex_replace(text, spec, "its "), ranks, "trifold.ranks(...)");
}

void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const NotPositiveDefinite& error) {
        nb::list failures;
        for (const auto& f : error.failures) failures.append(nb::make_tuple(f.member, f.block, f.row));
        raise("NotPositiveDefinite", error.what(), failures);
    } catch (const NearlySingular& error) {
        nb::list failures;
        for (const auto& f : error.failures) failures.append(nb::make_tuple(f.member, f.least_pivot));
        raise("NearlySingular", error.what(), failures);
    } catch (const OutOfRange& error) {
        nb::list failures;
        for (const auto& f : error.failures) failures.append(nb::make_tuple(f.member, f.solution, f.inverse));
        raise("OutOfRange", error.what(), failures);
    } catch (const NotConverged& error) {
        nb::list failures;
        for (const auto& f : error.failures) failures.append(nb::make_tuple(f.member, f.iterations, f.backward_error));
        raise("NotConverged", error.what(), failures);
    } catch (const GridFailed& error) {
        nb::list failures;
        for (const auto& f : error.failures) {
            const auto outcome = grid_outcome(f.outcome);
            failures.append(nb::make_tuple(f.member, outcome[0], outcome[1], outcome[2]));
        }
        raise("GridFailed", with_pixels_by_row(error.what()).c_str(), failures);
    } catch (const SparseFailed& error) {
        nb::list failures;
        for (const auto& f : error.failures) failures.append(sparse_problem(f));
        raise("SparseFailed", error.what(), failures);
    } catch (const Unsolvable& error) {
        raise("Unsolvable", error.what());
    } catch (const RankError& error) {
        const auto type = kind("RankError");
        PyErr_SetObject(type.ptr(), type(error.what(), error.rank).ptr());
    } catch (const SpecError& error) {
        raise("SpecError", in_words_of_python(error.what()).c_str());
    } catch (const DeviceError& error) {
        raise("DeviceError", error.what());
    } catch (const CompileError& error) {
        raise("CompileError", (error.what() + ("\n" + error.log)).c_str());
    } catch (const CacheError& error) {
        raise("CacheError", error.what());
    } catch (const LaunchError& error) {
        raise("LaunchError", error.what());
    } catch (const Error& error) {
        raise("Error", error.what());
    } catch (const std::bad_alloc&) {
        PyErr_SetString(PyExc_MemoryError, "out of host memory");
    }
}

}  // namespace

void translate_errors() { nb::register_exception_translator(translate); }

}  // namespace trifold::python
