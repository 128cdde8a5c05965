#pragma once
#include <string>

namespace trifold {

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
