"""links_test.py ROOT: every relative link of every page leads to a file or folder, and its #part to a heading.

The page that pyproject.toml names has no relative links at all. Code and templates name pages too: every docs/... path in a tracked text
file must exist. The templates of exported projects are left out:
their links are filled in when a project is written."""

import pathlib
import re
import subprocess
import sys
import tomllib

import pages

LINK = re.compile(r"!?\[[^\]\[]*(?:\[[^\]]*\][^\]\[]*)*\]\(([^()\s]+)\)")
NAMED = re.compile(r"(?<![\w/.-])docs/[\w./-]*\w")


def anchors(path):
    """What GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", "\n".join(pages.without_blocks(path.read_text(encoding="utf-8"))), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def problems_of_links(root):
    count = 0
    for page in pages.markdown_files(root):
        if "templates" in page.relative_to(root).parts:
            continue
        for number, line in enumerate(pages.without_blocks(page.read_text(encoding="utf-8")), 1):
            for link in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", link):
                    continue
                count += 1
                name, _, part = link.partition("#")
                target = (page.parent / name) if name else page
                if not target.exists():
                    yield f"{page.relative_to(root)}:{number}: nothing is at {link}"
                elif part and part not in anchors(target):
                    yield f"{page.relative_to(root)}:{number}: {name or page.name} has no heading for #{part}"
    if count < 50:
        yield f"only {count} links were found"


def problems_of_the_package_page(root):
    """Package indexes show it alone: a link that begins at its folder leads nowhere there."""
    with (root / "pyproject.toml").open("rb") as file:
        page = root / tomllib.load(file)["project"]["readme"]
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", link):
            yield f"{page.relative_to(root)}: {link} is relative, and package indexes show this page alone"


def problems_of_names(root):
    listed = subprocess.run(
        ["git", "grep", "-I", "-n", "-o", "-E", r"[A-Za-z0-9_./-]*docs/[A-Za-z0-9_./-]*[A-Za-z0-9_]", "--", ":!CHANGELOG.md"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    for found in listed.stdout.splitlines():
        place, name = found.rsplit(":", 1)
        if NAMED.fullmatch(name) and not (root / name).exists():
            yield f"{place}: there is no {name}"


def main():
    root = pathlib.Path(sys.argv[1])
    problems = [*problems_of_links(root), *problems_of_the_package_page(root), *problems_of_names(root)]
    print("\n".join(problems) if problems else "all links lead somewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
