"""comments_test.py ROOT: comments begin with a verb or a noun, so none begins with "What" or "Of".

Such a comment names something by a clause and says nothing of it. Say what the code does, or why, or begin with the noun: "Bytes of ...".
CLEAN lists the folders where this holds already, LATER the files in them that still have such comments."""

import pathlib
import re
import sys

CLEAN = ("generator", "runtime", "templates/cpu", "templates/gpu", "templates/grid")
LATER = ("generator/trifold/",)
MARKS = {
    **dict.fromkeys((".cpp", ".hpp", ".h"), r"//[/<]*|/\*+"),
    **dict.fromkeys((".c", ".cuh"), r"/\*+"),
    **dict.fromkeys((".txt", ".cmake", ".py"), "#"),
}


def fragments(text, mark):
    """Line numbers and beginnings of comments that begin with these words. A line of comment below another is no beginning."""
    comment = re.compile(rf"(?:^|\s)(?:{mark}) ?(?P<begin>(?:[Ww]hat|[Oo]f)\b.*)")
    going_on = False
    for number, line in enumerate(text.splitlines(), 1):
        found, is_comment = comment.search(line), re.match(rf"\s*(?:{mark})", line) is not None
        if found and not (is_comment and going_on):
            yield number, found["begin"]
        going_on = is_comment


def main():
    root, problems, count = pathlib.Path(sys.argv[1]), [], 0
    for folder in CLEAN:
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.suffix not in MARKS or not file.is_file() or path.startswith(LATER):
                continue
            count += 1
            for number, begin in fragments(file.read_text(encoding="utf-8"), MARKS[file.suffix]):
                problems.append(f"{path}:{number}: a comment begins: {begin}")
    print("\n".join([f"{count} files", *problems]))
    return 1 if problems or count < len(CLEAN) else 0


if __name__ == "__main__":
    found = list(fragments("/// What it does\n/// of all\nint a;  ///< of b\n// Bytes of\n// of what\n", MARKS[".hpp"]))
    assert found == [(1, "What it does"), (3, "of b")], found
    sys.exit(main())
