"""Markdown pages of the repository, cut into prose and fenced blocks."""

import dataclasses
import pathlib
import re
import subprocess

# A line of its own before a block, in brackets, that says why a reader may not be able to run it, or what it is a part of.
MARK = re.compile(r"^\((needs [^()]+|takes minutes|a fragment|declarations of \S+)\)$")
OUTPUT = "It prints:"  # the line before a block that holds what the program or command above it prints


@dataclasses.dataclass
class Block:
    language: str
    text: str
    line: int  # of its fence, from 1
    mark: str = ""  # without its brackets
    is_output: bool = False


def markdown_files(root):
    """Every page that git knows or could take: nothing of the build folders."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=root, capture_output=True, text=True, check=False
    )
    if listed.returncode == 0:
        return sorted(path for path in map(root.joinpath, listed.stdout.split("\n")[:-1]) if path.exists())
    hidden = {"build", ".deps", ".git", "out"}  # an unpacked archive has no git
    return sorted(path for path in root.rglob("*.md") if not hidden & set(path.relative_to(root).parts))


def pages_for_users(root):
    pages = [root / "README.md", *sorted((root / "docs/users").glob("*.md"))]
    assert len(pages) >= 9, f"only {len(pages)} pages for users below {root}"
    return pages


def blocks_of(path):
    """The fenced blocks of a page, in order."""
    blocks, before, inside = [], "", None
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").split("\n"), 1):
        if inside is not None:
            if line == "```":
                blocks.append(inside)
                inside, before = None, ""
            else:
                inside.text += line + "\n"
        elif line.startswith("```"):
            mark = MARK.match(before)
            inside = Block(line[3:], "", number, mark[1] if mark else "", before == OUTPUT)
        elif line.strip():
            before = line
    assert inside is None, f"{path}:{inside.line}: the block never ends"
    return blocks


def without_blocks(text):
    """The lines of a page outside fenced blocks, which become empty, so that numbers of lines stay."""
    lines, inside = [], False
    for line in text.split("\n"):
        fence = line.startswith("```")
        lines.append("" if fence or inside else line)
        inside ^= fence
    return lines
