#!/usr/bin/env python3
"""Which folder may include which, and that no two types have one name. Reads every #include of generator/, runtime/ and tools/, and names
those that point upwards.

The layers, from the bottom: generator/program, one family (generator/tridiagonal, generator/grid, generator/sparse), generator/export;
runtime/base, compile, device, wisdom, session, one family (tridiagonal, grid, sparse), c, python; tools. A layer may include those that it
lists, and itself. What lies below a family knows none: it may not include a family's public headers either.
"""

import pathlib
import re
import sys

# What a family may include in the runtime.
HALL = ["runtime/base", "runtime/compile", "runtime/device", "runtime/session", "runtime/wisdom", "generator/program"]
# Folders that a folder may include in addition to itself. The first that fits a file counts, so that inner folders come before outer ones.
ALLOWED = {
    "generator/trifold": [],
    "generator/program": [],
    "generator/tridiagonal": ["generator/program", "templates/gpu/tridiagonal"],  # what both sides count
    "generator/grid": ["generator/program", "templates/grid", "templates/gpu/grid"],  # likewise
    "generator/sparse": ["generator/program", "templates/gpu/sparse"],  # likewise
    "generator/export": ["generator/program", "generator/tridiagonal"],
    "runtime/trifold": [],
    "runtime/base": [],
    "runtime/compile/clang": ["runtime/compile"],
    "runtime/compile/hiprtc": [],
    "runtime/compile": ["runtime/base", "generator/program"],
    "runtime/device": ["runtime/base", "runtime/compile"],
    "runtime/wisdom": ["runtime/base", "runtime/device", "generator/program"],
    "runtime/session": ["runtime/base", "runtime/compile", "runtime/device", "generator/program"],
    "runtime/tridiagonal": [*HALL, "generator/tridiagonal"],
    "runtime/grid": [*HALL, "generator/grid"],
    "runtime/sparse": [*HALL, "generator/sparse"],
    "runtime/c": ["generator", "runtime/session", "runtime/tridiagonal", "runtime/grid", "runtime/sparse"],  # tables
    "runtime/python": [
        "runtime/base",
        "runtime/compile",
        "runtime/device",
        "runtime/session",
        "runtime/tridiagonal",
        "generator",
    ],  # forks, what compiles, memory of a GPU, what is taken of what was measured; tables of fields
    "tools/formats": [],
    "tools/problems": ["tools/formats"],
    "tools/examples": [],
    "tools": ["generator", "runtime"],
}
# Folders that know no family, and the public headers that they may include.
COMMON_HEADERS = {
    "binary.hpp",
    "call.hpp",
    "device.hpp",
    "error.hpp",
    "factors_of.hpp",
    "integer.h",
    "repeat_args.h",
    "copy_args.h",
    "precision.hpp",
    "process.hpp",
    "program.hpp",
    "target.hpp",
    "transport.hpp",
    "version.h",
}
KNOW_NO_FAMILY = ("generator/program", "runtime/base", "runtime/compile", "runtime/device", "runtime/session", "runtime/wisdom")
# The public headers of each family, which no other may include.
FAMILY_HEADERS = {
    "tridiagonal": {
        "cost.hpp",
        "generate.hpp",
        "plan.hpp",
        "rank_solver.hpp",
        "ranks.hpp",
        "schedule.hpp",
        "solver.hpp",
        "spec.hpp",
        "tridiagonal.hpp",
        "tridiagonal_args.h",
    },
    "grid": {"grid.hpp", "grid_args.h", "grid_spec.hpp"},
    "sparse": {"sparse.hpp", "sparse_args.h", "sparse_spec.hpp"},
}
# Public headers of the runtime, which the generator may not include.
RUNTIME_HEADERS = {
    "binary.hpp",
    "call.hpp",
    "device.hpp",
    "factors_of.hpp",
    "grid.hpp",
    "plan.hpp",
    "process.hpp",
    "rank_solver.hpp",
    "solver.hpp",
    "sparse.hpp",
    "transport.hpp",
    "tridiagonal.hpp",
    "trifold.h",
    "trifold.hpp",
    "version.h",
}
# Each has a folder in tools/trifold, which the others do not know; the table of all is in main.cpp.
FAMILIES = tuple(FAMILY_HEADERS)
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(trifold/[^>]+)>)', re.M)


