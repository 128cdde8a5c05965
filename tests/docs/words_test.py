"""words_test.py ROOT: the pages for users have short sentences: a mean below 20 words a page, and none above 45.

What counts as prose: paragraphs and the items of lists, without code, tables, headings, pictures and the marks of blocks. A sentence ends
at a full stop, question mark or exclamation mark before a space, and where its paragraph or item ends. A word is whatever stands between
spaces and has a letter or digit in it; a piece of inline code counts as one word, and of a link its text counts."""

import pathlib
import re
import sys

import pages

MOST_ON_AVERAGE, MOST = 20, 45


def paragraphs(text):
    """Texts of paragraphs and of items of lists."""
    gathered = []
    for line in [*pages.without_blocks(text), ""]:
        item = re.match(r"\s*([-*]|\d+\.) ", line)
        prose = not re.match(r"\s*(#|\||!\[)", line) and not pages.MARK.match(line) and line.strip()
        if gathered and (item or not prose):
            yield " ".join(gathered)
            gathered = []
        if prose:
            gathered.append(line[item.end() if item else 0 :].strip())


def sentences(text):
    for paragraph in paragraphs(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", paragraph))
        for sentence in re.split(r"(?<=[.!?])[*\")]*\s+", plain.replace("**", "")):
            count = sum(bool(re.search(r"\w", word)) for word in sentence.split())
            if count:
                yield count, sentence


def main():
    root, problems = pathlib.Path(sys.argv[1]), []
    for page in pages.pages_for_users(root):
        found = list(sentences(page.read_text(encoding="utf-8")))
        mean = sum(count for count, _ in found) / len(found)
        print(f"{page.relative_to(root)}: {len(found)} sentences, {mean:.1f} words on average, {max(found)[0]} at most")
        if mean >= MOST_ON_AVERAGE:
            problems.append(f"{page.relative_to(root)}: {mean:.1f} words a sentence; below {MOST_ON_AVERAGE} are allowed")
        problems += [f"{page.relative_to(root)}: {count} words: {sentence}" for count, sentence in found if count > MOST]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
