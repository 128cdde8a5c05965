# Writes OUTPUT, the C++ source of trifold::generator_hash(): a SHA-256 of all files of INPUTS. cmake -D... -P hash.cmake
set(sums "")
foreach(path IN LISTS INPUTS)
    file(SHA256 "${path}" sum)
    string(APPEND sums "${sum}\n")
endforeach()
string(SHA256 all "${sums}")
file(WRITE "${OUTPUT}"
     "#include \"generator/program/template_folder.hpp\"\n\nstd::string_view trifold::generator_hash() { return \"${all}\"; }\n")
