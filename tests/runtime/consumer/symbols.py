"""symbols.py LIBRARY HEADERS: the shared library exports the public interface, all of it and nothing else, and needs no library of ours."""

import pathlib
import re
import subprocess
import sys

library, headers = sys.argv[1], pathlib.Path(sys.argv[2])


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


text = {
    path.name: re.sub(r"//.*|/\*.*?\*/", "", path.read_text(), flags=re.DOTALL if path.suffix == ".h" else 0)
    for path in headers.glob("*.h*")
}
public = "\n".join(body for name, body in text.items() if name.endswith(".hpp"))
classes = set(re.findall(r"^(?:class|struct) (\w+)", public, re.MULTILINE))
names = classes | set(re.findall(r"^[\w:<>&*, ]*?[ &*](\w+|operator\*)(?:\(|\[|\{| =)", public, re.MULTILINE))

expanded = run("cc", "-E", "-P", "-I", str(headers.parent), str(headers / "trifold.h"))
inline = re.compile(r"static inline \w+ (trifold_\w+)\([^{]*\{.*?return [^}]*\}")  # the typed calls, which stand on those of the library
typed = set(inline.findall(expanded))
functions = set(re.findall(r"\b(trifold_\w+)\(", inline.sub("", expanded)))

# What a template returns stands before its name.
exported = [
    re.sub(r"^std::vector<double, std::allocator<double> > (?=trifold::)", "", line.split(maxsplit=2)[2])
    for line in run("nm", "-D", "-C", "--defined-only", library).splitlines()
]
unknown = []
for symbol in exported:
    member = re.search(r"\btrifold::(\w+(?:\*)?)(\[abi:cxx11\])?(::|\(|<|$)", re.sub(r"^(typeinfo|typeinfo name|vtable) for ", "", symbol))
    known = symbol in functions or (member and member[1] in (classes if member[3] == "::" else names))
    if not known or re.search(r"^std::|\bnlohmann::|\bfmt::|(State|Impl)::", symbol.split("(")[0]):
        unknown.append(symbol)
missing = functions - set(exported)
for name in (
    "typeinfo for trifold::SpecError",
    "typeinfo for trifold::NotConverged",
    "trifold::Plan::program() const",
    "trifold::Solver::run(trifold::Operation, std::span<trifold::AnyArray const, 18446744073709551615ul>, trifold::CallOptions const&)",
):
    if name not in exported:
        missing.add(name)
needed = re.findall(r"NEEDED.*\[(.*?)\]", run("readelf", "-d", library))
foreign = [name for name in needed if not re.match(r"lib(stdc\+\+|m|gcc_s|c|dl|pthread)\.so|ld-linux", name)]
print(f"{len(exported)} symbols, {len(functions)} functions in C and {len(typed)} on them, needs {', '.join(needed)}")
if unknown or missing or foreign or len(functions) < 35 or len(typed) != 2 * (2 * (10 + 7 + 8 + 7) + 2):
    sys.exit(f"exported but not public: {unknown}\npublic but not exported: {sorted(missing)}\nneeded but not of the system: {foreign}")
