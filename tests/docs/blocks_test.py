"""Runs, compiles or parses every block of code on the README and the pages for users.

    blocks_test.py --root ROOT --prefix PREFIX --bin BUILD/bin --cxx c++ --cc cc [PAGE ...]

Each page gets a folder of its own, where its blocks run one after another, as a reader would type them. `app.cpp` is there beforehand: the
README's example. So is `app.c`: the C program of interfaces.md. What is installed in PREFIX is on the paths, and the kernels that one page
compiles serve the others. GPUs are hidden, so that "auto" is the processor.

| block | what is done with it |
| --- | --- |
| sh | runs, and must succeed |
| sh marked "(needs ...)" or "(takes minutes)" | parsed: programs, scripts and presets exist, and --help knows every option |
| cpp, c | compiled with warnings as errors, and run |
| cpp marked "(a fragment)" | compiled, inside a function unless it includes something |
| c marked "(declarations of FILE)" | compiled behind that header, which an export of the page has written and which has every name |
| text after "It prints:" | compared with what the block above it printed |
| cmake | configures a project with `app.cpp` |
| json | parsed |
| python, also marked "(needs LIBRARY)" | parsed here; tests/python/docs_test.py runs it |

Commands inside a sentence or table are parsed too. So are those in sh blocks of the pages for developers, which build what is not there
yet. The history of measurements is left out: it has the commands of its days."""

import argparse
import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import pages

