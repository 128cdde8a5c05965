#!/usr/bin/env python3
"""Lists the numbers in conditions of generator/ and templates/, and compares them with tests/generator/literals.txt.

Conditions state what must hold, such as what a register file or a barrier allows. What was measured to be faster belongs in
generator/devices. So each number in a condition has a line in literals.txt with the reason why it is no measurement:

    templates/gpu/platform_cuda.cuh 80,90 instruction sets

The path may be a pattern. A condition is an expression with a comparison, && or ||, or ?:. The numbers 0, 1 and 2 need no reason; in
templates neither do 3, 4, 8 and 16: edges of tiles and vectors and numbers of panels, which are smaller than anything that was measured.

    tests/generator/literals.py           compare; exit status 1 when a number has no line, or a line no number
    tests/generator/literals.py --list    print what is found
"""

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = Path(__file__).with_name("literals.txt")
FOLDERS = {"generator": ("*.cpp", "*.hpp", "*.h"), "templates": ("*.cuh", "*.c", "*.h")}
FREE = {"generator": {0, 1, 2}, "templates": {0, 1, 2, 3, 4, 8, 16}}

# Texts that hold no code, then the tokens that matter. A binary operator has spaces around it, a bracket of a template has none.
SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
NUMBER = r"(?<![\w.])(?:0[xX][0-9a-fA-F.']+(?:[pP][-+]?\d+)?|\d[\d']*\.?\d*(?:[eE][-+]?\d+)?)[uUlLfF]*(?![\w.])"
TOKEN = re.compile(
    rf"(?P<number>{NUMBER})|(?P<test>(?<=\s)(?:<=?|>=?|==|!=|&&|\|\||\?)(?=\s))|(?P<open>[(\[])|(?P<close>[)\]])|(?P<end>[;{{}}]|^\#\w+)|(?P<comma>,)",
    re.MULTILINE,
)


class Group:
    """What stands between two commas, or between a bracket and its end."""

    def __init__(self, parent):
        self.parent, self.tests = parent, False

    def is_tested(self):
        return self.tests or (self.parent is not None and self.parent.is_tested())


def value_of(text):
    text = text.replace("'", "").lower()
    if text.startswith("0x"):
        return float.fromhex(text.rstrip("fl")) if "p" in text else int(text.rstrip("ul"), 16)
    text = text.rstrip("ulf")
    return float(text) if re.search("[.e]", text) else int(text)


def numbers_in(text):
    """The numbers in conditions, as written."""
    text = SKIPPED.sub(lambda match: " " + "\n" * match[0].count("\n"), text)
    group, found = Group(None), []
    for token in TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "number":
            found.append((token[0], group))
        elif kind == "test":
            group.tests = True
        elif kind == "open":
            group = Group(group)
        elif kind == "close":
            group = group.parent or Group(None)
        elif kind == "comma":
            group = Group(group.parent)
        elif kind == "end" and (group.parent is None or token[0] != ";"):
            group = Group(None)
        elif kind == "end":  # of a clause of `for`
            group = Group(group.parent)
    return [number for number, where in found if where.is_tested()]


def found_numbers():
    result = set()
    for folder, patterns in FOLDERS.items():
        for path in sorted(p for pattern in patterns for p in (ROOT / folder).rglob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            numbers = numbers_in(path.read_text())
            result.update((name, number) for number in numbers if value_of(number) not in FREE[folder])
    return result


def allowed_numbers():
    """Pairs of a pattern of paths and a number."""
    result = set()
    for line in ALLOWED.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        words = line.split(maxsplit=2)
        if len(words) < 3:
            sys.exit(f"{ALLOWED.name}: '{line}' has no reason")
        result.update((words[0], number) for number in words[1].split(","))
    return result


def is_allowed(found, allowed):
    return fnmatch(found[0], allowed[0]) and found[1] == allowed[1]


def check_itself():
    """A test that cannot fail is none."""
    cases = {
        "if (n >= 37) f();": ["37"],
        "return a ? 12 : b;": ["12"],
        "f(a < b, 37);": [],
        "while (k < (n + 5) * m) {": ["5"],
        "x = static_cast<int>(y) + 7;": [],
        "for (int k = 9; k < 8; k += 4)": ["8"],
        "// if (n > 9)": [],
        'if (a == "n > 9" && b)': [],
        "#if ARCH >= 90": ["90"],
        "int a[64]; if (b != d) c = 5;": [],
    }
    for text, expected in cases.items():
        if numbers_in(text) != expected:
            sys.exit(f"{text!r} has the numbers {numbers_in(text)}, not {expected}")


def main():
    check_itself()
    found = found_numbers()
    if sys.argv[1:] == ["--list"]:
        for name, number in sorted(found, key=lambda item: (item[0], value_of(item[1]))):
            print(name, number)
        return 0
    allowed = allowed_numbers()
    new = [item for item in found if not any(is_allowed(item, line) for line in allowed)]
    stale = [line for line in allowed if not any(is_allowed(item, line) for item in found)]
    for name, number in sorted(new):
        print(
            f"{name}: {number} stands in a condition. Put what was measured into generator/devices; "
            f"for anything else add a line to {ALLOWED.name}"
        )
    for name, number in sorted(stale):
        print(f"{ALLOWED.name}: {name} has no {number} in a condition any more; remove it")
    return 1 if new or stale else 0


if __name__ == "__main__":
    sys.exit(main())
