#pragma once
#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace trifold {

/// Handles are plain pointers here. A library has a type for each, and CUDA has numbers for addresses.
template <class Parameter, class Given>
Parameter argument(Given given) {
    if constexpr (std::is_integral_v<Parameter> && std::is_pointer_v<Given>)
        return reinterpret_cast<Parameter>(given);
    else if constexpr (std::is_same_v<Given, void*>)
        return static_cast<Parameter>(given);
    else
        return given;
}

/// A function of a library that is opened at run time.
template <class Function>
struct Symbol;
template <class Result, class... Parameters>
struct Symbol<Result(Parameters...)> {
    const char* name;       ///< in documentation and messages
    const char* versioned;  ///< in the library: headers map some names to versioned ones
    Result (*address)(Parameters...) = nullptr;

    bool find(void* library, const char* as) {
        address = reinterpret_cast<Result (*)(Parameters...)>(::dlsym(library, as));
        return address != nullptr;
    }
    bool find(void* library) { return find(library, versioned); }
    template <class... Given>
    Result operator()(Given... given) const {
        return address(argument<Parameters>(given)...);
    }
};

#define TRIFOLD_STRING(text) #text
#define TRIFOLD_EXPANDED_STRING(macro) TRIFOLD_STRING(macro)
/// Members of a table of symbols. Its rows say what we call a function, and its name in the library's header.
#define TRIFOLD_SYMBOLS(ROWS) \
    ROWS(TRIFOLD_DECLARE)     \
    template <class Visit>    \
    void each(Visit visit) {  \
        ROWS(TRIFOLD_VISIT)   \
    }
#define TRIFOLD_DECLARE(role, name) ::trifold::Symbol<decltype(::name)> role{#name, TRIFOLD_EXPANDED_STRING(name)};
#define TRIFOLD_VISIT(role, name) visit(role);

/// The name of a function that the library lacks; empty when all are there.
template <class Table>
std::string find_all(Table& table, void* library) {
    std::string missing;
    table.each([&](auto& symbol) {
        if (!symbol.find(library)) missing = symbol.versioned;
    });
    return missing;
}

/// METIS 5, which cuts a sparse pattern into subdomains: the library in this one's folder, as in wheels, else the system's. It is opened
/// when it is first asked for, and stays open.
struct MetisLibrary {
    static constexpr const char* name = "libmetis.so.5";
    void* part_graph = nullptr;  ///< METIS_PartGraphKway; null: there is no such library
    std::string path;            ///< the file that was opened
    std::string problem;         ///< says what is missing and what to install; empty: nothing
};
const MetisLibrary& metis_library();

}  // namespace trifold