def home(path):
    """The folder of the table that a file belongs to."""
    return next((folder for folder in ALLOWED if path.startswith(folder + "/")), None)


def knows_another_family(path, included):
    """Whether a file of the command reaches into the folder of a family that is not its own."""
    folder = next((f"tools/trifold/{family}" for family in FAMILIES if is_within(included, f"tools/trifold/{family}")), None)
    is_table = path == "tools/trifold/main.cpp"
    return folder is not None and path.startswith("tools/trifold/") and not is_table and not is_within(path, folder)


def tuner_knows_family(path, included):
    """Whether a file of the tuner, or of its verbs, includes anything of a family. Families' own folders may."""
    is_tuner = is_within(path, "tools/tune") or is_within(path, "tools/trifold/tune")
    if not is_tuner or family_of(path):
        return False
    place = f"runtime/{included}" if included.startswith("trifold/") else included
    return family_of(place) is not None or included == "trifold/trifold.hpp"


def is_within(path, folder):
    return path.startswith(folder + "/")


def family_of(path):
    """The family that a file belongs to, also a public header; None where it serves all."""
    *folders, name = pathlib.PurePosixPath(path).parts
    is_public = folders[1:2] == ["trifold"] and folders[0] != "tools"
    return next((family for family, headers in FAMILY_HEADERS.items() if family in folders or (is_public and name in headers)), None)


def problem(path, included):
    """Why `path` may not include `included`; None where it may."""
    folder = home(path)
    if tuner_knows_family(path, included):
        return f"is of the tuner, which knows no family, and includes {included}"
    if folder is None:
        return "belongs to no layer; add its folder to ALLOWED"
    if included.startswith("trifold/"):
        header = included.removeprefix("trifold/")
        if path.startswith(KNOW_NO_FAMILY) and header not in COMMON_HEADERS:
            return f"is of a layer that knows no family, and includes <{included}>"
        family = family_of(path)
        if family and any(header in headers for other, headers in FAMILY_HEADERS.items() if other != family):
            return f"is of the family {family}, and includes <{included}> of another"
        if path.startswith("generator/") and header in RUNTIME_HEADERS:
            return f"is of the generator, and includes <{included}> of the runtime"
        return None
    if "/" not in included:  # of its own folder
        return None
    if knows_another_family(path, included):
        return f'is no file of that family, and includes "{included}"'
    if is_within(included, folder) or any(is_within(included, allowed) for allowed in ALLOWED[folder]):
        return None
    return f'may not include "{included}": {folder} may include {", ".join([folder] + ALLOWED[folder])}'


def check(root):
    problems, count = [], 0
    for top in ("generator", "runtime", "tools"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".hpp", ".cpp", ".h"):
                continue
            path = file.relative_to(root).as_posix()
            for quoted, public in INCLUDE.findall(file.read_text()):
                count += 1
                found = problem(path, quoted or public)
                if found:
                    problems.append(f"{path} {found}")
    return problems, count


TYPE = re.compile(r"(?:struct|class|enum class|union) (?:\[\[.*?\]\] )?(\w+)(?: final)?(?: :.*)? \{")


def types(text):
    """The types that a file defines for others to see: namespace and name. Nothing of an unnamed namespace, nothing within a type."""
    spaces = []
    for line in text.splitlines():
        if opened := re.match(r"namespace (?:\[\[.*?\]\] )?([\w:]*) ?\{", line):
            spaces.append(opened.group(1))
        elif line.startswith("}  // namespace") and spaces:
            spaces.pop()
        elif (found := TYPE.match(line)) and "" not in spaces:
            yield "::".join([*spaces, found.group(1)])


def twice(root):
    """Types of one name in two files: what is linked of them is either's, and no compiler tells."""
    where = {}
    for top in ("generator", "runtime", "tools", "tests"):
        for file in sorted((root / top).rglob("*.[ch]pp")):
            for name in types(file.read_text()):
                where.setdefault(name, []).append(file.relative_to(root).as_posix())
    apart = ("tests/export/c99/", "tests/export/gpu/")  # two programs, of which neither has the other's files
    return [
        f"{name} is defined in {' and '.join(files)}"
        for name, files in where.items()
        if len(files) > 1 and not (len(files) == 2 and all(any(f.startswith(a) for f in files) for a in apart))
    ]


