"""comments_test.py ROOT: comments are plain: they begin with a verb or a noun, and have none of the idioms that hide what is meant.

A comment that begins with "What", "Of", "Where" and the like names something by a clause and says nothing of it. Say what the code does,
or why, or begin with the noun: "Bytes of ...". An idiom leans on a number, a person or a place that the reader has to guess: say "`count`",
"no thread", "next to", "again", "in flight". Text in strings is not looked at: it is the users'."""

import io
import pathlib
import re
import sys
import tokenize

FOLDERS = ("generator", "runtime", "templates", "tests", "tools")
IDIOMS = re.compile(r"so many|anew|nobody|beside|on (?:its|their) way|in turn", re.IGNORECASE)
BEGINNINGS = re.compile(r"(?:Those|Where|As|The same)\b")
# Folders where comments begin with neither of these either, and those in them that still have such comments.
CLEAN, LATER = ("generator", "runtime", "templates/cpu", "templates/gpu", "templates/grid"), ("generator/trifold/",)
CLAUSES = re.compile(r"(?:[Ww]hat|[Oo]f)\b")
C_LIKE = (".cpp", ".hpp", ".h", ".c", ".cuh", ".json")
# Strings, characters and then comments of C and C++.
C_PIECE = re.compile(
    r'R"(?P<end>[^\s()]*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])'|(?P<comment>//[^\n]*|/\*.*?\*/)", re.DOTALL
)


def pieces_of_c(text):
    for found in C_PIECE.finditer(text):
        if found["comment"]:
            yield text.count("\n", 0, found.start()) + 1, found["comment"]


def pieces_of_python(text):
    before = None  # the kind of the token before, but for comments and empty lines
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_docstring = token.type == tokenize.STRING and before in (None, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        if token.type == tokenize.COMMENT or is_docstring:
            yield token.start[0], token.string
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            before = token.type


def pieces_of_scripts(text):
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.search(r"(?:^|\s)(#(?!!).*)", line):
            yield number, found[1]


def pieces(name, text):
    suffix = pathlib.PurePath(name).suffix
    if suffix in C_LIKE:
        return pieces_of_c(text)
    if suffix in (".py", ".pyi") or re.match(r"#!.*python", text):
        return pieces_of_python(text)
    if suffix in (".txt", ".cmake") or name.endswith("Makefile") or text.startswith("#!"):
        return pieces_of_scripts(text)
    return ()


def comments(name, text):
    """Lines and words of comments. Lines of comment below one another are one comment."""
    gathered, end = [], 0
    lines = text.splitlines()
    for number, piece in pieces(name, text):
        words = " ".join(re.sub(r"^\s*(?:///?<?|/\*+<?|\*+/?|#+:?|r?\"\"\")? ?|\s*\*/$|\"\"\"$", "", line) for line in piece.split("\n"))
        is_alone = lines[number - 1].strip().startswith(piece.split("\n", maxsplit=1)[0])
        goes_on = gathered and is_alone and number == end + 1 and piece.startswith(("//", "#"))
        if gathered and not goes_on:
            yield gathered[0], gathered[1]
            gathered = []
        gathered = [gathered[0], f"{gathered[1]} {words}"] if goes_on else [number, words]
        end = number + piece.count("\n") if is_alone else -1
    if gathered:
        yield gathered[0], gathered[1]


def problems_of(path, text):
    is_clean = path.startswith(CLEAN) and not path.startswith(LATER)
    for number, words in comments(path, text):
        if BEGINNINGS.match(words) or (is_clean and CLAUSES.match(words)):
            yield f"{path}:{number}: a comment begins: {words[:80]}"
        for found in IDIOMS.finditer(words):
            yield f"{path}:{number}: '{found[0]}' in a comment: {words[max(0, found.start() - 40) : found.end() + 40]}"


def main():
    root, problems, count = pathlib.Path(sys.argv[1]), [], 0
    for file in sorted(file for folder in FOLDERS for file in (root / folder).rglob("*") if file.is_file()):
        path = file.relative_to(root).as_posix()
        if path == "tests/docs/comments_test.py" or "__pycache__" in path:
            continue
        try:
            problems += problems_of(path, file.read_text(encoding="utf-8"))
            count += 1
        except UnicodeDecodeError:
            continue  # a picture
    print("\n".join([f"{count} files", *problems]))
    return 1 if problems or count < len(FOLDERS) else 0


def check_itself():
    text = """/// What it does
/// of all
int a;  ///< of b
// Bytes of
// of so
// many
char c[] = "nobody";  // nobody
/* Those
 * anew. */
"""
    found = [problem.removeprefix("generator/a.hpp:") for problem in problems_of("generator/a.hpp", text)]
    assert [problem[:2] for problem in found] == ["1:", "3:", "4:", "7:", "8:", "8:"], found
    found = list(problems_of("tools/a.py", '"""As it is."""\nb = "nobody"  # beside\n'))
    assert len(found) == 2, found


if __name__ == "__main__":
    check_itself()
    sys.exit(main())
