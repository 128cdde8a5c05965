#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/base/files.hpp"
#include "runtime/base/symbols.hpp"

namespace trifold {
namespace {

MetisLibrary open_metis() {
    const auto beside = find_part(MetisLibrary::name);
    void* library = beside.empty() ? nullptr : ::dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) library = ::dlopen(MetisLibrary::name, RTLD_NOW | RTLD_LOCAL);
    MetisLibrary found;
    if (library != nullptr) found.part_graph = ::dlsym(library, "METIS_PartGraphKway");
    Dl_info where;
    if (found.part_graph == nullptr)
        found.problem = fmt::format("{} is not installed (Debian's package libmetis5)", MetisLibrary::name);
    else if (::dladdr(found.part_graph, &where) != 0 && where.dli_fname != nullptr)
        found.path = where.dli_fname;
    return found;
}

}  // namespace

const MetisLibrary& metis_library() {
    static const auto library = open_metis();
    return library;
}

}  // namespace trifold
