# Writes OUTPUT, a C++ source with the functions SPACE::KIND_text and SPACE::KIND_names, which HEADER declares, and every file of INPUTS as text.
# A text is known by its path relative to ROOT or, where that is absolute, by its last part: cmake -D... -P embed.cmake
set(entries "")
foreach(path IN LISTS INPUTS)
    if(IS_ABSOLUTE "${path}")
        file(READ "${path}" text)
        get_filename_component(path "${path}" NAME)
    else()
        file(READ "${ROOT}/${path}" text)
    endif()
    # String literals may be limited to 64 KiB; adjacent ones join.
    string(LENGTH "${text}" length)
    set(pieces "")
    set(offset 0)
    while(offset LESS length)
        string(SUBSTRING "${text}" ${offset} 12000 piece)
        string(APPEND pieces "R\"~trifold~(${piece})~trifold~\" ")
        math(EXPR offset "${offset} + 12000")
    endwhile()
    string(APPEND entries "    {\"${path}\", ${pieces}},\n")
endforeach()
file(
    WRITE "${OUTPUT}"
    "#include <map>
#include <string>
#include <string_view>

#include <trifold/error.hpp>

#include \"${HEADER}\"

namespace ${SPACE} {
namespace {

const std::map<std::string_view, std::string_view>& texts() {
    using namespace std::string_view_literals;
    static const std::map<std::string_view, std::string_view> all{
${entries}    };
    return all;
}

}  // namespace

std::string_view ${KIND}_text(std::string_view name) {
    const auto found = texts().find(name);
    if (found == texts().end()) throw SpecError(\"no ${KIND} named \" + std::string(name));
    return found->second;
}

std::vector<std::string_view> ${KIND}_names() {
    std::vector<std::string_view> names;
    for (const auto& item : texts()) names.push_back(item.first);
    return names;
}

}  // namespace ${SPACE}
")