# Folders in which each family has one of its name.
WINGS = ("generator", "templates/cpu", "templates/gpu", "templates", "runtime", "tools/trifold", "tools/tune", "tests/runtime")


def lacking(root):
    """Folders that one family has and another has not. A folder of no family in a place where all folders are families' is found too."""
    problems = [f"{wing}/{family} is missing" for wing in WINGS for family in FAMILIES if not (root / wing / family).is_dir()]
    for wing in ("templates/cpu", "templates/gpu"):
        problems += [
            f"{wing}/{path.name} is of no family" for path in (root / wing).iterdir() if path.is_dir() and path.name not in FAMILIES
        ]
    return problems


def check_itself():
    """The rules can fail."""
    for path, included in [
        ("generator/program/program.cpp", "generator/tridiagonal/design.hpp"),
        ("generator/program/program.cpp", "trifold/spec.hpp"),
        ("generator/tridiagonal/design.cpp", "runtime/base/log.hpp"),
        ("generator/grid/levels.cpp", "generator/tridiagonal/design.hpp"),
        ("runtime/grid/solver.cpp", "runtime/tridiagonal/request.hpp"),
        ("generator/tridiagonal/design.cpp", "trifold/plan.hpp"),
        ("runtime/base/log.cpp", "runtime/compile/cache.hpp"),
        ("runtime/device/gpu_graph.cpp", "runtime/tridiagonal/request.hpp"),
        ("runtime/device/gpu_graph.cpp", "trifold/tridiagonal_args.h"),
        ("runtime/session/session.cpp", "trifold/solver.hpp"),
        ("runtime/session/session.cpp", "runtime/grid/solver_impl.hpp"),
        ("runtime/grid/solver.cpp", "trifold/plan.hpp"),
        ("runtime/trifold/grid.hpp", "trifold/solver.hpp"),
        ("generator/trifold/spec.hpp", "trifold/grid_spec.hpp"),
        ("tools/formats/npy.cpp", "runtime/base/files.hpp"),
        ("tools/trifold/solve.cpp", "tools/trifold/grid/options.hpp"),
        ("tools/trifold/grid/solve.cpp", "tools/trifold/tridiagonal/solution.hpp"),
        ("tools/tune/space.cpp", "generator/tridiagonal/variant.hpp"),
        ("tools/tune/family.hpp", "trifold/spec.hpp"),
        ("tools/tune/measure.cpp", "trifold/trifold.hpp"),
        ("tools/tune/family.cpp", "trifold/grid_spec.hpp"),
        ("tools/trifold/tune/records.cpp", "generator/tridiagonal/wisdom.hpp"),
        ("tools/tune/grid/family.cpp", "trifold/spec.hpp"),
        ("runtime/wisdom/wisdom.cpp", "generator/grid/wisdom.hpp"),
        ("runtime/elsewhere/file.cpp", "runtime/base/log.hpp"),
    ]:
        assert problem(path, included), (path, included)
    assert problem("runtime/tridiagonal/plan.cpp", "runtime/device/gpu.hpp") is None
    assert problem("tools/trifold/main.cpp", "tools/trifold/grid/options.hpp") is None
    assert problem("tools/trifold/grid/solve.cpp", "tools/trifold/solve.hpp") is None
    assert problem("tools/tune/grid/family.cpp", "trifold/grid_spec.hpp") is None
    assert problem("tools/tune/measure.cpp", "trifold/error.hpp") is None
    text = "namespace a {\nstruct B {\n    struct C {\n};\nnamespace {\n"
    text += "class D final : E {\n};\n}  // namespace\nenum class F { g };\n}  // namespace a\n"
    assert list(types(text)) == ["a::B", "a::F"], list(types(text))


if __name__ == "__main__":
    check_itself()
    problems, count = check(pathlib.Path(sys.argv[1]))
    others = twice(pathlib.Path(sys.argv[1])) + lacking(pathlib.Path(sys.argv[1]))
    print("\n".join(problems + others))
    print(f"{count} includes, {len(problems)} of them upwards")
    sys.exit(1 if problems or others or count < 400 else 0)