FRAGMENT = """#include <trifold/trifold.hpp>
#include <vector>
[[maybe_unused]] static void fragment(std::int64_t n, std::int64_t N, std::vector<double>& D, std::vector<double>& E,
                                      std::vector<double>& B, std::vector<double>& X, trifold::Solver& solver, void* my_stream,
                                      const double* d, const double* e, const double* b, double* x, const double* shifts) {
    {
@BLOCK@    }
}
"""
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES CXX)
add_executable(app app.cpp)
"""
ELSEWHERE = {
    "make",
    "c++",
    "cc",
    "pip",
    "python",
}  # programs of the system that a parsed block may call, as it may what it has built in its folder


class Elsewhere:
    """What a block prints that is run by another test."""

    def __eq__(self, other):
        return True


class Problem(Exception):
    """What is wrong with a block."""


def run(command, folder, environment):
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)
    if ran.returncode != 0:
        raise Problem(f"exit status {ran.returncode}: {' '.join(command)[:200]}\n{ran.stdout[-2000:]}{ran.stderr[-4000:]}")
    return ran.stdout


class Checker:
    def __init__(self, options, scratch):
        self.options, self.scratch, self.root = options, scratch, options.root
        self.verbs = self.verbs_in(self.help())
        assert "solve" in self.verbs, self.verbs
        libraries = next(path for path in options.prefix.glob("lib*/**/pkgconfig")).parent
        hidden = {name for name in os.environ if name.startswith("TRIFOLD_")}
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in hidden},
            "PATH": f"{options.prefix / 'bin'}:{options.bin}:{os.environ['PATH']}",
            "PKG_CONFIG_PATH": str(libraries / "pkgconfig"),
            "LD_LIBRARY_PATH": str(libraries),
            "TRIFOLD_CLANG": str(libraries / "libtrifold_clang.so"),
            "TRIFOLD_CACHE_DIR": str(scratch / "cache"),
            "HOME": str(scratch),
            "XDG_DATA_HOME": str(scratch / "data"),
            "CUDA_VISIBLE_DEVICES": "",
            "HIP_VISIBLE_DEVICES": "-1",
        }
        self.switches = (self.root / "docs/users/switches.md").read_text(encoding="utf-8")
        lists = [
            path.read_text(encoding="utf-8")
            for part in ("runtime", "tests", "tools")
            for path in (self.root / part).rglob("CMakeLists.txt")
        ]
        self.targets = set(re.findall(r"(?:add_executable|trifold_test)\((\w+)", "\n".join(lists)))
        self.flags = run(["pkg-config", "--cflags", "--libs", "trifold"], scratch, self.environment).split()
        self.compiled = {}

    def help(self, *words):
        return self._help(self.options.bin / "trifold", words)

    @staticmethod
    def verbs_in(help_text):
        """The subcommands that a help text lists."""
        return re.findall(r"^  ([a-z]+) +[A-Z]", help_text.partition("--help")[2], re.MULTILINE)

    @staticmethod
    @functools.cache
    def _help(program, words):
        ran = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise Problem(f"{program.name} {' '.join(words)} --help fails: {ran.stderr}")
        return ran.stdout

    # What is run or compiled.

    def program(self, block, folder):
        """Compiles a whole program, once for all its places, and runs it."""
        if block.text not in self.compiled:
            is_cpp = block.language == "cpp"
            source = self.scratch / f"program{len(self.compiled)}.{block.language}"
            source.write_text(block.text, encoding="utf-8")
            binary = source.with_suffix("")
            compiler = (
                [*shlex.split(self.options.cxx), "-std=c++20"] if is_cpp else [*shlex.split(self.options.cc), "-std=c99", "-Wpedantic"]
            )
            run([*compiler, "-Wall", "-Wextra", "-Werror", str(source), *self.flags, "-o", str(binary)], self.scratch, self.environment)
            self.compiled[block.text] = binary
        return run([str(self.compiled[block.text])], folder, self.environment)

    def fragment(self, block, folder):
        source = folder / "fragment.cpp"
        indented = "".join(f"        {line}\n" for line in block.text.splitlines())
        source.write_text(block.text if "#include" in block.text else FRAGMENT.replace("@BLOCK@", indented), encoding="utf-8")
        quiet = [
            f"-Wno-{name}" for name in ("unused-parameter", "unused-variable", "unused-but-set-variable", "missing-field-initializers")
        ]
        run(
            [
                *shlex.split(self.options.cxx),
                "-std=c++20",
                "-fsyntax-only",
                "-Wall",
                "-Wextra",
                "-Werror",
                *quiet,
                *self.flags[:1],
                str(source),
            ],
            folder,
            self.environment,
        )

    def declarations(self, block, folder):
        header = folder / block.mark.removeprefix("declarations of ")
        if not header.exists():
            raise Problem(f"no block above has written {header.relative_to(folder)}")
        names = set(re.findall(r"\b(mpc_\w+)\s*[(;)]", block.text))
        missing = sorted(name for name in names if not re.search(rf"\b{name}\b", header.read_text(encoding="utf-8")))
        if missing or not names:
            raise Problem(f"{header.name} has no {', '.join(missing) or 'names of this block'}")
        source = folder / "declarations.c"
        source.write_text(f'#include <stddef.h>\n#include "{header}"\n{block.text}', encoding="utf-8")
        run(
            [*shlex.split(self.options.cc), "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", str(source)],
            folder,
            self.environment,
        )

    def project(self, block, folder):
        place = folder / f"project{block.line}"
        place.mkdir()
        (place / "app.cpp").write_text((folder / "app.cpp").read_text(encoding="utf-8"), encoding="utf-8")
        (place / "CMakeLists.txt").write_text(PROJECT + block.text, encoding="utf-8")
        run(["cmake", "-S", str(place), "-B", str(place / "build"), f"-DCMAKE_PREFIX_PATH={self.options.prefix}"], folder, self.environment)

    # What is parsed.

    def options_of(self, words, help_text):
        for word in words:
            name = word.split("=")[0]
            if re.match(r"--?[A-Za-z]", name) and not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", help_text):
                raise Problem(f"{name} is no option of this command: {' '.join(words)}")

    def trifold(self, words):
        if not words or words[0] not in self.verbs:
            raise Problem(f"no verb of trifold: {' '.join(words)}")
        verbs = words[:1]
        if words[0] == "cache" and len(words) > 1 and words[1] not in ("|", "--help"):
            verbs = words[:2]
        if words[0] == "tune" and len(words) > 1 and words[1] in self.verbs_in(self.help("tune")):
            verbs = words[:2]
        self.options_of(words[1:], self.help(*verbs) + " --help --json")

    def cmake(self, words):
        presets = {
            preset["name"] for preset in json.loads((self.root / "CMakePresets.json").read_text(encoding="utf-8"))["configurePresets"]
        }
        named = [words[k + 1] for k, word in enumerate(words) if word == "--preset"]
        installed = [pathlib.PurePath(words[k + 1]).name for k, word in enumerate(words) if word == "--install"]
        if not named + installed or not presets.issuperset(named + installed):
            raise Problem(f"no preset of ours: {' '.join(words)}")
        known = (self.root / "CMakeLists.txt").read_text(encoding="utf-8")
        for word in words:
            variable = re.match(r"-D(TRIFOLD_\w+)=", word)
            if variable and f"option({variable[1]} " not in known:
                raise Problem(f"CMakeLists.txt has no {variable[1]}")

    def built(self, words):
        """A program of the build: it is a target, and if it has been built, it knows the subcommand and the options."""
        name = pathlib.PurePath(words[0]).name
        if name not in self.targets:
            raise Problem(f"'{words[0]}' is neither a program of ours nor one of {sorted(ELSEWHERE)}")
        program = self.options.bin / name
        if program.exists():
            verbs = self.verbs_in(self._help(program, ()))
            if verbs and words[1:2] != ["--help"] and (len(words) < 2 or words[1] not in verbs):
                raise Problem(f"{name} has no subcommand '{' '.join(words[1:2])}': {', '.join(verbs)}")
            self.options_of(words[1:], self._help(program, tuple(words[1:2] if verbs else ())))

    def parse(self, line):
        """One command that does not run here."""
        words = shlex.split(line, comments=True)
        while words and re.match(r"[A-Z_]+=", words[0]):
            if words[0].startswith("TRIFOLD_") and words[0].split("=")[0] not in self.switches:
                raise Problem(f"no switch of ours: {words[0]}")
            words.pop(0)
        if words[:1] == ["taskset"]:
            words = words[3:]
        if not words or words[0] in ELSEWHERE or words[0].startswith("./"):
            return
        program = pathlib.PurePath(words[0])
        if program.name == "trifold":
            self.trifold(words[1:])
        elif words[0] == "cmake":
            self.cmake(words[1:])
        elif not ((self.root / program).is_file() and os.access(self.root / program, os.X_OK)):  # else a script of the repository
            self.built(words)

    # Pages.

    def check(self, block, folder, printed):
        """What the block prints, if it runs."""
        mark, kind = block.mark, block.language
        if block.is_output:
            if printed != block.text:
                raise Problem(f"the block above prints\n{printed}")
        elif kind == "sh" and mark:
            for line in block.text.splitlines():
                self.parse(line)
        elif kind == "sh":
            return run(["bash", "-euo", "pipefail", "-c", block.text], folder, self.environment)
        elif kind == "cpp" and mark == "a fragment":
            self.fragment(block, folder)
        elif kind == "c" and mark.startswith("declarations of "):
            self.declarations(block, folder)
        elif kind in ("cpp", "c") and not mark:
            return self.program(block, folder)
        elif kind == "cmake" and not mark:
            self.project(block, folder)
        elif kind == "json" and not mark:
            json.loads(block.text)
        elif kind == "python" and (not mark or mark.startswith("needs ")):
            compile(block.text, "block", "exec")
            return Elsewhere()
        elif kind != "text" or mark:
            raise Problem(f"nothing is known to do with a block '{kind}' marked '{mark}'")
        return None

    def page(self, page, example, c_example):
        folder = self.scratch / page.stem
        folder.mkdir()
        (folder / "app.cpp").write_text(example, encoding="utf-8")
        (folder / "app.c").write_text(c_example, encoding="utf-8")
        lines = enumerate(pages.without_blocks(page.read_text(encoding="utf-8")), 1)
        problems = [
            f"{page.relative_to(self.root)}:{number}: put code between fences, which are tested"
            for number, line in lines
            if line.startswith(("    ", "\t", "~~~"))
        ]
        printed = None
        for block in pages.blocks_of(page):
            try:
                printed = self.check(block, folder, printed)
            except (Problem, ValueError, subprocess.TimeoutExpired) as problem:
                problems.append(f"{page.relative_to(self.root)}:{block.line}: {problem}")
        return problems

    def commands(self, page):
        """What is wrong with commands inside prose and tables, and with those of blocks that are not run."""
        found = []
        if page not in self.run_pages:
            found += [line for block in pages.blocks_of(page) if block.language == "sh" for line in block.text.splitlines()]
        text = "\n".join(pages.without_blocks(page.read_text(encoding="utf-8")))
        starts = "|".join(["trifold [a-z]", *(f"{name} -" for name in sorted(self.targets))])
        found += re.findall(rf"`((?:[A-Z_]+=\S+ |taskset -c \d+ )*(?:{starts})[^`]*)`", text)
        for command in found:
            try:
                self.parse(command)
            except Problem as problem:
                yield f"{page.relative_to(self.root)}: `{command}`: {problem}"


def first(root, name, language):
    return next(block.text for block in pages.blocks_of(root / name) if block.language == language and not block.mark)


def main():
    parser = argparse.ArgumentParser()
    for name in ("root", "prefix", "bin"):
        parser.add_argument(f"--{name}", type=lambda path: pathlib.Path(path).resolve(), required=True)
    for name in ("cxx", "cc"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("pages", nargs="*", type=pathlib.Path, help="README and docs/users, if none is named")
    options = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory() as scratch:
        checker = Checker(options, pathlib.Path(scratch))
        example, c_example = first(options.root, "README.md", "cpp"), first(options.root, "docs/users/interfaces.md", "c")
        checker.run_pages = [path.resolve() for path in options.pages] or pages.pages_for_users(options.root)
        for page in checker.run_pages:
            problems += checker.page(page, example, c_example)
        for page in [*options.root.glob("*.md"), *sorted((options.root / "docs").rglob("*.md"))]:
            if not page.name.startswith(("history", "CHANGELOG")):
                problems += checker.commands(page)
    print("\n".join(problems) if problems else "all blocks are sound")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
